from lib import programs
from lib.outcome import Checks, findings_of, times, value, verdict

TITLE = "A division used only to check a product for overflow"
MUST = "no division left in xcalloc; put back it is named, and costs next to nothing here"
PUBLISHED = "1.16×"
HERE = programs.HERE / "A1"
CAUSE = "division-as-overflow-check"
# Far below what the author gained.
DELTA = 0.05


def prepare():
    tree = programs.miniruby()
    return tree, programs.patched(tree, HERE / "division.patch")


def executed(annotation):
    """Mnemonics that ran."""
    return [i["text"].split()[0] for i in annotation["instructions"] if i["count"]]


def run(genba):
    tree, divides = prepare()
    check = Checks()

    # The author's own line: Hash.new asks for no memory beside the object any more.
    explained = genba.ask("explain", "--", tree / "miniruby", HERE / "new_hash.rb", 1_000_000)
    genba.show()
    check("the author's line: no division named", not any("div" in f["cause"] for f in explained["findings"]))
    profile = genba.ask("report", "-i", "latest", "--limit", "0", "--percent-limit", "0")
    calls = {f["function"]: f.get("calls") or 0 for f in profile["functions"]}.get("ruby_xcalloc_body", 0)
    check(f"xcalloc is called {calls:,} times for 1,000,000 objects", calls < 100_000)

    # An object for which it still is called once.
    genba.ask("explain", "--", tree / "miniruby", HERE / "new_mutex.rb", 1_000_000)
    today = executed(genba.ask("annotate", "-i", "latest", "ruby_xcalloc_body"))
    check("xcalloc as gcc 12 makes it: mul and jo, no div", {"mul", "jo"} <= set(today) and "div" not in today)
    genba.tell("annotate", "-i", "latest", "ruby_xcalloc_body")

    forced = genba.ask("explain", "--", divides / "miniruby", HERE / "new_mutex.rb", 1_000_000)
    genba.show()
    code = genba.ask("annotate", "-i", "latest", "ruby_xcalloc_body")
    genba.tell("annotate", "-i", "latest", "ruby_xcalloc_body")
    divisions = [i for i in code["instructions"] if i["text"].startswith("div") and i["count"]]
    check("with the division forced: div in xcalloc", len(divisions) == 1)
    # An instruction's share is of its function, a function's is of the program.
    share = value(divisions[0]["share"]) * value(code["share"]) if divisions else 1
    check(f"it takes {share:.1%} of the time", share < 0.02)
    named = findings_of(forced, CAUSE, "ruby_xcalloc_body") + findings_of(forced, CAUSE, "xmalloc2_size")
    check(
        f"explain names it, or says that nothing is worth more than {forced['min_gain']:.1%}",
        named or share < forced["min_gain"],
    )

    line = f"{HERE / 'new_mutex.rb'} 1000000"
    # Ends as soon as it is decided; a machine that is busy takes three times as many pairs.
    judged = genba.ask(
        "bench", "-N", "--metric", "user", "--delta", f"{DELTA:.0%}", "--budget", "150s",
        "-n", "division", f"{divides}/miniruby {line}", "-n", "product", f"{tree}/miniruby {line}",
    )
    genba.show()
    proven = verdict(judged, "product", "user")
    check(f"no difference larger than {DELTA:.0%} in user time", proven["verdict"] == "same")
    words = f"nothing to gain: mul and jo; forced, div takes {share:.1%} of the time; verdict {proven['verdict']}"
    return check.outcome(words, times(proven, 3), NOTE)


NOTE = (
    "does not reproduce here, as it must: gcc 12 makes the check of Debian's source mul and jo, Hash.new "
    "asks for no memory, and this processor divides in about 10 cycles where Ivy Bridge took 29 to 94."
)
