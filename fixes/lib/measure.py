"""What a fix gains here: parent against commit in interleaved pairs, by genba bench."""

import json
import shlex
import subprocess

from lib.histories import last_line
from lib.rows import Skip


def speedup(row, genba, pairs):
    """Old ÷ new of the row's metric, with its interval; both sides must print the same."""
    outputs = {side: subprocess.run(row.command(side), capture_output=True).stdout
               for side in ("parent", "commit")}
    if outputs["parent"] != outputs["commit"] and not row.facts.get("output_differs"):
        raise Skip("parent and commit print differently")
    metric = row.facts.get("metric", "user")
    command = [genba, "bench", "--json", "-N", "-r", str(pairs), "--metric", metric]
    for side in ("parent", "commit"):
        command += ["-n", side, shlex.join(row.command(side))]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        document = json.loads(done.stdout)
        ratio = next(c["ratio"] for c in document["comparisons"] if c["metric"] == metric)
    except (json.JSONDecodeError, KeyError, StopIteration) as error:
        raise Skip(f"genba bench: {last_line(done.stderr)}") from error
    return {"value": 1 / ratio["value"], "low": 1 / ratio["high"], "high": 1 / ratio["low"]}
