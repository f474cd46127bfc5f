from lib import programs
from lib.outcome import Checks, times, value, verdict

TITLE = "A mend of the compile time, and the time of requests"
MUST = "compile time faster, pages a second not: two metrics, two verdicts"
PUBLISHED = "methods over 0.5 s gone; requests as before"
HERE = programs.HERE / "D6"


def prepare():
    tree = programs.mjit_ruby()
    return tree, programs.patched(tree, HERE / "less-optimised.patch", goal="ruby")


def run(genba):
    before, after = prepare()

    def variant(tree):
        words = [*programs.ruby_words(tree), "--mjit", "--mjit-min-calls=400", HERE / "page.rb", "0.1"]
        return " ".join(map(str, words))

    check = Checks()
    # What decides when to stop is the mended metric; every other one has a verdict of its own.
    judged = genba.ask(
        "bench", "-N", "--metric", "beside_cpu", "--metric-regex", "pages:1/s:more=pages/s=([0-9.]+)",
        "--delta", "5%", "--budget", "90s", "-n", "before", variant(before), "-n", "after", variant(after),
    )
    genba.show()
    compiling, pages = (verdict(judged, "after", metric) for metric in ("beside_cpu", "pages"))
    check("the compilers' CPU time is less", compiling["verdict"] == "faster")
    check(f"pages a second: {pages['verdict']}, not faster", pages["verdict"] in ["same", "slower", "undecided"])
    more = value(pages["ratio"])
    check("nor anything near the gain of the other", more < 1 + (1 / value(compiling["ratio"]) - 1) / 2)
    said = f"compilers {compiling['verdict']}, pages {pages['verdict']}"
    return check.outcome(said, f"compilers {times(compiling)}; pages {more:.2f}×")
