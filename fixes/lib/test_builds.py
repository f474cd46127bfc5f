"""When a side of a fix is built again: python3 -m unittest discover fixes/lib"""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.dont_write_bytecode = True

from lib import builds  # noqa: E402

STEPS = ["cp -r {fixes}/drivers/one driver", "cc -o driver {fixes}/drivers/two/main.c"]


class DriversTest(unittest.TestCase):
    def test_another_driver_is_another_build(self):
        with tempfile.TemporaryDirectory() as folder:
            fixes = pathlib.Path(folder)
            for name in ("one", "two", "other"):
                (fixes / "drivers" / name).mkdir(parents=True)
                (fixes / "drivers" / name / "main.c").write_text(name)
            before = builds.drivers(STEPS, fixes)
            (fixes / "drivers/other/main.c").write_text("changed")
            self.assertEqual(builds.drivers(STEPS, fixes), before)
            (fixes / "drivers/two/main.c").write_text("changed")
            self.assertNotEqual(builds.drivers(STEPS, fixes), before)


if __name__ == "__main__":
    unittest.main()
