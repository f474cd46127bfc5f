#!/usr/bin/env python3
"""The same questions put to `genba bench` itself, on fewer comparisons: is the judge that
bench-stats replays the one that people get?

    end_to_end.py GENBA [COMPARISONS]

Beside a busy process, in turn: a real command against itself (3 s of budget each), and the
planted +1 % and +2 % (20 s of budget each).
"""

import collections
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from record import Busy, planted, real_commands  # noqa: E402


def bench(genba, home, budget, metric, first, second):
    words = [genba, "bench", "--json", "--quiet", "-N", "--budget", f"{budget}s",
             "--metric", metric, "-n", "A", shlex.join(first), "-n", "B", shlex.join(second)]
    done = subprocess.run(words, capture_output=True, text=True, check=True,
                          env=os.environ | {"GENBA_HOME": home})
    of = [c for c in json.loads(done.stdout)["comparisons"] if c["metric"] == metric]
    return of[0]["verdict"], of[0]["pairs"]


def main():
    genba = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    said = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as directory, Busy(1):
        home = os.path.join(directory, "home")
        commands = list(real_commands(directory).values())
        variants = planted(directory, random.Random(1), 12)
        for number in range(count):
            one = commands[number % len(commands)]
            for metric in ("wall", "user"):
                said["A against A", metric].append(bench(genba, home, 3, metric, one, one))
            for name in ("+2 %", "+1 %"):
                said[name, "user"].append(
                    bench(genba, home, 20, "user", variants["base"], variants[name])
                )
            print(f"\r{number + 1} of {count} ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    for (name, metric), list_of in said.items():
        verdicts = collections.Counter(verdict for verdict, _ in list_of)
        pairs = sorted(pairs for _, pairs in list_of)
        words = ", ".join(f"{v} {n}" for v, n in sorted(verdicts.items()))
        print(f"{name}, {metric}: {words}; {pairs[len(pairs) // 2]} pairs at the median")


if __name__ == "__main__":
    main()
