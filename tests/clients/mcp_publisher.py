"""A replay of each request the official command line tool `mcp-publisher` makes, byte shapes as it sends them.

The tool itself cannot be had from a package registry; what it asks and what it reads of the answers is known."""

import os
import time
from urllib.parse import quote

import corpus
from api import ask, get
from report import Checks, equal, holds

checks = Checks()
CURRENT = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
NAME = f"{corpus.SCRATCH}replay-{os.environ['TOOLMARK_TEST_ENGINE']}-{time.time_ns():x}"
PATH = f"/v0/servers/{quote(NAME, safe='')}"


def document(version, **changes):
    return {"$schema": CURRENT, "name": NAME, "description": "A made-up server of the tests", "version": version, **changes}


def official(answer):
    return answer.json["_meta"][corpus.OFFICIAL]


def publish(token, body):
    return ask("POST", "/v0/publish", body, token)


def references(answer):
    return [issue["reference"] for issue in answer.must_be(200).json["issues"]]


token = None

with checks("login asks for the health first"):
    equal(get("/v0/health").must_be(200).json["status"], "ok", "status")

with checks("login none gives a token with its end"):
    answer = ask("POST", "/v0/auth/none", b"{}", headers={"Content-Type": "application/json"}).must_be(200).json
    token = answer["registry_token"]
    holds(isinstance(token, str) and token, "a token")
    left = answer["expires_at"] - time.time()
    holds(0 < left <= 3600, f"the token ends in {left:.0f} s")

with checks("publish answers 200 with what was stored"):
    answer = publish(token, document("1.0.0")).must_be(200)
    equal(answer.json["server"], document("1.0.0"), "server")
    equal(official(answer)["status"], "active", "status")
    equal(official(answer)["isLatest"], True, "isLatest")
    equal(official(answer)["publishedAt"], official(answer)["updatedAt"], "updatedAt")

with checks("a second version becomes the latest"):
    equal(official(publish(token, document("1.1.0")).must_be(200))["isLatest"], True, "isLatest")
    equal(get(f"{PATH}/versions/latest").must_be(200).json["server"]["version"], "1.1.0", "latest")
    equal(official(get(f"{PATH}/versions/1.0.0").must_be(200))["isLatest"], False, "isLatest of 1.0.0")

with checks("the same version again is refused"):
    problem = publish(token, document("1.1.0")).problem(400)
    equal(problem["detail"], "Failed to publish server", "detail")
    equal(problem["errors"][0]["message"], "invalid version: cannot publish duplicate version", "message")

with checks("a continuous integration job can look before it publishes"):
    get(f"{PATH}/versions/1.1.0").must_be(200)
    get(f"{PATH}/versions/1.2.0").problem(404)

with checks("what the gate refuses is named by its place"):
    problem = publish(token, document("2.0.0", description="x" * 101)).problem(422)
    equal(problem["errors"][0]["location"], "body.description", "location")
    problem = publish(token, document("2.0.0", website_url="https://example.com")).problem(422)
    holds("website_url" in problem["errors"][0]["location"], problem)
    get(f"{PATH}/versions/2.0.0").problem(404)

with checks("an unusable schema is refused, and validate then says why"):
    for schema, reference in (
        ("https://example.com/schema.json", "schema-version-extraction-error"),
        ("https://static.modelcontextprotocol.io/schemas/2031-01-01/server.schema.json", "schema-version-not-available"),
    ):
        body = document("2.0.0", **{"$schema": schema})
        problem = publish(token, body).problem(422)
        equal(problem["detail"], "Failed to publish server, invalid schema: call /validate for details", "detail")
        answer = ask("POST", "/v0/validate", body)
        holds(reference in references(answer), f"{reference} in {answer.json}")
        equal(answer.json["valid"], False, "valid")

with checks("validate warns of an older schema and still says valid"):
    older = document("2.0.0", **{"$schema": CURRENT.replace("2025-12-11", "2025-10-17")})
    answer = ask("POST", "/v0/validate", older)
    issue = next(issue for issue in answer.must_be(200).json["issues"] if issue["reference"] == "schema-version-deprecated")
    equal(issue["severity"], "warning", "severity")
    equal(set(issue), {"type", "path", "message", "severity", "reference"}, "keys of an issue")
    equal(answer.json["valid"], True, "valid")

