"""A server of the Python SDK, of whichever line this Python has: stdio, or HTTP with or without sessions."""

import sys

kind, port = (*sys.argv[1:], "0")[:2]
try:
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("sdk-python")
    more = {"host": "127.0.0.1", "port": int(port), "stateless_http": kind == "stateless"}
except ImportError:
    from mcp.server.fastmcp import FastMCP

    server = FastMCP("sdk-python", host="127.0.0.1", port=int(port), stateless_http=kind == "stateless")
    more = {}


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers"""
    return a + b


@server.prompt()
def greet() -> str:
    """Greets"""
    return "Hello"


if kind == "stdio":
    server.run("stdio")
else:
    server.run("streamable-http", **more)
