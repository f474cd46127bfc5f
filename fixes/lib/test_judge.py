"""Tests of the judge, on made-up answers: python3 -m unittest discover fixes/lib"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.dont_write_bytecode = True

from lib import judge, tools  # noqa: E402

FACTS = {"cause": "quadratic", "also": ["repeated-copy"], "functions": ["scan_tag", "Parser::read"]}
DOUBLE = {"value": 2.0, "low": 1.9, "high": 2.1}
NOTHING = {"value": 1.01, "low": 0.99, "high": 1.03}


def finding(cause, function, low=1.5, high=2.5):
    return {"cause": cause, "site": {"function": function},
            "predicted_speedup": {"value": (low + high) / 2, "low": low, "high": high}}


def judged(on_parent, on_commit=(), speedup=DOUBLE, **more):
    return judge.judge(FACTS, speedup, list(on_parent), list(on_commit), **more)


class JudgeTest(unittest.TestCase):
    def test_right_finding_scores_site_cause_gain_and_gone(self):
        row = judged([finding("quadratic", "scan_tag")])
        self.assertEqual([row[key] for key in ("site_right", "cause_right", "gain_right", "gone_on_commit")], [True] * 4)

    def test_accepted_cause_counts_as_the_cause(self):
        self.assertTrue(judged([finding("repeated-copy", "scan_tag")])["cause_right"])

    def test_other_cause_at_the_site_scores_the_site_only(self):
        row = judged([finding("cache-miss", "scan_tag")])
        self.assertTrue(row["site_right"])
        self.assertFalse(row["cause_right"])
        self.assertIsNone(row["gone_on_commit"])

    def test_right_cause_elsewhere_scores_nothing(self):
        row = judged([finding("quadratic", "main")])
        self.assertFalse(row["site_right"] or row["cause_right"] or row["gain_right"])

    def test_fourth_finding_is_not_looked_at(self):
        others = [finding("cache-miss", f"other{i}") for i in range(3)]
        self.assertFalse(judged([*others, finding("quadratic", "scan_tag")])["site_right"])

    def test_gain_must_meet_the_measured_interval(self):
        self.assertFalse(judged([finding("quadratic", "scan_tag", 2.2, 9.0)])["gain_right"])
        self.assertTrue(judged([finding("quadratic", "scan_tag", 2.05, 9.0)])["gain_right"])

    def test_gain_is_that_of_the_right_cause(self):
        row = judged([finding("cache-miss", "scan_tag", 7.0, 9.0), finding("quadratic", "scan_tag")])
        self.assertTrue(row["gain_right"])

    def test_finding_that_stays_on_the_commit_is_not_gone(self):
        right = finding("quadratic", "scan_tag")
        self.assertFalse(judged([right], [right])["gone_on_commit"])
        self.assertTrue(judged([right], [finding("cache-miss", "scan_tag")])["gone_on_commit"])

    def test_names_with_arguments_scopes_and_templates_are_the_same_function(self):
        for name in ("read", "json::Parser::read", "json::Parser<T>::read(char const*)", "scan_tag.constprop.0",
                     "json::Parser::read[abi:cxx11]",
                     "json::<impl Source<()> for &[u8]>::scan_tag"):
            self.assertTrue(judge.in_place(FACTS, name), name)
        for name in ("", "reader", "Lexer::read", "scan"):
            self.assertFalse(judge.in_place(FACTS, name), name)

    def test_findings_without_site_or_prediction_are_judged(self):
        row = judged([{"cause": "quadratic"}, {"site": None}, {"cause": "quadratic", "site": {"function": "scan_tag"}}])
        self.assertTrue(row["cause_right"])
        self.assertFalse(row["gain_right"])

    def test_that_nothing_is_to_gain_is_no_advice(self):
        row = judged([], [finding("already-optimal", "main"), finding("cache-miss", "main")])
        self.assertEqual(row["said_of_commit"], [["cache-miss", "main"]])

    def test_perf_and_places_are_judged_by_their_first_three(self):
        row = judged([], perf=["a", "b", "c", "scan_tag"], places=[["memmove", "scan_tag"]])
        self.assertFalse(row["perf_names_it"])
        self.assertTrue(row["place_named"])
        self.assertNotIn("place_named", judged([]))


class TotalsTest(unittest.TestCase):
    def test_rows_without_a_gain_here_are_counted_apart(self):
        right = [finding("quadratic", "scan_tag")]
        total = judge.totals([judged(right), judged([]), judged(right, speedup=NOTHING)])
        self.assertEqual((total["rows"], total["gaining"], total["silent"]), (3, 2, 1))
        self.assertEqual(total["site_right"], 0.5)
        self.assertEqual(total["gone_on_commit"], 1.0)
        self.assertEqual(total["said_though_no_gain"], 1)

    def test_nothing_judged_has_no_shares(self):
        self.assertIsNone(judge.totals([])["site_right"])


class PlacesTest(unittest.TestCase):
    def test_callers_are_taken_for_libraries_and_the_kernel(self):
        caller = {"site": {"function": "load"}}
        place = lambda kind: {"kind": kind, "site": {"function": "lseek"}, "callers": [caller]}
        document = {"places": [place("library"), place("loop")]}
        self.assertEqual(tools.places(document), [["lseek", "load"], ["lseek"]])


if __name__ == "__main__":
    unittest.main()
