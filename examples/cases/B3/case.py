import shutil
import subprocess

from lib import programs
from lib.outcome import Checks, value

TITLE = "A patch to string duplication, judged on two hosts"
MUST = "a verdict for the patch on each of two hosts, never mixing them"
PUBLISHED = "1.64 against 1.23 s: 1.33×"
HERE = programs.HERE / "B3"
CLUSTER = programs.ROOT / "scripts/slurm-test-cluster"

PLAN = """
[campaign]
name = "string-literal"
source = "{tree}"
command = "{{tree}}/miniruby {script}"
metric = "user"
shell = "none"
repeats = 6
runs = 3

[[revision]]
name = "allocate, then replace"
patch = "{patch}"

[[revision]]
name = "duplicate"

[[build]]
name = "miniruby"
command = "make miniruby"

[[host]]
name = "server"
constraint = "server"

[[host]]
name = "laptop"
constraint = "laptop"
"""


def prepare():
    return programs.miniruby()


def run(genba):
    tree = prepare()
    plan = genba.folder / "string-literal.toml"
    plan.write_text(PLAN.format(
        tree=tree, script=HERE / "literal.rb", patch=HERE / "allocate-then-replace.patch"
    ))
    # Measured again each time; builds stay.
    shutil.rmtree(genba.folder / ".genba/campaigns/string-literal/blocks", ignore_errors=True)
    cluster = genba.folder / "cluster"
    started = subprocess.run([CLUSTER, "start", cluster], capture_output=True, text=True)
    try:
        if started.returncode == 0:
            env = {"SLURM_CONF": started.stdout.strip()}
            all_ = genba.ask("campaign", plan, "--on", "slurm", env=env)
        else:
            genba.print(f"no Slurm, one host twice: {started.stderr.strip()}")
            all_ = genba.ask("campaign", plan)
    finally:
        subprocess.run([CLUSTER, "stop", cluster], capture_output=True)
    genba.tell("campaign", plan)
    check = Checks()
    results = {result["host"]: result for result in all_["results"]}
    check("both hosts have a verdict of their own", sorted(results) == ["laptop", "server"])
    said = []
    for host, result in sorted(results.items()):
        report = result["report"]
        one = next(one for one in report["comparisons"] if one["metric"] == "user")
        check.verdict(f"duplicate is faster on {host}", one, "faster")
        check(f"{host}: runs of its own nodes alone", len(result["nodes"]) == 1 and one["pairs"] == 18)
        said.append(f"{host}: {one['verdict']} {1 / value(one['ratio']):.2f}×")
    ids = {result["report"]["host"]["id"] for result in results.values()}
    same = any("same kind of machine" in note for note in all_["notes"])
    check("equal fingerprints are said to be one kind of machine", same == (len(ids) == 1))
    return check.outcome(
        "; ".join(said) + ("" if len(ids) == 2 else "; one host twice"),
        ", ".join(part.split(" ")[-1] for part in said),
    )
