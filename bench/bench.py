#!/usr/bin/env python3
"""What genba costs, side by side with perf, on this machine.

Every ratio is of runs that were made in the same session, interleaved in random
order within blocks; it is the median of the blocks' ratios with a distribution-
free 95 % interval (order statistics of the binomial). A row whose peer is not to
be had says so. Standard library only.

    bench.py [--quick] [--only overhead,report,annotate,memory] [--json FILE] [--keep DIR]
"""

import argparse
import json
import math
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
GENBA = str(TARGET / "release" / "genba")
DEMO = TARGET / "demo"
FREQUENCY = "4999"
# perf resolves inlined frames through addr2line processes and may need hours;
# then its time is "more than this", and so is the ratio.
PEER_LIMIT_SECONDS = 600


class Unavailable(Exception):
    """This machine, or this build, cannot do that; the message says why."""


# --- statistics -----------------------------------------------------------------

def interval(values, confidence=0.95):
    """Median and its distribution-free interval; None, None below six values."""
    ordered, n = sorted(values), len(values)
    middle = statistics.median(ordered)
    tail, rank = 0.0, 0
    for k in range(n // 2):
        tail += math.comb(n, k) / 2**n
        if tail > (1 - confidence) / 2:
            break
        rank = k + 1
    if rank == 0:
        return middle, None, None
    return middle, ordered[rank - 1], ordered[n - rank]


def ratio(ours, theirs):
    """Median ratio of paired runs, with its interval."""
    logs = [math.log(a / b) for a, b in zip(ours, theirs)]
    return tuple(None if x is None else math.exp(x) for x in interval(logs))


def show_ratio(triple):
    middle, low, high = triple
    if low is None:
        return f"{middle:.3g}×"
    return f"{middle:.4f}× ({low:.4f}–{high:.4f})" if middle > 0.5 else f"{middle:.3g}× ({low:.3g}–{high:.3g})"


# --- running --------------------------------------------------------------------

class Bench:
    def __init__(self, directory, quick, keep=None):
        self.directory, self.quick = pathlib.Path(directory), quick
        # Where recordings are looked for first, and kept.
        self.recordings = pathlib.Path(keep or directory)
        self.rows = []
        self.timed = str(self.compile(ROOT / "bench" / "timed.c", "-O2"))

    def compile(self, source, *flags):
        output = self.directory / source.stem
        subprocess.run([os.environ.get("CC", "cc"), *flags, "-o", output, source], check=True)
        return output

    def file(self, name):
        return str(self.directory / name)

    def run(self, command, limit=None):
        """Runs a command under `timed`: (wall, cpu, max RSS), or raises Unavailable."""
        log = self.file("timed.txt")
        pathlib.Path(log).unlink(missing_ok=True)
        with open(self.file("errors.txt"), "w+") as errors:
            child = subprocess.Popen([self.timed, log, *map(str, command)], stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True)
            try:
                child.wait(timeout=limit)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, 9)
                child.wait()
                return None
            if child.returncode != 0:
                errors.seek(0)
                raise Unavailable(f"`{' '.join(map(str, command[:4]))} …` failed with "
                                  f"{child.returncode}: {errors.read().strip()[-300:]}")
        return read_timed(log)

    def row(self, name, ours, theirs, verdict, wanted="", data=None):
        self.rows.append({"row": name, "genba": ours, "peer": theirs, "ratio": verdict,
                          "wanted": wanted, "data": data})
        print(f"{name:<44} {ours:>16} {theirs:>16}   {verdict:<28} {wanted}", flush=True)


def read_timed(path):
    wall, user, system, rss = pathlib.Path(path).read_text().split("\n")[0].split()
    return float(wall), float(user) + float(system), int(rss)


def need_perf():
    if not shutil.which("perf"):
        raise Unavailable("no perf here (scripts/install-deps bench)")
    probe = subprocess.run(["perf", "record", "-q", "-o", "/dev/null", "--", "true"],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if probe.returncode != 0:
        raise Unavailable(f"perf record does not work here: {probe.stderr.strip()[-200:]}")


def seconds(value):
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.2f} s"


