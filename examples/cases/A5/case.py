from lib import programs
from lib.outcome import Checks, value, verdict

TITLE = "What a loop costs at the least"
MUST = "the empty loop as a baseline that others are charged against, per round"
PUBLISHED = "20.7 ns a round, times 2.5×"
HERE = programs.HERE / "A5"
ROUNDS = 20_000_000


def prepare():
    return programs.miniruby()


def run(genba):
    ruby = prepare() / "miniruby"

    def variant(name):
        return ["-n", name, f"{ruby} {HERE / name}.rb"]

    often = ["--metric", "user", "--per-iteration", ROUNDS, "--budget", "20s"]
    compared = genba.ask("bench", "-N", *often, *variant("empty"), *variant("times"))
    genba.show()
    check = Checks()
    costs = {(c["variant"], c["metric"]): c["cost"] for c in compared["iterations"]}
    loop, block = (value(costs[name, "user"]) * 1e9 for name in ("empty", "times"))
    check(f"the empty loop costs {loop:.1f} ns a round", 0 < loop < 100)
    dear = verdict(compared, "times", "user")
    check("a block called every round costs more than the loop", dear["verdict"] == "slower")

    # The loop taken off: what is left is what the body costs.
    charged = genba.ask(
        "bench", "-N", *often, "--subtract", "empty", *variant("empty"), *variant("call"), *variant("times")
    )
    genba.show()
    left = {(c["variant"], c["metric"]): c for c in charged["iterations"]}["times", "user"]
    low, high = left["cost"]["low"] * 1e9, left["cost"]["high"] * 1e9
    check(f"times costs {low:.1f} to {high:.1f} ns a round more than the empty loop", low > 0)
    check("which is the difference of the two", low * 0.9 <= block - loop <= high * 1.1)
    said = f"{loop:.1f} ns a round at the least; times {dear['verdict']}, {low:.1f}–{high:.1f} ns more"
    return check.outcome(said, f"{loop:.1f} ns a round, times {value(dear['ratio']):.1f}×")
