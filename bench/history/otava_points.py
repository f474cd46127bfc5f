"""Change points by Apache Otava; run by the Python of a virtual environment that has it.

Reads what `change_points changes` reads and writes "series end at" a change, with Otava's default
options (`otava/series.py`: windows of 50, p below 0.001, any size). `reported` analyses a series
after every point, as the example of genba-stats does.
"""

import math
import sys

from otava.analysis import compute_change_points

WINDOW, MAX_PVALUE, MIN_MAGNITUDE = 50, 0.001, 0.0
# A change this near to a known one is that one.
SAME = 3


def changes(values):
    if len(values) < 4:
        return []
    found, _ = compute_change_points(
        values, window_len=WINDOW, max_pvalue=MAX_PVALUE, min_magnitude=MIN_MAGNITUDE
    )
    return [one.index for one in found]


def main():
    kind = sys.argv[1]
    for number, text in enumerate(sys.stdin.read().split("\n\n")):
        lines = text.strip().splitlines()
        values = [math.exp(float(line.split()[0])) for line in lines]
        known = []
        for end in range(6 if kind == "reported" else len(values), len(values) + 1):
            for at in changes(values[:end]):
                if all(abs(at - one) > SAME for one in known):
                    print(number, end, at)
                    known.append(at)


main()
