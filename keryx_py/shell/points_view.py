"""The list of points, as a text. Nothing here prints."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from keryx_py.rewind.points import PRUNED, FilesState, PointKind, RewindPoint
from keryx_py.rewind.rewinder import ListedPoint
from keryx_py.shell.point_names import SIGN
from keryx_py.shell.render import (
    QUIET,
    counted,
    first_words,
    padded,
    time_text,
)
from keryx_py.shell.visible import on_one_line


def points_text(points: Sequence[ListedPoint], width: int) -> Text:
    """Draw the list: one line a point, newest first; pruned turns as one last line."""
    pruned = [listed.point for listed in points if is_pruned(listed.point)]
    kept = [listed for listed in points if not is_pruned(listed.point)]
    digits = max((len(str(listed.point.number)) for listed in kept), default=1)
    text = Text()
    for listed in kept:
        text.append_text(_point_line(listed, digits, width))
        text.append("\n")
    live = [point.number for point in pruned if point.live]
    if live:
        verb = "files" if len(live) == 1 else f"{spans(live)}: files"
        text.append(f"turn {live[0]}: {verb}" if len(live) == 1 else f"turns {verb}", QUIET)
        text.append(" pruned, history only\n", QUIET)
    text.rstrip()
    return text


def is_pruned(point: RewindPoint) -> bool:
    """Whether the files of *point* went with its snapshot."""
    return point.files is FilesState.GONE and point.reason.startswith(PRUNED)


def spans(numbers: Sequence[int]) -> str:
    """Say *numbers* in order, runs of three and more as "1 to 10"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    said = [f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return ", ".join(said)


def _point_line(listed: ListedPoint, digits: int, width: int) -> Text:
    point = listed.point
    counts = point_counts(listed)
    lead = f"{padded(str(point.number), digits)} {time_text(point.at)}  "
    mark = point_mark(point)
    room = max(20, min(60, width - len(lead) - len(mark) - max(len(counts), 24) - 2))
    text = Text(lead, QUIET if not point.live else "")
    text.append(mark, "cyan")
    label = first_words(point_label(point), room)
    text.append(padded(label, room) if counts else label)
    text.append(f"  {counts}" if counts else "", QUIET)
    return text


def point_label(point: RewindPoint) -> str:
    """Say what *point* is known by: the prompt, or the name and the note of a checkpoint."""
    if point.kind is not PointKind.CHECKPOINT:
        return point.label
    return " ".join(filter(None, (point.label and SIGN + point.label, point.note)))


def point_mark(point: RewindPoint) -> str:
    """Say in brackets what *point* is, where it is more or less than a turn."""
    match point.kind:
        case PointKind.UNDO:
            return "[undo point] "
        case PointKind.CHECKPOINT:
            return "[checkpoint] " if point.live else "[checkpoint, rewound] "
        case PointKind.TURN:
            return "" if point.live else "[rewound] "


def point_counts(listed: ListedPoint) -> str:
    """Say how many files the turn and the person changed, or why the files are gone."""
    point = listed.point
    since = listed.changed_since
    yours = f"you changed {since:,} since" if since else ""
    if point.files is FilesState.GONE:
        gone = f"history only: {on_one_line(point.reason)}" if point.live else point.reason
        return ", ".join(filter(None, (gone, yours)))
    if listed.changed is not None:
        yours = f"you changed {since:,} since" if since is not None else ""
        return ", ".join(filter(None, (counted(listed.changed, "file"), yours)))
    own = "" if point.own_snapshot else "no snapshot"
    if point.own_snapshot and point.kind is PointKind.TURN:
        own = "its end is unknown"
    return ", ".join(filter(None, (own, yours)))
