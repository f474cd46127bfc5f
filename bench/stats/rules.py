"""The rules that other tools go by, on two lists of times. Each says whether it calls the two
different, and in which direction: -1 the second is smaller, +1 larger, 0 no difference."""

import math
import statistics


def hyperfine_ratio(first, second):
    """hyperfine's summary, "A ran r ± s times faster than B": ratio of the means with its
    standard deviation propagated (src/benchmark/relative_speed.rs of 1.20). hyperfine itself
    draws no conclusion; taken here, as its readers do, as a difference where r - s > 1."""
    mean = [statistics.fmean(first), statistics.fmean(second)]
    spread = [statistics.stdev(first), statistics.stdev(second)]
    fast, slow = (0, 1) if mean[0] < mean[1] else (1, 0)
    if mean[fast] <= 0:
        return 0
    ratio = mean[slow] / mean[fast]
    deviation = ratio * math.hypot(spread[0] / mean[0], spread[1] / mean[1])
    if ratio - deviation <= 1:
        return 0
    return -1 if fast == 1 else 1


def hyperfine_welch(first, second):
    """hyperfine's script `welch_ttest.py`: Welch's t test, p < 0.05 is "a difference"."""
    n, m = len(first), len(second)
    a, b = statistics.variance(first) / n, statistics.variance(second) / m
    if a + b == 0:
        return 0
    t = (statistics.fmean(second) - statistics.fmean(first)) / math.sqrt(a + b)
    freedom = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1))
    return int(math.copysign(1, t)) if two_sided(t, freedom) < 0.05 else 0


# poop's table of t for 95 % (src/main.zig): 1 to 30 degrees of freedom, then tens to 120.
POOP_T = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
          2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06,
          2.056, 2.052, 2.045, 2.048, 2.042]
POOP_T_TENS = [2.228, 2.086, 2.042, 2.021, 2.009, 2, 1.994, 1.99, 1.987, 1.984, 1.982, 1.98]


def poop(first, second):
    """poop's mark: the whole 95 % interval of the difference of the means (pooled variance, t
    from its table) lies beyond 1 % of the first mean, on one side (src/main.zig)."""
    n, m = len(first), len(second)
    freedom = n + m - 2
    if freedom <= 30:
        t = POOP_T[freedom - 1]
    elif freedom <= 120:
        t = POOP_T_TENS[freedom // 10 - 1]
    else:
        t = 1.96
    mean = statistics.fmean(first)
    if mean <= 0:
        return 0
    pooled = math.sqrt(
        ((n - 1) * statistics.variance(first) + (m - 1) * statistics.variance(second)) / freedom
    )
    half = t * pooled * math.sqrt(1 / n + 1 / m) * 100 / mean
    percent = (statistics.fmean(second) - mean) * 100 / mean
    if percent - half >= 1:
        return 1
    return -1 if percent + half <= -1 else 0


RULES = {
    "hyperfine, ratio ± σ beyond 1": hyperfine_ratio,
    "hyperfine, `welch_ttest.py`": hyperfine_welch,
    "poop, beyond ±1 %": poop,
}


def two_sided(t, freedom):
    """Two-sided p of Student's t: the regularised incomplete beta function (Numerical Recipes,
    6.4: continued fraction by Lentz's method)."""
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def incomplete_beta(a, b, x):
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
        + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1) / (a + b + 2):
        return front * fraction(a, b, x) / a
    return 1 - front * fraction(b, a, 1 - x) / b


def fraction(a, b, x):
    tiny = 1e-300
    c, d = 1.0, 1 / max(1 - (a + b) * x / (a + 1), tiny)
    result = d
    for m in range(1, 300):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + step * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + step / c
            c = c if abs(c) > tiny else tiny
            result *= d * c
        if abs(d * c - 1) < 1e-12:
            break
    return result
