"""Edits that take a property out of a source tree: an anchor line, and text of our own in its place."""

from lib.rows import Skip


def applied(text, edit):
    """The text of a file with one edit made.

    `below` is part of a line after which the place is; without it the anchor must be in one
    line only. `replace` is part of the first line that is replaced, `through` part of the last
    (from there on; without it one line is replaced). `after` instead of `replace` keeps its
    line: the new text follows it, instead of the lines to `through` or of none. `with` is the new text.
    """
    lines = text.splitlines(keepends=True)
    anchor = edit.get("replace") or edit["after"]
    start = 0
    if below := edit.get("below"):
        start = only(below, lines) + 1
    first = following(anchor, lines, start) if below else only(anchor, lines)
    kept = first + 1 if "after" in edit else first
    last = following(edit["through"], lines, kept) if "through" in edit else first
    new = edit["with"]
    if new and not new.endswith("\n"):
        new += "\n"
    return "".join([*lines[:kept], new, *lines[last + 1:]])


def only(anchor, lines):
    """The index of the one line with an anchor in it."""
    found = [index for index, line in enumerate(lines) if anchor in line]
    if len(found) != 1:
        raise Skip(f"the anchor {anchor!r} is in {len(found)} lines")
    return found[0]


def following(anchor, lines, start):
    """The index of the first line with an anchor in it, from `start` on."""
    for index in range(start, len(lines)):
        if anchor in lines[index]:
            return index
    raise Skip(f"the anchor {anchor!r} is in no line from {start + 1} on")


def take_out(tree, edits):
    """Makes a row's edits in a tree."""
    for edit in edits:
        path = tree / edit["file"]
        # Sources in other encodings pass unchanged.
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        path.write_text(applied(text, edit), encoding="utf-8", errors="surrogateescape")
