"""What cargo checks: format, lints, docs, the tests of every crate, and the licences of what we build on."""

import json
import os
import re
import tomllib

from runner.process import Failed, must, run

RUNNING = re.compile(r"^\s+Running (?:unittests )?(\S+) \((\S+)\)$")
DOC_TESTS = re.compile(r"^\s+Doc-tests (\S+)$")
COUNT = re.compile(r"^running (\d+) tests?$")
TEST = re.compile(r"^test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)(?:, (.*))?$")
RESULT = re.compile(r"^test result: \S+ (\d+) passed; (\d+) failed; (\d+) ignored;")
SHOWN = re.compile(r"^---- (.+) stdout ----$")
# Printed by a test that cannot run here. Straight to the stream it may stand behind the start of another line.
SKIPPED = re.compile(r"(?:^|\.\.\. )skipped: (\w+(?:::\w+)*): (.+)$")


class Cargo:
    def __init__(self, repo, target, logs, deadline):
        self.repo, self.target, self.logs, self.deadline = repo, target, logs, deadline
        self.env = {**os.environ, "CARGO_TERM_COLOR": "never", "CARGO_TARGET_DIR": str(target)}
        # One thread would print the start and the end of a test's line apart, which is harder to read well.
        self.env.setdefault("RUST_TEST_THREADS", str(max(2, len(os.sched_getaffinity(0)))))
        self.jobs = str(jobs())

    def run(self, name, arguments, minutes, **env):
        limit = self.deadline.limit(minutes * 60)
        ended = run(["cargo", *arguments], self.logs / f"{name}.log", limit, env={**self.env, **env}, cwd=self.repo)
        return ended, limit

    def check(self, report, name, arguments, minutes, **env):
        """One cargo command that is one check."""
        ended, limit = self.run(name, arguments, minutes, **env)
        if ended.code == 0:
            report.ok(name)
        else:
            report.fail(name, ended.why(limit), ended.output)
        return ended.output

    def format(self, report):
        self.check(report, "format", ["fmt", "--all", "--check"], 3)

    def clippy(self, report):
        self.check(report, "clippy", ["clippy", "--locked", "--workspace", "--all-targets", "-j", self.jobs,
                                      "--", "-D", "warnings"], 25)

    def docs(self, report):
        self.check(report, "docs", ["doc", "--locked", "--workspace", "--no-deps", "-j", self.jobs], 25,
                   RUSTDOCFLAGS="-D warnings")

    def program(self, release=False):
        """Builds `toolmark` and gives its path."""
        profile = ["--release"] if release else []
        log = self.logs / f"build{'-release' if release else ''}.log"
        must(["cargo", "build", "--locked", "--workspace", "--bins", "-j", self.jobs, *profile], log,
             self.deadline.limit(30 * 60), env=self.env, cwd=self.repo)
        return self.target / ("release" if release else "debug") / "toolmark"

    def tests(self, report, env, long):
        arguments = ["test", "--locked", "--workspace", "--no-fail-fast", "-j", self.jobs, "--", "--show-output"]
        if long:
            arguments.append("--include-ignored")
        ended, limit = self.run("rust", arguments, 150 if long else 35, **env)
        failed_before = len(report.failures)
        found = read_results(ended.output, report)
        if ended.code != 0 and len(report.failures) == failed_before:
            report.fail("rust", ended.why(limit), ended.output)
        elif ended.code == 0 and not found:
            report.fail("rust", "cargo ran no test at all", ended.output)

    def has_benches(self):
        return any("bench" in target["kind"] for package in self.metadata()["packages"]
                   if not package["source"] for target in package["targets"])

    def bench(self, report, **env):
        return self.check(report, "bench", ["bench", "--locked", "--workspace", "--benches", "-j", self.jobs], 120, **env)

    def metadata(self):
        # Kept apart from stderr, where cargo may warn.
        text = must(["sh", "-c", "exec cargo metadata --locked --format-version 1 2>/dev/null"],
                    self.logs / "metadata.log", self.deadline.limit(300), env=self.env, cwd=self.repo)
        return json.loads(text)

    def licences(self, report):
        rules = tomllib.loads((self.repo / ".deny.toml").read_text())
        metadata = self.metadata()
        members = set(metadata["workspace_members"])
        allowed = set(rules["licenses"]["allow"])
        banned = {entry["crate"]: entry["reason"] for entry in rules["bans"]["deny"]}
        bad = []
        for package in metadata["packages"]:
            title = f"{package['name']} {package['version']}"
            if package["name"] in banned:
                bad.append(f"{title} is not wanted: {banned[package['name']]}")
            if package["id"] in members:
                bad += [f"{package['name']} asks for any version of {dependency['name']}"
                        for dependency in package["dependencies"]
                        if dependency["req"] == "*" and not dependency.get("path")]
                continue
            if not (package["source"] or "").startswith("registry+"):
                bad.append(f"{title} comes from {package['source'] or 'a folder'}, not from the registry")
            if not package["license"]:
                bad.append(f"{title} names no licence")
            elif not permits(package["license"], allowed):
                bad.append(f"{title}: {package['license']} is not in `licenses.allow` of .deny.toml")
        if bad:
            report.fail("licences", f"{len(bad)} dependencies are not as .deny.toml wants", "\n".join(bad))
        else:
            report.ok("licences")