# --- the rows -------------------------------------------------------------------

def overhead(bench):
    """What sampling costs the target: its own user and system time, and its wall time."""
    divloop = bench.compile(ROOT / "testdata" / "divloop.c", "-g", "-O2")
    target = [bench.timed, bench.file("target.txt"), divloop, "30000000"]
    ways = {
        "bare": target,
        "genba": [GENBA, "record", "-F", FREQUENCY, "-o", bench.file("genba.data"), "--", *target],
    }
    try:
        need_perf()
        ways["perf"] = ["perf", "record", "-q", "-F", FREQUENCY, "-o", bench.file("perf.data"), "--", *target]
    except Unavailable as why:
        bench.row("sampling at 4999 Hz: target's time", "", "", str(why))
    blocks = 8 if bench.quick else 31
    taken = {name: [] for name in ways}
    for block in range(blocks + 1):
        for name in random.sample(list(ways), len(ways)):
            pathlib.Path(bench.file("target.txt")).unlink(missing_ok=True)
            bench.run(ways[name])
            # The first block warms the caches.
            if block > 0:
                taken[name].append(read_timed(bench.file("target.txt")))
    for what, column in (("CPU", 1), ("wall", 0)):
        of = {name: [run[column] for run in runs] for name, runs in taken.items()}
        mid = {name: statistics.median(values) for name, values in of.items()}
        against = {peer: ratio(of["genba"], of[peer]) for peer in of if peer != "genba"}
        bench.row(f"sampling at {FREQUENCY} Hz: target's {what}, to unsampled", seconds(mid["genba"]),
                  seconds(mid["bare"]), show_ratio(against["bare"]), "under 1.01×", against["bare"])
        if "perf" in of:
            alone = ratio(of["perf"], of["bare"])
            bench.row("  the same of perf record", "", seconds(mid["perf"]), show_ratio(alone), "", alone)
            bench.row("  genba to perf", seconds(mid["genba"]), seconds(mid["perf"]),
                      show_ratio(against["perf"]), "at most 1×", against["perf"])


def recording(bench, name, samples, program, *stacks):
    """A perf.data of about so many samples, made by perf: SQLite's benchmark, once per CPU."""
    path = bench.recordings / name
    if path.exists():
        return path
    need_perf()
    program = DEMO / program
    if not program.exists():
        raise Unavailable(f"no {program} (scripts/build-demo-programs)")
    # The kernel lowers the limit when sampling takes too much of its time.
    limit = int(pathlib.Path("/proc/sys/kernel/perf_event_max_sample_rate").read_text())
    cpus, frequency = len(os.sched_getaffinity(0)), min(24_000, limit)
    wanted = samples / 10 if bench.quick else samples
    duration = 1.1 * wanted / (frequency * cpus)
    for _ in range(4):
        script = (f'end=$(($(date +%s) + {math.ceil(duration)})); for i in $(seq {cpus}); do '
                  f'while [ $(date +%s) -lt $end ]; do "{program}" --memdb --size 60; done & done; wait')
        bench.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", frequency, *stacks, "-m", "8M",
                   "-o", path, "--", "sh", "-c", script])
        found = count_samples(path)
        if found >= 0.95 * wanted:
            break
        # Throttled, or the CPUs were not ours alone.
        duration = min(300, duration * 1.1 * wanted / max(found, 1))
    print(f"  recording of {path.stat().st_size / 1e6:.0f} MB: {found} samples, {program.name}, {' '.join(stacks)}")
    return path


def big_recording(bench):
    return recording(bench, "big.data", 1_000_000, "speedtest1-fp", "-g")


