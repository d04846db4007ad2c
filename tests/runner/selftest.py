"""The runner's own tests: a runner that misreads a result would vouch for work nobody checked."""

import unittest

from runner.cargo import permits, read_results
from runner.clients import read_script
from runner.process import Ended
from runner.report import Report

CARGO = """\
     Running unittests src/lib.rs (target/debug/deps/some_crate-0123456789abcdef)

running 4 tests
test name::reads ... ok
test name::needs_data ... ok
test name::long ... ignored, takes an hour
test name::breaks ... FAILED

successes:

---- name::needs_data stdout ----
skipped: name::needs_data: no corpus

successes:
    name::needs_data
    name::reads

failures:

---- name::breaks stdout ----
left is not right

failures:
    name::breaks

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
"""
CRASHED = """\
     Running it/main.rs (target/debug/deps/it-0123456789abcdef)

running 2 tests
test one ... ok
error: test failed, to rerun pass `-p x --test it`
"""


def cargo(text, require_data=False):
    report = Report(require_data)
    read_results(text, report)
    return report


def script(text, code=0, timed_out=False):
    report = Report(False)
    read_script(report, "client", Ended(code, text, timed_out), 10)
    return report


class Reading(unittest.TestCase):
    def test_every_verdict_of_cargo_is_counted_once(self):
        report = cargo(CARGO)
        self.assertEqual(report.counts(), (1, 1, 2))
        self.assertEqual(report.failures[0][0], "some_crate::name::breaks")
        self.assertIn("left is not right", report.failures[0][2])

    def test_missing_data_fails_when_data_is_required_and_a_long_test_does_not(self):
        report = cargo(CARGO, require_data=True)
        self.assertEqual(report.counts(), (1, 2, 1))

    def test_a_skip_written_straight_to_the_stream_is_seen(self):
        straight = CARGO.replace("test name::reads ... ok", "skipped: reads: no corpus: gone\ntest name::reads ... ok")
        self.assertEqual(cargo(straight).counts(), (0, 1, 3))
        nameless = CARGO.replace("test name::reads ... ok", "skipped: elsewhere: no corpus\ntest name::reads ... ok")
        self.assertEqual(cargo(nameless).counts(), (1, 2, 2))

    def test_a_test_program_that_dies_is_a_failure(self):
        for text in (CRASHED, CRASHED + CARGO):
            self.assertIn("it", [name for name, _, _ in cargo(text).failures])

    def test_a_script_counts_its_lines(self):
        report = script("ok one\nnot ok two: it broke: badly\nskip three: no data\nnoise\n1..3\n", code=1)
        self.assertEqual(report.counts(), (1, 1, 1))
        self.assertEqual(report.failures[0][:2], ("client::two", "it broke: badly"))

    def test_a_script_that_ends_early_fails(self):
        for early in (script("ok one\n"), script(""), script("1..0\n"), script("ok one\n1..1\n", code=3),
                      script("ok one\n1..1\n", timed_out=True), script("ok one\n1..2\n")):
            self.assertEqual(early.counts()[1], 1)

    def test_licences_are_read_as_expressions(self):
        allowed = {"MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"}
        for good in ("MIT", "GPL-3.0 OR MIT", "(MIT OR GPL-3.0) AND Apache-2.0", "MIT/X", "Apache-2.0 WITH LLVM-exception"):
            self.assertTrue(permits(good, allowed), good)
        for bad in ("GPL-3.0", "MIT AND GPL-3.0", "GPL-3.0 WITH LLVM-exception", "(MIT OR X) AND (GPL-3.0 OR Y)"):
            self.assertFalse(permits(bad, allowed), bad)


class Count(unittest.TextTestResult):
    """Hands each result on to the report of the run."""

    into = None

    def addSuccess(self, test):  # noqa: N802 (unittest's own name)
        super().addSuccess(test)
        self.into.ok(test.id())

    def addFailure(self, test, err):  # noqa: N802
        super().addFailure(test, err)
        self.into.fail(test.id(), "failed", self.failures[-1][1])

    def addError(self, test, err):  # noqa: N802
        super().addError(test, err)
        self.into.fail(test.id(), "failed", self.errors[-1][1])


def check(report):
    import io

    Count.into = report
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Reading)
    unittest.TextTestRunner(stream=io.StringIO(), resultclass=Count).run(suite)