with checks("validate of a good document has no issues"):
    equal(ask("POST", "/v0/validate", document("2.0.0")).must_be(200).json, {"valid": True, "issues": []}, "answer")

with checks("validate stores nothing"):
    get(f"{PATH}/versions/2.0.0").problem(404)

with checks("a name outside the token is refused with both lists"):
    problem = publish(token, {**document("1.0.0"), "name": "com.example/not-mine"}).problem(403)
    holds(corpus.SCRATCH in problem["detail"] and "com.example/not-mine" in problem["detail"], problem["detail"])

with checks("without a token, and with a bad one"):
    problem = publish(None, document("2.0.0")).problem(422)
    equal(problem["errors"][0]["location"], "header.Authorization", "location")
    equal(publish("not-a-token", document("2.0.0")).problem(401)["detail"], "Invalid or expired Registry JWT token", "detail")
    answer = ask("POST", "/v0/publish", document("2.0.0"), headers={"Authorization": token})
    equal(answer.problem(401)["detail"], "Invalid Authorization header format. Expected 'Bearer <token>'", "detail")
    equal(ask("POST", "/v0/publish", document("1.2.0"), headers={"Authorization": f"bearer {token}"}).status, 200, "lower case `bearer`")

with checks("status of one version, read, change, read"):
    one = f"{PATH}/versions/1.0.0"
    equal(official(get(f"{one}?include_deleted=true").must_be(200))["status"], "active", "status before")
    answer = ask("PATCH", f"{one}/status", {"status": "deprecated", "statusMessage": "use 1.1.0"}, token).must_be(200)
    equal(official(answer)["status"], "deprecated", "status")
    equal(official(answer)["statusMessage"], "use 1.1.0", "message")
    ask("PATCH", f"{one}/status", {"status": "deprecated", "statusMessage": "use 1.1.0"}, token).problem(400)
    answer = ask("PATCH", f"{one}/status", {"status": "active"}, token).must_be(200)
    equal("statusMessage" in official(answer), False, "a message left over")

with checks("a message with active, and an unknown status, are refused"):
    one = f"{PATH}/versions/1.0.0/status"
    problem = ask("PATCH", one, {"status": "active", "statusMessage": "no"}, token).problem(400)
    equal(problem["detail"], "status_message cannot be provided when setting status to active", "detail")
    problem = ask("PATCH", one, {"status": "yanked"}, token).problem(422)
    equal(problem["errors"][0]["location"], "body.status", "location")
    ask("PATCH", one, {"status": "deprecated", "statusMessage": "x" * 501}, token).problem(422)
    ask("PATCH", one, {"status": "deprecated"}).problem(422)
    ask("PATCH", f"{PATH}/versions/9.9.9/status", {"status": "deleted"}, token).problem(404)

with checks("a deleted version is gone, kept, and no longer the latest"):
    ask("PATCH", f"{PATH}/versions/1.2.0/status", {"status": "deleted", "statusMessage": "a mistake"}, token).must_be(200)
    get(f"{PATH}/versions/1.2.0").problem(404)
    equal(official(get(f"{PATH}/versions/1.2.0?include_deleted=true").must_be(200))["status"], "deleted", "status")
    equal(get(f"{PATH}/versions/latest").must_be(200).json["server"]["version"], "1.1.0", "latest")

with checks("status of all versions answers with all of them"):
    before = get(f"{PATH}/versions?include_deleted=true").must_be(200).json["servers"]
    equal(len(before), 3, "versions")
    answer = ask("PATCH", f"{PATH}/status", {"status": "deprecated", "statusMessage": "moved"}, token).must_be(200).json
    equal(answer["updatedCount"], 3, "updatedCount")
    equal({row["_meta"][corpus.OFFICIAL]["status"] for row in answer["servers"]}, {"deprecated"}, "states")

with checks("another's server cannot be changed"):
    other = quote(next(iter(corpus.latest(corpus.rows()))), safe="")
    ask("PATCH", f"/v0/servers/{other}/status", {"status": "deleted"}, token).problem(403)
    equal(official(get(f"/v0/servers/{other}/versions/latest").must_be(200))["status"], "active", "status")

checks.finish()
