"""callgrind's own file, read for what `check` compares. Format: valgrind's manual, 'Callgrind
Format Specification'."""

import collections
import re
import subprocess
from dataclasses import dataclass

NAME = re.compile(r"\((\d+)\)(?: (.*))?$")
RECURSION = re.compile(r"'\d+$")


@dataclass
class Function:
    """What callgrind says of one function."""

    name: str
    # Instructions in it, and how many of them are repetitions by a rep prefix.
    instructions: int
    repeats: int
    # Calls to its first instruction, and to any (jumps out of functions are calls here).
    calls: int
    calls_by_name: int
    # Instructions of all functions of this name, in all objects.
    annotated: int


class Dump:
    def __init__(self, path):
        self.path = path
        # (object, address) -> count; the functions (by name) that each instruction is in.
        self.counts = collections.Counter()
        self.name_at = {}
        self.by_name = collections.Counter()
        self.self_jumps = collections.Counter()
        self.calls_to = collections.Counter()
        self.calls_named = collections.Counter()
        self.rows = None
        with open(path, encoding="utf-8", errors="replace") as file:
            self._read(file)

    def _read(self, file):
        names = {"ob": {}, "fl": {}, "fn": {}}
        place = {"ob": "", "fn": ""}
        callee = {}
        last = 0
        pending = None

        def named(kind, text):
            match = NAME.match(text)
            if not match:
                return text
            if match[2] is not None:
                names[kind][match[1]] = match[2]
            return names[kind][match[1]]

        def position(text):
            if text == "*":
                return last
            if text[0] in "+-":
                return last + int(text)
            return int(text, 16)

        for line in file:
            line = line.rstrip("\n")
            if not line or line[0] == "#":
                continue
            key, equals, value = line.partition("=")
            if equals and key.isalpha():
                if key in ("ob", "fn"):
                    place[key] = named(key, value)
                elif key in ("cob", "cfn"):
                    callee[key] = named(key[1:], value)
                elif key == "jfn":
                    named("fn", value)
                elif key == "calls":
                    count, target, *_ = value.split()
                    to = callee.get("cob", place["ob"])
                    self.calls_to[to, position(target)] += int(count)
                    self.calls_named[to, clean(callee["cfn"])] += int(count)
                    callee = {}
                    pending = "cost"
                elif key in ("jump", "jcnd"):
                    count, target, *_ = value.split()
                    pending = (int(count.split("/")[0]), position(target))
                continue
            if line[0] not in "0123456789+-*":
                continue
            fields = line.split()
            last = position(fields[0])
            if pending is None:
                cost = int(fields[2]) if len(fields) > 2 else 0
                at = (place["ob"], last)
                self.counts[at] += cost
                self.name_at[at] = clean(place["fn"])
                self.by_name[place["ob"], clean(place["fn"])] += cost
            elif pending != "cost" and pending[1] == last:
                self.self_jumps[place["ob"], last] += pending[0]
            pending = None

    def function(self, path, address, module):
        name = self.name_at.get((path, address), "")
        if name == "" or name.startswith("0x"):
            return self._without_name(path, address, module)
        inside = [at for at, owner in self.name_at.items() if at[0] == path and owner == name]
        calls = self.calls_to[path, address]
        return Function(
            name,
            self.by_name[path, name],
            sum(self.self_jumps[at] for at in inside),
            calls,
            self.calls_named[path, name],
            sum(count for (_, other), count in self.by_name.items() if other == name),
        )

    def _without_name(self, path, address, module):
        """No symbol: the range is that of the unwind information."""
        end = module.ranges.get(address)
        if end is None:
            raise FileNotFoundError(f"{path}: no unwind information begins at {address:#x}")
        inside = [at for at in self.counts if at[0] == path and address <= at[1] < end]
        calls = self.calls_to[path, address]
        return Function(
            f"{address:#x}",
            sum(self.counts[at] for at in inside),
            sum(self.self_jumps[at] for at in inside),
            calls,
            calls,
            0,
        )

    def calls_of(self, name):
        return sum(count for (_, other), count in self.calls_named.items() if other == name)

    def annotated(self, name):
        """The function's total in callgrind_annotate's table; None without a name."""
        if name.startswith("0x"):
            return None
        if self.rows is None:
            self.rows = collections.Counter()
            command = ["callgrind_annotate", "--threshold=100", "--auto=no", self.path]
            table = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            for line in table.splitlines():
                match = re.match(r" *([\d,]+) \( *[\d.]+%\)  \S+:(\S+)(?: \[.*\])?$", line)
                if match:
                    self.rows[clean(match[2])] += int(match[1].replace(",", ""))
        return self.rows[name]


def clean(name):
    """Without callgrind's marks: recursion ('2) and stubs ([PLT])."""
    return RECURSION.sub("", name.removesuffix(" [PLT]"))
