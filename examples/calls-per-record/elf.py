"""Symbols and unwind ranges of an ELF file, by nm and readelf."""

import bisect
import re
import subprocess


def output(*command):
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout


class Module:
    """Functions of one file; addresses as objdump prints them."""

    def __init__(self, path):
        self.path = path
        symbols = {}
        for options in (["-a"], ["-D"]):
            for line in output("nm", *options, path).splitlines():
                fields = line.split()
                if len(fields) == 3 and fields[1] in "tTwWiu":
                    symbols.setdefault(int(fields[0], 16), set()).add(fields[2].split("@")[0])
        self.symbols = symbols
        self.starts = sorted(symbols)
        self.ranges = {}
        frames = output("readelf", "--debug-dump=frames", path)
        for first, last in re.findall(r"FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", frames):
            self.ranges[int(first, 16)] = int(last, 16)

    def named_functions(self):
        return {name for names in self.symbols.values() for name in names}

    def names(self, address):
        return self.symbols.get(address, set())

    def addresses(self, name):
        return [address for address, names in self.symbols.items() if name in names]

    def owner(self, address, known=None):
        """Start of the function that holds an address; of the known names only, if given."""
        at = bisect.bisect_right(self.starts, address) - 1
        while at >= 0:
            start = self.starts[at]
            if known is None or self.symbols[start] & known:
                return start
            at -= 1
        return None
