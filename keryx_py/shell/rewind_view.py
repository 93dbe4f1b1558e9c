"""The preview of a rewind, as a text. Nothing here prints."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from keryx_py.rewind.plan import (
    Author,
    AuthorKind,
    ChangeKind,
    PathChange,
    RestorePlan,
    RewindPlan,
    Way,
    kind_of,
)
from keryx_py.rewind.points import PointKind, RewindPoint
from keryx_py.shell.line import quote_word
from keryx_py.shell.points_view import point_label, spans
from keryx_py.shell.render import (
    QUIET,
    SCREEN_LINES,
    WARNING,
    counted,
    diff_text,
    first_lines,
    first_words,
    padded,
)
from keryx_py.shell.rewind_words import path_word
from keryx_py.shell.visible import on_one_line, shown_path
from keryx_py.snapshot.listing import FileState, Kind, Skipped

NAMED = 12
"""How many paths a preview names before it counts the rest."""
MANY_OF_YOURS = 100
ONE_IN = 5
"""A rewind of more than one in so many files is warned of."""
NOT_UNDONE = "cannot be undone, but for the files above"

KEEP_STAYS = "with keep they stay"

LineCounts = Mapping[bytes, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Ways:
    """How the person goes on from a preview or a report, in the words of where they are."""

    confirm: str
    """What applies the plan."""
    show_all: str
    """What shows the difference in full; {number} and {mode} stand in it."""
    redo: str
    files: str
    """What rewinds the files of a point; {number} stands in it."""
    keep: str = KEEP_STAYS
    """What leaves the person's edits; {number} and {mode} stand in it."""
    both_sides: str = ""
    """What shows both sides of a conflict; {number} and {path} stand in it."""
    quote: Callable[[str], str] = quote_word
    """Writes a path as one word, where such a line is typed."""


def plan_title(plan: RewindPlan) -> str:
    """Say in one line what *plan* is for."""
    point = plan.point
    label = first_words(point_label(point), 50)
    if plan.redoes is not None:
        return f"take the latest rewind back ({plan.mode.value})"
    if plan.way is Way.ONLY:
        return f"take back turn {point.number} alone" + (f": {label}" if label else "")
    where = {
        PointKind.TURN: f"to before turn {point.number}",
        PointKind.CHECKPOINT: f"to checkpoint {point.number}",
        PointKind.UNDO: f"to undo point {point.number}",
    }[point.kind]
    what = "the picked hunks" if plan.way is Way.PICKED else plan.mode.value
    keeping = ", keeping what you changed" if plan.way is Way.KEEP else ""
    return f"rewind {what} {where}{keeping}" + (f": {label}" if label else "")


def preview_text(
    plan: RewindPlan,
    counts: LineCounts,
    ways: Ways,
    diff: str | None = None,
    running: Sequence[str] = (),
) -> Text:
    """Draw the very value that is applied; *diff* stands in for the paths' lines in full.

    *running* are the commands of what the turns left running.
    """
    text = Text()
    for row in _warnings(plan, ways):
        text.append(row + "\n", WARNING)
    text.append(plan_title(plan) + "\n", "bold")
    if plan.files is not None:
        _files_part(text, plan, plan.files, counts, ways)
    if diff:
        text.append_text(diff_text(first_lines(diff, SCREEN_LINES)))
        text.append("\n")
    _history_part(text, plan)
    rest_text(
        text,
        NOT_UNDONE,
        [f"turn {one.turn} {first_words(one.what, 160)}" for one in plan.not_undone],
    )
    if plan.files is not None:
        running_part(text, running)
    last = "nothing would change, so there is nothing to confirm"
    text.append(last if plan.empty else ways.confirm, "bold")
    return text


def running_part(text: Text, running: Sequence[str]) -> None:
    """Name what still runs: it may change again what is put back."""
    rest_text(text, "still running", list(running))


def is_yours(change: PathChange) -> bool:
    """Whether an edit of the person, or one that may be theirs, would go."""
    return any(author.kind is not AuthorKind.TURN for author in change.by)


def file_changes(plan: RestorePlan | None) -> tuple[PathChange, ...]:
    """The files and links that *plan* changes: what is counted. Folders are not."""
    return tuple(change for change in plan.changes if not _is_folder(change)) if plan else ()


