"""Put the table of measured speeds into the README: `python -m benchmarks.readme RESULTS.json`.

Only what a run of the benchmark kept is shown; nothing is measured here.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from benchmarks.report import read_json, show_value
from benchmarks.rows import (
    AGAINST,
    BYTES,
    EVERY,
    GOALS,
    LIMITS,
    ROWS_APART,
    SIZE_ROWS,
    Results,
    Row,
    SizeReport,
)

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- speeds: made by benchmarks/readme.py -->", "<!-- end of speeds -->"
_MISSED = " (missed)"
_NOT_MEASURED = "–"


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the results that were named and write the README anew."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.readme", description=__doc__)
    parser.add_argument("results", type=Path, help="what --json kept")
    parser.add_argument("--print", action="store_true", help="print the table; write nothing")
    options = parser.parse_args(arguments)
    try:
        text = speeds(read_json(options.results))
    except (OSError, ValueError, KeyError, TypeError) as error:
        parser.exit(1, f"the results cannot be read: {error}\n")
    if options.print:
        sys.stdout.write(text + "\n")
    else:
        README.write_text(in_readme(text, README.read_text("utf-8")), "utf-8")


def in_readme(text: str, readme: str) -> str:
    """Return *readme* with *text* in the table's place."""
    before, rest = readme.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


def speeds(results: Results) -> str:
    """Write *results* as Markdown: on what they were measured, and a table with every row."""
    sizes = sorted(results.sizes, key=lambda size: size.files)
    lines = [_circumstances(results, sizes), "", *_head(sizes)]
    for what in SIZE_ROWS:
        lines.append(_line(what, [_found(size.rows, what) for size in sizes]))
    apart = (*results.growth, *results.program)
    for what in ROWS_APART:
        # What is not of one size stands under the largest.
        lines.append(_line(what, [None] * (len(sizes) - 1) + [_found(apart, what)]))
    return "\n".join(lines)


def _circumstances(results: Results, sizes: Sequence[SizeReport]) -> str:
    machine = results.machine
    runs = max((size.runs for size in sizes), default=0)
    run = "1 run" if runs == 1 else f"{runs} runs"
    said = (
        f"Measured on {results.taken_at}: {machine['system']}, {machine['cores']} cores, "
        f"Python {machine['python']}, git {machine['git']}; medians of {run}. A cell holds keryx's "
        "value, what it is held against, and the ratio; less is better."
    )
    return textwrap.fill(said, 100, break_on_hyphens=False)


def _head(sizes: Sequence[SizeReport]) -> tuple[str, str]:
    titles = [f"{size.files:,} files, {show_value(size.content_bytes, BYTES)}" for size in sizes]
    return (
        _cells(["what", "against", *titles, "goal"]),
        _cells(["---", "---", *["---:"] * len(titles), "---"]),
    )


def _found(rows: Sequence[Row], what: str) -> Row | None:
    return next((row for row in rows if row.what == what), None)


def _line(what: str, rows: Sequence[Row | None]) -> str:
    values = [_NOT_MEASURED if row is None else _value(row) for row in rows]
    return _cells([what, AGAINST[what], *values, _goals(what)])


def _value(row: Row) -> str:
    value = show_value(row.keryx.median, row.unit)
    if row.other is not None and row.ratio is not None:
        value += f" / {show_value(row.other.median, row.unit)} = {row.ratio:.2f}"
    return value + (_MISSED if row.met is False else "")


def _goals(what: str) -> str:
    """Write the goals of a row, with the sizes that they are set for."""
    unit = LIMITS.get(what)
    said = []
    for size, goal in GOALS.get(what, {}).items():
        shown = f"{goal:g}" if unit is None else show_value(goal, unit)
        said.append(shown if size == EVERY else f"{shown} at {size:,}")
    return ", ".join(said)


def _cells(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


if __name__ == "__main__":
    main()
