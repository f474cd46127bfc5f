"""Histories of projects: from a local mirror (GENBA_MIRROR), or cloned from GitHub."""

import os
import pathlib
import subprocess

from lib.rows import TARGET, Skip


def mirrored(repository):
    """The bare directory of a repository ("owner/name") in the mirror, or None."""
    mirror = os.environ.get("GENBA_MIRROR")
    if not mirror:
        return None
    plus = repository.replace("/", "+")
    for place in (f"{plus}/repo", plus, f"{plus}.git", f"{repository}.git", repository):
        folder = pathlib.Path(mirror) / place
        if (folder / "HEAD").exists() and (folder / "objects").is_dir():
            return folder
    return None


def history(repository):
    """A bare directory with the repository's history; cloned the first time without a mirror."""
    if folder := mirrored(repository):
        return folder
    folder = TARGET / "histories" / f"{repository.replace('/', '+')}.git"
    if not (folder / "HEAD").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        began = folder.with_suffix(".part")
        done = subprocess.run(
            ["git", "clone", "--quiet", "--bare", "--filter=blob:none",
             f"https://github.com/{repository}", str(began)],
            capture_output=True, text=True)
        if done.returncode != 0:
            raise Skip(f"no history of {repository}: {last_line(done.stderr)}; GENBA_MIRROR names a mirror")
        began.rename(folder)
    return folder


def unpack(repository, revision, to):
    """Puts the tree of a revision into a folder."""
    to.mkdir(parents=True)
    git = subprocess.Popen(
        ["git", "-c", "safe.directory=*", f"--git-dir={history(repository)}", "archive", revision],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    tar = subprocess.run(["tar", "-x", "-C", str(to)], stdin=git.stdout)
    git.stdout.close()
    words = git.stderr.read().decode(errors="replace")
    if git.wait() != 0 or tar.returncode != 0:
        raise Skip(f"cannot unpack {revision} of {repository}: {last_line(words)}")


def last_line(words):
    """The last line of what a program said."""
    lines = words.strip().splitlines()
    return lines[-1][:160] if lines else "it said nothing"
