"""Runs schemathesis on one OpenAPI file and gives its verdict for each operation."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as tree
from pathlib import Path

from report import URL, Checks

EXAMPLES = 50
# A made-up address may be longer than a page; nobody reads it.
LINE = 400
# What counts as refusing bad input. The default leaves out 414, and takes a server error for a refusal.
REFUSALS = [400, 401, 403, 404, 405, 406, 409, 413, 414, 415, 422, 429]
OUT = Path(os.environ["TOOLMARK_TEST_OUT"])


def settings(parameters):
    """Mostly real values, sometimes made-up ones. A JSON list of strings is a TOML list of strings too."""
    lines = []
    for number, values in enumerate(parameters.values()):
        lines += [f"[dictionaries.real{number}]", f"values = {json.dumps(values)}"]
    lines += ["[checks.negative_data_rejection]", f"expected-statuses = {REFUSALS}"]
    lines += ["[parameters]"]
    for number, key in enumerate(parameters):
        lines.append(f'{json.dumps(key)} = {{ dictionary = "real{number}", probability = 0.8 }}')
    return "\n".join([*lines, ""])


def run(name, location, parameters, *options):
    """`parameters` gives real values: without them every detail would only be asked for what is not there."""
    OUT.mkdir(parents=True, exist_ok=True)
    config, junit = OUT / f"{name}.toml", OUT / f"{name}.xml"
    junit.unlink(missing_ok=True)
    config.write_text(settings(parameters))
    ended = subprocess.run(
        [Path(sys.executable).parent / "schemathesis", "--config-file", config, "run", location, "--url", URL,
         "--max-examples", str(EXAMPLES), "--seed", "1", "--workers", "1", "--request-timeout", "30",
         "--report", "junit", "--report-junit-path", junit, *options],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd=OUT,
        env={**os.environ, "SCHEMATHESIS_HOOKS": "short_addresses", "PYTHONPATH": str(Path(__file__).parent)},
    )
    print("\n".join(line if len(line) <= LINE else line[:LINE] + "…" for line in ended.stdout.splitlines()))
    checks = Checks()
    if junit.exists():
        for case in tree.parse(junit).iter("testcase"):
            with checks(f"{name} {case.get('name')}".replace(":", " ")):
                bad = [part for part in case if part.tag in ("failure", "error")]
                if bad:
                    raise AssertionError(bad[0].get("message") or bad[0].text or bad[0].tag)
                if any(part.tag == "skipped" for part in case):
                    raise AssertionError("schemathesis skipped it")
    with checks(f"{name} ended well"):
        if ended.returncode != 0 and not checks.failed:
            raise AssertionError(f"schemathesis ended with {ended.returncode}")
        if checks.count < 2:
            raise AssertionError("no operation was tried")
    checks.finish()
