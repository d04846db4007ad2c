"""The order of the stages, what each needs, and the last line."""

import argparse
import fcntl
import os
import shutil
import signal
import tempfile
from pathlib import Path

from runner import clients, generated, selftest, text_rules
from runner.cargo import SKIPPED, Cargo
from runner.process import Deadline, Failed, must, run
from runner.report import Report, say
from runner.services import Services
from runner.tools import Tools

REPO = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or REPO / "target").resolve()
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# A run is to end within 45 minutes on two processors; what is not done by then counts as failed.
RUN_MINUTES, LONG_RUN_MINUTES = 45, 300

# In the order they run. What each needs is installed and started before the first.
STAGES = {
    "runner": (set(), "the runner's own tests"),
    "format": (set(), "rustfmt"),
    "clippy": (set(), "lints, warnings are errors"),
    "docs": (set(), "rustdoc, warnings are errors"),
    "rust": ({"postgres", "s3", "pypi", "sandbox", "feeds", "program"}, "unit, integration and contract tests, on SQLite and PostgreSQL"),
    "clients": ({"postgres", "npm", "pypi", "program"}, "real clients against a running registry, on both engines"),
    "peers": ({"npm", "pypi", "program"}, "servers of every SDK and the conformance suite, met by `toolmark probe`"),
    "browser": ({"npm", "browser", "program"}, "pages in Chromium, with script and without"),
    "api-fuzz": ({"pypi", "program"}, "schemathesis on the official and on our own OpenAPI"),
    "licences": (set(), "licences, sources and bans of what we build on"),
    "generated": ({"program"}, "generated files are fresh"),
    "text": (set(), "rules about the text of tracked files"),
}
BENCH = "bench"


def arguments():
    parser = argparse.ArgumentParser(prog="tests/run", description="Runs every check of the project.",
                                     epilog="example: ./tests/run --only rust clients")
    parser.add_argument("--require-data", action="store_true", help="a test skipped for want of data is a failure")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these stages, clients or journeys (see --list)")
    parser.add_argument("--list", action="store_true", help="say what there is to run")
    parser.add_argument("--bench", action="store_true", help="run the benches too, on a release build")
    parser.add_argument("--long", action="store_true", help="run the long tests too")
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder and say where it is")
    return parser.parse_args()


def scripts_of(stage):
    return {"clients": clients.CLIENTS, "peers": clients.PEERS, "browser": clients.BROWSER, "api-fuzz": clients.FUZZ}.get(stage, {})


def chosen(options):
    """Which stages, and which of their scripts (None = all)."""
    stages = [*STAGES, *([BENCH] if options.bench else [])]
    if not options.only:
        return {stage: None for stage in stages}
    picked, unknown = {}, []
    for name in options.only:
        owner = next((stage for stage in STAGES if name in scripts_of(stage)), None)
        if name in STAGES or name == BENCH:
            picked[name] = None
        elif owner and picked.get(owner, ()) is not None:
            picked.setdefault(owner, []).append(name)
        elif not owner:
            unknown.append(name)
    if unknown:
        raise SystemExit(f"unknown: {', '.join(unknown)}; `./tests/run --list` names what there is")
    return {stage: picked[stage] for stage in [*STAGES, BENCH] if stage in picked}


def show_list():
    for stage, (_, about) in STAGES.items():
        say(f"{stage:<12} {about}")
        for script, (folder, file, _) in scripts_of(stage).items():
            say(f"  {script:<20} tests/{folder}/{file}")
    say(f"{BENCH:<12} the promised figures (with --bench)")


