"""Whether a tool's findings are right: pure functions over rows and findings."""

import sys

from lib.rows import ROOT

sys.path.insert(0, str(ROOT / "corpus"))
import corpus  # noqa: E402

FIRST = 3
HARMLESS = {"already-optimal", "no-symbols"}


def in_place(facts, function):
    """Whether a function is one of those that the fix is about."""
    return any(corpus.same_function(function or "", wanted) for wanted in facts["functions"])


def function_of(finding):
    return (finding.get("site") or {}).get("function") or ""


def judge(facts, speedup, on_parent, on_commit, perf=None, places=None):
    """One row of the result.

    `on_parent` and `on_commit` are findings, most profitable first: `cause`,
    `site.function`, `predicted_speedup`. Where the measured gain is below 1.05 the right
    answer for the parent is none at that place. `perf` has the functions in which the parent's
    time goes, `places` has them for each place that the tool names.
    """
    accepted = [facts["cause"], *facts.get("also", [])]
    here = [f for f in on_parent[:FIRST] if in_place(facts, function_of(f))]
    right = [f for f in here if f.get("cause") in accepted]
    predicted = (right or here or [{}])[0].get("predicted_speedup")
    left = [f for f in on_commit if in_place(facts, function_of(f)) and f.get("cause") in accepted]
    row = {"measured": speedup, "gains": speedup["value"] >= 1.05,
           "site_right": bool(here), "cause_right": bool(right),
           "gain_right": bool(predicted) and predicted["low"] <= speedup["high"]
           and speedup["low"] <= predicted["high"],
           "predicted": predicted, "gone_on_commit": not left if right else None,
           "said": [[f.get("cause"), function_of(f)] for f in on_parent],
           "said_of_commit": [[f.get("cause"), function_of(f)] for f in on_commit
                              if f.get("cause") not in HARMLESS]}
    if places is not None:
        row["place_named"] = any(in_place(facts, name) for names in places[:FIRST] for name in names)
        row["places"] = places
    if perf is not None:
        row["perf_names_it"] = any(in_place(facts, name) for name in perf[:FIRST])
        row["perf"] = perf
    return row


def totals(results):
    """Shares over the rows whose fix gains here at least 1.05; None without any.

    `gone_on_commit` is of those whose cause was right on the parent: what was not said
    there cannot be gone.
    """
    gaining = [r for r in results if r["gains"]]
    share = lambda key, rows: sum(bool(r[key]) for r in rows) / len(rows) if rows else None
    with_perf = [r for r in gaining if "perf_names_it" in r]
    with_places = [r for r in gaining if "place_named" in r]
    return {"rows": len(results), "gaining": len(gaining),
            "site_right": share("site_right", gaining), "cause_right": share("cause_right", gaining),
            "gain_right": share("gain_right", gaining),
            "gone_on_commit": share("gone_on_commit", [r for r in gaining if r["cause_right"]]),
            "place_named": share("place_named", with_places),
            "perf_names_it": share("perf_names_it", with_perf),
            "silent": sum(not r["said"] for r in gaining),
            "said_though_no_gain": sum(r["site_right"] for r in results if not r["gains"])}
