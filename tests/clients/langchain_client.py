"""PyPI's langchain-mcp-registry: it parses each row into typed models, so a wrong shape shows at once."""

import asyncio
import tempfile

import corpus
from langchain_mcp_registry import MCPRegistryClient, MCPServer, RegistryConnectionError, ServerNotFoundError
from report import URL, Checks, equal, holds

checks = Checks()
rows = corpus.rows()
latest = corpus.latest(rows)
several = max(corpus.by_name(rows).values(), key=len)


def readable(row):
    """Rows that the client's own models can take: some real rows name web addresses that are none."""
    server = dict(row["server"])
    if not (server.get("repository") or {}).get("url"):
        server["repository"] = None
    try:
        MCPServer(**server)
    except ValueError:
        return False
    return True


async def pages(client, limit, wanted, **filters):
    """The client has no paging of its own but takes a cursor: the last row's `name:version`, as upstream's are made.

    A page with a row its models refuse fails as a whole, with any registry. There we go on in steps of one row,
    and the row that fails alone must be one that the models refuse."""
    found, cursor = [], None
    while True:
        try:
            page = await client.search_servers(limit=limit, cursor=cursor, **filters)
        except RegistryConnectionError:
            if limit > 1:
                small = [server async for server in singles(client, cursor, wanted, limit, **filters)]
                found += small
                cursor = f"{small[-1].name}:{small[-1].version}"
                continue
            raise
        found += page
        if len(page) < limit:
            return found
        cursor = f"{page[-1].name}:{page[-1].version}"


async def singles(client, cursor, wanted, count, **filters):
    for _ in range(count):
        try:
            page = await client.search_servers(limit=1, cursor=cursor, **filters)
        except RegistryConnectionError:
            row = next(row for row in wanted if cursor is None or corpus.key(row) > tuple(cursor.split(":", 1)))
            if readable(row):
                raise
            cursor = ":".join(corpus.key(row))
            continue
        for server in page:
            cursor = f"{server.name}:{server.version}"
            yield server


async def main():
    with tempfile.TemporaryDirectory() as cache:
        async with MCPRegistryClient(registry_url=f"{URL}/v0/servers", cache_dir=cache) as client:
            await journey(client)


async def journey(client):
    with checks("search gives rows with their dates and states"):
        found = await client.search_servers(query="github", limit=10)
        equal(len(found), 10, "rows")
        for server in found:
            holds(server.is_official() and server.metadata.published_at.tzinfo, server.name)

    with checks("the limit is kept"):
        for limit in (1, 7, 100):
            equal(len(await client.search_servers(limit=limit)), limit, "rows")

    with checks("pages of 100 together give each latest version"):
        wanted = sorted(latest.values(), key=corpus.key)
        unreadable = {corpus.key(row)[0] for row in wanted if not readable(row)}
        holds(len(unreadable) < 5, f"the client's models refuse {len(unreadable)} rows")
        found = await pages(client, 100, wanted, version="latest")
        names = [server.name for server in found if not server.name.startswith(corpus.SCRATCH)]
        equal(len(names), len(set(names)), "rows, each once")
        equal(set(latest) - set(names), unreadable, "missing servers")
        for server in found:
            if server.name in latest:
                equal(server.version, latest[server.name]["server"]["version"], server.name)

    with checks("pages of 10 of one search stay that search"):
        wanted = sorted((row for row in rows if "weather" in row["server"]["name"].lower()), key=corpus.key)
        holds(len(wanted) > 20, "the corpus fills two pages")
        found = await pages(client, 10, wanted, query="weather")
        got = {(server.name, server.version) for server in found}
        equal({corpus.key(row) for row in wanted} - got, set(), "missing rows")

    with checks("updated_since gives what changed after it"):
        moment = sorted(row["_meta"][corpus.OFFICIAL]["updatedAt"] for row in rows)[-20]
        found = await client.search_servers(updated_since=moment, limit=100)
        wanted = {corpus.key(row) for row in rows if row["_meta"][corpus.OFFICIAL]["updatedAt"] > moment}
        got = {(server.name, server.version) for server in found if not server.name.startswith(corpus.SCRATCH)}
        equal(wanted - got, set(), "missing rows")

    with checks("details of the latest and of one older version"):
        name = several[0]["server"]["name"]
        server = await client.get_server_details(name)
        equal(server.version, latest[name]["server"]["version"], "latest")
        holds(server.metadata.is_latest, "it says that it is the latest")
        older = next(row for row in several if not row["_meta"][corpus.OFFICIAL]["isLatest"])
        server = await client.get_server_details(name, older["server"]["version"])
        equal(server.version, older["server"]["version"], "older")
        equal(server.metadata.is_latest, False, "isLatest of the older")

    with checks("all versions, newest first, one of them the latest"):
        found = await client.get_server_versions(several[0]["server"]["name"])
        equal({(server.name, server.version) for server in found}, {corpus.key(row) for row in several}, "versions")
        dates = [server.metadata.published_at for server in found]
        equal(dates, sorted(dates, reverse=True), "order")
        equal(sum(server.metadata.is_latest for server in found), 1, "latest versions")

    with checks("an unknown server and an unknown version are told apart from failures"):
        for name, version in (("com.example/no-such-server", "latest"), (several[0]["server"]["name"], "99.99.99")):
            try:
                await client.get_server_details(name, version)
            except ServerNotFoundError:
                continue
            raise AssertionError(f"{name} {version} was found")


asyncio.run(main())
checks.finish()
