"""Documents of the corpus that are kept: each program built and explained in a folder of its own.

A folder FOLDER/NAME has the program's sources, `slow-program` and `fast-program`, genba's case (`.genba`),
`explanation.json`, and, once measured, `measured.json` ({value, low, high}). What takes long is thus done
once; `genba explain -i latest --reevaluate` asks later rules about the same measurements.
"""

import json
import os
import shlex
import shutil
import subprocess

import corpus
import speedup


def run(words, folder, seconds=300):
    """The JSON document that genba prints."""
    done = subprocess.run([corpus.genba(), *words], cwd=folder, capture_output=True, text=True, timeout=seconds,
                          stdin=subprocess.DEVNULL, env=os.environ | {"GENBA_HOME": str(folder / ".genba")})
    if done.returncode not in (0, 3) or not done.stdout:
        raise corpus.Skip((done.stderr.splitlines() or ["no words"])[0])
    return json.loads(done.stdout)


def commands(program, version):
    """The shell line that builds a version as `slow-program` or `fast-program` within its folder."""
    lines = []
    for command in corpus.compile_commands(program, version):
        words = [str(word).replace(str(program.folder) + "/", "").replace(str(corpus.TARGET / program.name) + "/", "")
                 for word in command]
        lines.append(shlex.join(words))
    return " && ".join(lines).replace(f"-o {version} ", f"-o {version}-program ")


def prepare(program, folder):
    """Builds the versions that the program has in its folder, unless they are there."""
    if (folder / "slow-program").exists():
        return
    shutil.copytree(program.folder, folder, dirs_exist_ok=True)
    for version in ("slow", "fast"):
        if version not in corpus.versions(program):
            continue
        done = subprocess.run(commands(program, version), shell=True, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise corpus.Skip(f"{version} does not build")


def case(folder):
    """The id of the case of the explanation: the first one, later ones are comparisons of patches."""
    return run(["case", "list", "--json"], folder)["cases"][-1]["id"]


def explanation(program, folder, reevaluate=False, budget=None):
    """The document about the slow version; with `reevaluate` what this genba makes of the kept case."""
    path = folder / "explanation.json"
    if path.exists() and reevaluate:
        path.write_text(json.dumps(run(["explain", "--json", "--quiet", "-i", case(folder), "--reevaluate"], folder)))
    if not path.exists():
        prepare(program, folder)
        limit = ["--budget", budget] if budget else []
        found = run(["explain", "--json", "--quiet", *limit, "--", "./slow-program", *program.args], folder)
        path.write_text(json.dumps(found))
    return json.loads(path.read_text())


def measured(program, folder, pairs=6):
    """The fix's speedup on this machine: value, low and high."""
    path = folder / "measured.json"
    if not path.exists():
        prepare(program, folder)
        binaries = {version: folder / f"{version}-program" for version in ("slow", "fast")}
        try:
            value, low, high = speedup.measure(program, pairs, binaries)[0]
        except speedup.Different as difference:
            raise corpus.Skip(str(difference)) from difference
        path.write_text(json.dumps({"value": value, "low": low, "high": high}))
    return json.loads(path.read_text())
