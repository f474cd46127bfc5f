import shutil

from lib import programs
from lib.outcome import Checks, findings_of, times, verdict

TITLE = "Berkeley DB's B-tree calls its comparator through a pointer, nearly always the same one"
MUST = "indirect call with one dominant target, __bam_defcmp; in place of it, faster"
PUBLISHED = "1.14–1.18×"
HERE = programs.HERE / "C3"
# The tree fits the processor's caches, so that the library's code is what counts.
LOOKUPS = (20_000, 100)


def prepare():
    """The same program with the library as it is, and with one of its files patched."""
    folder = programs.target() / "C3"
    usual, in_place = folder / "usual", folder / "in-place"
    if in_place.exists() and in_place.stat().st_mtime > (HERE / "lookup.c").stat().st_mtime:
        return usual, in_place
    programs.say("building the B-tree's lookup (once; two minutes)")
    demo = programs.berkeley_db()
    built = demo / "build/db5.3"
    source = next(path for path in (demo / "src/db5.3").glob("db5.3-*") if path.is_dir())
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "src/btree").mkdir(parents=True)
    mended = folder / "src/btree/bt_compare.c"
    shutil.copy(source / "src/btree/bt_compare.c", mended)
    log = folder / "log"
    programs.command(["patch", "-p1", "-i", HERE / "in-place.patch"], folder, log)
    flags = ["-g", "-O2", "-w", f"-I{built}", f"-I{source}/src"]
    rest = [HERE / "lookup.c", built / "libdb.a", "-lpthread"]
    programs.command(["gcc", *flags, *rest, "-o", usual], folder, log)
    # The archive's bt_compare.o is left out where its symbols are there already.
    programs.command(["gcc", *flags, mended, *rest, "-o", in_place], folder, log)
    return usual, in_place


def run(genba):
    usual, in_place = prepare()
    records, rounds = LOOKUPS
    explained = genba.ask("explain", "--", usual, records, rounds)
    genba.show()
    check = Checks()
    found = findings_of(explained, "indirect-call-one-target", "__bam_cmp")
    check("explain names indirect-call-one-target in __bam_cmp", found)
    check("and its target", found and any("__bam_defcmp" in e["text"] for e in found[0]["evidence"]))

    counted = genba.ask("count", "--once", "--per", records * rounds, "--limit", "0", "--", usual, records, rounds)
    calls = next(f["calls"] for f in counted["functions"] if f["function"] == "__bam_defcmp")
    genba.tell("count", "--once", "--calls", "__bam_defcmp", "--", usual, records, rounds)
    check(f"{calls / records / rounds:.1f} calls of the comparator a lookup", calls > 10 * records * rounds)

    # Where a file's pages lie in memory makes up to 6 % here; every run gets a copy of its own, so
    # that it is the program that is judged, not the place of one file.
    line = f"{records} {rounds}"
    copies = {variant: genba.folder / variant.name for variant in (usual, in_place)}
    copying = [word for variant, copy in copies.items() for word in ("-p", f"cp {variant} {copy}")]
    usual, in_place = copies.values()
    judged = genba.ask(
        "bench", "-N", "--metric", "user", "--budget", "80s", "--check-output", *copying,
        *(["--proves", "latest:1"] if found and explained["findings"][0] is found[0] else []),
        "-n", "pointer", f"{usual} {line}", "-n", "in-place", f"{in_place} {line}",
    )
    genba.show()
    proven = verdict(judged, "in-place", "user")
    check("with the usual comparator in place it is faster", proven["verdict"] == "faster")
    said = f"__bam_defcmp called {calls / records / rounds:.1f} times a lookup; in place: {proven['verdict']}"
    return check.outcome(said, times(proven))
