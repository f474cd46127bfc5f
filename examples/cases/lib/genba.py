"""genba's answers: every command is shown, and its words, before its document is judged."""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

from .programs import ROOT, target


class NoAnswer(Exception):
    """genba ended without a document."""


class Genba:
    """genba, in a folder of the case's own: its cases stay there, in .genba."""

    def __init__(self, case, quiet=False):
        built = target().parent / "release" / "genba"
        self.program = os.environ.get("GENBA") or (str(built) if built.exists() else "genba")
        if shutil.which(self.program) is None:
            raise NoAnswer("no genba; build it with: make build")
        self.program = str(Path(shutil.which(self.program)).resolve())
        self.folder = target() / "work" / case
        self.folder.mkdir(parents=True, exist_ok=True)
        self.quiet = quiet

    def ask(self, *words, env=None, accept=(0,)):
        """The document of a verb. What genba says of it goes to standard output."""
        words = [str(word) for word in words]
        line = f"$ genba {shlex.join(words)}"
        self.print(f"\n{line.replace(str(ROOT) + '/', '')}")
        at = words.index("--") if "--" in words else len(words)
        asked = [self.program, *words[:at], "--json", *words[at:]]
        environment = {**os.environ, **(env or {})}
        done = subprocess.run(
            asked, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
        )
        (self.folder / f"{words[0]}.err").write_text(done.stderr)
        (self.folder / f"{words[0]}.json").write_text(done.stdout)
        if done.returncode not in accept:
            end = "\n".join(done.stderr.strip().splitlines()[-8:])
            raise NoAnswer(f"genba {words[0]} ended with {done.returncode}:\n{end}")
        try:
            return json.loads(done.stdout)
        except json.JSONDecodeError as error:
            raise NoAnswer(f"genba {words[0]} printed no document: {error}") from error

    def tell(self, *words):
        """Runs a verb for its words alone and returns them."""
        words = [str(word) for word in words]
        done = subprocess.run(
            [self.program, *words], cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )
        text = done.stdout.replace(str(ROOT) + "/", "")
        self.print(text)
        return text

    def show(self):
        """The words of the newest case of this folder."""
        return self.tell("case", "show", "latest")

    def print(self, text):
        if not self.quiet:
            print(text, flush=True)
