from lib import programs
from lib.outcome import Checks, times, value, verdict

TITLE = "A mend of the compile time, and the time of requests"
MUST = "compile time faster, pages a second not: two metrics, two verdicts"
PUBLISHED = "methods over 0.5 s gone; requests as before"
HERE = programs.HERE / "D6"
DELTA = 0.05


def prepare():
    tree = programs.mjit_ruby()
    return tree, programs.patched(tree, HERE / "less-optimised.patch", goal="ruby")


def run(genba):
    before, after = prepare()

    def variant(tree):
        words = [*programs.ruby_words(tree), "--mjit", "--mjit-min-calls=400", HERE / "page.rb", "0.1"]
        return " ".join(map(str, words))

    check = Checks()
    # What decides when to stop is the metric that changes least; every other one has a verdict of
    # its own.
    judged = genba.ask(
        "bench", "-N", "--metric", "pages", "--metric-regex", "pages:1/s:more=pages/s=([0-9.]+)",
        "--delta", f"{DELTA:.0%}", "--budget", "120s", "-n", "before", variant(before), "-n", "after", variant(after),
    )
    genba.show()
    compiling, pages = (verdict(judged, "after", metric) for metric in ("children_cpu", "pages"))
    check("the compilers' CPU time is less", compiling["verdict"] == "faster")
    more, most = value(pages["ratio"]), pages["ratio"]["high"]
    check(f"pages a second: {pages['verdict']}, at most {most:.3f}×: no gain beyond {DELTA:.0%}", most < 1 + DELTA)
    check("which is less than the least gain of the other", most < 1 / compiling["ratio"]["high"])
    said = f"compilers {compiling['verdict']}, pages {pages['verdict']}"
    return check.outcome(said, f"compilers {times(compiling)}; pages {more:.2f}×")
