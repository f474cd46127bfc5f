"""The two trees of a row: of a history's commits, or of a package with a property taken out by hand."""

import json
import pathlib
import shutil
import subprocess
import sys

from lib import edits, histories
from lib.rows import ROOT, TARGET, Skip


def recipe(row, side):
    """What a side's tree is made of, as text: when it changes the tree is made anew."""
    if "repository" in row.facts:
        return row.facts[side]
    return json.dumps([row.origin, row.facts["taken_out"] if side == "parent" else []])


def unpack(row, side, to):
    """Puts the tree of one side into a folder."""
    if "repository" in row.facts:
        histories.unpack(row.facts["repository"], row.facts[side], to)
        return
    there = debian(row) if "package" in row.facts else crate(row)
    shutil.copytree(there, to, symlinks=True)
    if side == "parent":
        edits.take_out(to, row.facts["taken_out"])


def debian(row):
    """The patched source of a Debian package; the archive's newest, which may be newer than the row's."""
    done = subprocess.run([str(ROOT / "scripts" / "fetch-source"), row.facts["package"], str(TARGET / "debian")],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Skip(f"no source: {histories.last_line(done.stderr)}")
    tree = pathlib.Path(done.stdout.strip().splitlines()[-1])
    version = (tree / "debian" / "changelog").read_text().split("(", 1)[1].split(")", 1)[0]
    if version != row.facts["version"]:
        print(f"note: {row.name}: the archive has {version}, the row was made with {row.facts['version']}",
              file=sys.stderr)
    return tree


def crate(row):
    """The source of a crate as crates.io has it: cargo's own copy, which is only read."""
    name, version = row.facts["crate"], row.facts["version"]
    asking = TARGET / "crates" / f"{name}-{version}"
    (asking / "src").mkdir(parents=True, exist_ok=True)
    (asking / "src" / "lib.rs").touch()
    (asking / "Cargo.toml").write_text(
        f'[package]\nname = "asking"\nversion = "0.0.0"\nedition = "2021"\n'
        f'[dependencies]\n{name} = "={version}"\n[workspace]\n')
    done = subprocess.run(["cargo", "metadata", "--format-version=1", "--manifest-path", str(asking / "Cargo.toml")],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Skip(f"no crate {name} {version}: {histories.last_line(done.stderr)}")
    for package in json.loads(done.stdout)["packages"]:
        if (package["name"], package["version"]) == (name, version):
            return pathlib.Path(package["manifest_path"]).parent
    raise Skip(f"cargo does not say where {name} {version} is")
