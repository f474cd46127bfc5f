"""Measures what a fix gains: slow against fast, in interleaved pairs of runs.

Each pair is one run of each version in random order; the speed-up is the median of
the pairs' ratios old/new with a distribution-free interval of 95 % or more (order
statistics of the binomial). The metric is the label's: `user` (default), `cpu` (user
and system) or `wall`. Both versions must print the same.
"""

import math
import os
import random
import statistics
import subprocess
import time

import corpus


class Different(Exception):
    """The two versions do not print the same: no fix of one another."""


def run(binary, args):
    """One run: its output, and its user, cpu and wall time in seconds."""
    started = time.monotonic()
    child = subprocess.Popen([str(binary), *args], stdout=subprocess.PIPE)
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.monotonic() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise corpus.Skip(f"{binary.name} ends with status {child.returncode}")
    return output, {"user": usage.ru_utime, "cpu": usage.ru_utime + usage.ru_stime, "wall": wall}


def interval(ratios):
    """Median with the narrowest symmetric order-statistic interval of >= 95 %."""
    ordered, n = sorted(ratios), len(ratios)
    rank, tail = 0, 0.0
    for k in range(n // 2):
        tail += math.comb(n, k) / 2**n
        if 2 * tail > 0.05:
            break
        rank = k
    return statistics.median(ordered), ordered[rank], ordered[n - 1 - rank]


def measure(program, pairs, binaries=None):
    """Speed-up (value, low, high) and the slow version's median seconds; `binaries` by version, if elsewhere."""
    binary = lambda version: binaries[version] if binaries else program.binary(version)
    other = "variant" if program.negative else "fast"
    metric = program.label.get("metric", "user")
    ratios, slow_times, outputs = [], [], set()
    for _ in range(pairs):
        order = ["slow", other]
        random.shuffle(order)
        times = {}
        for version in order:
            output, used = run(binary(version), program.args)
            outputs.add(output)
            times[version] = used[metric]
        ratios.append(times["slow"] / max(times[other], 1e-6))
        slow_times.append(times["slow"])
    if len(outputs) != 1:
        raise Different(f"slow and {other} print differently: {outputs}")
    return interval(ratios), statistics.median(slow_times), outputs.pop()
