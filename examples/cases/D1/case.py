from lib import programs
from lib.outcome import Checks, times, value, verdict

TITLE = "A page without and with a JIT that starts compilers"
MUST = "slower with the JIT; its compilers' CPU time told apart from the program's own"
PUBLISHED = "0.73× (3.85 → 5.28 s), 9.97 s CPU"
HERE = programs.HERE / "D1"
PAGES = 10_000


def prepare():
    programs.packages("ruby3.1", "ruby3.1-dev", "gcc")


def run(genba):
    page = f"{HERE / 'page.rb'} {PAGES}"
    judged = genba.ask(
        "bench", "-N", "--budget", "45s", "--metric-regex", "pages:1/s:more=pages/s=([0-9.]+)",
        "-n", "without", f"ruby3.1 {page}", "-n", "mjit", f"ruby3.1 --mjit {page}",
    )
    genba.show()
    check = Checks()
    wall = verdict(judged, "mjit", "wall")
    check("with the JIT it is slower in wall time", wall["verdict"] == "slower")
    medians = {
        v["name"]: {name: value(m["median"]) for name, m in v["metrics"].items()} for v in judged["variants"]
    }
    own, children = (medians["mjit"][name] for name in ("target_cpu", "children_cpu"))
    check(f"with the JIT: {own:.2f} s CPU of its own, {children:.2f} s of its compilers", children > 0.1)
    check("without: no children", medians["without"].get("children_cpu", 0) < 0.01)
    said = f"mjit {wall['verdict']}; {own:.2f} s CPU of its own, {children:.2f} s of its children"
    return check.outcome(said, f"{times(wall)}, {own + children:.2f} s CPU")
