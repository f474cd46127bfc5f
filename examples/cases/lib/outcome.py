"""What a case came to, and how a document is read for it."""

from dataclasses import dataclass, field


@dataclass
class Outcome:
    """`found`: whether genba's answer is of the kind that the case must reach.

    `here` is the ratio of this machine beside the published one; `note` says what differs.
    """

    found: bool
    said: str
    here: str = "–"
    note: str = ""
    checks: list = field(default_factory=list)


class Checks:
    """Named conditions; a case is found when all of them hold."""

    def __init__(self):
        self.all = []

    def __call__(self, words, holds):
        self.all.append((words, bool(holds)))
        return bool(holds)

    def outcome(self, said, here="–", note=""):
        return Outcome(all(holds for _, holds in self.all), said, here, note, self.all)


def speedup(comparison):
    """Old ÷ new of a comparison's ratio, as value, least and most."""
    ratio = comparison["ratio"]
    return tuple(1 / ratio[key] for key in ("value", "high", "low"))


def times(comparison, digits=2):
    value, low, high = speedup(comparison)
    return f"{value:.{digits}f}× ({low:.{digits}f}–{high:.{digits}f})"


def value(quantity):
    """A quantity's value, with an interval or without; none is nought."""
    return quantity["value"] if isinstance(quantity, dict) else quantity or 0


def verdict(document, variant, metric="wall", baseline=None):
    """The comparison of one variant in one metric."""
    for comparison in document["comparisons"]:
        if comparison["variant"] == variant and comparison["metric"] == metric:
            if baseline is None or comparison["baseline"] == baseline:
                return comparison
    raise KeyError(f"no comparison of {variant} in {metric}")


def findings_of(document, cause, function):
    """Findings of a cause in a function (parts that gcc split off are the function, too)."""
    return [
        finding
        for finding in document["findings"]
        if finding["cause"] == cause and finding["site"]["function"].split(".")[0] == function
    ]


def share_of(profile, function):
    """Self share of a function in a profile's rows."""
    rows = [row for row in profile["functions"] if row["function"].split(".")[0] == function]
    return sum(row["self"]["value"] for row in rows)
