"""Asks tools where a program's time goes and why: genba explain, perf report."""

import json
import shutil
import subprocess
import time

from lib.histories import last_line
from lib.rows import Skip


def explain(row, side, genba, timeout):
    """genba's document for one side, and the seconds that it took."""
    began = time.monotonic()
    try:
        done = subprocess.run([genba, "explain", "--json", "--", *row.command(side)],
                              capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise Skip(f"no answer for {side} within {timeout:.0f} s") from error
    try:
        document = json.loads(done.stdout)
    except json.JSONDecodeError as error:
        raise Skip(f"explain, {side}: status {done.returncode}: {last_line(done.stderr)}") from error
    return document, time.monotonic() - began


def places(document):
    """For each place with most time, most first, its function; of libraries and the kernel also who calls."""
    named = []
    for place in document.get("places", []):
        asks = place["callers"] if place["kind"] in ("library", "kernel") else []
        named.append([site["function"] for site in [place["site"], *(caller["site"] for caller in asks)]])
    return named


def perf_functions(row, count=3):
    """The functions that perf report names first for the parent; None without a working perf."""
    if shutil.which("perf") is None:
        return None
    data = row.folder / "perf.data"
    recorded = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "999", "-o", str(data), "--",
                               *row.command("parent")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    reported = subprocess.run(["perf", "report", "--stdio", "-q", "-i", str(data), "--no-children", "-s", "sym"],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
    data.unlink(missing_ok=True)
    if recorded.returncode != 0 or reported.returncode != 0:
        return None
    # "    62.40%  [.] S_handle_pointy_brace"
    names = [line.split("]", 1)[1].strip() for line in reported.stdout.splitlines() if "%" in line and "]" in line]
    return names[:count]
