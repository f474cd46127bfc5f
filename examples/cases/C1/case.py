import os

from lib import programs
from lib.outcome import Checks, value

TITLE = "Six key–value stores, writing and reading a million records"
MUST = "one table, systems × operations, ranks that the data supports, what it does not show"
PUBLISHED = "Tokyo Cabinet's hash wins"
SUITE = programs.ROOT / "examples/key-value-stores/suite.toml"
SYSTEMS = 9


def prepare():
    programs.packages(
        "libtokyocabinet-dev", "libqdbm-dev", "libdb5.3-dev", "libgdbm-compat-dev", "libtdb-dev", "libcdb-dev"
    )


def run(genba):
    # In memory, so that waiting for a disk is not compared.
    memory = {"TMPDIR": "/dev/shm"} if os.access("/dev/shm", os.W_OK) else {}
    measured = genba.ask("bench", SUITE, "--budget", "120s", env=memory)
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
        # A CDB is written once, as a whole: it is no rival to what can be changed later.
        winners[operation] = min((name for name in cpu if name != "cdb"), key=cpu.get)
    told = [c for c in measured["comparisons"] if c["metric"] == "cpu" and c["verdict"] in ["faster", "slower"]]
    check(f"{len(told)} of 16 told apart from the first", len(told) >= 8)
    check("Tokyo Cabinet's hash is the fastest reader", winners["read"] == "tokyocabinet-hash")
    check("warned: all in the page cache", "page cache" in " ".join(measured["notes"]))
    said = f"write {winners['write']}, read {winners['read']}"
    return check.outcome(said, said)
