"""Put a rewind's plan together from values. Nothing here reads or writes a disk."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from keryx_py.messages import Message
from keryx_py.rewind.attribution import Chapter, attribute
from keryx_py.rewind.difference import EVERYTHING, UNASKED, Asked, Limit, left_out, work_out
from keryx_py.rewind.leaving import Target
from keryx_py.rewind.plan import (
    Author,
    AuthorKind,
    HistoryCut,
    PathChange,
    RestorePlan,
    RewindPlan,
    Way,
)
from keryx_py.rewind.points import PointKind, RewindPoint, position_of
from keryx_py.rewind.span import list_not_covered, list_not_undone
from keryx_py.session.archive import Entries, ItemEntry, Mode, TurnEntry, live_turns
from keryx_py.snapshot.listing import FileState, Kind, TreeState, count_contents
from keryx_py.snapshot.store import SnapshotKey


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: which point, how, and what of it."""

    point: RewindPoint
    mode: Mode
    paths: tuple[bytes, ...] = ()
    limit: Limit = EVERYTHING
    redoes: int | None = None
    returning: tuple[int, ...] = ()
    way: Way = Way.PLAIN


@dataclass(frozen=True, slots=True)
class Trees:
    """The files then and now, and what led from the one to the other."""

    key: SnapshotKey
    then: TreeState
    now: TreeState
    chapters: Sequence[Chapter]
    last: Author | None
    """Whose the time from the newest capture to now is."""
    asked: Asked = UNASKED
    target: Target | None = None
    """What is aimed at where that is not just the files then."""


def plan_rewind(
    question: Question,
    entries: Entries,
    trees: Trees | None,
    previous: RewindPlan | None = None,
) -> RewindPlan:
    """Plan what *question* asks for; *trees* is None when no file is to move.

    *previous* is the plan shown last for the same question.
    """
    start = position_of(entries, question.point.number)
    files = None
    if question.mode.moves_files:
        files = _plan_files(question, entries, trees, start)
        moves_whole = question.way is Way.PLAIN
        # What was merged was merged with one content: when that moves, all is looked at again.
        if previous is not None and moves_whole and _same_question(previous, question):
            files = mark_being_written(files, previous)
    cuts = question.mode.cuts_history and question.redoes is None
    plan = RewindPlan(
        id="",
        point=question.point,
        mode=question.mode,
        paths=question.paths,
        files=files,
        history=cut_history(entries, question.point) if cuts else None,
        not_undone=list_not_undone(entries, start),
        position=len(entries),
        redoes=question.redoes,
        returning=question.returning,
        way=question.way,
    )
    return with_id(plan)


def _plan_files(
    question: Question, entries: Entries, trees: Trees | None, start: int
) -> RestorePlan:
    if trees is None:
        return RestorePlan(None, (), (), (), 0)
    then, now, target = trees.then, trees.now, trees.target
    limit = question.limit if target is None else replace(question.limit, exactly=target.exactly)
    difference = work_out(now, then if target is None else target.tree, limit, trees.asked)
    told = [change.path for change in difference.changes]
    told += target.kept if target is not None else ()
    hidden = left_out(told, now)
    authors = attribute(told, then.listing, trees.chapters, now.listing, trees.last, hidden)
    staying = {skipped.path for skipped in difference.staying}
    not_covered = list_not_covered(entries, start, (then, now), limit)
    files = RestorePlan(
        target=trees.key,
        changes=tuple(
            PathChange(change.path, change.before, change.after, authors[change.path])
            for change in difference.changes
        ),
        staying=difference.staying,
        not_covered=tuple(skipped for skipped in not_covered if skipped.path not in staying),
        files_now=count_contents(now.listing),
    )
    return files if target is None else _aimed(files, target, limit, authors)


def _aimed(
    files: RestorePlan,
    target: Target,
    limit: Limit,
    authors: Mapping[bytes, tuple[Author, ...]],
) -> RestorePlan:
    """Say in *files* what stays and what is joined, and that nothing of the person's goes."""
    changes = tuple(
        replace(change, by=tuple(one for one in change.by if one.kind is AuthorKind.TURN))
        for change in files.changes
    )
    needed = {change.then.oid for change in changes if change.then is not None}
    return replace(
        files,
        changes=changes,
        made={oid: content for oid, content in target.made.items() if oid in needed},
        merged=tuple(change.path for change in changes if change.path in target.merged),
        kept=tuple(path for path in target.kept if limit.covers(path)),
        kept_for_others=frozenset(
            path for path in target.kept if limit.covers(path) and _is_others(authors[path])
        ),
        conflicts=tuple(one for one in target.conflicts if limit.covers(one.path)),
    )


