"""Values of all runs → rows: medians, ratios, and the goals. Nothing here measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.keryx_side import PREVIEWED_FILES
from benchmarks.measuring import Measured, What
from benchmarks.trees import CHANGED_FILES
from benchmarks.upkeep import KEPT, SNAPSHOTS

GIT = "git"
LATER = "a later snapshot"
SMALLER = "the size before"
LIMIT = "a limit"
SECONDS, BYTES = "s", "B"
ONLY_KEPT = "a store of only those"
_SMALL, _MANY = 3_000, 100_000
EVERY = 0
"""Stands for every size in a row's goals."""

FIRST = "first snapshot"
UNCHANGED = "later snapshot, nothing changed"
CHANGED = f"later snapshot, {CHANGED_FILES} files changed"
RESUMED = "later snapshot, by another process"
SECOND = "first snapshot of a second session"
RESTORE = "restore of 5 % of the files, with its undo point"
PREVIEW_AND_RESTORE = "the same, with its preview"
PREVIEW = f"preview, {PREVIEWED_FILES} files differ"
DISK = f"disk after {SNAPSHOTS} snapshots"
PRUNED = f"disk after pruning {SNAPSHOTS} to {KEPT}"
KEPT_MEMORY = "memory kept between snapshots, a file"
PEAK_MEMORY = "memory at most, a file"
FIRST_GROWTH = "growth: first snapshot, a file"
LATER_GROWTH = "growth: later snapshot, a file"
MEMORY_GROWTH = "growth: memory at most, for each further file"
HELP = "keryx --help"
PROMPT = "time to the prompt"


@dataclass(frozen=True, slots=True)
class Spread:
    """Several values of one thing."""

    median: float
    least: float
    most: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(median(values), min(values), max(values), len(values))


@dataclass(frozen=True, slots=True)
class Row:
    """One thing measured, held against another or against a limit."""

    what: str
    against: str
    unit: str
    """Of both sides and, where there is no ratio, of the goal: `s` or `B`."""
    other: Spread | None
    """None where there is only a limit."""
    keryx: Spread
    ratio: float | None
    goal: float | None
    """The highest ratio, or value, that is aimed at; None where no goal is set for this size."""
    met: bool | None


@dataclass(frozen=True, slots=True)
class SizeReport:
    """What came out for one work tree."""

    files: int
    folders: int
    content_bytes: int
    runs: int
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Results:
    """What one run of the benchmark found."""

    taken_at: str
    """The day, as 2026-03-01."""
    machine: Mapping[str, str]
    """What it ran on, by `system`, `cores`, `python` and `git`."""
    sizes: tuple[SizeReport, ...]
    growth: tuple[Row, ...]
    """The largest size held against the one before it; none when there was one size."""
    program: tuple[Row, ...]
    """What does not depend on a size."""


@dataclass(frozen=True, slots=True)
class _Contest:
    """What one row compares."""

    title: str
    what: What
    against: str
    other: What
    unit: str


_CONTESTS = (
    _Contest(FIRST, What.FIRST, GIT, What.FIRST, SECONDS),
    _Contest(UNCHANGED, What.UNCHANGED, GIT, What.UNCHANGED, SECONDS),
    _Contest(CHANGED, What.CHANGED, GIT, What.CHANGED, SECONDS),
    _Contest(RESUMED, What.RESUMED, GIT, What.UNCHANGED, SECONDS),
    _Contest(SECOND, What.SECOND, LATER, What.UNCHANGED, SECONDS),
    _Contest(RESTORE, What.RESTORE, GIT, What.RESTORE, SECONDS),
    _Contest(PREVIEW_AND_RESTORE, What.PREVIEW_AND_RESTORE, GIT, What.RESTORE, SECONDS),
    _Contest(PREVIEW, What.PREVIEW, LATER, What.UNCHANGED, SECONDS),
    _Contest(DISK, What.DISK, GIT, What.DISK, BYTES),
    _Contest(PRUNED, What.PRUNED, ONLY_KEPT, What.ONLY_KEPT, BYTES),
)
_STARTS = {HELP: What.HELP, PROMPT: What.PROMPT}
_GROWTH_GOAL = 1.25
"""Linear, with room for what a larger tree loses to caches and disks that are full."""

