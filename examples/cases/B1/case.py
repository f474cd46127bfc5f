from lib import programs
from lib.outcome import Checks, value, verdict

TITLE = "A string literal against a frozen one and the empty loop"
MUST = "cost per iteration with interval, the empty loop off: a literal costs, a frozen one does not"
PUBLISHED = "1.64 against 0.77 s: 2.1×"
HERE = programs.HERE / "B1"


def prepare():
    programs.packages("ruby3.1")


def run(genba):
    judged = genba.ask(
        "bench", "--metric", "user", "--budget", "30s", "-e", "ruby::ruby3.1", HERE / "strings.yml"
    )
    genba.show()
    check = Checks()
    literal, frozen = verdict(judged, "literal", "user"), verdict(judged, "frozen", "user")
    check("a literal is slower than the variable itself", literal["verdict"] == "slower")
    near = frozen["ratio"]["low"] <= 1.05 and frozen["ratio"]["high"] >= 0.95
    check(f"a frozen one is not: {frozen['verdict']}", near and frozen["verdict"] != "slower")
    check("and is apart from the literal", frozen["ratio"]["high"] < literal["ratio"]["low"])
    times = next(v for v in judged["variants"] if v["name"] == "literal")["metrics"]
    each = times["per_iteration_user"]["median"]
    low, high = each["low"] * 1e9, each["high"] * 1e9
    check(f"{low:.0f} to {high:.0f} ns a literal, the empty loop taken off", 0 < low < high < 1000)
    check("user, system and wall time side by side", {"user", "system", "wall"} <= set(times))
    said = f"a literal costs {value(each) * 1e9:.0f} ns; frozen: {frozen['verdict']}"
    return check.outcome(said, f"{value(literal['ratio']):.1f}× with the loop")
