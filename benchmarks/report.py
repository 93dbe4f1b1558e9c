"""Times of all runs → medians, ratios and goals, as values, a table, JSON or a plot."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from statistics import median

from rich.box import SIMPLE
from rich.table import Table

from benchmarks.sides import CHANGED_FILES, SideTimes

FIRST = "first snapshot"
UNCHANGED = "later, nothing changed"
CHANGED = f"later, {CHANGED_FILES} files changed"
RESUMED = "later, another process"
LOOK = "look for a preview"
DISK = "on disk"
_MANY = 100_000
_GOALS = {
    (FIRST, _MANY): 0.3,
    (UNCHANGED, _MANY): 1.5,
    (CHANGED, _MANY): 1.5,
    (UNCHANGED, 3_000): 1.0,
    (CHANGED, 3_000): 1.0,
    (LOOK, _MANY): 1.5,
    (DISK, _MANY): 0.8,
}


@dataclass(frozen=True, slots=True)
class Row:
    """One thing measured, on both sides: medians, in seconds or bytes."""

    what: str
    against: str
    """What keryx is held against: git, or keryx's own later snapshot with nothing changed."""
    unit: str
    other: float
    keryx: float
    ratio: float
    goal: float | None
    """The highest ratio that was aimed at; None when none was set for this size."""


@dataclass(frozen=True, slots=True)
class SizeReport:
    """What came out for one work tree."""

    files: int
    folders: int
    content_bytes: int
    runs: int
    peak_bytes: int
    """The memory that keryx's process took at most, interpreter and libraries included."""
    rows: tuple[Row, ...]


def make_rows(files: int, git: Sequence[SideTimes], keryx: Sequence[SideTimes]) -> tuple[Row, ...]:
    """Hold the medians of all runs against each other."""

    def row(what: str, unit: str, of: Callable[[SideTimes], Iterable[float]]) -> Row:
        return _row(what, "git", unit, _median(git, of), _median(keryx, of), files)

    later_git = _median(git, lambda times: times.unchanged)
    later_keryx = _median(keryx, lambda times: times.unchanged)
    resumed = _median(keryx, lambda times: [times.resumed])
    look = _median(keryx, lambda times: times.looks)
    return (
        row(FIRST, "s", lambda times: [times.first]),
        row(UNCHANGED, "s", lambda times: times.unchanged),
        row(CHANGED, "s", lambda times: times.changed),
        _row(RESUMED, "git", "s", later_git, resumed, files),
        _row(LOOK, "later", "s", later_keryx, look, files),
        row(DISK, "B", lambda times: [times.disk_bytes]),
    )


def _median(runs: Sequence[SideTimes], of: Callable[[SideTimes], Iterable[float]]) -> float:
    return median(value for times in runs for value in of(times))


def _row(what: str, against: str, unit: str, other: float, keryx: float, files: int) -> Row:
    return Row(what, against, unit, other, keryx, keryx / other, _GOALS.get((what, files)))


def make_heading(report: SizeReport) -> str:
    """Say in one line what was measured."""
    runs = "run" if report.runs == 1 else "runs"
    return (
        f"{report.files:,} files in {report.folders:,} folders, {_bytes(report.content_bytes)}; "
        f"medians of {report.runs} {runs}; keryx's process took up to {_bytes(report.peak_bytes)}"
    )


def make_table(report: SizeReport) -> Table:
    """Draw one size; a goal that was missed has a mark."""
    table = Table(box=SIMPLE)
    for name in ("", "against", "the other", "keryx", "ratio", "goal"):
        is_text = name in ("", "against")
        table.add_column(name, justify="left" if is_text else "right", no_wrap=True)
    for row in report.rows:
        show = _bytes if row.unit == "B" else _milliseconds
        goal = "" if row.goal is None else f"{row.goal:.1f}"
        missed = row.goal is not None and row.ratio > row.goal
        ratio = f"{row.ratio:.2f}" + (" !" if missed else "")
        table.add_row(row.what, row.against, show(row.other), show(row.keryx), ratio, goal)
    return table


def write_json(path: Path, reports: Sequence[SizeReport], machine: dict[str, str]) -> None:
    """Keep everything in *path*."""
    content = {"machine": machine, "sizes": [asdict(report) for report in reports]}
    path.write_text(json.dumps(content, indent=2) + "\n")


def write_plot(path: Path, reports: Sequence[SizeReport]) -> None:
    """Draw the ratios over the sizes into *path*. Raises ImportError without matplotlib."""
    matplotlib = import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot = import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(figsize=(8, 5))
    sizes = [report.files for report in reports]
    for index, first in enumerate(reports[0].rows):
        ratios = [report.rows[index].ratio for report in reports]
        axes.plot(sizes, ratios, marker="o", label=f"{first.what} (against {first.against})")
    axes.axhline(1.0, color="grey", linewidth=0.8)
    axes.set(xscale="log", xlabel="files", ylabel="ratio, lower is better", ylim=(0, None))
    axes.legend()
    figure.savefig(path)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms"


def _bytes(count: float) -> str:
    return f"{count / 1e6:,.1f} MB"
