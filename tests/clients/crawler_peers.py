"""`toolmark probe` against servers made with the SDKs that exist, of both lines, over stdio and HTTP."""

import contextlib
import json
import os
import socket
import subprocess
import time
from pathlib import Path

from report import Checks, equal, holds

PROGRAM = os.environ["TOOLMARK_TEST_PROGRAM"]
NODE = os.environ["TOOLMARK_TEST_NODE"]
PYTHON_V1, PYTHON_V2 = os.environ["TOOLMARK_TEST_PYTHON"], os.environ["TOOLMARK_TEST_PYTHON_MODERN"]
HERE = Path(__file__).parent
# Node finds the pinned packages through the hook; nothing else of this process is needed by a server.
NODE_SERVER = [NODE, "--import", str(HERE / "resolve.mjs")]

# name → (command, how it is reached, era, lists)
SERVERS = {
    "typescript 1 over stdio": ([*NODE_SERVER, HERE / "servers" / "sdk_v1.mjs", "stdio"], "stdio", "legacy"),
    "typescript 1 with sessions": ([*NODE_SERVER, HERE / "servers" / "sdk_v1.mjs", "sessions"], "/mcp", "legacy"),
    "typescript 1 without sessions": ([*NODE_SERVER, HERE / "servers" / "sdk_v1.mjs", "stateless"], "/mcp", "legacy"),
    "typescript 1 with json answers": ([*NODE_SERVER, HERE / "servers" / "sdk_v1.mjs", "json"], "/mcp", "legacy"),
    "typescript 2 over stdio": ([*NODE_SERVER, HERE / "servers" / "sdk_v2.mjs", "stdio"], "stdio", "modern"),
    "typescript 2 of both eras": ([*NODE_SERVER, HERE / "servers" / "sdk_v2.mjs", "dual"], "/mcp", "modern"),
    "typescript 2 of the modern era": ([*NODE_SERVER, HERE / "servers" / "sdk_v2.mjs", "modern"], "/mcp", "modern"),
    "python 1 over stdio": ([PYTHON_V1, HERE / "servers" / "sdk_python.py", "stdio"], "stdio", "legacy"),
    "python 1 with sessions": ([PYTHON_V1, HERE / "servers" / "sdk_python.py", "sessions"], "/mcp", "legacy"),
    "python 1 without sessions": ([PYTHON_V1, HERE / "servers" / "sdk_python.py", "stateless"], "/mcp", "legacy"),
    "python 2 over stdio": ([PYTHON_V2, HERE / "servers" / "sdk_python.py", "stdio"], "stdio", "modern"),
    "python 2 with sessions": ([PYTHON_V2, HERE / "servers" / "sdk_python.py", "sessions"], "/mcp", "modern"),
    "python 2 without sessions": ([PYTHON_V2, HERE / "servers" / "sdk_python.py", "stateless"], "/mcp", "modern"),
}

checks = Checks()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(command, port):
    process = subprocess.Popen([*map(str, command), str(port)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if process.poll() is not None:
                raise AssertionError(f"it ended before it listened: {process.stderr.read()[-400:]}")
            time.sleep(0.1)
        yield
    finally:
        process.kill()
        process.wait()


def probe(*arguments):
    ended = subprocess.run([PROGRAM, "probe", "--format", "json", *map(str, arguments)], capture_output=True, text=True,
                           timeout=170, check=False)
    holds(ended.stdout, f"no document: {ended.stderr[-400:]}")
    return ended.returncode, json.loads(ended.stdout)


def look(command, reached):
    if reached == "stdio":
        env = [f"--env={name}={os.environ[name]}" for name in ("PATH", "HOME", "TOOLMARK_TEST_NPM") if name in os.environ]
        return probe("--without-sandbox", *env, "--", *command)
    port = free_port()
    with running(command, port):
        return probe("--allow-local", f"http://127.0.0.1:{port}{reached}")


for name, (command, reached, era) in SERVERS.items():
    with checks(name):
        code, seen = look(command, reached)
        told = f"{seen['outcome']} {seen['reason']} {seen['look'].get('words')} {seen['stderr_tail']}"
        equal((code, seen["outcome"]), (0, "observed"), f"exit status and outcome ({told})")
        equal(seen["era"], era, "era")
        equal([tool["name"] for tool in seen["tools"]], ["add"], "tools")
        equal([prompt["name"] for prompt in seen["prompts"]], ["greet"], "prompts")
        holds(seen["tools"][0]["inputSchema"]["properties"].keys() == {"a", "b"}, "its schema is not whole")
        equal(seen["volatile"], [], "what moves")
        equal(len(seen["look"]["takes"]), 2, "takes")

checks.finish()
