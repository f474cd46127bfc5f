from lib import programs
from lib.outcome import Checks, findings_of, share_of, times, verdict

TITLE = "Bignum#to_s: quotient and remainder taken by two divisions"
MUST = "two divisions of the same operands in big2str_2bdigits; one of them is faster"
PUBLISHED = "1.36×"
HERE = programs.HERE / "A3"
ROUNDS = 50_000


def prepare():
    fast = programs.miniruby()
    return programs.patched(fast, HERE / "two-divisions.patch"), fast


def run(genba):
    slow, fast = prepare()
    words = [HERE / "to_s.rb", ROUNDS]
    explained = genba.ask("explain", "--", slow / "miniruby", *words)
    genba.show()
    found = findings_of(explained, "duplicate-division", "big2str_2bdigits")
    check = Checks()
    check("explain names duplicate-division in big2str_2bdigits", found)
    check("in the lines of its loops", found and 4745 <= found[0]["site"]["line"] <= 4770)
    profile = genba.ask("report", "-i", "latest")
    hot = share_of(profile, "big2str_2bdigits")
    check("the function is the hottest", hot == max(f["self"]["value"] for f in profile["functions"]))
    genba.tell("annotate", "-i", "latest", "big2str_2bdigits")

    line = " ".join(map(str, words))
    judged = genba.ask(
        "bench", "-N", "--metric", "user", "--check-output", "--budget", "40s", "--proves", "latest:1",
        "-n", "two-divisions", f"{slow}/miniruby {line}", "-n", "one-division", f"{fast}/miniruby {line}",
    )
    genba.show()
    proven = verdict(judged, "one-division", "user")
    check("with one division it is faster", proven["verdict"] == "faster")
    predicted = found[0]["predicted_speedup"] if found else {"low": 0, "high": 0, "value": 0}
    measured = 1 / proven["ratio"]["value"]
    check(
        f"by what was predicted: {predicted['value']:.2f}× ({predicted['low']:.2f}–{predicted['high']:.2f})",
        predicted["low"] / 1.05 <= measured <= predicted["high"] * 1.05,
    )
    site = found[0]["site"] if found else {}
    said = f"duplicate-division, {site['file'].split('/')[-1]}:{site['line']}; " if found else ""
    return check.outcome(f"{said}one division: {proven['verdict']}", times(proven))