def jobs():
    """Compilers at once: no more than processors, and 2 GB of memory for each."""
    processors = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (2 << 30)
    return max(1, min(processors, memory))


def read_results(output, report):
    """Reads the words of cargo and its test programs; gives how many tests there were.

    A program that announced tests and gave no result has crashed: that is a failure of its name."""
    where, announced, verdicts, notes, shown, strays, found = None, None, {}, {}, None, [], 0

    def close():
        if where and announced is not None:
            report.fail(where, f"the test program ended before its result; {announced} tests were announced",
                        output[-20000:])

    for line in output.splitlines():
        if match := RUNNING.match(line) or DOC_TESTS.match(line):
            close()
            where, announced, verdicts, notes, shown, strays = match[1], None, {}, {}, None, []
            if match.re is RUNNING:
                where = match[2].rsplit("/", 1)[-1].rsplit("-", 1)[0]
        elif match := COUNT.match(line):
            announced = int(match[1])
        elif match := TEST.match(line):
            verdicts[match[1]] = (match[2], match[3])
        elif match := SHOWN.match(line):
            shown = match[1]
            notes[shown] = []
        elif match := RESULT.match(line):
            # `close` must not speak for a program that has given its result, even if we count wrongly below.
            announced, total = None, sum(int(part) for part in match.groups())
            found += total
            settle(report, where, verdicts, notes, skips(report, where, verdicts, notes, strays), total)
            verdicts, notes, shown, strays = {}, {}, None, []
        elif shown:
            notes[shown].append(line)
        elif match := SKIPPED.search(line):
            strays.append(match)
    close()
    return found


def skips(report, where, verdicts, notes, strays):
    """Test → why it was skipped. A line that names no test is a failure: it would hide a test that was not run."""
    found = {name: match[2] for name, lines in notes.items() for match in map(SKIPPED.search, lines) if match}
    for match in strays:
        names = [name for name in verdicts if name.rsplit("::", 1)[-1] == match[1].rsplit("::", 1)[-1]]
        if not names:
            report.fail(where, f"a skip that names no test of this program: `{match[0]}`")
        found.update((name, match[2]) for name in names)
    return found


def settle(report, where, verdicts, notes, skipped, total):
    if len(verdicts) != total:
        report.fail(where, f"{total} tests in its result, {len(verdicts)} seen", "")
    for name, (verdict, why) in verdicts.items():
        title = f"{where}::{name}"
        if verdict == "FAILED":
            report.fail(title, "failed", "\n".join(notes.get(name, [])))
        elif verdict == "ignored":
            report.ignored(title, why or "left out of the short run")
        elif name in skipped:
            report.skip(title, skipped[name])
        else:
            report.ok(title)


# SPDX expressions: `OR`, `AND`, `WITH`, brackets, and the `/` some old crates write for `OR`.
WORDS = re.compile(r"\(|\)|/|[A-Za-z0-9.+-]+")


def permits(expression, allowed):
    words = WORDS.findall(expression)
    value, rest = either(words, allowed)
    if rest:
        raise Failed(f"cannot read the licence `{expression}`")
    return value


def either(words, allowed):
    value, words = both(words, allowed)
    while words and words[0] in ("OR", "/"):
        other, words = both(words[1:], allowed)
        value = value or other
    return value, words


def both(words, allowed):
    value, words = one(words, allowed)
    while words and words[0] == "AND":
        other, words = one(words[1:], allowed)
        value = value and other
    return value, words


def one(words, allowed):
    if words[0] == "(":
        value, rest = either(words[1:], allowed)
        return value, rest[1:]
    name, rest = words[0], words[1:]
    if rest and rest[0] == "WITH":
        name, rest = f"{name} WITH {rest[1]}", rest[2:]
    return name in allowed, rest
