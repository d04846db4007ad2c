"""PyPI's mcp-lookup: its library and its command against the registry."""

import json
import subprocess
import sys

import corpus
from mcp_lookup.registry import RegistryClient, RegistryError
from report import URL, Checks, equal, holds

checks = Checks()
rows = corpus.rows()
latest = corpus.latest(rows)
client = RegistryClient(base_url=URL)
several = next(found for found in corpus.by_name(rows).values() if len(found) > 3)


def command(*arguments):
    # `--no-enrich` and `--source registry` keep it from asking other directories.
    return subprocess.run([sys.executable, "-m", "mcp_lookup", "--base-url", URL, "--source", "registry", *arguments],
                          capture_output=True, text=True, timeout=60, check=False)


with checks("search by name finds the server"):
    name = several[0]["server"]["name"]
    found = client.search(name, limit=100)
    equal({corpus.key(row) for row in found}, {corpus.key(row) for row in several}, "versions found")

with checks("search keeps to its limit"):
    equal(len(client.search("mcp", limit=7)), 7, "rows")

with checks("search without a hit is empty"):
    equal(client.search("no-such-server-zzqx", limit=10), [], "rows")

with checks("search by repository finds a server of that repository"):
    # The client searches names for the last part of the address, then compares addresses itself.
    name, url = next((name, row["server"]["repository"]["url"]) for name, row in latest.items()
                     if row["server"].get("repository", {}).get("url", "-").lower().endswith("/" + name.split("/")[1].lower()))
    found = client.search(url, limit=100)
    holds(name in {row["server"]["name"] for row in found}, f"{name} is not found by {url}")
    equal({row["server"]["repository"]["url"] for row in found}, {url}, "repositories")

with checks("get gives the latest version of each of 40 servers"):
    for name, row in list(latest.items())[:40]:
        equal(client.get(name)["server"]["version"], row["server"]["version"], name)

with checks("get gives each version asked for, as it was published"):
    for row in several:
        name, version = corpus.key(row)
        equal(client.get(name, version=version)["server"], row["server"], f"{name} {version}")

with checks("an unknown name is an answer of 404"):
    try:
        client._get_version("com.example/no-such-server", "latest")
    except RegistryError as error:
        holds("HTTP 404" in str(error), str(error))
    else:
        raise AssertionError("something was found")

with checks("the command prints a search as JSON"):
    ended = command("search", several[0]["server"]["name"], "--limit", "3", "--json")
    equal(ended.returncode, 0, f"exit code ({ended.stderr})")
    equal({row["server"]["name"] for row in json.loads(ended.stdout)}, {several[0]["server"]["name"]}, "names")

with checks("the command prints one server"):
    name = next(iter(latest))
    ended = command("get", name, "--no-enrich")
    equal(ended.returncode, 0, f"exit code ({ended.stderr})")
    equal(json.loads(ended.stdout)["server"], latest[name]["server"], "server")

checks.finish()
