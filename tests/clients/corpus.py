"""What the corpus says the registry must answer: the expected side of the comparisons."""

import json
import os
from pathlib import Path

OFFICIAL = "io.modelcontextprotocol.registry/official"
# The one namespace that journeys write into; readers leave it out.
SCRATCH = "io.modelcontextprotocol.anonymous/"


def rows():
    """Rows in the present shape, as they were served. A few are older and are the importer's own test."""
    path = Path(os.environ["TOOLMARK_TEST_DATA"]) / "official-registry-servers.2025-12-12.jsonl"
    with open(path, encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return [row for row in found if "status" in row["_meta"].get(OFFICIAL, {})]


def valid_rows():
    """Rows whose documents upstream's full validation accepts."""
    path = Path(os.environ["TOOLMARK_TEST_DATA"]) / "official-validate-results.2025-12-12.jsonl"
    with open(path, encoding="utf-8") as lines:
        valid = {(row["name"], row["version"]) for row in map(json.loads, lines) if row["valid"]}
    return [row for row in rows() if key(row) in valid]


def key(row):
    return row["server"]["name"], row["server"]["version"]


def latest(all_rows):
    return {row["server"]["name"]: row for row in all_rows if row["_meta"][OFFICIAL]["isLatest"]}


def by_name(all_rows):
    names = {}
    for row in all_rows:
        names.setdefault(row["server"]["name"], []).append(row)
    return names
