"""Plain HTTP for the replays: nothing is hidden, redirects are not followed, errors are answers."""

import http.client
import json
from urllib.parse import urlsplit

from report import URL

LIMIT_SECS = 30


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def header(self, name):
        return self.headers.get(name, "")

    def must_be(self, status):
        if self.status != status:
            raise AssertionError(f"status {self.status}, wanted {status}: {self.body[:300]!r}")
        return self

    def problem(self, status):
        """An RFC 9457 answer, as the official registry's clients read it."""
        self.must_be(status)
        if self.header("Content-Type").split(";")[0] != "application/problem+json":
            raise AssertionError(f"an error of type `{self.header('Content-Type')}`")
        body = self.json
        for name, kind in (("title", str), ("status", int), ("detail", str)):
            if not isinstance(body.get(name), kind):
                raise AssertionError(f"a problem without `{name}`: {body}")
        if body["status"] != status:
            raise AssertionError(f"`status` {body['status']} in an answer of {status}")
        return body


def ask(method, path, body=None, token=None, headers=None):
    parts = urlsplit(URL)
    sent = {"User-Agent": "toolmark-tests", **(headers or {})}
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
        sent.setdefault("Content-Type", "application/json")
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=LIMIT_SECS)
    try:
        connection.request(method, path, body=body, headers=sent)
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())
    finally:
        connection.close()


def get(path, **more):
    return ask("GET", path, **more)
