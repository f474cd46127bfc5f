"""The table: one TOML file a fix, with what is known of it."""

import dataclasses
import os
import pathlib
import tomllib

FIXES = pathlib.Path(__file__).resolve().parent.parent
ROOT = FIXES.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "fixes"
SIDES = ("parent", "commit")


class Skip(Exception):
    """This row cannot be built, run or asked about here; the reason is the message."""


@dataclasses.dataclass
class Row:
    """One fix of the table."""

    name: str
    facts: dict

    @property
    def folder(self):
        """Where its two trees and its input are."""
        return TARGET / self.name

    @property
    def origin(self):
        """Where its source is from: a repository and the commit of the fix, or a package and its version."""
        facts = self.facts
        if "repository" in facts:
            return f"{facts['repository']} {facts['commit']}"
        kind = "package" if "package" in facts else "crate"
        return f"{kind} {facts[kind]} {facts['version']}"

    def tree(self, side):
        return self.folder / side

    @property
    def data(self):
        return self.folder / "data"

    def filled(self, text, side):
        """A command's words with {tree}, {data} and {fixes} in place."""
        return (text.replace("{tree}", str(self.tree(side)))
                .replace("{data}", str(self.data)).replace("{fixes}", str(FIXES)))

    def command(self, side):
        """The measured command of one side."""
        return [self.filled(word, side) for word in self.facts["run"]]


def rows(names=()):
    """All rows, or those named."""
    found = []
    for path in sorted((FIXES / "rows").glob("*.toml")):
        if not names or path.stem in names:
            found.append(Row(path.stem, tomllib.loads(path.read_text())))
    unknown = set(names) - {row.name for row in found}
    if unknown:
        raise SystemExit(f"fixes: no such row: {', '.join(sorted(unknown))}")
    return found
