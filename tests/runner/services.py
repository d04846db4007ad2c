"""Services of one run, each on a free port and in the run's own temporary folder, stopped at the end."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from runner.process import Failed, kill_group, must

READY_SECS = 60
IMPORT_LIMIT = 300


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Service:
    """A started program. Should the runner be killed outright, the kernel ends the service for it."""

    def __init__(self, name, command, log, stop_signal="TERM", user=None, env=None):
        self.name, self.log, self.stop_signal = name, log, stop_signal
        self.out = open(log, "wb")
        as_user = []
        if user:
            as_user = ["--reuid", user, "--regid", str(pwd.getpwnam(user).pw_gid), "--clear-groups"]
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", stop_signal, *as_user, *[str(part) for part in command]],
            stdin=subprocess.DEVNULL, stdout=self.out, stderr=subprocess.STDOUT,
            env=env, cwd=log.parent, start_new_session=True,
        )

    def output(self):
        return self.log.read_text("utf-8", "replace")

    def wait_for(self, ready):
        until = time.monotonic() + READY_SECS
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise Failed(f"{self.name} ended at its start with code {self.process.returncode}", self.output())
            if ready():
                return
            time.sleep(0.05)
        raise Failed(f"{self.name} was not ready after {READY_SECS} s", self.output())

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(getattr(signal, f"SIG{self.stop_signal}"))
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                pass
        kill_group(self.process)
        self.out.close()


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return answer.status == 200
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


class Services:
    def __init__(self, temp, logs):
        self.temp, self.logs = temp, logs
        self.started = []
        # Of each registry, what its clients are told besides its address.
        self.facts = {}

    def stop(self):
        while self.started:
            self.started.pop().stop()

    def start(self, name, command, ready, **more):
        service = Service(name, command, self.logs / f"{name}.log", **more)
        self.started.append(service)
        service.wait_for(ready)
        return service

    def postgres(self):
        """A new cluster. As root it runs as another user, since PostgreSQL refuses root."""
        binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))[-1]
        user = None
        folder = self.temp / "postgres"
        folder.mkdir(mode=0o700)
        if os.geteuid() == 0:
            user = "postgres"
            shutil.chown(folder, user, pwd.getpwnam(user).pw_gid)
        env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        as_user = ["setpriv", "--reuid", user, "--regid", str(pwd.getpwnam(user).pw_gid), "--clear-groups"] if user else []
        must([*as_user, binaries / "initdb", "-D", folder / "data", "-U", "toolmark", "--auth=trust",
              "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"], self.logs / "initdb.log", 120, env=env, cwd="/")
        port = free_port()
        settings = {
            "listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": "",
            "max_connections": 300, "shared_buffers": "64MB",
            # The data lives as long as the run, so nothing has to reach the disk.
            "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
        }
        options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        ask = ["psql", "-h", "127.0.0.1", "-p", str(port), "-U", "toolmark", "-qAtX"]

        def ready():
            return subprocess.run([binaries / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)],
                                  timeout=10, check=False).returncode == 0

        # INT is PostgreSQL's fast shutdown: it does not wait for clients.
        self.start("postgres", [binaries / "postgres", "-D", folder / "data", *options], ready,
                   stop_signal="INT", user=user, env=env)
        for database in ("toolmark", "journeys"):
            must([binaries / ask[0], *ask[1:], "-d", "postgres", "-c", f"create database {database}"],
                 self.logs / "createdb.log", 30, env=env)
        return f"postgres://toolmark@127.0.0.1:{port}"

    def s3(self, tools):
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        self.start("moto", [tools.venv / "bin" / "moto_server", "-H", "127.0.0.1", "-p", port],
                   lambda: answers(f"{url}/moto-api/"))
        return url

    def registry(self, name, program, corpus, database_url=None):
        """Toolmark itself, filled with the corpus, with the development login on."""
        folder = self.temp / name
        folder.mkdir()
        env = {key: value for key, value in os.environ.items() if not key.startswith("TOOLMARK_")}
        mail = str(free_port())
        # What the tests publish names packages of strangers: nothing of it is run, and nobody is asked for it.
        env |= {"TOOLMARK_JOBS__CRAWL": "false", "TOOLMARK_PROVENANCE__CHECK": "false"}
        env |= {"TOOLMARK_ALERTS__TRUSTED_ADDRESSES": "127.0.0.1", "TOOLMARK_ALERTS__SMTP_HOST": "127.0.0.1",
                "TOOLMARK_ALERTS__SMTP_PORT": mail, "TOOLMARK_ALERTS__SMTP_TLS": "none",
                "TOOLMARK_ALERTS__MAIL_FROM": "Toolmark <alerts@registry.example>"}
        common = ["--data-dir", folder / "data"]
        if database_url:
            common += ["--database-url", database_url]
        must([program, *common, "import", corpus], self.logs / f"{name}-import.log",
             IMPORT_LIMIT, env=env, cwd=folder)
        made = must([program, *common, "admin", "token", "create", "--label", "clients", "--publish", "*", "--subscribe", "*"],
                    self.logs / f"{name}-token.log", 60, env=env, cwd=folder)
        token = next(line for line in made.splitlines() if line.startswith("tmk_"))
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        self.facts[url] = {"TOOLMARK_TEST_TOKEN": token, "TOOLMARK_TEST_SMTP_PORT": mail}
        self.start(name, [program, *common, "serve", "--listen", f"127.0.0.1:{port}", "--dev-auth"],
                   lambda: answers(f"{url}/v0.1/ping"), env=env)
        return url