class Run:
    def __init__(self, options, temp):
        self.options, self.temp = options, temp
        self.report = Report(options.require_data)
        self.picked = chosen(options)
        self.target = TARGET
        self.logs = self.target / "test-logs"
        shutil.rmtree(self.logs, ignore_errors=True)
        self.logs.mkdir(parents=True)
        (self.target / "test-out").mkdir(exist_ok=True)
        self.deadline = Deadline(60 * (LONG_RUN_MINUTES if options.long or options.bench else RUN_MINUTES))
        self.tools = Tools(REPO, self.target, self.logs, self.deadline)
        self.services = Services(temp, self.logs)
        self.cargo = Cargo(REPO, self.target, self.logs, self.deadline)
        self.scripts = clients.Scripts(
            REPO, self.target, self.tools, self.logs, self.deadline, self.services.facts)
        self.data = Path(os.environ.get("TOOLMARK_TEST_DATA") or REPO.parent / "shared" / "data").resolve()
        self.needs = set().union(*(STAGES[stage][0] for stage in self.picked if stage in STAGES))
        if BENCH in self.picked:
            self.needs |= {"bench", "release"}
        self.env = {"TOOLMARK_TEST_DATA": str(self.data)}
        self.urls = {}

    def everything(self):
        ready = False
        with self.report.stage("tools"):
            self.install()
            ready = True
        if not ready:
            return
        if self.needs & {"program"} and not self.data.is_dir():
            say(f"   no test data at {self.data}: set TOOLMARK_TEST_DATA; tests that need it are skipped")
            self.report.skip("test-data", f"no folder {self.data}")
        with self.report.stage("services"):
            self.serve()
        for stage, only in self.picked.items():
            with self.report.stage(stage):
                self.one(stage, only)

    def install(self):
        if shutil.which("cargo") is None:
            raise Failed("no `cargo` on PATH: install Rust first (the version is `rust-version` in Cargo.toml)")
        for component in ("fmt", "clippy"):
            if run(["cargo", component, "--version"], self.logs / "component.log", 60, cwd=REPO).code != 0:
                say(f"   installing the Rust component {component}")
                must(["rustup", "component", "add", component.replace("fmt", "rustfmt")], self.logs / "rustup.log", 600, cwd=REPO)
        self.tools.debian(self.needs)
        if "npm" in self.needs:
            self.tools.npm()
        if "pypi" in self.needs:
            self.tools.pypi()

    def serve(self):
        if "postgres" in self.needs:
            self.env["TOOLMARK_TEST_POSTGRES_URL"] = self.services.postgres() + "/toolmark"
        if "s3" in self.needs:
            self.env["TOOLMARK_TEST_S3_URL"] = self.services.s3(self.tools)

    def one(self, stage, only):
        if stage in ("format", "clippy", "docs", "licences"):
            getattr(self.cargo, stage)(self.report)
        elif stage == "runner":
            selftest.check(self.report)
        elif stage == "rust":
            # Real servers come from the package registries, as the tools of this run do.
            env = {**self.env, "TOOLMARK_TEST_PROGRAM": str(self.cargo.program()), "TOOLMARK_TEST_REGISTRIES": "1"}
            if self.options.long:
                env["TOOLMARK_TEST_LONG"] = "1"
            self.cargo.tests(self.report, env, self.options.long)
        elif stage == "clients":
            self.play(stage, only, ["sqlite", "postgres"])
        elif stage == "peers":
            self.scripts.program = self.cargo.program()
            for name, (folder, file, minutes) in clients.PEERS.items():
                if only is None or name in only:
                    self.scripts.play(self.report, name, folder, file, minutes, "", "probe", self.data)
        elif stage == "browser":
            self.play(stage, only, ["sqlite"])
        elif stage == "api-fuzz":
            self.play(stage, only, ["valid"])
        elif stage == "generated":
            generated.check(self.report, REPO, self.cargo.program(), self.logs, self.deadline)
        elif stage == "text":
            text_rules.check(self.report, REPO)
        elif stage == BENCH:
            self.bench()

    def play(self, stage, only, registries):
        missing = [name for name in (clients.CORPUS, clients.VERDICTS) if not (self.data / name).is_file()]
        for kind in registries:
            url = None if missing else self.registry(kind)
            for name, (folder, file, minutes) in scripts_of(stage).items():
                if only is not None and name not in only:
                    continue
                if missing:
                    self.report.skip(f"{name}[{kind}]", f"no {', '.join(missing)} in {self.data}")
                else:
                    self.scripts.play(self.report, name, folder, file, minutes, url, kind, self.data)

    def registry(self, kind):
        """Running registries, shared by the stages (journeys that write use names of their own): on SQLite, on
        PostgreSQL, and one on SQLite that holds valid documents only."""
        if kind not in self.urls:
            corpus, database = self.data / clients.CORPUS, None
            if kind == "postgres":
                database = self.env["TOOLMARK_TEST_POSTGRES_URL"].rsplit("/", 1)[0] + "/journeys"
            elif kind == "valid":
                corpus = clients.valid_corpus(self.data, self.temp / "valid.jsonl")
            self.urls[kind] = self.services.registry(f"toolmark-{kind}", self.cargo.program(), corpus, database)
        return self.urls[kind]

    def bench(self):
        if not self.cargo.has_benches():
            self.report.ignored(BENCH, "there is no bench target")
            return
        program = self.cargo.program(release=True)
        said = self.cargo.bench(self.report, TOOLMARK_TEST_PROGRAM=str(program), **self.env)
        for match in filter(None, map(SKIPPED.search, said.splitlines())):
            self.report.skip(f"bench::{match[1]}", match[2])
        say("\n".join(f"   {line}" for line in said.splitlines() if not line.startswith(" ")))


def only_run():
    """One run at a time in one tree: two would write the same logs and tools. The lock ends with the process."""
    TARGET.mkdir(parents=True, exist_ok=True)
    lock = open(TARGET / "test-run.lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SystemExit(f"another run is at work in {TARGET}") from None
    return lock


def stopped(_signal, _frame):
    raise KeyboardInterrupt


def main():
    options = arguments()
    if options.list:
        show_list()
        return 0
    chosen(options)  # a wrong name is said before anything is installed
    for sign in STOPS:
        signal.signal(sign, stopped)
    lock = only_run()
    # Services run as another user below it, so it can be passed through but not listed.
    temp = Path(tempfile.mkdtemp(prefix="toolmark-test-"))
    temp.chmod(0o711)
    run_ = Run(options, temp)
    try:
        run_.everything()
    except KeyboardInterrupt:
        run_.report.fail("run", "interrupted")
    finally:
        # A second Ctrl-C must not leave services behind; each stop has its own time limit.
        for sign in STOPS:
            signal.signal(sign, signal.SIG_IGN)
        run_.services.stop()
        lock.close()
        if options.keep:
            say(f"\nkept: {temp}")
        else:
            shutil.rmtree(temp, ignore_errors=True)
    say(f"\nlogs: {run_.logs}")
    return run_.report.finish()
