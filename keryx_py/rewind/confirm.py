"""Carry a plan out: undo point, record, files, and last the one line that moves history.

Nothing is overwritten or removed that the undo point does not hold.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from keryx_py.rewind.apply import OPENED, Outcome, Step, carry_out, reversed_steps
from keryx_py.rewind.difference import folders_above
from keryx_py.rewind.interrupts import held_interrupts
from keryx_py.rewind.plan import PathChange, RestorePlan, RewindPlan
from keryx_py.rewind.planner import content_moved
from keryx_py.rewind.report import RefusedError, RewindReport
from keryx_py.rewind.restore_journal import JournalError, Restore, drop_journal, write_journal
from keryx_py.rewind.retention import Keeping, prune_snapshots, take_with_room
from keryx_py.rewind.supply import Supply
from keryx_py.session.archive import (
    CaptureEntry,
    Mode,
    RedoEntry,
    RewindEntry,
    SnapshotEntry,
    SnapshotOutcome,
    UndoPointEntry,
    next_number,
)
from keryx_py.session.sessions import LeaseLostError, Session, SessionError
from keryx_py.snapshot.listing import FileState, Kind, Skipped, TreeState
from keryx_py.snapshot.store import (
    DamagedSnapshotError,
    Progress,
    Side,
    SnapshotError,
    SnapshotKey,
    SnapshotStore,
)
from keryx_py.snapshot.worktree import WorkTree, WorkTreeError

HISTORY_STAYS = "not every file could be restored"


def move_history(session: Session, plan: RewindPlan, at: float) -> RewindReport:
    """Carry out a *plan* that moves no file."""
    restored = Restored(plan.point.number, plan.mode, None, plan.redoes, _cuts(plan))
    try:
        session.append(record_of(restored, (), at))
    except SessionError as error:
        return RewindReport(plan, (), (), None, False, str(error))
    return RewindReport(plan, (), (), None, _cuts(plan))


def move_files(
    keeping: Keeping, plan: RewindPlan, files: RestorePlan, progress: Progress | None
) -> RewindReport:
    """Carry out a *plan* that moves *files*. Raises RefusedError; then no file was changed."""
    return _Confirmed(keeping, plan, files, progress).carry_out()


@dataclass(frozen=True, slots=True)
class Restored:
    """What the archive records of a rewind or redo."""

    to: int
    mode: Mode
    undo: int | None
    redoes: int | None
    cut: bool


def record_of(restored: Restored, paths: tuple[bytes, ...], at: float) -> RewindEntry | RedoEntry:
    """Write the entry of a rewind or redo that changed *paths*."""
    names = tuple(os.fsdecode(path) for path in paths)
    if restored.redoes is not None:
        return RedoEntry(at, restored.redoes, restored.undo, names)
    return RewindEntry(at, restored.to, restored.mode, restored.undo, names, restored.cut)


def _cuts(plan: RewindPlan) -> bool:
    return plan.history is not None


class _Confirmed:
    """One plan that is being carried out."""

    def __init__(
        self, keeping: Keeping, plan: RewindPlan, files: RestorePlan, progress: Progress | None
    ) -> None:
        self._keeping = keeping
        self._session = keeping.session
        self._store = keeping.store
        self._plan = plan
        self._files = files
        self._progress = progress
        self._tree = WorkTree(keeping.session.root)
        self._supply = Supply(keeping.store, wanted_of_store(files), files.made)

    def carry_out(self) -> RewindReport:
        self._check_target()
        undo, held = self._take_undo_point()
        steps, left = steps_from(self._files.changes, held)
        root_mode = self._check_root()
        restore = Restore(
            undo=undo,
            to=self._plan.point.number,
            mode=self._plan.mode,
            cuts=_cuts(self._plan),
            redoes=self._plan.redoes,
            steps=(*steps, *_looked_after(steps, held)),
            left=left,
            made=self._files.made,
            mark=self._tree.mark,
            root_mode=root_mode,
        )
        with held_interrupts() as interrupts:
            try:
                write_journal(self._session.folder, restore)
            except JournalError as error:
                raise RefusedError(f"{error}; nothing was changed") from error
            report = self._restore(restore)
        return replace(report, interrupted=interrupts.came)

    def _check_target(self) -> None:
        """Verify every object that will be needed, before anything is written."""
        try:
            self._supply.check()
        except DamagedSnapshotError as error:
            raise RefusedError(f"{error}; nothing was changed") from error
        self._check_root()

    def _check_root(self) -> int:
        """Return the root's mode. Raises RefusedError unless it stands and can be changed."""
        root = self._session.root
        try:
            mode = self._tree.root_mode()
            read_only = bool(os.statvfs(root).f_flag & os.ST_RDONLY)
            stranger = root.stat().st_uid != os.geteuid() and not os.access(root, os.W_OK)
        except WorkTreeError as error:
            raise RefusedError(f"{error}; nothing was changed") from error
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise RefusedError(f"the project's folder cannot be used: {why}") from error
        if read_only or stranger:
            raise RefusedError("the project's folder is read-only; nothing was changed")
        return mode

    def _take_undo_point(self) -> tuple[int, TreeState]:
        number = next_number(self._session.entries)
        self._session.append(UndoPointEntry(number, self._keeping.now()))
        protected = {number} | ({self._files.target.number} if self._files.target else set())
        also = frozenset(change.path for change in self._files.changes)
        try:
            key = SnapshotKey(number)
            taken = take_with_room(self._keeping, key, protected, also, self._progress)
        except SnapshotError as error:
            self._no_undo_point(number, str(error))
            raise RefusedError(
                f"the undo point could not be taken: {error}; nothing was changed"
            ) from error
        except KeyboardInterrupt:
            self._no_undo_point(number, "stopped with Ctrl-C")
            raise
        self._session.append(SnapshotEntry(number, self._keeping.now(), SnapshotOutcome.TAKEN))
        prune_snapshots(self._keeping, protected)
        return number, taken.state

    def _no_undo_point(self, number: int, reason: str) -> None:
        self._session.append(
            SnapshotEntry(number, self._keeping.now(), SnapshotOutcome.FAILED, reason)
        )

    def _restore(self, restore: Restore) -> RewindReport:
        outcome = carry_out(
            restore.steps, self._tree, self._supply.read, self._session.why_not_held
        )
        done = paths_done(restore, outcome)
        failed = tuple(sorted((*outcome.failed, *restore.left), key=lambda one: one.path))
        report = RewindReport(self._plan, done, failed, restore.undo, False)
        try:
            self._session.check_lease()
            ended = capture_end(self._keeping, restore.undo)
            moved = record(self._keeping, restore, done, whole=not failed)
        except LeaseLostError as error:
            # The record of the restore stays: it is the next holder's to close.
            return replace(report, history_error=str(error))
        except SessionError as error:
            return self._put_back(restore, replace(report, history_error=str(error)))
        # The rewind stands by now: without this line what comes later is only not known.
        with suppress(SessionError):
            self._session.append(ended)
        drop_journal(self._session.folder)
        stays = HISTORY_STAYS if failed and self._plan.mode.cuts_history else ""
        return replace(report, history_cut=moved and restore.cuts, history_error=stays)

    def _put_back(self, restore: Restore, report: RewindReport) -> RewindReport:
        """Take the files back to the undo point: the archive cannot say that they moved."""
        done = frozenset(report.done)
        steps = [step for step in restore.steps if step.path in done or step.old == step.new]
        read = reading(restore, self._store)
        back = carry_out(reversed_steps(steps), self._tree, read, self._session.why_not_held)
        drop_journal(self._session.folder)
        return replace(report, done=(), failed=back.failed, files_put_back=not back.failed)


