"""The conformance suite's scenarios for clients that only list, with `toolmark probe` as the client."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

from report import Checks, equal, holds

PROGRAM = os.environ["TOOLMARK_TEST_PROGRAM"]
NODE = os.environ["TOOLMARK_TEST_NODE"]
SUITE = Path(os.environ["TOOLMARK_TEST_NPM"]) / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"

# scenario → (revision of the protocol, checks that must be there and succeed)
SCENARIOS = {
    "request-metadata": ("2026-07-28", 5),
    "http-standard-headers": ("2026-07-28", 4),
    "json-schema-ref-no-deref": ("2026-07-28", 1),
    "initialize": ("2025-11-25", 1),
}

checks = Checks()


def play(scenario, revision):
    with tempfile.TemporaryDirectory() as out:
        command = [NODE, SUITE, "client", "--command", f"{PROGRAM} probe --allow-local --format json", "--scenario", scenario,
                   "--spec-version", revision, "-o", out]
        # The suite needs a newer Node than some machines have; it starts programs by name, too.
        env = {**os.environ, "PATH": f"{Path(NODE).parent}:{os.environ['PATH']}"}
        ended = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120, check=False, env=env)
        files = list(Path(out).rglob("checks.json"))
        holds(len(files) == 1, f"no verdicts: {ended.stdout[-300:]} {ended.stderr[-300:]}")
        return ended.returncode, json.loads(files[0].read_text("utf-8"))


for scenario, (revision, least) in SCENARIOS.items():
    with checks(f"{scenario} of {revision}"):
        code, verdicts = play(scenario, revision)
        by_status = {}
        for verdict in verdicts:
            by_status.setdefault(verdict["status"], []).append(verdict["id"])
        holds(not {"FAILURE", "WARNING"} & by_status.keys(), f"verdicts: {by_status}")
        equal(code, 0, "exit status")
        holds(len(by_status.get("SUCCESS", [])) >= least, f"too few checks: {by_status}")

checks.finish()
