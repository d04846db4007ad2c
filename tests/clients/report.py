"""How a client says what it saw: the lines that `runner/clients.py` reads."""

import contextlib
import os
import sys
import traceback

URL = os.environ["TOOLMARK_TEST_URL"]


class Skip(Exception):
    """Raised by a check that cannot run here."""


class Checks:
    def __init__(self):
        self.count = self.failed = 0

    @contextlib.contextmanager
    def __call__(self, name):
        """One check: what its block raises is its failure, and the next check still runs."""
        assert ":" not in name, "the runner splits a line at its first colon"
        self.count += 1
        try:
            yield
        except Skip as why:
            print(f"skip {name}: {one_line(why)}", flush=True)
        except Exception as error:  # noqa: BLE001 (whatever a client throws is the finding)
            self.failed += 1
            traceback.print_exc(file=sys.stdout)
            print(f"not ok {name}: {one_line(error) or type(error).__name__}", flush=True)
        else:
            print(f"ok {name}", flush=True)

    def finish(self):
        print(f"1..{self.count}", flush=True)
        sys.exit(1 if self.failed else 0)


def one_line(error):
    return " ".join(str(error).split())[:400]


def equal(got, wanted, what="value"):
    if got != wanted:
        raise AssertionError(f"{what}: got {shown(got)}, wanted {shown(wanted)}")


def holds(condition, what):
    if not condition:
        raise AssertionError(what)


def shown(value):
    text = repr(value)
    return text if len(text) <= 160 else text[:157] + "…"
