"""Programs that the cases look at, built from Debian's sources below target/cases.

What is built already is not built again: a program's folder is moved into place, or marked,
when it is whole. A variant is a copy of a built tree with a patch of the case's, built again,
so that it differs by the patch only.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
# Optimised as the project's own default, with the debug information that source lines need.
# GMP takes Bignum#to_s out of Ruby's hands; nothing of a documentation is wanted.
RUBY_OPTIONS = [
    "--disable-install-doc",
    "--without-gmp",
    "--disable-shared",
    "--with-compress-debug-sections=no",
    "optflags=-O3",
    "debugflags=-g",
]


class CannotBuild(Exception):
    """What failed, with the end of its log."""


def target():
    """Everything that the cases make is below this folder, which git ignores."""
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "cases"
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def say(words):
    print(f"cases: {words}", file=sys.stderr, flush=True)


def command(words, folder, log):
    """Runs a step of a build; its words go to the log."""
    with open(log, "ab") as output:
        done = subprocess.run(words, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        end = "\n".join(Path(log).read_text(errors="replace").splitlines()[-15:])
        raise CannotBuild(f"{' '.join(map(str, words))} failed in {folder}:\n{end}")


def source(package):
    """The unpacked source of a Debian package."""
    done = subprocess.run(
        [ROOT / "scripts/fetch-source", package, target() / "src"], stdout=subprocess.PIPE, text=True
    )
    if done.returncode != 0:
        raise CannotBuild(f"the source of {package} is not to be had")
    return Path(done.stdout.split("\n")[-2])


def _finished(folder):
    return (folder / ".complete").exists()


def miniruby():
    """The tree of ruby3.1 with miniruby built in it, in place: a copy of it builds as it stands."""
    folder = target() / "ruby"
    if not _finished(folder):
        say("building miniruby of Debian's source (once; two minutes)")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source("ruby3.1"), folder, symlinks=True)
        log = target() / "ruby.log"
        # Debian's patches leave configure older than what it is made of, which autoconf is
        # wanted for then.
        for made in ["aclocal.m4", "configure"]:
            (folder / made).touch()
        command(["./configure", *RUBY_OPTIONS], folder, log)
        command(["make", "-j2", "miniruby"], folder, log)
        (folder / ".complete").touch()
    return folder


def mjit_ruby():
    """A copy of that tree with the whole ruby in it, whose MJIT finds its header where it was built."""
    folder = target() / "ruby-mjit"
    if not _finished(folder):
        tree = miniruby()
        say("building ruby with its JIT (once; two minutes)")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tree, folder, symlinks=True, ignore=shutil.ignore_patterns(".complete"))
        log = target() / "ruby-mjit.log"
        # The header is otherwise looked for where `make install` would put it.
        config = folder / "mjit_config.h"
        header = folder / ".ext/include/x86_64-linux"
        config.write_text(config.read_text().replace('"/usr/local/include/ruby-3.1.0/x86_64-linux"', f'"{header}"'))
        command(["make", "-j2", "ruby", "mjit-headers"], folder, log)
        command(["make", "-j2", "enc.mk", "encs"], folder, log)
        (folder / ".complete").touch()
    return folder


def ruby_words(tree):
    """How a ruby is started in the tree that it was built in; its library is the base tree's."""
    base = mjit_ruby()
    places = [base / "lib", base / ".ext/x86_64-linux", base / ".ext/common", base]
    return [f"{tree}/ruby", "--disable-gems", *(f"-I{place}" for place in places)]


def patched(tree, patch, goal="miniruby", make=("make",)):
    """A copy of a built tree with a patch in it, built again."""
    name = re.sub(r"[^a-zA-Z0-9]+", "-", f"{tree.name}-{patch.stem}")
    folder = target() / name
    mark = folder / ".patched"
    if not mark.exists() or mark.read_bytes() != patch.read_bytes():
        say(f"building {name} (once)")
        shutil.rmtree(folder, ignore_errors=True)
        # Times are kept, so that make builds again what the patch touches and no more.
        shutil.copytree(tree, folder, symlinks=True)
        log = target() / f"{name}.log"
        command(["patch", "-p1", "--no-backup-if-mismatch", "-i", patch], folder, log)
        command([*make, goal], folder, log)
        mark.write_bytes(patch.read_bytes())
    return folder


def packages(*names):
    """What cannot be done without; `scripts/install-deps cases` installs it."""
    state = ["dpkg-query", "-W", "-f=${db:Status-Status}"]
    lacking = [
        name
        for name in names
        if subprocess.run([*state, name], capture_output=True, text=True).stdout != "installed"
    ]
    if lacking:
        raise CannotBuild(f"missing {' '.join(lacking)}; mend it with: scripts/install-deps cases")


def berkeley_db():
    """The B-tree driver of examples/calls-per-record, with Berkeley DB 5.3 in it."""
    done = subprocess.run(
        [ROOT / "examples/calls-per-record/build", "db-btree"], stdout=subprocess.PIPE, text=True
    )
    if done.returncode != 0:
        raise CannotBuild("examples/calls-per-record/build db-btree failed")
    return Path(done.stdout.strip())
