"""Rewinding one session: list, plan, show the difference, apply; every refusal is raised here."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from keryx_py.rewind import points as pointing
from keryx_py.rewind import refusals
from keryx_py.rewind.aiming import aim_at_one_turn, aim_to_keep
from keryx_py.rewind.chronicle import Chronicle
from keryx_py.rewind.comparing import OneTurn, Since, Span, oldest_capture, turn_captures
from keryx_py.rewind.confirm import move_files, move_history
from keryx_py.rewind.difference import Limit
from keryx_py.rewind.differing import Compared, Differing
from keryx_py.rewind.hunks import Hunk, HunkedPath
from keryx_py.rewind.other_sessions import OtherSessions, UsedSince
from keryx_py.rewind.picked import is_folder_alone, make_pick, narrow, picks_of
from keryx_py.rewind.plan import Author, AuthorKind, RewindPlan, Way
from keryx_py.rewind.planner import Question, Trees, plan_rewind, with_marks_of
from keryx_py.rewind.points import MISSING, PointKind, RewindPoint
from keryx_py.rewind.report import RefusedError, RewindReport, StalePlanError
from keryx_py.rewind.retention import Keeping
from keryx_py.rewind.span import relative_path
from keryx_py.rewind.survey import Counts, load, look, survey
from keryx_py.rewind.timeline import Stretch
from keryx_py.session.archive import (
    Mode,
    RedoEntry,
    RewindEntry,
    live_turns,
    standing_rewinds,
)
from keryx_py.session.sessions import Session
from keryx_py.snapshot.listing import TreeState
from keryx_py.snapshot.store import (
    Progress,
    SnapshotKey,
    SnapshotStore,
)

__all__ = [
    "ListedPoint",
    "RefusedError",
    "RewindReport",
    "Rewinder",
    "StalePlanError",
]

Picking: TypeAlias = Sequence[tuple[HunkedPath, Sequence[Hunk]]]
"""The hunks that go back, for each path that has any."""

_NOT_TO_BE_LOST = frozenset({AuthorKind.UNKNOWN, AuthorKind.SESSION})
"""Whose part in a path makes an undo wait for a confirm, wherever it lies."""


@dataclass(frozen=True, slots=True)
class ListedPoint:
    """A point with the counts that the list shows."""

    point: RewindPoint
    changed: int | None
    """How many files and links the turn itself changed; None when its end is unknown or it took
    no snapshot."""
    changed_since: int | None
    """How many the person changed after its end and before the next capture or now."""


class Rewinder:
    """Lists, plans and carries out the rewinds of one session."""

    def __init__(
        self,
        session: Session,
        store: SnapshotStore | None,
        *,
        now: Callable[[], float],
        keep: int = 50,
        others: UsedSince | None = None,
        no_store: str = "",
    ) -> None:
        """*store* is None when files cannot be restored; *no_store* says why, in one clause.

        *others* names the other sessions of this root; it is asked only where changes are told.
        """
        self._session = session
        self._store = store
        self._no_store = "" if store is not None else no_store or "no snapshot can be opened"
        self._now = now
        self._keep = keep
        self._root = os.fsencode(session.root)
        self._others = None if others is None else OtherSessions(session.root, others)

    # ---- list

    def list_points(self, progress: Progress | None = None) -> tuple[ListedPoint, ...]:
        """List the points, newest first."""
        points = self._points()
        store = self._store
        if store is None:
            return tuple(ListedPoint(_without_store(point), None, None) for point in points)
        counts = Counts(store, self._session.entries, progress, self._others)
        return tuple(
            ListedPoint(point, counts.of_turn(point.number), counts.since(point.number))
            if point.kind is PointKind.TURN
            else ListedPoint(point, None, None)
            for point in points
        )

    def find_named(self, name: str) -> int:
        """Find the number of the checkpoint *name*. Raises RefusedError, naming the nearest."""
        return refusals.find_checkpoint(self._session.entries, name)

    def _points(self) -> tuple[RewindPoint, ...]:
        keys = self._store.keys() if self._store is not None else frozenset[SnapshotKey]()
        return pointing.list_points(self._session.entries, keys)

    def _point(self, number: int) -> RewindPoint:
        return refusals.find_point(self._points(), number)

    # ---- plan

    def plan(
        self,
        number: int,
        mode: Mode,
        paths: Sequence[bytes] = (),
        *,
        way: Way = Way.PLAIN,
        previous: RewindPlan | None = None,
        progress: Progress | None = None,
    ) -> RewindPlan:
        """Work out a rewind against the live disk; changes nothing. Raises RefusedError.

        *way* says what it leaves; hunks are picked from a plain one by pick().
        *previous* is the plan shown last for the same rewind, by which "being written" is known.
        """
        return self._planned(number, mode, paths, previous, progress, whose=True, way=way)

    def _planned(
        self,
        number: int,
        mode: Mode,
        paths: Sequence[bytes],
        previous: RewindPlan | None,
        progress: Progress | None,
        *,
        whose: bool,
        way: Way = Way.PLAIN,
    ) -> RewindPlan:
        point = self._point(number)
        refusals.check_way(number, mode, way, has_paths=bool(paths))
        if mode.cuts_history:
            refusals.check_history(point, self._session.entries)
        if mode.moves_files and way is not Way.ONLY:
            self._check_files(point)
        inner = self._inner_paths(paths)
        limit = Limit(inner)
        trees = self._aimed(point, way, limit, progress, whose) if mode.moves_files else None
        if inner:
            self._check_named(inner, trees, progress)
        question = Question(point, mode, inner, limit, way=way)
        return plan_rewind(question, self._session.entries, trees, previous)

    def _check_files(self, point: RewindPoint) -> None:
        refusals.check_files(point, self._no_store)

    def _inner_paths(self, paths: Sequence[bytes]) -> tuple[bytes, ...]:
        """Write *paths* relative to the root; none when the root itself is among them."""
        inner: list[bytes] = []
        for path in paths:
            relative = relative_path(path, self._root)
            if relative is None:
                raise RefusedError(f"{refusals.shown(path)} lies outside the project")
            inner.append(relative)
        return () if b"" in inner else tuple(dict.fromkeys(inner))

    def _check_named(
        self, paths: tuple[bytes, ...], trees: Trees | None, progress: Progress | None
    ) -> None:
        if trees is not None:
            sides = (trees.then, trees.now)
        else:
            sides = (look(self._open_store(), progress),) * 2
        refusals.check_named(paths, sides)

    def _trees(
        self, point: RewindPoint, progress: Progress | None = None, *, whose: bool = True
    ) -> Trees | None:
        if point.key is None:
            return None
        return survey(
            self._open_store(),
            self._session.entries,
            point.key,
            progress,
            whose=whose,
            others=self._others,
        )

    def _aimed(
        self, point: RewindPoint, way: Way, limit: Limit, progress: Progress | None, whose: bool
    ) -> Trees | None:
        if way is Way.ONLY:
            return self._without_turn(point, progress)
        trees = self._trees(point, progress, whose=whose or way is Way.KEEP)
        if trees is None or way is not Way.KEEP:
            return trees
        session = self._session
        return aim_to_keep(self._open_store(), session.root, session.entries, trees, limit)

    def _without_turn(self, point: RewindPoint, progress: Progress | None) -> Trees:
        number, store = point.number, self._open_store()
        if point.kind is not PointKind.TURN:
            raise RefusedError(
                f"point {number} is no turn, and only what one turn changed can be taken back "
                f"alone; use /rewind {number} files"
            )
        before, end = turn_captures(point, self._session.entries, store.keys())
        if before == end:
            raise RefusedError(f"turn {number} changed no file, so there is nothing to take back")
        stretch = Stretch(before, end, Author(AuthorKind.TURN, number))
        chronicle = Chronicle(store, self._session.entries, before, self._others)
        return aim_at_one_turn(store, self._session.root, stretch, chronicle, progress)

    def _open_store(self) -> SnapshotStore:
        refusals.check_store(self._no_store)
        assert self._store is not None
        return self._store

    # ---- undo and redo

    def plan_undo(self) -> RewindPlan:
        """Plan rewinding the latest live turn, both. Raises RefusedError when there is none."""
        live = live_turns(self._session.entries)
        if not live:
            raise RefusedError("there is no turn to undo")
        return self.plan(live[-1], Mode.BOTH)

    def plan_redo(self, *, previous: RewindPlan | None = None) -> RewindPlan:
        """Plan taking the latest rewind back. Raises RefusedError, naming the number that brings
        the files back when a turn has begun since."""
        entries = self._session.entries
        standing = standing_rewinds(entries)
        if not standing:
            raise RefusedError(refusals.why_no_redo(entries))
        position = standing[-1]
        rewind = entries[position]
        assert isinstance(rewind, RewindEntry)
        point = self._point(rewind.to if rewind.undo is None else rewind.undo)
        trees = None
        if rewind.undo is not None:
            refusals.check_undo_point(point, self._no_store)
            trees = self._trees(point)
        now_live = frozenset(live_turns(entries))
        then_live = live_turns((*entries, RedoEntry(0, position, None)))
        question = Question(
            point,
            rewind.mode,
            limit=Limit(exactly=frozenset(os.fsencode(path) for path in rewind.paths)),
            redoes=position,
            returning=tuple(turn for turn in then_live if turn not in now_live),
        )
        return plan_rewind(question, entries, trees, previous)

    def may_apply_at_once(self, plan: RewindPlan) -> bool:
        """Whether every path of an undo or redo plan was last changed by what it takes back."""
        changes = plan.files.changes if plan.files is not None else ()
        if plan.redoes is not None:
            # What the rewind itself wrote is nobody's change.
            return all(change.by == () for change in changes)
        turn = Author(AuthorKind.TURN, plan.point.number)
        return all(
            change.by[-1:] == (turn,)
            and not any(author.kind in _NOT_TO_BE_LOST for author in change.by)
            for change in changes
        )

    # ---- apply

    def apply(self, plan: RewindPlan, progress: Progress | None = None) -> RewindReport:
        """Carry *plan* out exactly.

        Raises StalePlanError, RefusedError, or SessionError where not even the undo point can be
        recorded; then no file was changed.
        """
        self._session.check_lease()
        # Whose the changes are takes long to find out, and no plan rests on it.
        marked = with_marks_of(self._again(plan, progress, whose=False), plan)
        if marked.id != plan.id:
            raise StalePlanError(self._again(plan, progress, whose=True))
        if marked.empty:
            raise RefusedError("nothing would change, so there is nothing to confirm")
        if marked.files is None or not marked.files.changes:
            return move_history(self._session, plan, self._now())
        keeping = Keeping(self._session, self._open_store(), self._keep, self._now)
        return replace(move_files(keeping, marked, marked.files, progress), plan=plan)

    def _again(self, plan: RewindPlan, progress: Progress | None, *, whose: bool) -> RewindPlan:
        if plan.redoes is not None:
            return self.plan_redo(previous=plan)
        number, mode, paths = plan.point.number, plan.mode, plan.paths
        if plan.way is Way.PICKED:
            every = self._planned(number, mode, paths, None, progress, whose=whose)
            return narrow(every, picks_of(plan))
        return self._planned(number, mode, paths, plan, progress, whose=whose, way=plan.way)

    # ---- hunks

    def hunks(self, plan: RewindPlan) -> tuple[HunkedPath, ...]:
        """Cut what *plan* does to files and links into hunks. Raises RefusedError."""
        if plan.files is None or not plan.files.changes:
            return ()
        differing = self._differing(plan)
        changes = (c for c in plan.files.changes if not is_folder_alone(c))
        return tuple(differing.cut(change) for change in changes)

    def pick(self, plan: RewindPlan, taken: Picking) -> RewindPlan:
        """Leave of *plan*, a rewind of files, the hunks *taken* of each path."""
        changes = {c.path: c for c in plan.files.changes} if plan.files is not None else {}
        made = ((at.path, make_pick(changes[at.path], at, hunks)) for at, hunks in taken)
        return narrow(plan, {path: pick for path, pick in made if pick is not None})

    # ---- difference

    def diff(self, plan: RewindPlan, most_lines: int | None = None) -> str:
        """The unified difference that *plan* would make to the files, in full.

        With *most_lines* it stops after the file in which that many lines are reached.
        """
        if plan.files is None or not plan.files.changes:
            return ""
        return self._differing(plan).diff_changes(plan.files.changes, most_lines)

    def compare(self, span: Span, paths: Sequence[bytes] = ()) -> Iterator[Compared]:
        """Read what differs in *span*, file by file. Raises RefusedError at once, or on the way."""
        old, new = self._sides(span)
        limit = self._limit(paths, old, new)
        if isinstance(span, OneTurn) and old is not None and new is not None:
            limit = replace(limit, exactly=self._own_paths(span.number, old, new))
        return self._differing().compare(old, new, limit)

    def _own_paths(self, turn: int, before: SnapshotKey, end: SnapshotKey) -> frozenset[bytes]:
        """List the paths that a turn had a part in: others may have worked meanwhile."""
        stretch = Stretch(before, end, Author(AuthorKind.TURN, turn))
        chronicle = Chronicle(self._open_store(), self._session.entries, before, self._others)
        changes = self._differing().changes(before, end)
        return frozenset(change.path for change in chronicle.own_changes(stretch, changes))

    def _limit(
        self, paths: Sequence[bytes], old: SnapshotKey | None, new: SnapshotKey | None
    ) -> Limit:
        limit = Limit(self._inner_paths(paths))
        if limit.within and old != new:
            refusals.check_named(limit.within, [self._tree_of(key) for key in (old, new)])
        return limit

    def _sides(self, span: Span) -> tuple[SnapshotKey | None, SnapshotKey | None]:
        """The two captures that *span* lies between; None for now."""
        entries, keys = self._session.entries, self._open_store().keys()
        match span:
            case OneTurn(number):
                return turn_captures(self._point(number), entries, keys)
            case Since(first, second):
                old = oldest_capture(entries, keys) if first is None else self._key_of(first)
                return old, None if second is None else self._key_of(second)

    def _tree_of(self, key: SnapshotKey | None) -> TreeState:
        store = self._open_store()
        return look(store) if key is None else load(store, key)

    def _key_of(self, number: int) -> SnapshotKey | None:
        """The capture of the files before a point; None when they are those of now."""
        point = self._point(number)
        self._check_files(point)
        return point.key

    def line_counts(
        self, plan: RewindPlan, paths: Collection[bytes] | None = None
    ) -> dict[bytes, tuple[int, int]]:
        """For each text file of *plan*, the lines that the restore adds and removes.

        With *paths* only for those.
        """
        if plan.files is None or not plan.files.changes:
            return {}
        changes = plan.files.changes
        asked = changes if paths is None else [c for c in changes if c.path in paths]
        return self._differing(plan).count_lines(asked)

    def _differing(self, plan: RewindPlan | None = None) -> Differing:
        made = plan.files.made if plan is not None and plan.files is not None else {}
        return Differing(self._open_store(), self._session.root, made)


def _without_store(point: RewindPoint) -> RewindPoint:
    """Say why the files are out of reach where no store was opened: they need not be lost."""
    if not point.reason.startswith(MISSING):
        return point
    return replace(point, reason=refusals.NO_FILES)