def compare_commands(bench, name, ours, theirs, wanted, blocks):
    """Interleaved wall times of two commands; theirs may run into the limit."""
    taken_ours, taken_theirs, limited = [], [], False
    for block in range(blocks + 1):
        pair = [("ours", ours), ("theirs", theirs)]
        random.shuffle(pair)
        for whose, command in pair:
            # Ours once unmeasured, so that both read a file that is in memory.
            # Theirs too, unless it is known to be slow.
            if whose == "theirs" and limited:
                continue
            taken = bench.run(command, PEER_LIMIT_SECONDS)
            if taken is None and whose == "ours":
                raise Unavailable(f"genba needed more than {PEER_LIMIT_SECONDS} s")
            limited = limited or taken is None
            if block > 0 or (whose == "theirs" and taken and taken[0] > 60):
                (taken_ours if whose == "ours" else taken_theirs).append(taken and taken[0])
        if block > 0 and (limited or (taken_theirs and (taken_theirs[0] or 0) > 60)):
            break
    mid = statistics.median(taken_ours)
    if limited:
        bench.row(name, seconds(mid), f"> {PEER_LIMIT_SECONDS} s", f"< {mid / PEER_LIMIT_SECONDS:.2g}×", wanted,
                  [mid / PEER_LIMIT_SECONDS, None, None])
        return
    pairs = min(len(taken_ours), len(taken_theirs))
    result = ratio(taken_ours[:pairs], taken_theirs[:pairs])
    bench.row(name, seconds(mid), seconds(statistics.median(taken_theirs)), show_ratio(result), wanted, result)


def report(bench):
    """The report of a large recording as text. genba resolves inlined frames always; perf does
    with DWARF stacks, and lines when asked for them."""
    blocks = 2 if bench.quick else 6
    path = big_recording(bench)
    compare_commands(bench, "report, against perf report --stdio", [GENBA, "report", "-i", path],
                     ["perf", "report", "--stdio", "-i", path], "at most 0.1×", blocks)
    compare_commands(bench, "  spared call stacks: perf report -g none", [GENBA, "report", "-i", path],
                     ["perf", "report", "--stdio", "--no-children", "-g", "none", "-i", path], "", blocks)
    compare_commands(bench, "  by line: perf report -s sym,srcline", [GENBA, "report", "--by", "line", "-i", path],
                     ["perf", "report", "--stdio", "--no-children", "-g", "none", "-s", "sym,srcline", "-i", path],
                     "at most 0.1×", blocks)
    path = recording(bench, "dwarf.data", 100_000, "speedtest1", "--call-graph", "dwarf,1024")
    compare_commands(bench, "  DWARF stacks, 10^5 samples", [GENBA, "report", "-i", path],
                     ["perf", "report", "--stdio", "-i", path], "at most 0.1×", blocks)