def _warnings(plan: RewindPlan, ways: Ways) -> list[str]:
    if plan.files is None:
        return []
    changes = file_changes(plan.files)
    yours = [change for change in plan.files.changes if is_yours(change)]
    said = []
    if len(changes) * ONE_IN > plan.files.files_now or len(yours) > MANY_OF_YOURS - 1:
        said.append(
            f"this would change {counted(len(changes), 'file')}; "
            f"the project has {counted(plan.files.files_now, 'file')} now"
        )
    for whose, paths in _those_not_the_turns(yours).items():
        it = "an edit" if len(paths) == 1 else "edits"
        said.append(f"{it} of {whose} would go, in {counted(len(paths), 'path')}")
    if yours and plan.way is Way.PLAIN and plan.redoes is None:
        way = KEEP_STAYS if plan.paths else ways.keep
        said.append(way.format(number=plan.point.number, mode=plan.mode.value))
    return [f"warning: {'; '.join(said)}"] if said else []


def _those_not_the_turns(changes: Sequence[PathChange]) -> Mapping[str, Sequence[PathChange]]:
    """Sort *changes*, in each of which somebody beside a turn had a part, by who that was."""
    sorted_out: dict[str, list[PathChange]] = {}
    for change in changes:
        kinds = {author.kind for author in change.by} - {AuthorKind.TURN}
        whose = "another session" if kinds == {AuthorKind.SESSION} else "yours"
        sorted_out.setdefault(whose, []).append(change)
    return dict(sorted(sorted_out.items(), reverse=True))


def _files_part(
    text: Text, plan: RewindPlan, files: RestorePlan, counts: LineCounts, ways: Ways
) -> None:
    if files.changes:
        text.append(f"files: {changes_sum(files.changes)}\n")
        paths_text(text, files.changes, counts, _all(plan, ways), files.merged)
    elif files.kept or files.conflicts:
        text.append("files: nothing differs but what stays\n")
    elif plan.way is Way.PICKED:
        text.append("files: nothing of what was picked can go back\n")
    elif files.target is None and plan.redoes is None:
        text.append(f"files: {_unchanged(plan.point)}; the files stay as they are\n")
    elif files.staying or files.not_covered:
        text.append("files: what a rewind covers is already as it was then\n")
    else:
        text.append("files: already as they were then\n")
    conflicts_part(text, plan, ways)
    own = [path for path in files.kept if path not in files.kept_for_others]
    rest_text(text, _KEPT[plan.way], [shown_path(path) for path in own])
    others = sorted(files.kept_for_others)
    rest_text(text, KEPT_FOR_OTHERS, [shown_path(path) for path in others])
    rest_text(text, "stays as it is", [skipped_text(skipped) for skipped in files.staying])
    rest_text(
        text, "not covered by a rewind", [skipped_text(skipped) for skipped in files.not_covered]
    )


KEPT_FOR_OTHERS = "stays, because another session changed it"
_KEPT = {
    Way.PLAIN: "stays",
    Way.KEEP: "stays, because you changed it",
    Way.ONLY: "stays, because it was changed later",
    Way.PICKED: "stays",
}


def conflicts_part(text: Text, plan: RewindPlan, ways: Ways) -> None:
    """Name what could not be merged, with what shows both sides."""
    conflicts = plan.files.conflicts if plan.files is not None else ()
    coming = {change.path for change in plan.files.changes} if plan.files is not None else set()
    rows: dict[bool, list[str]] = {True: [], False: []}
    for one in conflicts:
        path = ways.quote(path_word(one.path))
        way = ways.both_sides.format(number=plan.point.number, path=path)
        # A path that is not shown as it is typed has no line that could be named.
        is_typed = shown_path(one.path) == os.fsdecode(one.path)
        row = skipped_text(one) + (f": {way}" if is_typed else "")
        rows[one.path in coming].append(row)
    rest_text(text, "in conflict, not merged", rows[True])
    rest_text(text, "in conflict, stays as it is", rows[False])


def named_paths(plan: RewindPlan) -> tuple[bytes, ...]:
    """List the paths of *plan* that a preview names: those whose lines are worth counting."""
    return tuple(c.path for c in _yours_first(plan.files.changes)[:NAMED]) if plan.files else ()


def _yours_first(changes: Sequence[PathChange]) -> list[PathChange]:
    # What is the person's own is named before what may only be counted.
    return sorted(changes, key=lambda change: not is_yours(change))


def paths_text(
    text: Text,
    changes: Sequence[PathChange],
    counts: LineCounts,
    way_to_all: str = "",
    merged: Collection[bytes] = (),
) -> None:
    ordered = _yours_first(changes)
    width = max(cell_len(shown_path(change.path)) for change in ordered[:NAMED])
    for change in ordered[:NAMED]:
        joined = change.path in merged
        text.append_text(_path_line(change, counts, min(width, 50), joined=joined))
    rest = ordered[NAMED:]
    if rest:
        text.append(f"  … and {len(rest)} more: {changes_sum(rest)}{way_to_all}\n", QUIET)


