"""The series that change points are looked for in, from recorded builds and from formulas.

A series is a list of points (logarithm of the ratio to the anchor, its standard error). Everything
here follows from the seed and the recording.
"""

import math
import random


def bootstrap(points, length, block, chance):
    """A series of so many points made of runs of neighbouring points (Künsch's block bootstrap)."""
    made = []
    while len(made) < length:
        start = chance.randrange(len(points) - block + 1)
        made += points[start:start + block]
    return made[:length]


def spread(points):
    """Robust standard deviation of neighbouring points."""
    steps = sorted(abs(b[0] - a[0]) for a, b in zip(points, points[1:]))
    return 1.4826 * steps[len(steps) // 2] / math.sqrt(2)


def student(chance, freedom):
    """A value of Student's distribution, scaled to the middle half of a normal one."""
    scale = {3: 0.8818, 5: 0.9279}[freedom]
    chi = sum(chance.gauss(0, 1) ** 2 for _ in range(freedom))
    return scale * chance.gauss(0, 1) / math.sqrt(chi / freedom)


def synthetic(kind, length, noise, chance):
    """Points of a formula: normal, heavy-tailed or autocorrelated ones, or calm and busy stretches,
    which the scatter within each measurement shows or not."""
    points, state, busy = [], 0.0, False
    for _ in range(length):
        if kind == "normal":
            value = chance.gauss(0, 1)
        elif kind == "Student t, 3 degrees":
            value = student(chance, 3)
        elif kind == "autocorrelated, 0.5":
            state = 0.5 * state + math.sqrt(0.75) * chance.gauss(0, 1)
            value = state
        else:
            # Calm and busy stretches of 30 points, four times the noise in the latter.
            busy ^= chance.random() < 1 / 30
            value = chance.gauss(0, 4 if busy else 1)
        seen = 4 if busy and kind == "calm and busy" else 1
        points.append((noise * value, seen * noise * chance.uniform(0.7, 1.3)))
    return points


SYNTHETIC = ("normal", "Student t, 3 degrees", "autocorrelated, 0.5", "calm and busy",
             "calm and busy, the same within measurements")


def stepped(points, size, before, chance):
    """A part of a series with a step: so many points, then three that are larger by `size`."""
    start = chance.randrange(len(points) - before - 2)
    part = points[start:start + before + 3]
    step = math.log1p(size)
    return part[:before] + [(value + step, error) for value, error in part[before:]]
