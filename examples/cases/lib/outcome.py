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
    """Named conditions; a case is found when all of them hold.

    A machine that is busy with other work can hide an effect in its noise. genba then says
    "undecided" instead of a verdict; that is right, and the outcome's note repeats it.
    """

    def __init__(self):
        self.all = []
        self.hidden = []

    def __call__(self, words, holds):
        self.all.append((words, bool(holds)))
        return bool(holds)

    def unless_hidden(self, words, holds, hidden):
        """Holds, or `hidden` says how the noise of this machine hides it (None if it does not)."""
        if holds or not hidden:
            return self(words, holds)
        self.hidden.append(f"{words}: {hidden}")
        return self(f"{words}: undecided here, {hidden}", True)

    def verdict(self, words, comparison, wanted):
        """A comparison has this verdict, or is undecided with an interval that allows it."""
        ratio = comparison["ratio"]
        possible = {"slower": ratio["high"] > 1, "faster": ratio["low"] < 1, "same": ratio["low"] <= 1 <= ratio["high"]}
        hidden = None
        if comparison["verdict"] == "undecided" and possible[wanted]:
            hidden = f"ratio {ratio['low']:.2f} to {ratio['high']:.2f} after {comparison['pairs']} pairs"
        return self.unless_hidden(words, comparison["verdict"] == wanted, hidden)

    def outcome(self, said, here="–", note=""):
        if self.hidden:
            busy = "this machine was too busy to decide: " + "; ".join(self.hidden) + "."
            note = f"{note} {busy}" if note else busy
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
