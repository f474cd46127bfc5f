"""The outcomes as lines, as a table, and as Markdown."""

import textwrap

WORDS = {True: "found", False: "NOT FOUND", None: "not run"}
WIDTHS = {"must": 44, "said": 52, "here": 20, "published": 16}


def told(row, details):
    """What a case came to, when it ends."""
    lines = [f"{row['case']}  {WORDS[row['found']]}  {row['said']}  ({row['seconds']:.0f} s)"]
    if details:
        lines.insert(0, "")
        lines += [f"      {'✓' if holds else '✗'} {words}" for words, holds in row["checks"]]
        lines.append(f"      here {row['here']}, published {row['published']}")
        if row["note"]:
            lines += textwrap.wrap(row["note"], 92, initial_indent=" " * 6, subsequent_indent=" " * 6)
    else:
        lines += [f"      ✗ {words}" for words, holds in row["checks"] if not holds]
    return "\n".join(lines)


def text(rows):
    """case, what must be found, found, ratio here, ratio published; notes below."""
    head = {"case": "case", "must": "must be found", "found": "found", "here": "here"}
    head |= {"published": "published", "seconds": "time"}
    lines = ["", *_row(head | {"found": "found"})]
    for row in rows:
        cells = row | {"found": WORDS[row["found"]], "seconds": f"{row['seconds']:.0f} s"}
        lines += _row(cells)
    notes = [row for row in rows if row["note"]]
    for row in notes:
        lines += textwrap.wrap(
            f"{row['case']}: {row['note']}", 120, initial_indent="  ", subsequent_indent="      "
        )
    total = sum(row["seconds"] for row in rows)
    found = sum(row["found"] is True for row in rows)
    lines.append(f"\n{found} of {len(rows)} as they must be, {total / 60:.0f} minutes")
    return "\n".join(lines)


def _row(cells):
    """One row, its long cells on several lines."""
    must = textwrap.wrap(cells["must"], WIDTHS["must"]) or [""]
    here = textwrap.wrap(cells["here"], WIDTHS["here"]) or [""]
    published = textwrap.wrap(cells["published"], WIDTHS["published"]) or [""]
    lines = []
    for at in range(max(len(must), len(here), len(published))):
        first = at == 0
        part = lambda cell: cell[at] if at < len(cell) else ""  # noqa: E731
        lines.append(
            f"{cells['case'] if first else '':5}{part(must):{WIDTHS['must'] + 2}}"
            f"{cells['found'] if first else '':11}{part(here):{WIDTHS['here'] + 2}}"
            f"{part(published):{WIDTHS['published'] + 2}}{cells['seconds'] if first else '':>6}".rstrip()
        )
    return lines


def markdown(rows):
    lines = ["| case | must be found | found | here | published |", "|---|---|---|---|---|"]
    for row in rows:
        cells = [row["case"], row["must"], WORDS[row["found"]], row["here"], row["published"]]
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join(lines) + "\n"
