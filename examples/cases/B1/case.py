from lib import programs
from lib.outcome import Checks, value, verdict

TITLE = "A string literal against a frozen one and the empty loop"
MUST = "cost per iteration with interval, the empty loop off: a literal costs, a frozen one hardly"
PUBLISHED = "1.64 against 0.77 s: 2.1×"
HERE = programs.HERE / "B1"
ROUNDS = 1_000_000


def prepare():
    programs.packages("ruby3.1")


def counted(genba, what):
    """Instructions of so many iterations that assign this."""
    script = f'str = "a"; i = 0; while i < {ROUNDS}; i += 1; str = {what}; end'
    return genba.ask("count", "--", "ruby3.1", "--disable-gems", "-e", script)["instructions"]


def run(genba):
    judged = genba.ask(
        "bench", "--metric", "user", "--budget", "30s", "-e", "ruby::ruby3.1", HERE / "strings.yml"
    )
    genba.show()
    check = Checks()
    literal, frozen = verdict(judged, "literal", "user"), verdict(judged, "frozen", "user")
    check.verdict("a literal is slower than the variable itself", literal, "slower")
    # Counts have no noise, so the sizes are judged by them: about 31 instructions per iteration
    # for a frozen literal, 287 for a literal.
    same, still, made = (counted(genba, what) for what in ("str", '"a".freeze', '"a"'))
    more = (
        f"{(still - same) / ROUNDS:.0f} instructions more per iteration for a frozen literal, "
        f"{(made - same) / ROUNDS:.0f} for a literal"
    )
    check(f"{more}, counted", still - same < (made - same) / 8)
    times = next(v for v in judged["variants"] if v["name"] == "literal")["metrics"]
    each = times["per_iteration_user"]["median"]
    low, high = each["low"] * 1e9, each["high"] * 1e9
    check(f"{low:.0f} to {high:.0f} ns per literal, the empty loop subtracted", low <= each["value"] * 1e9 <= high)
    check("user, system and wall time side by side", {"user", "system", "wall"} <= set(times))
    said = f"a literal costs {value(each) * 1e9:.0f} ns; frozen: {frozen['verdict']}"
    return check.outcome(said, f"{value(literal['ratio']):.1f}× with the loop")
