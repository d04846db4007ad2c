"""PyPI's `mcp`, second line, against `/mcp`, in both eras."""

import asyncio
import json

from mcp.client.client import Client
from report import URL, Checks, equal

checks = Checks()


async def list_and_call(mode, version):
    async with Client(f"{URL}/mcp", mode=mode) as client:
        equal(str(client.protocol_version), version, "version")
        tools = (await client.list_tools()).tools
        equal([tool.name for tool in tools], ["find_tools"], "tools")
        result = await client.call_tool("find_tools", {"query": "read a file", "limit": 3})
        equal(bool(result.is_error), False, "error")
        equal(result.structured_content["schema"], "toolmark.find/1", "schema")
        equal(json.loads(result.content[0].text), result.structured_content, "text")


for mode, version in [("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")]:
    with checks(f"mode {mode}"):
        asyncio.run(asyncio.wait_for(list_and_call(mode, version), 60))

checks.finish()
