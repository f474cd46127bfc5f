from lib import programs
from lib.outcome import Checks, times, verdict

TITLE = "Time#subsec: a division by a constant, which is none"
MUST = "no advice to replace a division; the rewrite makes no difference larger than δ"
PUBLISHED = "none"
HERE = programs.HERE / "A2"
DELTA = 0.03
ROUNDS = 5_000_000
COUNTED = 1_000_000


def prepare():
    tree = programs.miniruby()
    return tree, programs.patched(tree, HERE / "remainder.patch")


def run(genba):
    tree, rewritten = prepare()
    explained = genba.ask("explain", "--", tree / "miniruby", HERE / "subsec.rb", ROUNDS)
    genba.show()
    check = Checks()
    there = [f["cause"] for f in explained["findings"] if "time.c" in (f["site"]["file"] or "")]
    check("no finding in time.c", not there)
    check("no finding about a division", not any("divi" in f["cause"] for f in explained["findings"]))
    code = genba.ask("annotate", "-i", "latest", "time_subsec")
    genba.tell("annotate", "-i", "latest", "time_subsec")
    words = [i["text"].split()[0] for i in code["instructions"] if i["count"]]
    check("a multiplication is there instead of the division", "imul" in words and "idiv" not in words)

    line = f"{HERE / 'subsec.rb'} {ROUNDS}"
    judged = genba.ask(
        "bench", "-N", "--metric", "user", "--delta", f"{DELTA:.0%}", "--budget", "60s", "--check-output",
        "-n", "quotient", f"{tree}/miniruby {line}", "-n", "remainder", f"{rewritten}/miniruby {line}",
    )
    genba.show()
    proven = verdict(judged, "remainder", "user")
    # Counted there is no luck: four instructions more for each call of subsec, 1 %. Time has some: the
    # pages that a program's file lies in decide 5 % of it, so that it may look slower, faster never.
    before, after = (
        genba.ask("count", "--", program / "miniruby", HERE / "subsec.rb", COUNTED)["instructions"]
        for program in (tree, rewritten)
    )
    more = after / before - 1
    check(f"instructions, counted: {more:+.1%}, no difference larger than {DELTA:.0%}", abs(more) < DELTA)
    check(f"no gain: no difference larger than {DELTA:.0%}, or slower", proven["verdict"] in ["same", "slower"])
    return check.outcome(f"no division in the machine code; the rewrite: {proven['verdict']}", times(proven, 3))
