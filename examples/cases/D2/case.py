from lib import programs
from lib.outcome import Checks

TITLE = "How many methods a JIT may keep"
MUST = "the knee by at most 18 settings of the grid's 36; 1 to 8, one configuration, not told apart"
PUBLISHED = "a step, 8 → 16; flat from 32"
HERE = programs.HERE / "D2"
# MJIT keeps ten methods at the least, whatever it is told.
MINIMUM = 10
GRID = 36


def prepare():
    programs.packages("ruby3.1", "ruby3.1-dev", "gcc")


def run(genba):
    swept = genba.ask(
        "sweep", "--param", "N=1..1024:log2", "--metric", "pages", "--metric-regex", "pages:1/s:more=pages/s=([0-9.]+)",
        "--delta", "5%", "--budget", "180s", "--",
        "ruby3.1", "--mjit", "--mjit-min-calls=400", "--mjit-max-cache={N}", HERE / "page.rb", "0.2",
    )
    genba.show()
    check = Checks()
    settings = len(swept["points"])
    check(f"{settings} settings measured, of {GRID} of the published grid", settings <= GRID // 2)
    knees = swept["knees"]
    # Where the budget ended before the question was answered, genba says so.
    hidden = None
    if swept["end"] == "budget":
        hidden = f"the budget was spent first, a single page scatters by {swept['scatter'] or 0:.0%}"
    check.unless_hidden("one knee was found, a step", [knee["kind"] for knee in knees] == ["step"], hidden)
    sure = min((knee["confidence"] for knee in knees), default=0)
    check.unless_hidden(f"and confirmed: {sure:.1%}", sure >= 0.95, hidden)
    check("none below the JIT's minimum, 10", all(knee["high"] >= MINIMUM for knee in knees))
    check("none beyond the number of methods, 20", all(knee["low"] <= 32 for knee in knees))
    points = {point["value"]: point["metric"] for point in swept["points"]}
    few = [points[n] for n in (1, 2, 4, 8) if n in points]
    apart = any(a["low"] > b["high"] * 1.05 for a in few for b in few)
    check("1, 2, 4 and 8 do not differ", len(few) > 1 and not apart)
    gain = points[max(points)]["low"] / points[min(points)]["high"]
    most = points[max(points)]["high"] / points[min(points)]["low"]
    check.unless_hidden(f"all methods kept: {gain:.1f}× the pages at least", gain > 1.1, hidden if most > 1.1 else None)
    where = ", ".join(f"{k['kind']} between {k['low']:.0f} and {k['high']:.0f}" for k in knees) or "no knee"
    note = (
        "today's MJIT gains from every method that it keeps, so the knee is a gain and stands where all "
        "20 of this page's methods fit; its cache has a minimum of 10."
    )
    return check.outcome(f"{where}; {settings} settings", where, note)
