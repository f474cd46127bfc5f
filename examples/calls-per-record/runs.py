"""The runs that `check` compares; what they write is kept in target/demo/calls-per-record."""

import json
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


@dataclass(frozen=True)
class Case:
    name: str
    # "{demo}", "{file}" and "{records}" are filled in.
    words: tuple
    comparator: str
    # The case whose file this one reads, if it does not write its own.
    after: str = ""
    # Whether it prints an address, whose digits the engine decides.
    prints_address: bool = False

    def program(self, runs):
        return runs.command(self)[0]


def case(name, command, comparator, after="", **more):
    return name, Case(name, tuple(command.split()), comparator, after, **more)


CASES = dict([
    case("tcb-write", "tcbtest write {file} {records}", "tccmplexical"),
    case("tcb-read", "tcbtest read {file}", "tccmplexical", "tcb-write"),
    # Another comparator than the default one is called through the pointer.
    case(
        "tcb-write-decimal", "tcbtest write -cd {file} {records}", "tccmpdecimal",
        prints_address=True,
    ),
    case("db-write", "{demo}/db-btree write {file} {records}", "__bam_defcmp"),
    case("db-read", "{demo}/db-btree read {file} {records}", "__bam_defcmp", "db-write"),
])
GPROF_CASES = dict([
    case("gprof-write", "{demo}/db-btree-pg write {file} {records}", "__bam_defcmp"),
    case("gprof-read", "{demo}/db-btree-pg read {file} {records}", "__bam_defcmp", "gprof-write"),
])


def ignore_profiling_signal():
    signal.signal(signal.SIGPROF, signal.SIG_IGN)


class Runs:
    def __init__(self, engine, records, reuse):
        self.engine, self.records, self.reuse = engine, records, reuse
        built = subprocess.run([HERE / "build"], check=True, stdout=subprocess.PIPE, text=True)
        self.demo = built.stdout.strip()
        self.kept = Path(self.demo) / "calls-per-record" / str(records)
        self.kept.mkdir(parents=True, exist_ok=True)
        near = ROOT / "target/debug/genba"
        self.program = os.environ.get("GENBA") or (str(near) if near.exists() else "genba")

    def command(self, case):
        values = {
            "demo": self.demo,
            "file": str(self.kept / f"{case.after or case.name}.store"),
            "records": self.records,
        }
        return [word.format(**values) for word in case.words]

    def _store(self, case):
        """A write begins without a file, a read with the one that its write makes."""
        store = Path(self.command(case)[2 if case.words[2] == "{file}" else 3])
        if not case.after:
            store.unlink(missing_ok=True)
        elif not store.exists():
            writer = {**CASES, **GPROF_CASES}[case.after]
            self._run(self.command(writer), cwd=self.kept, stdout=subprocess.DEVNULL)

    def _run(self, command, **more):
        # gcc -pg's clock sends SIGPROF, and ends by setting its handler back. valgrind may deliver
        # the last one only then, which kills the program unless the signal was ignored before.
        environment = dict(os.environ)
        if "tcbtest" in command:
            environment["LD_PRELOAD"] = f"{self.demo}/still.so"
        return subprocess.run(
            command, check=True, env=environment, preexec_fn=ignore_profiling_signal, **more
        )

    def genba(self, case):
        """The document of `genba count`."""
        kept = self.kept / f"{case.name}.{self.engine}.json"
        if not (self.reuse and kept.exists()):
            self._store(case)
            answer = self._run(
                [self.program, "count", "--engine", self.engine, "--per", str(self.records), "--json"]
                + ["--once", "--quiet", "--limit", "0", "--"] + self.command(case),
                cwd=self.kept, stdout=subprocess.PIPE,
            )
            json.loads(answer.stdout)
            kept.write_bytes(answer.stdout)
        return json.loads(kept.read_text())

    def callgrind(self, case):
        """Path of callgrind's own file."""
        kept = self.kept / f"{case.name}.callgrind.out"
        if not (self.reuse and kept.exists()):
            self._store(case)
            # Stubs apart, or else their instructions are in their callers' sums; jumps, since
            # those of an instruction to itself are the repetitions of rep.
            self._run(
                ["valgrind", "--tool=callgrind", "--dump-instr=yes", "--collect-jumps=yes"]
                + ["--skip-plt=no", f"--callgrind-out-file={kept}.new"] + self.command(case),
                cwd=self.kept, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
            os.replace(f"{kept}.new", kept)
        return str(kept)

    def gprof(self, case):
        """gprof's flat profile of a run without any engine, and the path of its gmon.out."""
        kept = self.kept / f"{case.name}.gmon.out"
        if not (self.reuse and kept.exists()):
            self._store(case)
            self._run(self.command(case), cwd=self.kept)
            shutil.move(self.kept / "gmon.out", kept)
        flat = self._run(
            ["gprof", "-b", "-p", self.command(case)[0], str(kept)],
            stdout=subprocess.PIPE, text=True,
        )
        return flat.stdout, str(kept)
