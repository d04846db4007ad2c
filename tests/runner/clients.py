"""Real clients and journeys: each is a program that says what it saw, line by line.

`ok NAME`, `not ok NAME: why`, `skip NAME: why`, and at its end `1..N`, the number of those lines.
Anything else it prints is shown when something failed."""

import json
import os
import re
import shutil

from runner.process import run

LINE = re.compile(r"^(ok|not ok|skip) ([^:]+?)(?:: (.*))?$")
PLAN = re.compile(r"^1\.\.(\d+)$")

# name → (folder below tests/, file, minutes). `.mjs` runs in the pinned Node, `.py` in the pinned Python, `_modern.py`
# in that of the second list of packages.
CLIENTS = {
    "vscode-gallery": ("clients", "vscode_gallery.mjs", 3),
    "mcp-lookup": ("clients", "mcp_lookup_client.py", 3),
    "langchain": ("clients", "langchain_client.py", 3),
    "mcp-publisher": ("clients", "mcp_publisher.py", 2),
    "alerts": ("clients", "alerts.py", 3),
    "official-readers": ("clients", "official_readers.py", 3),
    "mcp-typescript": ("clients", "mcp_typescript.mjs", 4),
    "mcp-python": ("clients", "mcp_python.py", 2),
    "mcp-python-modern": ("clients", "mcp_python_modern.py", 2),
    "mcp-conformance": ("clients", "mcp_conformance.mjs", 5),
}
# Servers and suites that `toolmark probe` meets; they need no registry.
PEERS = {
    "crawler-peers": ("clients", "crawler_peers.py", 8),
    "crawler-conformance": ("clients", "crawler_conformance.py", 4),
}
BROWSER = {"smoke": ("e2e", "smoke.mjs", 5)}
FUZZ = {
    "fuzz-official": ("clients", "fuzz_official.py", 5),
    "fuzz-own": ("clients", "fuzz_own.py", 8),
}


CORPUS = "official-registry-servers.2025-12-12.jsonl"
VERDICTS = "official-validate-results.2025-12-12.jsonl"


def valid_corpus(data, file):
    """The rows whose documents fit upstream's schema. Others are served as they are, which an OpenAPI file must blame."""
    verdicts = map(json.loads, (data / VERDICTS).read_text("utf-8").splitlines())
    valid = {(row["name"], row["version"]) for row in verdicts if row["valid"]}
    with open(file, "w", encoding="utf-8") as out:
        for line in (data / CORPUS).read_text("utf-8").splitlines():
            server = json.loads(line)["server"]
            if (server.get("name"), server.get("version")) in valid and server["version"]:
                out.write(line + "\n")
    return file


class Scripts:
    def __init__(self, repo, target, tools, logs, deadline, facts):
        self.repo, self.target, self.tools, self.logs, self.deadline = repo, target, tools, logs, deadline
        # For scripts that start the program themselves.
        self.program = ""
        self.facts = facts

    def command(self, file):
        if file.suffix == ".mjs":
            return [self.tools.node(), "--import", self.repo / "tests" / "clients" / "resolve.mjs", file]
        modern = file.stem.endswith("_modern")
        return [self.tools.modern_python() if modern else self.tools.python(), "-B", file]

    def node(self):
        """Empty where this run has not installed it; a script that needs it has its stage install it."""
        return str(self.tools.node()) if self.tools.npm_folder.exists() else ""

    def play(self, report, name, folder, file, minutes, url, engine, data):
        title = f"{name}[{engine}]"
        env = {
            **os.environ, **self.facts.get(url, {}),
            "TOOLMARK_TEST_URL": url, "TOOLMARK_TEST_DATA": str(data), "TOOLMARK_TEST_ENGINE": engine,
            "TOOLMARK_TEST_NPM": str(self.tools.npm_folder), "TOOLMARK_TEST_OUT": str(self.target / "test-out"),
            "TOOLMARK_TEST_PROGRAM": str(self.program), "TOOLMARK_TEST_PYTHON": str(self.tools.python()),
            "TOOLMARK_TEST_PYTHON_MODERN": str(self.tools.modern_python()), "TOOLMARK_TEST_NODE": self.node(),
            "TOOLMARK_TEST_CHROMIUM": shutil.which("chromium") or "",
            # A proxy of this machine is for the world outside, never for a server on loopback.
            "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost",
        }
        limit = self.deadline.limit(minutes * 60)
        ended = run(self.command(self.repo / "tests" / folder / file), self.logs / f"{name}-{engine}.log", limit, env=env)
        read_script(report, title, ended, limit)


def read_script(report, title, ended, limit):
    seen, failed, plan = 0, 0, None
    for line in ended.output.splitlines():
        if match := PLAN.match(line):
            plan = int(match[1])
        elif match := LINE.match(line):
            seen += 1
            name = f"{title}::{match[2]}"
            if match[1] == "ok":
                report.ok(name)
            elif match[1] == "skip":
                report.skip(name, match[3] or "no reason given")
            else:
                failed += 1
                report.fail(name, match[3] or "failed", ended.output)
    if ended.timed_out or (ended.code != 0 and failed == 0):
        report.fail(title, ended.why(limit), ended.output)
    elif plan != seen or seen == 0:
        report.fail(title, f"it planned {plan} results and gave {seen}", ended.output)
