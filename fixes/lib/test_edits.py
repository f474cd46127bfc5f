"""Tests of the edits, on made-up sources: python3 -m unittest discover fixes/lib"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.dont_write_bytecode = True

from lib.edits import applied  # noqa: E402
from lib.rows import Skip  # noqa: E402

TEXT = "int first(void) {\n  int n = 1;\n  return n;\n}\nint second(void) {\n  int n = 2;\n  n++;\n  return n;\n}\n"


class EditsTest(unittest.TestCase):
    def test_one_line_is_replaced(self):
        self.assertEqual(applied(TEXT, {"replace": "n++", "with": "  n += 1;"}), TEXT.replace("n++", "n += 1"))

    def test_anchor_in_two_lines_is_refused(self):
        with self.assertRaises(Skip):
            applied(TEXT, {"replace": "return n", "with": ""})

    def test_anchor_below_another_line_is_the_first_after_it(self):
        changed = applied(TEXT, {"below": "second", "replace": "return n", "with": "  return 0;\n"})
        self.assertEqual(changed, TEXT.replace("n++;\n  return n", "n++;\n  return 0"))

    def test_lines_through_another_anchor_are_replaced(self):
        changed = applied(TEXT, {"replace": "n = 2", "through": "return", "with": "  return 3;"})
        self.assertEqual(changed, "int first(void) {\n  int n = 1;\n  return n;\n}\nint second(void) {\n  return 3;\n}\n")

    def test_text_after_an_anchor_leaves_the_anchor(self):
        self.assertEqual(applied(TEXT, {"after": "n = 2", "with": "  n *= 2;"}), TEXT.replace("n = 2;", "n = 2;\n  n *= 2;"))

    def test_lines_between_a_kept_anchor_and_the_last_are_replaced(self):
        changed = applied(TEXT, {"after": "n = 2", "through": "return", "with": "  return 3;"})
        self.assertEqual(changed, TEXT.replace("  n++;\n  return n;", "  return 3;"))

    def test_missing_anchor_is_refused(self):
        for edit in ({"replace": "third"}, {"below": "first", "replace": "n = 3"}, {"replace": "n = 2", "through": "n--"}):
            with self.assertRaises(Skip):
                applied(TEXT, {**edit, "with": ""})


if __name__ == "__main__":
    unittest.main()
