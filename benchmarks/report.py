"""Results as tables on the screen and as JSON, and JSON as results again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.box import SIMPLE
from rich.table import Table

from benchmarks.rows import BYTES, SECONDS, Results, Row, SizeReport, Spread

GROWTH, PROGRAM = "growth", "program"
"""What a row is of in JSON, where it is not of one size."""
_COLUMNS = (
    "",
    "against",
    "the other",
    "least – most",
    "keryx",
    "least – most",
    "ratio",
    "goal",
    "met",
)
_TEXT_COLUMNS = frozenset({"", "against"})
_SCALES = {
    BYTES: ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
    SECONDS: ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
}


def make_heading(size: SizeReport) -> str:
    """Say in one line what was measured."""
    runs = "run" if size.runs == 1 else "runs"
    content = show_value(size.content_bytes, BYTES)
    return (
        f"{size.files:,} files in {size.folders:,} folders, {content}; "
        f"medians of {size.runs} {runs}"
    )


def make_table(rows: Sequence[Row]) -> Table:
    """Draw *rows*; a goal is said to be met or missed where there is one."""
    table = Table(box=SIMPLE)
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name in _TEXT_COLUMNS else "right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.what,
            row.against,
            *(("", "") if row.other is None else _show_spread(row.other, row.unit)),
            *_show_spread(row.keryx, row.unit),
            "" if row.ratio is None else f"{row.ratio:.2f}",
            show_goal(row),
            "" if row.met is None else ("yes" if row.met else "MISSED"),
        )
    return table


def _show_spread(spread: Spread, unit: str) -> tuple[str, str]:
    least, most = (show_value(value, unit) for value in (spread.least, spread.most))
    return show_value(spread.median, unit), f"{least} – {most}"


def show_goal(row: Row) -> str:
    """Write a row's goal; empty when it has none."""
    if row.goal is None:
        return ""
    return show_value(row.goal, row.unit) if row.ratio is None else f"{row.goal:g}"


def show_value(value: float, unit: str) -> str:
    """Write seconds or bytes with three digits that count, as people say them."""
    scales = _SCALES[unit]
    size, name = next((scale for scale in scales if value >= scale[0]), scales[-1])
    return f"{_three_digits(value / size)} {name}"


def _three_digits(value: float) -> str:
    places = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:,.{places}f}"


def write_json(path: Path, results: Results) -> None:
    """Keep everything in *path*: what was measured, and then all rows in one flat list."""
    groups = {**{str(size.files): size.rows for size in results.sizes}}
    groups |= {GROWTH: results.growth, PROGRAM: results.program}
    sizes = [asdict(size) for size in results.sizes]
    for size in sizes:
        del size["rows"]
    content = {
        "taken_at": results.taken_at,
        "machine": dict(results.machine),
        "sizes": sizes,
        "rows": [{"of": of, **asdict(row)} for of, rows in groups.items() for row in rows],
    }
    path.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


def read_json(path: Path) -> Results:
    """Read what write_json() kept. Raises OSError; ValueError or KeyError for anything else."""
    content = json.loads(path.read_text("utf-8"))
    rows = [
        (
            kept["of"],
            Row(
                kept["what"],
                kept["against"],
                kept["unit"],
                None if kept["other"] is None else Spread(**kept["other"]),
                Spread(**kept["keryx"]),
                kept["ratio"],
                kept["goal"],
                kept["met"],
            ),
        )
        for kept in content["rows"]
    ]

    def group(of: str) -> tuple[Row, ...]:
        return tuple(row for whose, row in rows if whose == of)

    sizes = tuple(SizeReport(**size, rows=group(str(size["files"]))) for size in content["sizes"])
    machine = content["machine"]
    return Results(content["taken_at"], machine, sizes, group(GROWTH), group(PROGRAM))