def count_samples(path):
    answer = subprocess.run(["perf", "report", "--stdio", "--stats", "-i", path],
                            stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    found = re.search(r"SAMPLE events:\s+(\d+)", answer)
    return int(found[1]) if found else 0


# A large function, a middling one, a small one, and one of few samples: the smaller the function,
# the more of the time is what every answer costs.
ANNOTATED = ("sqlite3VdbeExec", "balance_nonroot", "pcache1Fetch", "sqlite3GetVarint")


def annotate(bench):
    """One function, source and assembly, of a recording of the usual size and of a large one."""
    blocks = 4 if bench.quick else 20
    usual = recording(bench, "usual.data", 30_000, "speedtest1-fp")
    for function in ANNOTATED:
        compare_commands(bench, f"annotate {function}, 3·10^4 samples", [GENBA, "annotate", "-i", usual, function],
                         ["perf", "annotate", "--stdio", "-i", usual, "-s", function], "at most 0.1×", blocks)
    path = big_recording(bench)
    for function in ANNOTATED:
        compare_commands(bench, f"annotate {function}, 10^6 samples", [GENBA, "annotate", "-i", path, function],
                         ["perf", "annotate", "--stdio", "-i", path, "-s", function],
                         "at most 0.1×", 2 if bench.quick else 8)


def memory(bench):
    """Max RSS of the recorder; it must not grow with the run's length."""
    program = bench.compile(ROOT / "testdata" / "divloop.c", "-g", "-O2")
    durations = (2, 6) if bench.quick else (5, 30)
    tools = {"genba": [GENBA, "record"], "perf": ["perf", "record", "-q"]}
    try:
        need_perf()
    except Unavailable as why:
        del tools["perf"]
        bench.row("max RSS of perf record", "", "", str(why))
    rss = {}
    for tool, command in tools.items():
        for duration in durations:
            # `timeout` ends it by a signal, which is a failure to both tools.
            limited = ["sh", "-c", f"timeout {duration} {program} 1000000000000 || true"]
            rss[tool, duration] = bench.run(
                [*command, "-F", FREQUENCY, "-g", "-o", bench.file(f"{tool}.data"), "--", *limited])[2]
    for duration in durations:
        peer = rss.get(("perf", duration))
        bench.row(f"max RSS of record -g, {duration} s", f"{rss['genba', duration] / 1e6:.1f} MB",
                  f"{peer / 1e6:.1f} MB" if peer else "", f"{rss['genba', duration] / peer:.2f}×" if peer else "")
    growth = rss["genba", durations[1]] / rss["genba", durations[0]]
    bench.row(f"  growth from {durations[0]} to {durations[1]} s", f"{growth:.2f}×", "", "", "about 1×", growth)


def waits(bench):
    """What `genba wait` costs the target's wall time: one that switches, one that computes, one that sleeps."""
    switches = bench.compile(ROOT / "bench" / "switches.c", "-O2", "-pthread")
    divloop = bench.compile(ROOT / "testdata" / "divloop.c", "-g", "-O2")
    one_cpu = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    sleeps = "import time\nfor _ in range(100): time.sleep(0.01)"
    targets = {
        "10⁵ switches a second, one CPU": ([*one_cpu, switches, "50000", "14000"], "at most 1.05×"),
        "the same on all CPUs": ([switches, "50000", "14000"], ""),
        "a loop": ([divloop, "30000000"], "under 1.01×"),
        "100 sleeps": ([sys.executable, "-c", sleeps], "under 1.01×"),
    }
    for what, (target, wanted) in targets.items():
        target = [bench.timed, bench.file("target.txt"), *target]
        ways = {"bare": target, "genba": [GENBA, "wait", "--", *target]}
        taken = {name: [] for name in ways}
        for block in range((4 if bench.quick else 15) + 1):
            for name in random.sample(list(ways), len(ways)):
                pathlib.Path(bench.file("target.txt")).unlink(missing_ok=True)
                bench.run(ways[name])
                # The first block warms the caches.
                if block > 0:
                    taken[name].append(read_timed(bench.file("target.txt"))[0])
        triple = ratio(taken["genba"], taken["bare"])
        mid = {name: statistics.median(values) for name, values in taken.items()}
        bench.row(f"wait: {what}, to unwatched", seconds(mid["genba"]), seconds(mid["bare"]), show_ratio(triple),
                  wanted, triple)


SECTIONS = {"overhead": overhead, "waits": waits, "report": report, "annotate": annotate, "memory": memory}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the samples, few repetitions")
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, joined by commas")
    parser.add_argument("--keep", metavar="DIR", help="use the recordings in there, and leave new ones there")
    parser.add_argument("--json", metavar="FILE", help="the rows with their intervals")
    arguments = parser.parse_args()
    sections = arguments.only.split(",")
    if unknown := set(sections) - set(SECTIONS):
        parser.error(f"no such section: {', '.join(unknown)}")
    if not os.access(GENBA, os.X_OK):
        sys.exit(f"bench: no {GENBA}; build it with: make build")

    perf = shutil.which("perf")
    version = subprocess.run(["perf", "--version"], capture_output=True, text=True).stdout.strip() if perf else "no perf"
    print(f"genba against {version}, {os.cpu_count()} CPUs, Linux {os.uname().release}")
    print(f"{'':<44} {'genba':>16} {'peer':>16}   {'genba ÷ peer (95 %)':<28} wanted")
    if arguments.keep:
        pathlib.Path(arguments.keep).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="genba-bench.") as directory:
        bench = Bench(directory, arguments.quick, arguments.keep)
        for name in sections:
            try:
                SECTIONS[name](bench)
            except Unavailable as why:
                bench.row(name, "", "", f"not measured: {why}")
        if arguments.json:
            pathlib.Path(arguments.json).write_text(json.dumps(bench.rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