def wanted_of_store(files: RestorePlan) -> tuple[bytes, ...]:
    """Name the blobs that the captures must hold for *files*, in path order.

    Not those that were made for the plan, nor what stands at its path already: where only a mode
    is to change, no content is written.
    """
    return tuple(
        change.then.oid
        for change in files.changes
        if change.then is not None
        and change.then.oid
        and change.then.oid not in files.made
        and not (change.now is not None and change.now.oid == change.then.oid)
    )


def reading(restore: Restore, store: SnapshotStore) -> Callable[[bytes], bytes]:
    """Give what reads each blob that *restore* may write, to finish it or to take it back."""
    sides = (side for step in restore.steps for side in (step.new, step.old))
    return Supply(store, (side.oid for side in sides if side and side.oid), restore.made).read


def steps_from(
    changes: tuple[PathChange, ...], held: TreeState
) -> tuple[tuple[Step, ...], tuple[Skipped, ...]]:
    """Turn *changes* into steps from what the undo point *held*; name what must be left."""
    skipped = {one.path: one.reason for one in held.skipped}
    steps: list[Step] = []
    left: list[Skipped] = []
    for change in changes:
        old = held.listing.get(change.path)
        if old == change.now or (change.being_written and content_moved(change.now, old)):
            steps.append(Step(change.path, old, change.then))
        elif change.path in skipped:
            reason = f"the undo point cannot hold it: {skipped[change.path]}"
            left.append(Skipped(change.path, reason))
        else:
            left.append(Skipped(change.path, "it changed while the undo point was taken"))
    return tuple(steps), tuple(left)


def _looked_after(steps: tuple[Step, ...], held: TreeState) -> tuple[Step, ...]:
    """Steps that change nothing, for the folders that must be opened for others.

    A process killed while one is open leaves its mode changed; recovery finds it by these.
    """
    planned = {step.path for step in steps}
    above = {folder for step in steps for folder in folders_above(step.path)} - planned
    states = ((path, held.listing.get(path)) for path in sorted(above))
    return tuple(Step(path, state, state) for path, state in states if _is_closed(state))


def _is_closed(state: FileState | None) -> bool:
    return state is not None and state.kind is Kind.FOLDER and state.mode & OPENED != OPENED


def paths_done(restore: Restore, outcome: Outcome) -> tuple[bytes, ...]:
    """The planned paths that are now as planned."""
    planned = {step.path for step in restore.steps if step.old != step.new}
    return tuple(path for path in outcome.done if path in planned)


def capture_end(keeping: Keeping, undo: int) -> CaptureEntry:
    """Capture the files right after a restore, so that its writes are nobody's change."""
    try:
        keeping.store.take(SnapshotKey(undo, Side.END), keeping.now())
    except SnapshotError as error:
        return CaptureEntry(undo, keeping.now(), taken=False, reason=str(error))
    return CaptureEntry(undo, keeping.now(), taken=True)


def record(keeping: Keeping, restore: Restore, done: tuple[bytes, ...], *, whole: bool) -> bool:
    """Append the rewind's entry; say whether it stands as planned. Raises SessionError.

    History moves only when every file did; a redo that is not whole can be asked for again.
    """
    if not whole and (restore.redoes is not None or not done):
        return False
    restored = Restored(
        restore.to, restore.mode, restore.undo, restore.redoes, restore.cuts and whole
    )
    keeping.session.append(record_of(restored, done, keeping.now()))
    return whole
