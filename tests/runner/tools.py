"""What the tests need from outside, installed when it is missing: Debian, npm and PyPI packages.

Which package clients' registries are used is the clients' own business (npm's, pip's and apt's settings)."""

import hashlib
import os
import shutil
import sys
from pathlib import Path

from runner.process import Failed, must, run
from runner.report import say

# What must be there → the Debian package that brings it. A path with `*` is a pattern.
DEBIAN = {
    "postgres": [("/usr/lib/postgresql/*/bin/initdb", "postgresql")],
    "npm": [("node", "nodejs"), ("npm", "npm")],
    "browser": [("chromium", "chromium"), ("chromedriver", "chromium-driver")],
    "sandbox": [("bwrap", "bubblewrap"), ("setpriv", "util-linux")],
    "bench": [("wrk", "wrk")],
    "feeds": [("xmllint", "libxml2-utils")],
}
APT_LIMIT, NPM_LIMIT, PIP_LIMIT = 900, 600, 600


def present(what):
    if what.startswith("/"):
        return any(Path("/").glob(what.lstrip("/")))
    return shutil.which(what) is not None


class Tools:
    def __init__(self, repo, target, logs, deadline):
        self.repo, self.logs, self.deadline = repo, logs, deadline
        self.folder = target / "test-tools"
        self.npm_folder = self.folder / "npm"
        self.venv = self.folder / "python"
        # The second line of the Python SDK, which cannot live beside the first.
        self.modern_venv = self.folder / "python-modern"

    def debian(self, needs):
        missing = sorted({
            package for need in needs for what, package in DEBIAN.get(need, []) if not present(what)
        } | self.missing_venv(needs))
        if not missing:
            return
        install = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
        typed = "apt-get update && " + " ".join(install)
        if os.geteuid() != 0:
            raise Failed(f"missing Debian packages: type `sudo sh -c '{typed}'`, then try again")
        if shutil.which("apt-get") is None:
            raise Failed(f"missing programs, and there is no apt-get here; on Debian it would be `{typed}`")
        say(f"   installing Debian packages: {', '.join(missing)}")
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        # An update that half fails (one dead mirror) may still do; the install decides.
        run(["apt-get", "update"], self.logs / "apt-update.log", self.deadline.limit(APT_LIMIT), env=env)
        must(install, self.logs / "apt-install.log", self.deadline.limit(APT_LIMIT), env=env)

    @staticmethod
    def missing_venv(needs):
        """Debian ships Python without what `venv` needs to put pip into a new environment."""
        if "pypi" not in needs:
            return set()
        try:
            import ensurepip  # noqa: F401
        except ImportError:
            return {"python3-venv"}
        return set()

    def npm(self):
        """The pinned packages, and with them the pinned Node that runs them."""
        source = self.repo / "tests" / "tools"
        files = [source / "package.json", source / "package-lock.json"]
        if self.fresh(self.npm_folder, files):
            return
        say("   installing npm packages of tests/tools/package-lock.json")
        self.empty(self.npm_folder)
        for file in files:
            shutil.copy(file, self.npm_folder)
        must(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], self.logs / "npm.log",
             self.deadline.limit(NPM_LIMIT), cwd=self.npm_folder)
        self.done(self.npm_folder, files)

    def pypi(self):
        for folder, pins in ((self.venv, "requirements.txt"), (self.modern_venv, "requirements-modern.txt")):
            files = [self.repo / "tests" / "tools" / pins]
            if self.fresh(folder, files):
                continue
            say(f"   installing PyPI packages of tests/tools/{pins}")
            self.empty(folder)
            must([sys.executable, "-m", "venv", folder], self.logs / "venv.log", self.deadline.limit(120))
            must([folder / "bin" / "pip", "install", "--no-input", "--disable-pip-version-check", "-r", files[0]],
                 self.logs / "pip.log", self.deadline.limit(PIP_LIMIT))
            self.done(folder, files)

    def node(self):
        for folder in sorted(self.npm_folder.glob("node_modules/node-linux-*")):
            if (folder / "bin" / "node").exists():
                return folder / "bin" / "node"
        raise Failed("no pinned Node for this machine's processor in tests/tools/package.json")

    def python(self):
        return self.venv / "bin" / "python"

    def modern_python(self):
        return self.modern_venv / "bin" / "python"

    # A folder counts only with the mark of a finished install of exactly these pins; else it is made anew.
    @staticmethod
    def mark(files):
        digest = hashlib.sha256(sys.version.encode())
        for file in files:
            digest.update(file.read_bytes())
        return digest.hexdigest()

    def fresh(self, folder, files):
        mark = folder / ".complete"
        return mark.exists() and mark.read_text() == f"{self.mark(files)} {folder}"

    def done(self, folder, files):
        (folder / ".complete").write_text(f"{self.mark(files)} {folder}")

    @staticmethod
    def empty(folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
