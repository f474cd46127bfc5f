import tempfile

from lib import programs
from lib.outcome import Checks

TITLE = "Calls per record in Tokyo Cabinet and Berkeley DB"
MUST = "self %, calls, calls per record and cost per call, without recompiling"
PUBLISHED = "43 and 76 calls a record"
RECORDS = 200_000


def prepare():
    return programs.berkeley_db() / "db-btree"


def by_name(counted):
    return {f["function"]: f for f in counted["functions"]}


def run(genba):
    berkeley = prepare()
    check = Checks()
    count = ["count", "--once", "--per", RECORDS, "--limit", "0"]
    with tempfile.TemporaryDirectory() as folder:
        # Debian's own binary, stripped; another comparator than the default one is called through the
        # pointer, as it was in the author's version.
        tokyo = ["tcbtest", "write", "-cd", f"{folder}/tcb", RECORDS]
        functions = by_name(genba.ask(*count, "--", *tokyo))
        genba.tell(*count[:-1], "8", "--", *tokyo)
        compared = functions["tccmpdecimal"]["calls"] / RECORDS
        check(f"tccmpdecimal: {compared:.2f} calls a record", compared > 1)

        written = [berkeley, "write", f"{folder}/db", RECORDS]
        functions = by_name(genba.ask(*count, "--", *written))
        genba.tell(*count[:-1], "8", "--", *written)
        usual = functions["__bam_defcmp"]["calls"] / RECORDS
        check(f"__bam_defcmp: {usual:.2f} calls a record", 10 < usual < 40)

        genba.ask("explain", "--ignore-failure", "--budget", "5", "--", berkeley, "read", f"{folder}/db", RECORDS)
        rows = by_name(genba.ask("report", "-i", "latest"))
        genba.tell("report", "-i", "latest", "--limit", "8")
        row = rows["__bam_defcmp"]
        check("self time and calls side by side", row["self"]["value"] > 0 and row.get("calls"))
        check("and what a call costs", row.get("cost_seconds") or row.get("each") or row.get("cost"))
    said = f"tccmpdecimal {compared:.1f}, __bam_defcmp {usual:.1f} calls a record"
    note = (
        "the versions of today call less: Tokyo Cabinet tests for its usual comparator and compares in "
        "place (the author's mend); examples/calls-per-record has the whole of it, with gprof beside it."
    )
    return check.outcome(said, f"{compared:.1f} and {usual:.1f} calls a record", note)
