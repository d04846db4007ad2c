"""Rules about the text of tracked files: what must never be committed, and what the README must show."""

import re
import subprocess
from pathlib import Path

from runner.process import Failed

# Written so that no pattern finds itself here.
FORBIDDEN = [
    ("a package registry's host", re.compile(
        r"registry\.np[m]js\.org|registry\.yarnp[k]g\.com|python[h]osted\.org|(?<!docs)[/@.]pyp[i]\.org"
        r"|(?:index|static)\.crate[s]\.io|[/@.]crate[s]\.io/api|api\.nuge[t]\.org")),
    ("a path of one machine", re.compile(r"/(?:work|farm)/|/tmp/[h]elpers")),
    ("key material", re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE [K]EY-----|\bgh[opsu]_[A-Za-z0-9]{36}|\bAKI[A][0-9A-Z]{16}\b|\bnp[m]_[A-Za-z0-9]{36}")),
    ("an unresolved merge", re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)),
]
README_COMMANDS = ["cargo run --release -- serve --starter", "./tests/run"]
EXECUTABLE = ["tests/run", ".ci/run"]


def tracked(repo):
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=repo, capture_output=True, timeout=60, check=False)
    if listed.returncode != 0:
        raise Failed("`git ls-files` failed: the text rules look at tracked files", listed.stderr.decode())
    return [name for name in listed.stdout.decode().split("\0") if name]


def check(report, repo):
    names = tracked(repo)
    texts = {}
    for name in names:
        path = repo / name
        if path.is_file() and not path.is_symlink():
            texts[name] = path.read_bytes().decode("utf-8", "replace")
    patterns = [*FORBIDDEN, ("the path of this checkout", re.compile(re.escape(str(repo)) + r"\b"))]
    home = str(Path.home())
    if home not in ("/", "/root"):
        patterns.append(("the path of this home folder", re.compile(re.escape(home) + r"\b")))
    for title, pattern in patterns:
        found = [f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
                 for name, text in texts.items() for match in pattern.finditer(text)]
        settle(report, f"text::no_{title.replace(' ', '_')}", f"{title} in tracked files", found)
    readme = texts.get("README.md", "")
    settle(report, "text::readme_shows_the_two_commands", "README.md lacks a command",
           [command for command in README_COMMANDS if command not in readme])
    settle(report, "text::scripts_can_be_run", "no run bit",
           [name for name in EXECUTABLE if not (repo / name).exists() or not (repo / name).stat().st_mode & 0o111])


def settle(report, name, why, found):
    if found:
        report.fail(name, why, "\n".join(found))
    else:
        report.ok(name)
