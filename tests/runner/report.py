"""Counts results and says them: one line per stage as it ends, failures with their output at the end."""

import time

# Of a failure's output this much is shown; the whole of it is in the stage's log.
SHOWN_LINES = 80
SHOWN_COLUMNS = 500


def say(text):
    print(text, flush=True)


def seconds(value):
    if value < 60:
        return f"{value:.1f} s"
    return f"{int(value) // 60} min {int(value) % 60:02d} s"


class Report:
    def __init__(self, require_data):
        self.require_data = require_data
        self.passed = 0
        self.failures = []
        self.skips = []
        self.times = []

    def ok(self, name):
        self.passed += 1

    def fail(self, name, why, output=""):
        self.failures.append((name, why, output))

    def skip(self, name, why):
        """A test that could not run here, for want of data or tools: `--require-data` does not accept that."""
        if self.require_data:
            self.fail(name, f"skipped, but data is required: {why}")
        else:
            self.skips.append((name, why))

    def ignored(self, name, why):
        """A test left out on purpose, such as a long one."""
        self.skips.append((name, why))

    def counts(self):
        return self.passed, len(self.failures), len(self.skips)

    def stage(self, name):
        return Stage(self, name)

    def finish(self):
        if self.skips:
            say("\nskipped:")
            for name, why in self.skips:
                say(f"  {name}: {why}")
        for name, why, output in self.failures:
            say(f"\nFAILED {name}: {why}")
            lines = output.rstrip().splitlines()
            if len(lines) > SHOWN_LINES:
                say(f"    … {len(lines) - SHOWN_LINES} lines before")
            for line in lines[-SHOWN_LINES:]:
                say(f"    {line[:SHOWN_COLUMNS]}")
        if self.times:
            say("\ntimes:")
            for name, took in self.times:
                say(f"  {name:<22} {seconds(took)}")
            say(f"  {'all':<22} {seconds(sum(took for _, took in self.times))}")
        passed, failed, skipped = self.counts()
        say("")
        say(f"{passed} passed, {failed} failed, {skipped} skipped")
        return 0 if failed == 0 else 1


class Stage:
    """Times a stage and turns whatever breaks inside it into a failure of that name."""

    def __init__(self, report, name):
        self.report, self.name = report, name

    def __enter__(self):
        say(f"== {self.name}")
        self.began = time.monotonic()
        self.before = self.report.counts()
        return self

    def __exit__(self, kind, error, _trace):
        if error is not None and isinstance(error, Exception):
            self.report.fail(self.name, str(error) or kind.__name__, getattr(error, "output", ""))
        took = time.monotonic() - self.began
        self.report.times.append((self.name, took))
        passed, failed, skipped = (now - then for now, then in zip(self.report.counts(), self.before))
        say(f"   {passed} passed, {failed} failed, {skipped} skipped in {seconds(took)}")
        return error is not None and isinstance(error, Exception)
