"""Requests of readers that cannot run here: ToolHive, the official importer, GitHub Copilot, and what they need."""

from urllib.parse import quote

import corpus
import yaml
from api import ask, get
from report import Checks, equal, holds

checks = Checks()
rows = corpus.rows()
latest = corpus.latest(rows)
ORIGIN = {"Origin": "https://github.com"}
PAGES = 500


def ours(page):
    return [row for row in page if not row["server"]["name"].startswith(corpus.SCRATCH)]


def pages(path, encode):
    """All pages of a list; `encode` is what the client does to a cursor before it sends it back."""
    joint = "&" if "?" in path else "?"
    found, cursor = [], None
    for _ in range(PAGES):
        answer = get(path if cursor is None else f"{path}{joint}cursor={encode(cursor)}").must_be(200).json
        equal(answer["metadata"]["count"], len(answer["servers"]), "count")
        found.append(answer["servers"])
        cursor = answer["metadata"].get("nextCursor")
        if not cursor:
            return found
    raise AssertionError(f"no end after {PAGES} pages")


def each_once(found, wanted):
    keys = [corpus.key(row) for row in ours(row for page in found for row in page)]
    equal(len(keys), len(set(keys)), "rows, each once")
    equal(wanted - set(keys), set(), "missing rows")


with checks("ToolHive, openapi.yaml has the two marks it looks for"):
    answer = get("/openapi.yaml").must_be(200)
    info = yaml.safe_load(answer.body)["info"]
    equal(info["version"], "1.0.0", "version")
    holds("https://github.com/modelcontextprotocol/registry" in info["description"], "the description names the official registry")

with checks("ToolHive, pages of 100 of the latest versions"):
    each_once(pages("/v0.1/servers?limit=100&version=latest", quote), {corpus.key(row) for row in latest.values()})

with checks("ToolHive, search and one server"):
    name = next(iter(latest))
    found = get(f"/v0.1/servers?search={quote(name)}&version=latest").must_be(200).json["servers"]
    equal([row["server"]["name"] for row in found], [name], "names")
    equal(get(f"/v0.1/servers/{quote(name, safe='')}/versions/latest").must_be(200).json["server"], latest[name]["server"], "server")

with checks("ToolHive, what changed since a moment"):
    moment = sorted(row["_meta"][corpus.OFFICIAL]["updatedAt"] for row in rows)[-30]
    found = get(f"/v0.1/servers?limit=100&version=latest&updated_since={quote(moment)}").must_be(200).json["servers"]
    wanted = {corpus.key(row) for row in latest.values() if row["_meta"][corpus.OFFICIAL]["updatedAt"] > moment}
    each_once([found], wanted)

with checks("importer, every row by the raw cursor of /v0, as it was served"):
    found = pages("/v0/servers", lambda cursor: cursor)
    each_once(found, {corpus.key(row) for row in rows})
    served = {corpus.key(row): row for page in found for row in page}
    for row in rows:
        equal(served[corpus.key(row)]["server"], row["server"], f"document of {corpus.key(row)}")
        for field in ("status", "publishedAt", "isLatest"):
            got = served[corpus.key(row)]["_meta"][corpus.OFFICIAL][field]
            equal(got, row["_meta"][corpus.OFFICIAL][field], f"{field} of {corpus.key(row)}")

with checks("importer, the escaped cursor gives the same pages"):
    equal(pages("/v0/servers?limit=100", quote), pages("/v0/servers?limit=100", lambda cursor: cursor), "pages")

with checks("a list is ordered by name, then by version as text"):
    keys = [corpus.key(row) for page in pages("/v0.1/servers?limit=100", quote) for row in page]
    equal(keys, sorted(keys), "order")

with checks("an exact multiple of the limit ends with one empty page"):
    name = max(corpus.by_name(rows).items(), key=lambda item: len(item[1]))[0]
    count = len(corpus.by_name(rows)[name])
    found = pages(f"/v0.1/servers?search={quote(name)}&limit={count // 2}", quote)
    equal([len(page) for page in found], [count // 2, count // 2, *([count % 2] if count % 2 else [0])], "rows a page")

for what, path, status in (
    ("a list", "/v0.1/servers", 200),
    ("a server", f"/v0.1/servers/{quote(next(iter(latest)), safe='')}/versions/latest", 200),
    ("an unknown server", "/v0.1/servers/com.example%2Fno-such-server/versions/latest", 404),
    ("a bad parameter", "/v0.1/servers?limit=0", 422),
    ("an unknown place", "/v0.1/no-such-place", 404),
):
    with checks(f"Copilot, {what} may be read from another origin"):
        answer = get(path, headers=ORIGIN).must_be(status)
        equal(answer.header("Access-Control-Allow-Origin"), "*", "Access-Control-Allow-Origin")

with checks("Copilot, the preflight allows what it asks for"):
    asked = {**ORIGIN, "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization, content-type"}
    answer = ask("OPTIONS", "/v0.1/servers", headers=asked)
    holds(answer.status in (200, 204), f"status {answer.status}")
    equal(answer.header("Access-Control-Allow-Origin"), "*", "Access-Control-Allow-Origin")
    holds("GET" in answer.header("Access-Control-Allow-Methods"), answer.header("Access-Control-Allow-Methods"))
    allowed = answer.header("Access-Control-Allow-Headers").lower()
    holds(allowed == "*" or "content-type" in allowed and "authorization" in allowed, allowed)

with checks("VS Code and Copilot, registry only, a remote's address is given unchanged"):
    for name, row in latest.items():
        if row["server"].get("remotes"):
            got = get(f"/v0.1/servers/{quote(name, safe='')}/versions/latest").must_be(200).json["server"]
            equal(got["remotes"], row["server"]["remotes"], name)
            break

with checks("removed paths of old clients are plain 404s"):
    get("/v0/servers/7f4e6b1c-0d3a-4a53-9d0b-0f6a7c2b9e11").problem(404)
    get(f"/v0/servers/{quote(next(iter(latest)), safe='')}").problem(404)

checks.finish()