def _is_others(authors: tuple[Author, ...]) -> bool:
    """Whether, beside turns, other sessions alone had a part."""
    return {author.kind for author in authors} - {AuthorKind.TURN} == {AuthorKind.SESSION}


def cut_history(entries: Entries, point: RewindPoint) -> HistoryCut | None:
    """Plan cutting the conversation to before *point*; None when no turn would go."""
    turns = tuple(turn for turn in live_turns(entries) if turn >= point.number)
    if not turns:
        return None
    going = frozenset(turns)
    said = sum(
        1
        for entry in entries
        if isinstance(entry, ItemEntry) and entry.turn in going and isinstance(entry.item, Message)
    )
    prompts = sum(1 for entry in entries if isinstance(entry, TurnEntry) and entry.number in going)
    prompt = point.label if point.kind is PointKind.TURN else ""
    return HistoryCut(point.number, turns, said + prompts, prompt)


def _same_question(previous: RewindPlan, question: Question) -> bool:
    return (
        previous.point.number == question.point.number
        and previous.mode is question.mode
        and previous.paths == question.paths
        and previous.redoes == question.redoes
        and previous.way is question.way
    )


def mark_being_written(files: RestorePlan, previous: RewindPlan) -> RestorePlan:
    """Mark the paths whose content alone moved since the *previous* preview."""
    shown = _changes_by_path(previous)
    changes = tuple(
        replace(change, being_written=True)
        if change.path in shown and content_moved(shown[change.path].now, change.now)
        else change
        for change in files.changes
    )
    return replace(files, changes=changes)


def with_marks_of(plan: RewindPlan, shown: RewindPlan) -> RewindPlan:
    """Give *plan* the marks of being written that the plan *shown* has, and no others."""
    if plan.files is None:
        return plan
    marks = _changes_by_path(shown)
    changes = tuple(
        replace(change, being_written=_is_marked(marks.get(change.path), change))
        for change in plan.files.changes
    )
    return with_id(replace(plan, files=replace(plan.files, changes=changes)))


def _is_marked(shown: PathChange | None, change: PathChange) -> bool:
    return (
        shown is not None
        and shown.being_written
        and (shown.now == change.now or content_moved(shown.now, change.now))
    )


def _changes_by_path(plan: RewindPlan) -> Mapping[bytes, PathChange]:
    return {change.path: change for change in plan.files.changes} if plan.files else {}


def content_moved(was: FileState | None, now: FileState | None) -> bool:
    """Whether only a file's content differs between *was* and *now*."""
    return (
        was is not None
        and now is not None
        and was.kind is now.kind is Kind.FILE
        and was.mode == now.mode
        and was.oid != now.oid
    )


def with_id(plan: RewindPlan) -> RewindPlan:
    """Give *plan* the digest of all that it rests on."""
    digest = hashlib.sha256()
    for part in _rests_on(plan):
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return replace(plan, id=digest.hexdigest()[:16])


def _rests_on(plan: RewindPlan) -> Sequence[bytes]:
    key = plan.files.target if plan.files else None
    parts = [
        f"{plan.point.number} {plan.mode.value} {plan.position} {plan.redoes}".encode(),
        plan.way.value.encode(),
        f"{key.number} {key.side.value}".encode() if key else b"-",
        b"%d" % len(plan.paths),
        *plan.paths,
        repr(plan.history.turns).encode() if plan.history else b"-",
    ]
    for change in plan.files.changes if plan.files else ():
        now = b"being written" if change.being_written else _state_bytes(change.now)
        parts += [change.path, now, _state_bytes(change.then)]
    for conflict in plan.files.conflicts if plan.files else ():
        parts += [b"conflict", conflict.path]
    if plan.files and plan.way is not Way.PICKED:  # picks leave most things anyway
        parts += [part for left in plan.files.staying for part in (b"stays", left.path)]
    return parts


def _state_bytes(state: FileState | None) -> bytes:
    return (
        b"-" if state is None else f"{state.kind.value} {state.mode:o} {state.oid.hex()}".encode()
    )
