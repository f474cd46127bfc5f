from lib import programs
from lib.outcome import Checks

TITLE = "Compiled as ever, but what was compiled is never called"
MUST = "running compiled code makes no difference beyond δ; compiling beside it costs"
PUBLISHED = "4.74 → 4.64 s: none"
HERE = programs.HERE / "D4"
# Enough for all six methods of the page to be compiled, and called for a while after that.
PAGES = 10_000
# The program waits for its compilers: otherwise it depends on what else the machine does how many
# methods are ready to be called before it ends.
JIT = ["--mjit", "--mjit-wait"]


def prepare():
    tree = programs.mjit_ruby()
    return tree, programs.patched(tree, HERE / "never-called.patch", goal="ruby")


def run(genba):
    usual, never = prepare()
    page = programs.HERE / "D1/page.rb"

    def line(tree, *options):
        return " ".join(map(str, [*programs.ruby_words(tree), *options, page, PAGES]))

    found = genba.ask(
        "ablate", "-N", "--metric", "cpu", "--delta", "5%", "--budget", "90s",
        "--without", f"calling: {line(never, *JIT)}",
        "--without", f"compiling: {line(usual)}",
        "--all-off", line(usual),
        "--", *line(usual, *JIT).split(),
    )
    genba.show()
    check = Checks()
    parts = {part["name"]: {cost["metric"]: cost for cost in part["costs"]} for part in found["components"]}
    calling, compiling = (parts[name]["cpu"]["cost"] for name in ("calling", "compiling"))
    check.unless_hidden(
        f"calling what was compiled: {calling['low']:.2f} to {calling['high']:.2f} s of CPU time",
        max(abs(calling["low"]), abs(calling["high"])) < 0.3 * compiling["low"],
        "the interval is wide and contains 0" if calling["low"] <= 0 <= calling["high"] else None,
    )
    check.unless_hidden(
        f"compiling beside it: {compiling['low']:.2f} to {compiling['high']:.2f} s",
        compiling["low"] > 0,
        "the interval is wide" if compiling["value"] > 0 else None,
    )
    share = parts["compiling"]["cpu"]["share"] or {"low": 0, "high": 1}
    check.unless_hidden(
        f"which is where the cost is: {share['low']:.0%} of the CPU time at least",
        share["low"] > 0.4,
        f"up to {share['high']:.0%}" if share["high"] > 0.4 else None,
    )
    said = f"calling {calling['value']:+.2f} s, compiling {compiling['value']:+.2f} s of CPU time"
    return check.outcome(said, f"calling {calling['value']:+.2f} s of {compiling['value']:.2f} s")
