# Loaded before a program by genba (PYTHONPATH): reports what the garbage collector did, at the
# end of the process that it was loaded into, and of no other. The program's own sitecustomize,
# if there is one, is run as if this were not there.
def _genba():
    import os
    import sys

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
    # What the program starts is not measured, and must not see this.
    was = os.environ.pop("GENBA_PYTHONPATH", "")
    if was:
        os.environ["PYTHONPATH"] = was
    else:
        os.environ.pop("PYTHONPATH", None)
    try:
        number = int(os.environ["GENBA_METRICS_FD"])
        # Not a descriptor that by now is something else's.
        mine = "memfd:genba-metrics" in os.readlink("/proc/self/fd/%d" % number)
    except (KeyError, ValueError, OSError):
        mine = False
    if mine:
        import atexit
        import gc
        from time import perf_counter

        pid = os.getpid()
        runs = [0, 0, 0]
        sums = [0.0, 0]
        began = [0.0]

        def note(phase, info, clock=perf_counter):
            if phase == "start":
                began[0] = clock()
            else:
                sums[0] += clock() - began[0]
                runs[info["generation"]] += 1
                sums[1] += info["collected"]

        gc.callbacks.append(note)

        def report():
            if os.getpid() != pid:
                return
            lines = [
                "gc_runs %d count" % sum(runs),
                "gc_minor %d count" % (runs[0] + runs[1]),
                "gc_major %d count" % runs[2],
                "gc_time %r seconds" % sums[0],
                "gc_collected %d count" % sums[1],
                "live_blocks %d count" % sys.getallocatedblocks(),
            ]
            try:
                iterations = float(os.environ.get("GENBA_ITERATIONS", "0"))
                if iterations > 0:
                    lines.append("gc_time_per_iteration %r seconds" % (sums[0] / iterations))
                os.write(number, ("\n".join(lines) + "\n").encode())
            except (OSError, ValueError):
                pass

        atexit.register(report)

    # The one that this stands before.
    import importlib.util
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


try:
    _genba()
finally:
    del _genba
