"""What the three scripts of the corpus share: programs, labels, building.

A program is a folder with label.toml and `slow.<ext>` (a file) or `slow/` (several
translation units; `lib*.c` in it become shared libraries), and the same for `fast`.
A negative (cause "none") has no `fast`, but may have `tempting`: the change that it
tempts to, and that gains nothing. Standard library only (Python 3.11).
"""

import concurrent.futures
import dataclasses
import hashlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
CARGO_TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
TARGET = CARGO_TARGET / "corpus"
COMPILERS = {".c": "gcc", ".cc": "g++", ".rs": "rustc"}
DEFAULT_FLAGS = {".c": "-O2 -g", ".cc": "-O2 -g", ".rs": "-C opt-level=2 -g"}
COMMON = {".c": ["-std=gnu11", "-pthread"], ".cc": ["-std=c++17", "-pthread"],
          ".rs": ["--edition=2021"]}


SPLITS = ("train", "score")
BEFORE_SPLIT = frozenset(
    line for line in (HERE / "before-split.txt").read_text().splitlines() if not line.startswith("#"))


def split(name):
    """Whether rules may be shaped on this program (train) or it only scores them (score)."""
    if name in BEFORE_SPLIT:
        return "train"
    return SPLITS[hashlib.sha256(name.encode()).digest()[0] % 2]


def genba():
    """The binary that is asked: $GENBA, else the release build."""
    return os.environ.get("GENBA") or str(CARGO_TARGET / "release" / "genba")


class Skip(Exception):
    """This program cannot be built or run here; the reason is the message."""


@dataclasses.dataclass
class Program:
    """One folder of the corpus."""

    name: str
    folder: pathlib.Path
    label: dict

    @property
    def negative(self):
        return self.label["cause"] == "none"

    @property
    def waits(self):
        """Whether this program's time is waiting (`kind = "wait"`) rather than a processor's."""
        return self.label.get("kind", "cpu") == "wait"

    @property
    def split(self):
        return split(self.name)

    @property
    def tempting(self):
        """Whether the version that a negative is held against is a source of its own."""
        return self.negative and bool(self.sources("tempting")[0])

    @property
    def args(self):
        return [str(argument) for argument in self.label.get("args", [])]

    def binary(self, version):
        return TARGET / self.name / version

    def sources(self, version):
        """The sources of one version: [main files], [library files]."""
        folder = self.folder / version
        if folder.is_dir():
            files = sorted(f for f in folder.iterdir() if f.suffix in COMPILERS)
            libraries = [f for f in files if f.name.startswith("lib")]
            return [f for f in files if f not in libraries], libraries
        files = [f for f in self.folder.glob(f"{version}.*") if f.suffix in COMPILERS]
        return files, []

    def flags(self, version):
        """Build flags: the label's, or the language's defaults."""
        mains, _ = self.sources("slow")
        flags = self.label.get("flags", DEFAULT_FLAGS[mains[0].suffix])
        if version == "fast":
            flags = self.label.get("fast_flags", flags)
        if version == "variant":
            flags = self.label.get("variant_flags", flags)
        return shlex.split(flags)


def programs(names=()):
    """All programs, or those named, by name."""
    found = []
    for label in sorted(HERE.glob("*/label.toml")):
        if names and label.parent.name not in names:
            continue
        with label.open("rb") as file:
            found.append(Program(label.parent.name, label.parent, tomllib.load(file)))
    unknown = set(names) - {program.name for program in found}
    if unknown:
        raise SystemExit(f"corpus: no such program: {', '.join(sorted(unknown))}")
    return found


def versions(program):
    """The versions that this program has: slow; fast, or a variant that gains nothing."""
    if program.negative:
        compared = program.tempting or "variant_flags" in program.label
        return ["slow", "variant"] if compared else ["slow"]
    return ["slow", "fast"]


def origin(program, version):
    """The name of the sources that a version is built from."""
    if version == "variant":
        return "tempting" if program.tempting else "slow"
    return version


def compile_commands(program, version):
    """The commands that build one version, and its output."""
    mains, libraries = program.sources(origin(program, version))
    if not mains:
        # The fix is in the flags alone.
        mains, libraries = program.sources("slow")
    suffix = mains[0].suffix
    output = program.binary(version)
    flags = COMMON[suffix] + program.flags(version)
    commands, links = [], []
    for library in libraries:
        shared = output.parent / f"{library.stem}-{version}.so"
        commands.append([COMPILERS[suffix], *flags, "-fPIC", "-shared",
                         f"-Wl,-soname,{shared.name}", "-o", shared, library])
        links += [shared, "-Wl,-rpath,$ORIGIN"]
    # The linker's libraries come after the sources that need them.
    ends = ["-lm"] if suffix != ".rs" else []
    commands.append([COMPILERS[suffix], *flags, "-o", output, *mains, *links, *ends])
    return commands


def newest(program):
    return max(f.stat().st_mtime for f in program.folder.rglob("*") if f.is_file())


def build(program, force=False):
    """Builds all versions; raises Skip with the compiler's words."""
    for version in versions(program):
        output = program.binary(version)
        commands = compile_commands(program, version)
        # A label's new figures do not ask for a new build; new flags do.
        recipe = "\n".join(shlex.join(map(str, command)) for command in commands)
        note = output.parent / f"{version}.recipe"
        mains = sum(program.sources(origin(program, version)), []) or sum(program.sources("slow"), [])
        fresh = (output.exists() and note.exists() and note.read_text() == recipe
                 and all(f.stat().st_mtime <= output.stat().st_mtime for f in mains))
        if fresh and not force:
            continue
        output.parent.mkdir(parents=True, exist_ok=True)
        for command in commands:
            if shutil.which(command[0]) is None:
                raise Skip(f"no {command[0]} here")
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
            if done.returncode != 0:
                words = [w for w in done.stderr.splitlines() if "error" in w] or ["no words"]
                raise Skip(f"{version} does not build: {words[0]}")
        note.write_text(recipe)


def build_all(chosen, force=False, jobs=2):
    """Builds in parallel; returns {name: reason} of those that could not be built."""
    skipped = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(build, program, force): program for program in chosen}
        for done in concurrent.futures.as_completed(waiting):
            try:
                done.result()
            except Skip as reason:
                skipped[waiting[done].name] = str(reason)
    return skipped


def plain_name(name):
    """A function's name without arguments, templates, tags of the ABI, hashes and closures."""
    name = re.sub(r"::h[0-9a-f]{16}$", "", name)
    name = re.sub(r"\[abi:\w+\]", "", name)
    name = re.sub(r"\.(constprop|isra|part|cold|lto_priv)(\.\d+)*", "", name)
    # Rust's names have parentheses within templates: `<impl Source<()> for &[u8]>::read`.
    name = name.replace("(anonymous namespace)", "anonymous").replace("->", "")
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    name = name.split("(")[0]
    parts = [p for p in name.split()[-1].split("::") if p and not p.startswith("{")] if name.split() else []
    return "::".join(parts)


def same_function(said, wanted):
    """Whether two names mean one function: the shorter is a tail of the longer."""
    a, b = plain_name(said).split("::"), plain_name(wanted).split("::")
    shorter = min(len(a), len(b))
    return shorter > 0 and a[-shorter:] == b[-shorter:] and a[0] != ""
