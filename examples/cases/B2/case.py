from lib import programs
from lib.outcome import Checks, value

TITLE = "What a string costs: its creation and its share of garbage collection"
MUST = "a table of what each part costs per iteration, user and system apart, adding up or not"
PUBLISHED = "creation 40 ns, GC 9–20 ns"
HERE = programs.HERE / "B2"
ROUNDS = 5_000_000


def prepare():
    programs.packages("ruby3.1")


def run(genba):
    ruby = "ruby3.1 --disable-gems"
    found = genba.ask(
        "ablate", "-N", "--metric", "user", "--per-iteration", ROUNDS, "--budget", "40s",
        "--without", f"gc: {ruby} {HERE / 'without-gc.rb'}",
        "--without", f"literal: {ruby} {HERE / 'frozen.rb'}",
        "--all-off", f"{ruby} {HERE / 'frozen.rb'}",
        "--", *ruby.split(), HERE / "literal.rb",
    )
    genba.show()
    check = Checks()
    parts = {part["name"]: {cost["metric"]: cost for cost in part["costs"]} for part in found["components"]}
    gc, literal = (parts[name]["user"]["cost"] for name in ("gc", "literal"))
    check(f"the literal with its collection: {value(literal) * 1e9:.1f} ns of user time", literal["low"] > 0)
    check(f"garbage collection: {value(gc) * 1e9:.1f} ns of it", 0 < gc["low"] and gc["high"] < literal["high"])
    check("memory that is not used again costs system time", value(parts["gc"]["system"]["cost"]) < 0)
    check("user and system apart", {"user", "system"} <= set(parts["gc"]))
    check("and what is left, the loop", any(value(cost["cost"]) > 0 for cost in found["residual"]))
    said = f"{value(literal) * 1e9:.0f} ns a literal, {value(gc) * 1e9:.0f} ns of them its collection"
    return check.outcome(said, f"creation {(value(literal) - value(gc)) * 1e9:.0f} ns, GC {value(gc) * 1e9:.0f} ns")
