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

    # Where a file's pages lie in memory makes up to 5 % here; every run gets a copy of its own, so
    # that it is the program that is judged, not the place of one file.
    line = f"{HERE / 'subsec.rb'} {ROUNDS}"
    copies = {program / "miniruby": genba.folder / name for name, program in [("quotient", tree), ("remainder", rewritten)]}
    copying = [word for program, copy in copies.items() for word in ("-p", f"strip -o {copy} {program}")]
    quotient, remainder = copies.values()
    judged = genba.ask(
        "bench", "-N", "--metric", "cpu", "--delta", f"{DELTA:.0%}", "--budget", "60s", "--check-output", *copying,
        "-n", "quotient", f"{quotient} {line}", "-n", "remainder", f"{remainder} {line}",
    )
    genba.show()
    proven = verdict(judged, "remainder", "cpu")
    # Four instructions more for each call of subsec, 1 %.
    before, after = (
        genba.ask("count", "--", program / "miniruby", HERE / "subsec.rb", COUNTED)["instructions"]
        for program in (tree, rewritten)
    )
    more = after / before - 1
    check(f"instructions, counted: {more:+.1%}, no difference larger than {DELTA:.0%}", abs(more) < DELTA)
    # Slower by 1 or 2 % may be proven; a difference larger than that, or a gain, may not.
    small = abs(proven["ratio"]["value"] - 1) < DELTA and proven["verdict"] in ["same", "slower"]
    check(f"no difference larger than {DELTA:.0%}, and no gain: {proven['verdict']}", small)
    return check.outcome(f"no division in the machine code; the rewrite: {proven['verdict']}", times(proven, 3))
