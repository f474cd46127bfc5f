from lib import programs
from lib.outcome import Checks

TITLE = "A small hot function that lives in another file than its caller"
MUST = "rb_yield_1: small, hot, called across files; LTO tried, and where it went"
PUBLISHED = "1.16×, into int_dotimes"
HERE = programs.HERE / "A4"
# Two files are built again, those of the callee and of the caller; the rest of the tree stays.
CLEAN = "rm -f miniruby vm.o numeric.o"


def prepare():
    return programs.miniruby()


def run(genba):
    tree = prepare()
    explained = genba.ask("explain", "--", tree / "miniruby", HERE / "times.rb")
    genba.show()
    check = Checks()
    rows = {f["function"]: f for f in genba.ask("report", "-i", "latest")["functions"]}
    callee = rows.get("rb_yield_1", {})
    check("rb_yield_1 is hot, with its calls counted", callee.get("calls") == 20_000_000)
    named = [f for f in explained["findings"] if f["cause"] == "tiny-callee-not-inlined"]

    tried = genba.ask(
        "try", "--with", "LTO", "--layouts", "0", "--metric", "user", "--budget", "300s",
        "--source", tree, "--build", "make miniruby", "--clean", CLEAN, "--",
        tree / "miniruby", HERE / "times.rb",
    )
    genba.show()
    lto = next(one for one in tried["tried"] if one["name"] == "LTO")
    check(f"LTO is judged: {lto['outcome']}", lto["outcome"] in ["gain", "slight", "same", "slower"])
    # The differential profile that `try` keeps of its winner and of its loser.
    changes = {f["function"].split(".")[0]: f for one in tried["differences"] for f in one["functions"]}
    moved = [m["into"] for m in changes.get("rb_yield_1", {}).get("moved", [])]
    check(f"rb_yield_1 went into {', '.join(moved) or 'nothing'}", any("int_dotimes" in into for into in moved))
    check(
        "explain named it, or LTO gains nothing",
        any(f["site"]["function"] == "rb_yield_1" for f in named) or lto["outcome"] in ["same", "slower"],
    )
    here = f"{1 / lto['ratio']['value']:.2f}×" if lto.get("ratio") else "–"
    return check.outcome(f"LTO: {lto['outcome']}; rb_yield_1 into {', '.join(moved)}", here, NOTE)


NOTE = (
    "inlined as then, but Ruby 3.1 does more on the way of a block: with gcc 12 the caller that has taken "
    "rb_yield_1 in executes 6 % more instructions a round, so that LTO of the two files gains nothing here."
)