def _all(plan: RewindPlan, ways: Ways) -> str:
    if plan.redoes is not None or plan.way is Way.PICKED:
        return ""
    return "; " + ways.show_all.format(number=plan.point.number, mode=_mode_words(plan))


def _mode_words(plan: RewindPlan) -> str:
    """Write the mode and the way of *plan* as they are typed."""
    match plan.way:
        case Way.ONLY:
            return "only"
        case Way.KEEP:
            return f"{plan.mode.value} keep"
        case Way.PLAIN | Way.PICKED:
            return plan.mode.value


def _unchanged(point: RewindPoint) -> str:
    if point.kind is PointKind.TURN:
        return "this turn changed nothing, and no later one did"
    return "no turn has changed anything since"


def changes_sum(changes: Sequence[PathChange]) -> str:
    """Say how many files are modified, brought back and removed; folders beside them."""
    files = Counter(kind_of(change) for change in changes if not _is_folder(change))
    folders = sum(_is_folder(change) for change in changes)
    total = sum(files.values())
    kinds = ", ".join(f"{files[kind]:,} {kind.value}" for kind in ChangeKind if files[kind])
    said = [f"{counted(total, 'file')} ({kinds})"] if total else []
    said += [counted(folders, "folder")] if folders else []
    return " and ".join(said)


def _path_line(change: PathChange, counts: LineCounts, width: int, *, joined: bool) -> Text:
    kind = kind_of(change)
    style = {ChangeKind.REMOVED: "red", ChangeKind.BROUGHT_BACK: "green"}.get(kind, "yellow")
    text = Text("  ")
    text.append(padded(kind.value, 14), style)
    name = shown_path(change.path) + ("/" if _is_folder(change) else "")
    text.append(padded(name, width))
    text.append("  " + padded(_what(change, counts), 8))
    marks = [authors_text(change.by)] if change.by else []
    marks += ["being written"] if change.being_written else []
    marks += ["merged"] if joined else []
    text.append("  " + ", ".join(marks), WARNING if is_yours(change) else QUIET)
    text.rstrip()
    text.append("\n")
    return text


def _what(change: PathChange, counts: LineCounts) -> str:
    now, then = change.now, change.then
    if now is not None and then is not None:
        if now.kind is not then.kind:
            return f"{now.kind.value} → {then.kind.value}"
        if now.oid == then.oid:
            return f"mode {now.mode:04o} → {then.mode:04o}"
    if change.path in counts:
        added, removed = counts[change.path]
        mode = f" mode {then.mode:04o}" if then and now and then.mode != now.mode else ""
        return f"+{added} -{removed}{mode}"
    states = [state for state in (now, then) if state is not None]
    if any(state.kind is Kind.LINK for state in states):
        return "link"
    return "" if _is_folder(change) else "binary"


def authors_text(authors: Sequence[Author]) -> str:
    """Say whose change would go: "turn 3", "you", "session … (turn 2)", in order of time."""
    return ", ".join(dict.fromkeys(map(_author_text, authors)))


def _author_text(author: Author) -> str:
    match author.kind:
        case AuthorKind.TURN:
            return f"turn {author.turn}"
        case AuthorKind.PERSON:
            return "you"
        case AuthorKind.UNKNOWN:
            return "unknown"
        case AuthorKind.SESSION:
            what = "a rewind" if author.turn is None else f"turn {author.turn}"
            return f"session {on_one_line(author.session)} ({what})"


def _history_part(text: Text, plan: RewindPlan) -> None:
    if plan.returning:
        come = "comes" if len(plan.returning) == 1 else "come"
        turns = f"{counted(len(plan.returning), 'turn')} ({spans(plan.returning)})"
        text.append(f"history: {turns} {come} back\n")
    cut = plan.history
    if cut is None:
        return
    turns = counted(len(cut.turns), "turn") + (f" ({spans(cut.turns)})" if cut.turns else "")
    text.append(f"history: {turns} and {counted(cut.messages, 'message')} go\n")


def skipped_text(skipped: Skipped) -> str:
    return f"{shown_path(skipped.path)} ({on_one_line(skipped.reason)})"


def rest_text(text: Text, title: str, rows: Sequence[str]) -> None:
    if not rows:
        return
    text.append(f"{title}:\n")
    for row in rows[:NAMED]:
        text.append(f"  {row}\n")
    if len(rows) > NAMED:
        text.append(f"  … and {len(rows) - NAMED} more\n", QUIET)


def _is_folder(change: PathChange) -> bool:
    states: list[FileState] = [state for state in (change.now, change.then) if state is not None]
    return all(state.kind is Kind.FOLDER for state in states)
