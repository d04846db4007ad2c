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


def key(row):
    return row["server"]["name"], row["server"]["version"]


def latest(all_rows):
    return {row["server"]["name"]: row for row in all_rows if row["_meta"][OFFICIAL]["isLatest"]}


def by_name(all_rows):
    names = {}
    for row in all_rows:
        names.setdefault(row["server"]["name"], []).append(row)
    return names
