import json
import os
import subprocess
import tempfile
from pathlib import Path

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
# Debian's build of Tokyo Cabinet calls sched_yield after every record. Where entering the kernel is
# dear, or other work waits for the processor, that decides the ranks. They are then those of user
# time, if `explain` names the call.
YIELD = "sched_yield"


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
    notes = []
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
        all_slower = len(slower) == len(rivals) == 7
        hidden = None if all_slower else yields(genba, operation, rivals, measured)
        words = f"{operation}: {BEST} beats {len(slower)} of {len(rivals)}"
        if check(f"{words}: {hidden}" if hidden else words, all_slower or hidden) and hidden:
            notes.append(f"{operation}: {hidden}.")
    check("warned: all in the page cache", "page cache" in " ".join(measured["notes"]))
    said = f"write {winners['write']}, read {winners['read']}"
    return check.outcome(said, said, " ".join(notes))


def yields(genba, operation, rivals, measured):
    """How the yields hide the winner: it needs least user time, and `explain` names them; else None."""
    user = {
        v["name"].removeprefix(f"{operation}: "): v["metrics"]["user"]["median"]
        for v in measured["variants"]
        if v["name"].startswith(f"{operation}: ")
    }
    if any(value(user[BEST]) >= value(user[rival]) for rival in rivals):
        return None
    driver = SUITE.parent / "build" / f"kv-{BEST}"
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        store = Path(folder) / "store"
        if operation == "read":
            subprocess.run([driver, "write", store, str(RECORDS)], check=True, stdout=subprocess.DEVNULL)
        explained = genba.ask("explain", "--", driver, operation, store, RECORDS)
    named = [f for f in explained["findings"] if f["cause"] == "excess-syscalls" and YIELD in json.dumps(f["evidence"])]
    if not named:
        return None
    gain = value(named[0]["predicted_speedup"])
    return f"it needs the least user time, and spends the rest in {YIELD} ({gain:.2f}× faster without, by explain)"
