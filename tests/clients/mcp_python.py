"""PyPI's `mcp`, first line, against `/mcp`."""

import asyncio
import json

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from report import URL, Checks, equal

checks = Checks()


async def list_and_call():
    async with streamablehttp_client(f"{URL}/mcp") as (read, write, session_id):
        async with ClientSession(read, write) as session:
            started = await session.initialize()
            equal(started.protocolVersion, "2025-11-25", "version")
            equal(session_id(), None, "session")
            tools = (await session.list_tools()).tools
            equal([tool.name for tool in tools], ["find_tools"], "tools")
            result = await session.call_tool("find_tools", {"query": "read a file", "limit": 3})
            equal(result.isError, False, "error")
            equal(result.structuredContent["schema"], "toolmark.find/1", "schema")
            equal(json.loads(result.content[0].text), result.structuredContent, "text")


with checks("lists and calls"):
    asyncio.run(asyncio.wait_for(list_and_call(), 60))

checks.finish()
