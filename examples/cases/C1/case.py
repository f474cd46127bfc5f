import os

from lib import programs
from lib.outcome import Checks, value

TITLE = "Six key–value stores, writing and reading a million records"
MUST = "one table, systems × operations, ranks that the data supports, what it does not show"
PUBLISHED = "Tokyo Cabinet's hash wins"
SUITE = programs.ROOT / "examples/key-value-stores/suite.toml"
SYSTEMS = 9
# Enough to tell sixteen variants from the first at 5 % for all of them together, whatever the
# machine does beside: CPU time is compared, and runs are interleaved.
BLOCKS = 12
BEST = "tokyocabinet-hash"
# A CDB is written once, as a whole: it does not compete with stores that can be changed later.
NO_RIVAL = "cdb"
RECORDS = 1_000_000
# Debian's build of Tokyo Cabinet calls sched_yield after every record. Alone that costs a system
# call; beside other work every call hands the processor over, and coming back with cold caches
# counts as CPU time of the store. With more involuntary switches per record than this the CPU
# time is not the store's own.
SWITCHES_PER_RECORD = 0.05


def prepare():
    programs.packages(
        "libtokyocabinet-dev", "libqdbm-dev", "libdb5.3-dev", "libgdbm-compat-dev", "libtdb-dev", "libcdb-dev"
    )


def run(genba):
    # In memory, so that waiting for a disk is not compared.
    memory = {"TMPDIR": "/dev/shm"} if os.access("/dev/shm", os.W_OK) else {}
    measured = genba.ask("bench", SUITE, "-r", BLOCKS, env=memory)
    genba.show()
    check = Checks()
    winners = {}
    for operation in ["write", "read"]:
        cpu = {
            v["name"].removeprefix(f"{operation}: "): value(v["metrics"]["cpu"]["median"])
            for v in measured["variants"]
            if v["name"].startswith(f"{operation}: ")
        }
        check(f"{operation}: {len(cpu)} systems", len(cpu) == SYSTEMS)
        winners[operation] = min((name for name in cpu if name != NO_RIVAL), key=cpu.get)
        told = {
            c["variant"].removeprefix(f"{operation}: "): c["verdict"]
            for c in measured["comparisons"]
            if c["metric"] == "cpu" and c["baseline"] == f"{operation}: {BEST}"
        }
        rivals = [name for name in cpu if name not in [BEST, NO_RIVAL]]
        slower = [name for name in rivals if told.get(name) == "slower"]
        best = next(v for v in measured["variants"] if v["name"] == f"{operation}: {BEST}")
        switches = value(best["metrics"]["involuntary_switches"]["median"]) / RECORDS
        hidden = None
        if switches > SWITCHES_PER_RECORD:
            hidden = f"it yields the processor after each record (sched_yield), {switches:.2f} switches per record here"
        check.unless_hidden(
            f"{operation}: {BEST} beats {len(slower)} of {len(rivals)}", len(slower) == len(rivals) == 7, hidden
        )
    check("warned: all in the page cache", "page cache" in " ".join(measured["notes"]))
    said = f"write {winners['write']}, read {winners['read']}"
    return check.outcome(said, said)
