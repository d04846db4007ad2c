"""Alerts as their receivers see them: an independent library of the Standard Webhooks specification, a real mail server,
a strict feed reader."""

import email
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import feedparser
from aiosmtpd.controller import Controller
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

import api
from report import Checks, Skip, equal, holds

TOKEN = os.environ["TOOLMARK_TEST_TOKEN"]
SMTP_PORT = int(os.environ["TOOLMARK_TEST_SMTP_PORT"])
OUT = Path(os.environ["TOOLMARK_TEST_OUT"])
ENGINE = os.environ["TOOLMARK_TEST_ENGINE"]
OWNER = f"alerts-{ENGINE}"
LIMIT_SECS = 20
checks = Checks()


class Receiver(BaseHTTPRequestHandler):
    got = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Receiver.got.append((dict(self.headers.items()), body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Mailbox:
    got = []

    async def handle_DATA(self, _server, _session, envelope):
        Mailbox.got.append((envelope.rcpt_tos, email.message_from_bytes(envelope.content)))
        return "250 taken"


def ask(method, path, body=None):
    return api.ask(method, path, body, token=TOKEN)


def wait(for_what, what):
    until = time.monotonic() + LIMIT_SECS
    while time.monotonic() < until:
        found = for_what()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} did not come within {LIMIT_SECS} s")


def publish(name, version):
    document = {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": name, "version": version, "description": "A server of the alerts",
    }
    ask("POST", "/v0.1/publish", document).must_be(200)


def messages(kind):
    return [(headers, body) for headers, body in Receiver.got if json.loads(body)["type"] == kind]


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
Thread(target=server.serve_forever, daemon=True).start()
mail = Controller(Mailbox(), hostname="127.0.0.1", port=SMTP_PORT)
mail.start()

with checks("a webhook verifies with an independent library"):
    hook = {"owner": OWNER, "label": "hook", "channel": "webhook", "address": f"http://127.0.0.1:{server.server_port}/"}
    endpoint = ask("POST", "/api/v1/endpoints", hook).must_be(201).json
    wanted = {"endpoint": endpoint["id"], "label": "all", "filter": {"namespaces": ["com.example.alerts"]}}
    ask("POST", "/api/v1/subscriptions", wanted).must_be(201)
    publish("com.example.alerts/first", f"1.0.{int(time.time())}")
    headers, body = wait(lambda: messages("version.published"), "the message")[0]
    read = Webhook(endpoint["secret"]).verify(body, headers)
    equal(read["data"]["server"], "com.example.alerts/first")
    try:
        Webhook(endpoint["secret"]).verify(body + b" ", headers)
        raise AssertionError("a changed body verifies")
    except WebhookVerificationError:
        pass

with checks("both keys verify while one is replaced"):
    new = ask("POST", f"/api/v1/endpoints/{endpoint['id']}/rotate", {}).must_be(200).json["secret"]
    ask("POST", f"/api/v1/endpoints/{endpoint['id']}/test", {}).must_be(202)
    headers, body = wait(lambda: messages("test.ping"), "the test message")[-1]
    for secret in (endpoint["secret"], new):
        Webhook(secret).verify(body, headers)

with checks("mail goes to a confirmed reader only"):
    asked = {"owner": OWNER, "label": "mail", "channel": "email", "address": "reader@example.org"}
    inbox = ask("POST", "/api/v1/endpoints", asked).must_be(201).json
    equal(inbox["state"], "unconfirmed")
    ask("POST", "/api/v1/subscriptions", {"endpoint": inbox["id"], "label": "all", "filter": wanted["filter"]}).must_be(201)
    _, first = wait(lambda: Mailbox.got, "the confirmation")[0]
    publish("com.example.alerts/second", f"1.0.{int(time.time())}")
    wait(lambda: len(messages("version.published")) >= 2, "the second message")
    equal(len(Mailbox.got), 1, "mails before the confirmation")
    text = first.get_payload(decode=True).decode()
    code = text.split(f"/alerts/{inbox['id']}/")[1].split()[0]
    api.ask("POST", f"/api/v1/endpoints/{inbox['id']}/confirm", {"code": "0" * 40}).must_be(404)
    link = f"/alerts/{inbox['id']}/{code}"
    holds(f"{link}/confirm" in api.get(link).must_be(200).body.decode(), "the page of the link offers to confirm")
    equal(ask("GET", f"/api/v1/endpoints/{inbox['id']}").must_be(200).json["state"], "unconfirmed", "looking confirms nothing")
    api.get(f"/alerts/{inbox['id']}/{'0' * 40}").must_be(404)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    api.ask("POST", f"{link}/confirm", b"", headers=form).must_be(200)
    publish("com.example.alerts/third", f"1.0.{int(time.time())}")
    to, second = wait(lambda: Mailbox.got[1:], "the alert")[0]
    equal(to, ["reader@example.org"])
    holds("com.example.alerts/third" in second["Subject"].replace("\n", ""), f"subject {second['Subject']}")
    equal(second["Auto-Submitted"], "auto-generated")
    equal(second["List-Unsubscribe-Post"], "List-Unsubscribe=One-Click")
    stop = second["List-Unsubscribe"].replace("\r\n ", "").strip("<>")
    holds(code in stop, "where to stop it")
    # As a mail program does at one click.
    api.ask("POST", urlsplit(stop).path, b"List-Unsubscribe=One-Click", headers=form).must_be(200)
    equal(ask("GET", f"/api/v1/endpoints/{inbox['id']}").must_be(200).json["state"], "paused")

with checks("feeds are read by a strict reader"):
    files = sorted(OUT.glob("feed-*.atom"))
    texts = [api.get("/changes.atom").must_be(200).body] + [file.read_bytes() for file in files]
    for text in texts:
        feed = feedparser.parse(text)
        holds(not feed.bozo, f"not well-formed: {feed.get('bozo_exception')}")
        equal(feed.version, "atom10")
        ids = [entry.id for entry in feed.entries]
        equal(len(set(ids)), len(ids), "entries with ids of their own")
        holds(all(entry.link and entry.title and entry.updated for entry in feed.entries), "link, title and time")
    if not files:
        raise Skip("no feed with entries in test-out: the Rust tests write them")

mail.stop()
server.shutdown()
checks.finish()
