"""Records the series that the rules are tried on: real runs beside a busy process.

A series is a list of runs, (label, wall, user, system) in seconds, in the order in which they
were made. Two orders are recorded of everything, turn and turn about so that both see the same
machine: *interleaved* (blocks in which every label runs once, in random order) and *blocked*
(all runs of one label, then all of the next), which is how hyperfine and poop run.
"""

import os
import random
import signal
import subprocess
import sys
import time

# Runs differ in their environment's size, as hyperfine and genba vary it: the stack's place
# moves with it, and with that the speed of some programs.
PADDING = 4096


class Runner:
    """Starts commands without a shell and takes the kernel's account of them."""

    def __init__(self, chance):
        self.chance = chance
        self.null = os.open(os.devnull, os.O_RDWR)
        self.actions = [(os.POSIX_SPAWN_DUP2, self.null, fd) for fd in (0, 1, 2)]
        self.environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}

    def run(self, label, words):
        environment = self.environment | {"PAD": "x" * self.chance.randrange(PADDING)}
        start = time.perf_counter()
        pid = os.posix_spawnp(words[0], words, environment, file_actions=self.actions)
        _, status, usage = os.wait4(pid, 0)
        wall = time.perf_counter() - start
        if status != 0:
            sys.exit(f"bench-stats: {' '.join(words)} failed (status {status})")
        return label, wall, usage.ru_utime, usage.ru_stime

    def interleaved(self, variants, seconds):
        """Blocks of all variants in random order for so many seconds."""
        end = time.perf_counter() + seconds
        runs = []
        while time.perf_counter() < end:
            block = list(variants)
            self.chance.shuffle(block)
            runs += [self.run(label, words) for label, words in block]
        return runs

    def blocked(self, variants, seconds):
        """Every variant for its part of the seconds, then the next."""
        runs = []
        for label, words in variants:
            end = time.perf_counter() + seconds / len(variants)
            while time.perf_counter() < end:
                runs.append(self.run(label, words))
        return runs


class Busy:
    """The second busy process: compresses, with pauses of random length between, until stopped."""

    CODE = """
import random, sys, time, zlib
chance = random.Random(int(sys.argv[1]))
data = chance.randbytes(300_000).hex().encode()
while True:
    for _ in range(chance.randrange(1, 40)):
        zlib.compress(data, 9)
    time.sleep(chance.random() * 0.3)
"""

    def __init__(self, seed):
        self.process = subprocess.Popen([sys.executable, "-S", "-c", self.CODE, str(seed)])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def real_commands(directory):
    """Three real commands of 10 to 50 ms: an interpreter, a compressor, a sorter."""
    chance = random.Random(7)
    words = [f"{chance.getrandbits(40):010x}" for _ in range(4000)]
    text = os.path.join(directory, "text")
    with open(text, "w", encoding="ascii") as file:
        for _ in range(80_000):
            file.write(chance.choice(words) + "\n")
    return {
        "python3": ["python3", "-S", "-c", "sum(i * i for i in range(230_000))"],
        "gzip": ["gzip", "-c", "-6", text],
        "sort": ["sort", "--parallel=1", text],
    }


def planted(directory, chance, milliseconds):
    """A command of about so many milliseconds, and the same with 1 % and 2 % more rounds."""
    program = os.path.join(directory, "burn")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "burn.c")
    subprocess.run(["cc", "-O2", "-static", "-o", program, source], check=True)
    runner = Runner(chance)
    probe = 20_000_000
    fastest = min(runner.run("", [program, str(probe)])[1] for _ in range(9))
    rounds = round(probe * milliseconds / 1000 / fastest)
    return {
        f"+{percent} %" if percent else "base": [program, str(rounds * (100 + percent) // 100)]
        for percent in (0, 1, 2)
    }


def record_long(directory, rounds, seconds, seed, tell):
    """A against A interleaved for as long as a measurement may take; as `record`."""
    chance = random.Random(seed + 1)
    commands = real_commands(directory)
    runner = Runner(chance)
    series = []
    with Busy(seed + 1):
        for number in range(rounds):
            for name, words in commands.items():
                runs = runner.interleaved([("A", words), ("B", words)], seconds)
                series.append(
                    {"kind": "aa-long", "order": "interleaved", "command": name, "runs": runs}
                )
            tell(number + 1, rounds)
    return series


def record(directory, rounds, seconds, planted_seconds, milliseconds, seed, tell):
    """All series: a list of {kind, order, command, runs}, one a comparison (A/A) or chunk (A/B)."""
    chance = random.Random(seed)
    commands = real_commands(directory)
    variants = planted(directory, chance, milliseconds)
    runner = Runner(chance)
    series = []
    with Busy(seed):
        for number in range(rounds):
            for name, words in commands.items():
                pair = [("A", words), ("B", words)]
                for order in ("interleaved", "blocked"):
                    runs = getattr(runner, order)(pair, seconds)
                    series.append({"kind": "aa", "order": order, "command": name, "runs": runs})
            for order, time_for in (("interleaved", planted_seconds), ("blocked", 1.5 * seconds)):
                runs = getattr(runner, order)(list(variants.items()), time_for)
                series.append({"kind": "ab", "order": order, "command": "burn", "runs": runs})
            tell(number + 1, rounds)
    return series
