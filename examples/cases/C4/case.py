import tempfile

from lib import programs
from lib.outcome import Checks

TITLE = "How little of the code takes most of the time"
MUST = "“80 % of the time is in N functions, M source lines (x % of the code)”"
PUBLISHED = "376 of 11,000 lines (3.4 %)"
RECORDS = 300_000


def prepare():
    return programs.berkeley_db() / "db-btree"


def run(genba):
    berkeley = prepare()
    with tempfile.TemporaryDirectory() as folder:
        genba.ask("explain", "--budget", "8", "--", berkeley, "write", f"{folder}/db", RECORDS, accept=(0, 3))
    words = genba.show()
    kept = genba.ask("report", "-i", "latest")
    least = kept["concentration"]
    check = Checks()
    check("of 80 % of the time", least and least["share"] == 0.8)
    lines, functions, code = least["lines"], least["functions"], least["code_share"]
    check(f"{functions} functions", functions and functions < 100)
    check(f"{lines} source lines", lines and functions <= lines < 1000)
    check(f"{code:.2%} of the code", code and code < 0.034)
    check("said on the screen", f"80 % of the time: {functions} functions, {lines} source lines" in words)
    return check.outcome(f"80 % in {functions} functions, {lines} lines", f"{lines} lines ({code:.2%} of the code)")
