"""Files that a program writes and people read: each must be what the program would write today."""

import difflib
import os

from runner.process import run

# tracked file → the arguments of `toolmark` that print it
GENERATED = {
    "deploy/toolmark.toml": ["config", "show", "--sample"],
}


def check(report, repo, program, logs, deadline):
    # What this machine is set to must not reach the file.
    env = {key: value for key, value in os.environ.items() if not key.startswith("TOOLMARK_")}
    for name, arguments in GENERATED.items():
        title = f"generated::{name}"
        limit = deadline.limit(60)
        ended = run([program, *arguments], logs / "generated.log", limit, env=env, cwd=logs)
        if ended.code != 0:
            report.fail(title, f"`toolmark {' '.join(arguments)}`: {ended.why(limit)}", ended.output)
            continue
        path = repo / name
        stored = path.read_text("utf-8") if path.exists() else ""
        if stored == ended.output:
            report.ok(title)
        else:
            diff = difflib.unified_diff(stored.splitlines(), ended.output.splitlines(), name, "written today", "", "", 3, "")
            report.fail(title, f"stale: write it anew with `toolmark {' '.join(arguments)} > {name}`", "\n".join(diff))
