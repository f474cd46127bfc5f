from lib import programs
from lib.outcome import Checks, value

TITLE = "Objects that a request allocates"
MUST = "counters that the target itself reports, per request, next to the times"
PUBLISHED = "about 9,000 objects a request"
HERE = programs.HERE / "B5"


def prepare():
    programs.packages("ruby3.1", "ruby-railties", "ruby-actionpack", "ruby-actionview")


def run(genba):
    measured = genba.ask(
        "bench", "-N", "--per-request", HERE / "app.rb", "--requests", "300", "--requests-warmup", "50",
        "--metric", "per_request_cpu", "-r", "5",
        "-n", "usual-heap", "ruby3.1",
        "-n", "large-heap", "env RUBY_GC_HEAP_INIT_SLOTS=1000000 ruby3.1",
    )
    genba.show()
    check = Checks()
    metrics = {v["name"]: v["metrics"] for v in measured["variants"]}

    def median(name, metric):
        return value(metrics[name][metric]["median"])

    objects = median("usual-heap", "allocated_objects_per_request")
    check(f"{objects:,.0f} objects a request", 1_000 < objects < 50_000)
    other = median("large-heap", "allocated_objects_per_request")
    check("as many with a larger heap", abs(other - objects) < 0.02 * objects)
    runs, fewer = (median(name, "gc_runs_in_requests") for name in metrics)
    check(f"which is collected {fewer:.0f} times instead of {runs:.0f}", fewer < runs)
    cpu, gc = (median("usual-heap", name) for name in ("per_request_cpu", "gc_time_per_request"))
    check(f"next to the times: {cpu * 1e3:.2f} ms of CPU, {gc * 1e3:.2f} ms of them collection", 0 < gc < cpu)
    said = f"{objects:,.0f} objects and {cpu * 1e3:.1f} ms of CPU a request"
    return check.outcome(said, f"{objects:,.0f} objects")
