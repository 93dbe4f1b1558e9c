"""Rewinding one session: list, plan, show the difference, apply; every refusal is raised here."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from keryx_py.rewind import points as pointing
from keryx_py.rewind.confirm import move_files, move_history
from keryx_py.rewind.difference import Limit, named_by
from keryx_py.rewind.differing import Differing
from keryx_py.rewind.plan import Author, AuthorKind, RewindPlan
from keryx_py.rewind.planner import Question, Trees, plan_rewind, with_marks_of
from keryx_py.rewind.points import FilesState, PointKind, RewindPoint
from keryx_py.rewind.report import RefusedError, RewindReport, StalePlanError
from keryx_py.rewind.retention import Keeping
from keryx_py.rewind.span import relative_path
from keryx_py.rewind.survey import SinceCounts, count_turn, load, look, survey
from keryx_py.session.archive import (
    Mode,
    RedoEntry,
    RewindEntry,
    TurnEntry,
    live_turns,
    liveness,
    standing_rewinds,
)
from keryx_py.session.sessions import Session
from keryx_py.snapshot.listing import TreeState
from keryx_py.snapshot.store import Progress, SnapshotKey, SnapshotStore

__all__ = [
    "DiffStyle",
    "ListedPoint",
    "RefusedError",
    "RewindReport",
    "Rewinder",
    "StalePlanError",
]

NO_FILES = "files cannot be restored in this session: its project folder is gone or refused"


@dataclass(frozen=True, slots=True)
class ListedPoint:
    """A point with the counts that the list shows."""

    point: RewindPoint
    changed: int | None
    """How many files and links the turn itself changed; None when its end is unknown or it took
    no snapshot."""
    changed_since: int | None
    """How many the person changed after its end and before the next capture or now."""


class DiffStyle:
    """How many lines of a difference are made at most."""

    SCREEN_LINES = 2000


class Rewinder:
    """Lists, plans and carries out the rewinds of one session."""

    def __init__(
        self,
        session: Session,
        store: SnapshotStore | None,
        *,
        now: Callable[[], float],
        keep: int = 50,
    ) -> None:
        """*store* is None when files cannot be restored (root gone, root refused)."""
        self._session = session
        self._store = store
        self._now = now
        self._keep = keep
        self._root = os.fsencode(session.root)

    # ---- list

    def list_points(self, progress: Progress | None = None) -> tuple[ListedPoint, ...]:
        """List the points, newest first."""
        points = self._points()
        store = self._store
        if store is None:
            return tuple(ListedPoint(point, None, None) for point in points)
        since = SinceCounts(store, self._session.entries, progress)
        return tuple(
            ListedPoint(point, count_turn(store, point.number), since.count(point.number))
            if point.kind is PointKind.TURN
            else ListedPoint(point, None, None)
            for point in points
        )

    def _points(self) -> tuple[RewindPoint, ...]:
        keys = self._store.keys() if self._store is not None else frozenset[SnapshotKey]()
        return pointing.list_points(self._session.entries, keys)

    def _point(self, number: int) -> RewindPoint:
        points = self._points()
        for point in points:
            if point.number == number:
                return point
        if not points:
            raise RefusedError("there is nothing to rewind to yet")
        numbers = sorted(point.number for point in points)
        raise RefusedError(
            f"there is no point {number}; the points are {numbers[0]} to {numbers[-1]}"
        )

    # ---- plan

    def plan(
        self,
        number: int,
        mode: Mode,
        paths: Sequence[bytes] = (),
        *,
        previous: RewindPlan | None = None,
        progress: Progress | None = None,
    ) -> RewindPlan:
        """Work out a rewind against the live disk; changes nothing. Raises RefusedError.

        *previous* is the plan shown last for the same rewind, by which "being written" is known.
        """
        return self._planned(number, mode, paths, previous, progress, whose=True)

    def _planned(
        self,
        number: int,
        mode: Mode,
        paths: Sequence[bytes],
        previous: RewindPlan | None,
        progress: Progress | None,
        *,
        whose: bool,
    ) -> RewindPlan:
        point = self._point(number)
        self._check_mode(point, mode, paths)
        inner = self._inner_paths(paths)
        trees = self._trees(point, progress, whose=whose) if mode.moves_files else None
        if inner:
            self._check_named(inner, trees, progress)
        question = Question(point, mode, inner, Limit(inner))
        return plan_rewind(question, self._session.entries, trees, previous)

    def _check_mode(self, point: RewindPoint, mode: Mode, paths: Sequence[bytes]) -> None:
        number = point.number
        if paths and mode is not Mode.FILES:
            raise RefusedError(f"paths can be named in the files mode only, not in {mode.value}")
        if mode.cuts_history and not point.live:
            raise RefusedError(
                f"point {number} can roll back files only; use /rewind {number} files"
            )
        if mode.cuts_history and not liveness(self._session.entries).can_cut(number):
            raise RefusedError(
                "lines of the archive are lost there, so it is not known what cutting the history "
                f"before point {number} would leave; use /rewind {number} files"
            )
        if mode.moves_files:
            self._check_files(point)

    def _check_files(self, point: RewindPoint) -> None:
        way_on = f"; use /rewind {point.number} history" if point.live else ""
        if self._store is None:
            raise RefusedError(NO_FILES + way_on)
        if point.files is FilesState.GONE:
            raise RefusedError(
                f"the files before point {point.number} cannot be restored ({point.reason}){way_on}"
            )

    def _inner_paths(self, paths: Sequence[bytes]) -> tuple[bytes, ...]:
        """Write *paths* relative to the root; none when the root itself is among them."""
        inner: list[bytes] = []
        for path in paths:
            relative = relative_path(path, self._root)
            if relative is None:
                raise RefusedError(f"{_shown(path)} lies outside the project")
            inner.append(relative)
        return () if b"" in inner else tuple(dict.fromkeys(inner))

    def _check_named(
        self, paths: tuple[bytes, ...], trees: Trees | None, progress: Progress | None
    ) -> None:
        if trees is not None:
            sides = (trees.then, trees.now)
        else:
            sides = (look(self._open_store(), progress=progress),) * 2
        self._check_named_by(paths, sides)

    def _check_named_by(self, paths: Sequence[bytes], sides: Sequence[TreeState]) -> None:
        for path in paths:
            if not named_by(path, sides):
                raise RefusedError(f"{_shown(path)} names nothing, neither now nor then")

    def _trees(
        self, point: RewindPoint, progress: Progress | None = None, *, whose: bool = True
    ) -> Trees | None:
        if point.key is None:
            return None
        entries = self._session.entries
        return survey(self._open_store(), entries, point.key, progress, whose=whose)

    def _open_store(self) -> SnapshotStore:
        if self._store is None:
            raise RefusedError(NO_FILES)
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
            raise RefusedError(self._why_no_redo())
        position = standing[-1]
        rewind = entries[position]
        assert isinstance(rewind, RewindEntry)
        point = self._point(rewind.to if rewind.undo is None else rewind.undo)
        trees = None
        if rewind.undo is not None:
            self._check_undo_point(point)
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

    def _check_undo_point(self, point: RewindPoint) -> None:
        if self._store is None:
            raise RefusedError(NO_FILES)
        if point.files is not FilesState.HELD:
            raise RefusedError(
                f"the rewind cannot be taken back: undo point {point.number} is not kept "
                f"({point.reason or 'nothing was saved'})"
            )

    def _why_no_redo(self) -> str:
        """Say why no rewind can be taken back, and what brings the files back all the same."""
        rewind: RewindEntry | None = None
        turn: TurnEntry | None = None
        taken_back = {e.rewind for e in self._session.entries if isinstance(e, RedoEntry)}
        for position, entry in enumerate(self._session.entries):
            if isinstance(entry, RewindEntry) and position not in taken_back:
                rewind, turn = entry, None
            elif isinstance(entry, TurnEntry) and turn is None:
                turn = entry
        if rewind is None or turn is None:
            return "there is no rewind to take back"
        if rewind.undo is None:
            return f"turn {turn.number} has begun since the rewind, so it can no longer be redone"
        return (
            f"turn {turn.number} has begun since the rewind; "
            f"/rewind {rewind.undo} files brings its files back"
        )

    def may_apply_at_once(self, plan: RewindPlan) -> bool:
        """Whether every path of an undo or redo plan was last changed by what it takes back."""
        changes = plan.files.changes if plan.files is not None else ()
        if plan.redoes is not None:
            # What the rewind itself wrote is nobody's change.
            return all(change.by == () for change in changes)
        turn = Author(AuthorKind.TURN, plan.point.number)
        unknown = Author(AuthorKind.UNKNOWN)
        return all(change.by[-1:] == (turn,) and unknown not in change.by for change in changes)

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
        return self._planned(number, mode, paths, plan, progress, whose=whose)

    # ---- difference

    def diff(self, plan: RewindPlan, most_lines: int | None = None) -> str:
        """The unified difference that *plan* would make to the files, in full.

        With *most_lines* it stops after the file in which that many lines are reached.
        """
        if plan.files is None or not plan.files.changes:
            return ""
        return self._differing().diff_changes(plan.files.changes, most_lines)

    def diff_points(
        self,
        first: int,
        second: int | None = None,
        paths: Sequence[bytes] = (),
        most_lines: int | None = None,
    ) -> str:
        """The unified difference from the files before point *first* to those before *second*,
        or to the work tree now. Raises RefusedError."""
        limit = Limit(self._inner_paths(paths))
        old, new = self._key_of(first), None if second is None else self._key_of(second)
        if limit.within:
            self._check_named_by(limit.within, [self._tree_of(key) for key in (old, new)])
        return self._differing().diff_captures(old, new, limit, most_lines)

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
        return self._differing().count_lines(asked)

    def _differing(self) -> Differing:
        return Differing(self._open_store(), self._session.root)


def _shown(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")
