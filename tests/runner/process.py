"""Runs other programs: each in its own process group, with a time limit, its output in a file."""

import os
import signal
import subprocess
import time

from runner.report import say, seconds

# A sign of life this often, so that nobody takes a long build for a hang.
HEARTBEAT_SECS = 60


class Failed(Exception):
    """A program that was needed did not do its work."""

    def __init__(self, why, output=""):
        super().__init__(why)
        self.output = output


class Ended:
    def __init__(self, code, output, timed_out):
        self.code, self.output, self.timed_out = code, output, timed_out

    def why(self, limit):
        if self.timed_out:
            return f"stopped after its time limit of {seconds(limit)}"
        if self.code < 0:
            return f"killed by signal {-self.code}"
        return f"exit code {self.code}"


class Deadline:
    """The end of the whole run; no single program may outlive it."""

    def __init__(self, secs):
        self.at = time.monotonic() + secs

    def limit(self, wanted):
        return max(1, min(wanted, self.at - time.monotonic()))


def kill_group(process, grace=5):
    """Ends a program and what it started, politely first. The group is ours: it was made for this program."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            return
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            continue


def run(command, log, limit, env=None, cwd=None, quiet=False):
    """Runs to the end or to the limit; never raises for a bad exit."""
    log.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with open(log, "wb") as out:
        try:
            process = subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, env=env, cwd=cwd, start_new_session=True,
            )
        except OSError as error:
            return Ended(127, f"cannot start `{command[0]}`: {error.strerror}", False)
        timed_out = False
        try:
            while process.poll() is None:
                left = began + limit - time.monotonic()
                if left <= 0:
                    timed_out = True
                    break
                try:
                    process.wait(min(left, HEARTBEAT_SECS))
                except subprocess.TimeoutExpired:
                    if not quiet:
                        say(f"   … `{short(command)}` for {seconds(time.monotonic() - began)}")
        finally:
            kill_group(process)
    return Ended(process.returncode, log.read_text("utf-8", "replace"), timed_out)


def must(command, log, limit, **more):
    ended = run(command, log, limit, **more)
    if ended.code != 0 or ended.timed_out:
        raise Failed(f"`{short(command)}`: {ended.why(limit)}", ended.output)
    return ended.output


def short(command):
    text = " ".join(str(part) for part in command)
    return text if len(text) <= 70 else text[:67] + "…"
