from lib import programs
from lib.outcome import Checks

TITLE = "Which of the compiled methods hurts"
MUST = "the methods whose compilation costs more than it gains, and no other"
PUBLISHED = "hoped for: –"
HERE = programs.HERE / "D3"
PAGES = 5_000
METHODS = [*(f"cell_{i}" for i in range(6)), "legend", "footer"]
# They have no loop, and are long to compile.
HURT = {"legend", "footer"}
JIT = ["--mjit", "--mjit-wait", "--mjit-min-calls=50"]


def prepare():
    return programs.patched(programs.mjit_ruby(), HERE / "listed-methods.patch", goal="ruby")


def run(genba):
    tree = prepare()
    line = ["env", "RUBY_MJIT_METHODS={ITEMS}", *programs.ruby_words(tree), *JIT, HERE / "page.rb", PAGES]
    found = genba.ask(
        "bisect", "set", "-N", "--metric", "cpu", "--budget", "480s", "--items", ",".join(METHODS), "--", *line
    )
    genba.show()
    check = Checks()
    named = {name for one in found["culprits"] for name in one["elements"] or [one["name"]]}
    # The screening's effects have intervals of their own; what is named has been compared alone, too.
    costs = {one["name"]: one["effect"] for one in found["ranking"] if one["effect"]["low"] > 0}
    check(f"nothing else is blamed: {', '.join(sorted(named | set(costs))) or 'nothing'}", named | set(costs) <= HURT)
    check("each of the two costs CPU time", set(costs) == HURT)
    hidden = "the budget was spent before a comparison confirmed them" if found["outcome"] != "found" else None
    check.unless_hidden("both are confirmed, each alone", named == HURT, hidden)
    said = ", ".join(f"{name} +{cost['value']:.2f} s" for name, cost in costs.items())
    return check.outcome(f"{said} of CPU time a run" if said else "nothing", said or "–")
