"""gprof's flat profile, and the arcs in gmon.out that it is made of.

Two habits of gprof's are computed here, since both change its calls. Its flat profile leaves
calls of a function by itself out. And it knows no functions that gcc split or changed
(`f.part.0`, `f.isra.0`; of names with a dot it takes only `.constprop.N`, `.clone.N` and `.N`,
core_sym_class() in gprof/corefile.c of binutils): their calls, and those that they make, become
those of the function before them in memory.
"""

import re
import struct

# Names that gprof takes.
TAKEN = re.compile(r"[^.$]+(\.(clone|constprop)\.\d*|\.\d+)*")

HISTOGRAM, ARCS, BLOCKS = 0, 1, 2


class Profile:
    def __init__(self, flat, gmon):
        # Calls by name; functions without calls in the profile are left out.
        self.flat = {}
        for line in flat.splitlines():
            fields = line.split()
            if not re.match(r"^ *\d+\.\d\d ", line):
                continue
            if len(fields) > 4 and fields[3].isdigit():
                self.flat[fields[-1]] = self.flat.get(fields[-1], 0) + int(fields[3])
        self.arcs = list(read_arcs(gmon))

    def arcs_to(self, address, symbols):
        return sum(count for _, to, count in self.arcs if symbols.owner(to) == address)

    def as_gprof_counts(self, name, symbols, known):
        own = set(symbols.addresses(name))
        return sum(
            count
            for source, to, count in self.arcs
            if symbols.owner(to, known) in own and symbols.owner(source, known) not in own
        )

    def why(self, name, symbols, known):
        """What makes gprof's calls other ones."""
        own = set(symbols.addresses(name))
        strangers = set()
        itself = 0
        for source, to, count in self.arcs:
            if symbols.owner(to, known) in own and symbols.owner(to) not in own:
                strangers |= symbols.symbols[symbols.owner(to)]
            elif symbols.owner(to) in own and symbols.owner(source) in own:
                itself += count
            elif symbols.owner(to) in own and symbols.owner(source, known) in own:
                strangers |= symbols.symbols[symbols.owner(source)]
        reasons = []
        if itself:
            reasons.append(f"gprof leaves {itself:,} calls by itself out")
        if strangers:
            reasons.append(f"gprof takes {', '.join(sorted(strangers))} for it")
        return " and ".join(reasons)


def known_symbols(symbols):
    """The names that gprof has symbols for."""
    return {name for name in symbols.named_functions() if TAKEN.fullmatch(name)}


def read_arcs(path):
    """(from, to, count) of every arc in a gmon.out (sys/gmon_out.h), 64 bits, this machine's."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] != b"gmon":
        raise FileNotFoundError(f"{path} is not a gmon.out file")
    at = 20
    while at < len(data):
        tag = data[at]
        at += 1
        if tag == HISTOGRAM:
            bins = struct.unpack_from("=QQi", data, at)[2]
            at += 40 + 2 * bins
        elif tag == ARCS:
            yield struct.unpack_from("=QQi", data, at)
            at += 20
        else:
            raise FileNotFoundError(f"{path}: record {tag} is none of gcc -pg's")