GOALS: Mapping[str, Mapping[int, float]] = {
    FIRST: {_MANY: 0.3},
    UNCHANGED: {_SMALL: 1.0, _MANY: 1.5},
    CHANGED: {_SMALL: 1.0, _MANY: 1.5},
    SECOND: {EVERY: 1.5},
    RESTORE: {_MANY: 1.0},
    PREVIEW: {_MANY: 1.5},
    DISK: {EVERY: 0.8},
    # A fifth of a store may be garbage: that makes 1.25 of what is kept.
    PRUNED: {EVERY: 1.25},
    KEPT_MEMORY: {EVERY: 600.0},
    FIRST_GROWTH: {EVERY: _GROWTH_GOAL},
    LATER_GROWTH: {EVERY: _GROWTH_GOAL},
    MEMORY_GROWTH: {EVERY: 600.0},
    HELP: {EVERY: 0.150},
    PROMPT: {EVERY: 0.300},
}
"""For each row that has a goal: the highest ratio, or value, by the size that it is set for."""
LIMITS = {
    KEPT_MEMORY: BYTES,
    PEAK_MEMORY: BYTES,
    MEMORY_GROWTH: BYTES,
    HELP: SECONDS,
    PROMPT: SECONDS,
}
"""The rows without another side, with their units."""
SIZE_ROWS = (*(contest.title for contest in _CONTESTS), KEPT_MEMORY, PEAK_MEMORY)
ROWS_APART = (FIRST_GROWTH, LATER_GROWTH, MEMORY_GROWTH, HELP, PROMPT)
"""The rows that are not of one size."""
AGAINST: Mapping[str, str] = {
    **dict.fromkeys((FIRST_GROWTH, LATER_GROWTH), SMALLER),
    **dict.fromkeys(LIMITS, LIMIT),
    **{contest.title: contest.against for contest in _CONTESTS},
}
"""What each row is held against."""


def make_size_rows(files: int, git: Measured, keryx: Measured) -> tuple[Row, ...]:
    """Hold the two sides against each other on a tree of *files* files."""
    rows = [
        compare(
            contest.title,
            contest.unit,
            Spread.of((git if contest.against == GIT else keryx)[contest.other]),
            Spread.of(keryx[contest.what]),
            files,
        )
        for contest in _CONTESTS
    ]
    for title, what in ((KEPT_MEMORY, What.KEPT_MEMORY), (PEAK_MEMORY, What.PEAK_MEMORY)):
        rows.append(hold_to_limit(title, _a_file(Spread.of(keryx[what]), files)))
    return tuple(rows)


def make_growth_rows(sizes: Sequence[SizeReport]) -> tuple[Row, ...]:
    """Hold the largest of *sizes* against the one before it, a file each."""
    ordered = sorted(sizes, key=lambda size: size.files)
    if len(ordered) < 2 or ordered[-2].files == ordered[-1].files:
        return ()
    small, large = ordered[-2:]
    return (
        _grown(FIRST_GROWTH, FIRST, small, large),
        _grown(LATER_GROWTH, UNCHANGED, small, large),
        _memory_grown(small, large),
    )


def _grown(title: str, what: str, small: SizeReport, large: SizeReport) -> Row:
    other = _a_file(row_of(small, what).keryx, small.files)
    return compare(title, SECONDS, other, _a_file(row_of(large, what).keryx, large.files))


def _memory_grown(small: SizeReport, large: SizeReport) -> Row:
    # What is in flight is the same at both sizes, and falls out of the difference. The peak itself
    # has no goal for that reason.
    taken = [row_of(size, PEAK_MEMORY).keryx.median * size.files for size in (small, large)]
    further = max(0.0, taken[1] - taken[0]) / (large.files - small.files)
    return hold_to_limit(MEMORY_GROWTH, Spread.of([further]))


def make_program_rows(keryx: Measured) -> tuple[Row, ...]:
    """Hold the starts of the program to their limits."""
    return tuple(hold_to_limit(title, Spread.of(keryx[what])) for title, what in _STARTS.items())


def row_of(size: SizeReport, what: str) -> Row:
    """Find a row by its title."""
    return next(row for row in size.rows if row.what == what)


def compare(what: str, unit: str, other: Spread, keryx: Spread, files: int = EVERY) -> Row:
    """Make a row with a ratio of medians; its goal is that for *files*, or that for every size."""
    ratio, goal = keryx.median / other.median, _goal(what, files)
    met = None if goal is None else ratio <= goal
    return Row(what, AGAINST[what], unit, other, keryx, ratio, goal, met)


def hold_to_limit(what: str, keryx: Spread) -> Row:
    """Make a row without another side."""
    goal = _goal(what, EVERY)
    met = None if goal is None else keryx.median <= goal
    return Row(what, LIMIT, LIMITS[what], None, keryx, None, goal, met)


def _goal(what: str, files: int) -> float | None:
    goals = GOALS.get(what, {})
    return goals.get(files, goals.get(EVERY))


def _a_file(spread: Spread, files: int) -> Spread:
    return Spread(spread.median / files, spread.least / files, spread.most / files, spread.count)
