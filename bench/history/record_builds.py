"""Records what `genba history record --anchor` would of many builds of unchanged programs.

Every build is a new file: `burn` is compiled again with another version string, and the
executables of gzip, sort and python3 are copied, so that each build has pages of its own. The
anchor is the first build. A block is one run of the anchor and one of the build in random order.
A busy process is started and stopped again every BUSY_BUILDS builds: a real change of the host.

A line of the output is a build of a program:
    {"program": "sort", "build": 17, "busy": true, "blocks": [[anchor wall, user, CPU, build wall, user, CPU], …]}
"""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "stats"))

from record import Busy, Runner  # noqa: E402

PROGRAMS = ("burn", "gzip", "sort", "python3")
BUSY_BUILDS = 64
# Rounds of burn and lines of text for runs of 6 to 10 ms.
ROUNDS, LINES = 6_000_000, 16_000


class Programs:
    """Builds of the four programs."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.text = self.directory / "text"
        chance = random.Random(7)
        words = [f"{chance.getrandbits(40):010x}" for _ in range(4000)]
        self.text.write_text("".join(chance.choice(words) + "\n" for _ in range(LINES)))

    def build(self, number):
        """The commands of build `number`, by program."""
        place = self.directory / f"build{number}"
        place.mkdir()
        source = (HERE.parent / "stats" / "burn.c").read_text()
        source += f'\nconst char *version(void) {{ return "version {number}"; }}\n'
        (place / "burn.c").write_text(source)
        subprocess.run(["cc", "-O2", "-static", "-o", place / "burn", place / "burn.c"], check=True)
        for name in ("gzip", "sort", "python3"):
            shutil.copy(os.path.realpath(shutil.which(name)), place / name)
        return {
            "burn": [str(place / "burn"), str(ROUNDS)],
            "gzip": [str(place / "gzip"), "-c", "-6", str(self.text)],
            "sort": [str(place / "sort"), "--parallel=1", str(self.text)],
            "python3": [str(place / "python3"), "-I", "-S", "-c", "sum(i * i for i in range(50_000))"],
        }

    def remove(self, number):
        shutil.rmtree(self.directory / f"build{number}")


def times(run):
    """Wall, user and CPU time of a run."""
    _, wall, user, system = run
    return wall, user, user + system


def record(directory, names, builds, blocks, seed, output, tell):
    """Writes the lines of so many builds of the named programs to the file `output`."""
    chance = random.Random(seed)
    runner = Runner(chance)
    programs = Programs(directory)
    anchors = programs.build(0)
    busy = None
    try:
        for number in range(1, builds + 1):
            if number % BUSY_BUILDS == 0:
                if busy is None:
                    busy = Busy(seed + number)
                else:
                    busy.__exit__()
                    busy = None
            commands = programs.build(number)
            for name in names:
                rows = []
                for _ in range(blocks):
                    pair = [("anchor", anchors[name]), ("build", commands[name])]
                    chance.shuffle(pair)
                    runs = {label: runner.run(label, command) for label, command in pair}
                    rows.append([round(value, 7) for label in ("anchor", "build")
                                 for value in times(runs[label])])
                line = {"program": name, "build": number, "busy": busy is not None, "blocks": rows}
                output.write(json.dumps(line) + "\n")
            output.flush()
            programs.remove(number)
            tell(number, builds)
    finally:
        if busy is not None:
            busy.__exit__()
