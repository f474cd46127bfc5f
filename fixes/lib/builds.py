"""Builds both sides of a fix and makes its input; what is there already is not made again."""

import hashlib
import os
import re
import shutil
import subprocess

from lib import sources
from lib.histories import last_line
from lib.rows import FIXES, SIDES, Skip


def prepare(row):
    """Both trees built, the input made."""
    for need in row.facts.get("needs", []):
        if shutil.which(need) is None:
            raise Skip(f"no {need} here")
    for side in SIDES:
        build(row, side)
    make_input(row)


def build(row, side):
    """One side, with optimisation and debug information."""
    tree, done = row.tree(side), row.folder / f"{side}.built"
    steps = row.facts["build"]
    recipe = "\n".join([sources.recipe(row, side), *steps, drivers(steps)])
    if done.exists() and done.read_text() == recipe:
        return
    shutil.rmtree(tree, ignore_errors=True)
    sources.unpack(row, side, tree)
    flags = {"CFLAGS": "-O2 -g", "CXXFLAGS": "-O2 -g", **row.facts.get("environment", {})}
    with open(row.folder / f"{side}.log", "w+") as log:
        for step in steps:
            ended = subprocess.run(["sh", "-c", row.filled(step, side)], cwd=tree, stdout=log,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   env={**os.environ, **flags})
            if ended.returncode != 0:
                log.seek(0)
                raise Skip(f"{side} does not build: {last_line(log.read())} ({log.name})")
    done.write_text(recipe)


def drivers(steps, fixes=FIXES):
    """A digest of the drivers that these steps name: another driver is another build."""
    digest = hashlib.sha256()
    for name in re.findall(r"\{fixes\}/drivers/([\w.-]+)", "\n".join(steps)):
        for path in sorted((fixes / "drivers" / name).rglob("*")):
            if path.is_file():
                digest.update(str(path.relative_to(fixes)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def make_input(row):
    """Runs the row's generator, which writes below the folder that it is given."""
    script, *arguments = row.facts["workload"]
    done = row.folder / "data.made"
    recipe = "\n".join([script, *arguments, (FIXES / "workloads" / script).read_text()])
    if done.exists() and done.read_text() == recipe:
        return
    shutil.rmtree(row.data, ignore_errors=True)
    row.data.mkdir(parents=True)
    ended = subprocess.run([str(FIXES / "workloads" / script), str(row.data), *arguments],
                           capture_output=True, text=True)
    if ended.returncode != 0:
        raise Skip(f"no input: {last_line(ended.stderr)}")
    done.write_text(recipe)
