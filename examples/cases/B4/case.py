from lib import programs
from lib.outcome import Checks, value, verdict

TITLE = "Concatenation of two strings, by the same subtraction"
MUST = "a + b costs about twice a literal, the loop taken off both"
PUBLISHED = "about 2×"
HERE = programs.HERE / "B4"


def prepare():
    programs.packages("ruby3.1")


def run(genba):
    judged = genba.ask(
        "bench", "--metric", "user", "--budget", "30s", "-e", "ruby::ruby3.1", HERE / "strings.yml"
    )
    genba.show()
    check = Checks()
    cost = {}
    for name in ["literal", "concatenated"]:
        check(f"{name} is slower than nothing", verdict(judged, name, "user")["verdict"] == "slower")
        metrics = next(v for v in judged["variants"] if v["name"] == name)["metrics"]
        cost[name] = metrics["per_iteration_user"]["median"]
        check(f"{name}: {value(cost[name]) * 1e9:.0f} ns, more than nothing", cost[name]["low"] > 0)
    ratio = value(cost["concatenated"]) / value(cost["literal"])
    check("a concatenation costs more than a literal", cost["concatenated"]["low"] > cost["literal"]["high"])
    dear, plain = (value(cost[name]) * 1e9 for name in ("concatenated", "literal"))
    return check.outcome(f"{dear:.0f} ns, a literal {plain:.0f} ns", f"{ratio:.1f}×")
