"""What `corpus/check --wait` asks of `genba wait`: judging pure, running apart.

A wait program's label says who waits, who is waited for, why, and what the fix gains in
wall time. Of genba's document (`kind: "waits"`) the first three findings and the first
three waits are read for the waiter and its holder, the findings alone for the cause and
the gain. `GENBA_WAITS` names a folder of recorded documents, NAME.json, that are read in
place of running genba: for tests, and to judge a recording again.
"""

import json
import os
import pathlib
import subprocess

import corpus

FIRST = 3
LINES_NEAR = 3
FALSE_GAIN = 1.1


def answer(genba, program, timeout):
    """The document of `genba wait` for the slow version."""
    if recorded := os.environ.get("GENBA_WAITS"):
        try:
            words = (pathlib.Path(recorded) / f"{program.name}.json").read_text()
        except OSError as error:
            raise corpus.Skip(f"{error.filename}: {error.strerror}") from error
        status, complaints = 0, []
    else:
        command = [genba, "wait", "--json", "--", str(program.binary("slow")), *program.args]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout)
        except OSError as error:
            raise corpus.Skip(f"{genba} does not start: {error.strerror}") from error
        except subprocess.TimeoutExpired as error:
            raise corpus.Skip(f"no answer within {timeout} s") from error
        words, status, complaints = done.stdout, done.returncode, done.stderr.strip().splitlines()
    try:
        document = json.loads(words)
    except json.JSONDecodeError as error:
        raise corpus.Skip(f"status {status}: {(complaints or ['no words'])[-1][:160]}") from error
    if not isinstance(document, dict) or document.get("kind") != "waits":
        kind = document.get("kind") if isinstance(document, dict) else type(document).__name__
        raise corpus.Skip(f"kind is {kind!r}, not 'waits'")
    return document


def same_place(wanted, said):
    """Whether this is the label's function; a file or line, where said, must fit as well."""
    if not said or not said.get("function"):
        return False
    functions = [wanted["function"], *wanted.get("also_functions", [])]
    if not any(corpus.same_function(said["function"], f) for f in functions):
        return False
    if said.get("file") and pathlib.Path(said["file"]).name != wanted["file"]:
        return False
    first, last = wanted["lines"]
    return said.get("line") is None or first - LINES_NEAR <= said["line"] <= last + LINES_NEAR


def any_place(wanted, said):
    return any(same_place(place, said) for place in wanted)


def places(label, role):
    """The right places of a role: `waiter` or `holder`; none when the label has none."""
    return ([label[role]] if role in label else []) + label.get(f"also_{role}s", [])


def blocked_share(document):
    """Blocked ÷ (running + blocked) of all threads: the machine's other load left out."""
    threads = document.get("threads") or []
    running, blocked = (sum(t.get(key) or 0 for t in threads) for key in ("running", "blocked"))
    return blocked / (running + blocked) if running + blocked else None


def labelled_blocked_share(label):
    time = label.get("thread_time")
    if not time or not time["running"] + time["blocked"]:
        return None
    return time["blocked"] / (time["running"] + time["blocked"])


def judge(program, document, measured):
    """One row of the table; `measured` is the fix's speed-up in wall time, `None` for a negative."""
    label = program.label
    findings, waits = document.get("findings") or [], document.get("waits") or []
    row = {"name": program.name, "split": program.split, "label": label["cause"],
           "said": findings[0].get("cause") if findings else None,
           "blocked": blocked_share(document), "blocked_label": labelled_blocked_share(label)}
    if program.negative:
        row["false_findings"] = [
            f"{f.get('cause')} at {(f.get('waiter') or {}).get('function')}, gain {gain:.2f}"
            for f in findings
            if (gain := (f.get("predicted_speedup") or {}).get("value") or 0) >= FALSE_GAIN]
        return row
    accepted = [label["cause"], *label.get("also", [])]
    heads = findings[:FIRST] + waits[:FIRST]
    waiters, holders = places(label, "waiter"), places(label, "holder")
    row["waiter_right"] = any(any_place(waiters, head.get("waiter")) for head in heads)
    # A holder counts only where it is named for the right waiter.
    row["holder_right"] = (any(any_place(waiters, head.get("waiter")) and any_place(holders, head.get("holder"))
                               for head in heads) if holders else None)
    row["cause_right"] = row["said"] in accepted
    row["cause_in_first"] = any(f.get("cause") in accepted for f in findings[:FIRST])
    # The gain is that of the fix of this cause, wherever among the first it stands.
    right = next((f for f in findings[:FIRST] if f.get("cause") in accepted), None)
    predicted = (right or {}).get("predicted_speedup")
    row["measured"], row["predicted"] = measured["value"], predicted
    row["gain_right"] = bool(predicted) and predicted["low"] <= measured["value"] <= predicted["high"]
    head = (findings or waits or [{}])[0]
    row["said_waiter"] = in_words(head.get("waiter"))
    row["said_holder"] = in_words(head.get("holder"))
    return row


def in_words(place):
    return f"{place.get('function')}:{place.get('line')}" if place else None


def words(row):
    """The row as a line for people."""
    percent = lambda x: "-" if x is None else f"{100 * x:.0f}"
    blocked = f"blocked {percent(row['blocked'])} % (label {percent(row['blocked_label'])})"
    if "false_findings" in row:
        verdict = "FALSE: " + "; ".join(row["false_findings"]) if row["false_findings"] else "ok"
        return f"{row['name']:18} none{'':15} {verdict}; {blocked}"
    marks = "".join(" " if row[key] is None else good if row[key] else "-" for key, good in
                    (("waiter_right", "W"), ("holder_right", "H"), ("cause_right", "C"),
                     ("cause_in_first", "c"), ("gain_right", "G")))
    predicted = row["predicted"]
    shown = (f"{predicted['value']:.2f} ({predicted['low']:.2f}…{predicted['high']:.2f})"
             if predicted else "nothing")
    line = f"{row['name']:18} {row['label']:19} {marks}  measured {row['measured']:.2f}, predicted {shown}; {blocked}"
    if not (row["waiter_right"] and row["holder_right"] is not False and row["cause_right"]):
        line += f"; said {row['said']}, waiter {row['said_waiter']}, holder {row['said_holder']}"
    return line


def sums(rows):
    """The figures of these rows."""
    positives = [row for row in rows if "cause_right" in row]
    negatives = [row for row in rows if "false_findings" in row]

    def share(key):
        asked = [row[key] for row in positives if row[key] is not None]
        return sum(asked) / len(asked) if asked else None

    return {"positives": len(positives), "negatives": len(negatives),
            **{key: share(key) for key in ("waiter_right", "holder_right", "cause_right",
                                           "cause_in_first", "gain_right")},
            "false_findings": sum(len(row["false_findings"]) for row in negatives),
            "false_programs": sum(bool(row["false_findings"]) for row in negatives)}


def sums_in_words(name, figures):
    """The figures of one half of the split as lines for people."""
    percent = lambda x: "-" if x is None else f"{100 * x:.0f} %"
    return (f"{name}: {figures['positives']} that wait: waiter right {percent(figures['waiter_right'])}, "
            f"holder right {percent(figures['holder_right'])}, top-1 cause right {percent(figures['cause_right'])} "
            f"(first {FIRST}: {percent(figures['cause_in_first'])}), "
            f"measured speed-up within the predicted interval {percent(figures['gain_right'])}\n"
            f"{name}: {figures['negatives']} that wait with reason: {figures['false_findings']} false findings "
            f"in {figures['false_programs']} programs")
