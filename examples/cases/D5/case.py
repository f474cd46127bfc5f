import os
import shutil
import subprocess
from pathlib import Path

from lib import programs
from lib.outcome import Checks, value

TITLE = "Which part of a generated C file its compile time goes to"
MUST = "the block of invokesuper, within two minutes, regions ranked by what each saves"
PUBLISHED = "0.92 → 0.14 s: 6.6×"
HERE = programs.HERE / "D5"
# As MJIT calls it, without its own paths.
COMPILE = ["gcc", "-w", "-fPIC", "-O3", "-c", "{FILE}", "-o", "/dev/null"]


def prepare():
    """The C file that MJIT makes of Page#render."""
    programs.packages("ruby3.1", "ruby3.1-dev", "gcc")
    header = next(iter(sorted(Path("/usr/include").glob("**/rb_mjit_min_header-*.h"))), None)
    if header is None:
        raise programs.CannotBuild("ruby3.1-dev has no rb_mjit_min_header here")
    folder = programs.target() / "D5"
    kept = folder / "render.c"
    if kept.exists():
        return kept
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    options = ["--mjit", "--mjit-wait", "--mjit-save-temps", "--mjit-min-calls=1000"]
    subprocess.run(
        ["ruby3.1", *options, HERE / "super.rb"], check=True, cwd=folder, env={**os.environ, "TMPDIR": str(folder)}
    )
    made = [path for path in folder.glob("_ruby_mjit_p*.c") if "label_" in path.read_text()]
    chosen = next((path for path in made if "invokesuper" in path.read_text()), None)
    if chosen is None:
        raise programs.CannotBuild("MJIT left no C file of Page#render with --mjit-save-temps")
    # MJIT includes a precompiled copy of the header, which goes away with the process.
    lines = chosen.read_text().splitlines(keepends=True)
    kept.write_text("".join([f'#include "{header}"\n', *lines[1:]]))
    return kept


def run(genba):
    file = prepare()
    found = genba.ask("bisect", "source", "--metric", "user", "--budget", "110s", file, "--", *COMPILE)
    genba.show()
    check = Checks()
    lines = file.read_text().splitlines()
    first = next(i for i, line in enumerate(lines, 1) if "/* invokesuper */" in line)
    last = next(i for i, line in enumerate(lines[first:], first + 1) if line == "}")
    # The whole function is a region as well, and nothing is left to compile without it.
    parts = [part for part in found["ranking"] if part["depth"] > 0]
    nothing = {"line": 0, "end_line": 0, "share": {"value": 0, "low": 0, "high": 0}}
    best = max(parts, key=lambda part: value(part["share"]), default=nothing)
    inside = first <= best["line"] and best["end_line"] <= last
    check(f"the costliest region is in the block of invokesuper, lines {first}–{last}", inside)
    check("the block itself is ranked", any("invokesuper" in part["name"] for part in parts))
    # The innermost region that has most of it: the block, or the statement in it that is inlined so widely.
    sure = [part for part in parts if part["verified"] and first <= part["line"] and part["end_line"] <= last]
    name = sure[0]["name"] if sure else "none"
    check(f"and the culprit is verified: {name}", found["outcome"] == "found" and len(sure) == 1)
    least = best["share"]["low"]
    check(f"without it the file takes {least:.0%} less at the least", least > 0.5)
    check(f"within two minutes: {found['elapsed_seconds']:.0f} s", found["elapsed_seconds"] < 120)
    runs, regions = found["runs"], found["candidates"]
    check(f"in fewer compiles ({runs}) than regions ({regions})", runs < regions)
    times = 1 / (1 - value(best["share"]))
    said = f"invokesuper: {times:.1f}× faster without it, {found['runs']} compiles ({found['outcome']})"
    return check.outcome(said, f"{times:.1f}×")
