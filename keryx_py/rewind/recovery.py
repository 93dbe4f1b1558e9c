"""Finish or take back a restore that was cut short, from its record in the session's folder.

Only paths that still hold the plan's old or new state are moved; any other is left and named.
Whoever is killed here as well starts again at the next start and comes to the same end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from keryx_py.rewind.apply import Found, Outcome, Step, carry_out, compare, reversed_steps
from keryx_py.rewind.confirm import paths_done, reading, record
from keryx_py.rewind.points import position_of
from keryx_py.rewind.restore_journal import (
    DamagedJournalError,
    JournalError,
    Restore,
    drop_journal,
    journal_path,
    read_journal,
    set_journal_aside,
)
from keryx_py.rewind.retention import Keeping
from keryx_py.session.archive import CaptureEntry, Mode, RedoEntry, RewindEntry, TurnEntry
from keryx_py.session.sessions import Session, SessionError
from keryx_py.snapshot.listing import Skipped
from keryx_py.snapshot.store import DamagedSnapshotError, SnapshotKey, SnapshotStore
from keryx_py.snapshot.worktree import WorkTree, WorkTreeError

NAMED_PATHS = 5


def is_cut_short(folder: Path) -> bool:
    """Whether the session in *folder* holds the record of a restore under way."""
    return journal_path(folder).exists()


def recover(session: Session, store: SnapshotStore | None, now: Callable[[], float]) -> str:
    """Finish or take back what was cut short; say which, or "" when there is nothing to do.

    *session* is held by this process. Never raises for what it finds on the disk.
    """
    try:
        restore = read_journal(session.folder)
    except DamagedJournalError as error:
        set_journal_aside(session.folder)
        return f"a restore was cut short, and {error}; look at the files with /diff and /rewind"
    except JournalError as error:
        return f"a restore was cut short, and {error}; the next start tries again"
    if restore is None:
        return ""
    what = f"the rewind to point {restore.to}" if restore.redoes is None else "the redo"
    if store is None:
        return f"{what} was cut short; it is finished at the next start that can restore files"
    keeping = Keeping(session, store, 0, now)
    try:
        tree = WorkTree(session.root, restore.mark)
        return f"{what} was cut short: " + _Recovery(keeping, restore, tree).run()
    except (WorkTreeError, SessionError) as error:
        return f"{what} was cut short and is not finished: {error}; the next start tries again"


class _Recovery:
    def __init__(self, keeping: Keeping, restore: Restore, tree: WorkTree) -> None:
        self._keeping = keeping
        self._session = keeping.session
        self._store = keeping.store
        self._restore = restore
        self._tree = tree
        self._read = reading(restore, self._store)
        self._left: list[Skipped] = []
        """What was half written and cannot be removed."""

    def run(self) -> str:
        if self._is_recorded():
            drop_journal(self._session.folder)
            return "it had been finished"
        self._clear_temporary_files()
        ahead = [step for step in self._restore.steps if self._stands(step, Found.OLD)]
        if self._is_whole(ahead) and self._can_be_undone(ahead):
            return self._finish()
        paths = {step.path for step in ahead}
        behind = [step for step in self._restore.steps if step.path not in paths]
        if self._is_whole(reversed_steps(behind)):
            return self._take_back()
        # What needs no content can be done all the same: folders that were left open are closed.
        self._carry_out(step for step in self._restore.steps if step.old == step.new)
        set_journal_aside(self._session.folder)
        return (
            "its snapshots are damaged, so it can neither be finished nor taken back; "
            f"what undo point {self._restore.undo} still holds can be seen with /diff"
            f"{self._named()}"
        )

    def _is_recorded(self) -> bool:
        return any(
            isinstance(entry, RewindEntry | RedoEntry) and entry.undo == self._restore.undo
            for entry in self._session.entries
        )

    def _clear_temporary_files(self) -> None:
        folders = {step.path.rpartition(b"/")[0] for step in self._restore.steps}
        for folder in sorted(folders):
            try:
                self._left += self._tree.remove_leftovers(folder)
            except WorkTreeError:
                # A folder that is gone or closed holds none that could be removed.
                continue

    def _stands(self, step: Step, found: Found) -> bool:
        try:
            return compare(step, self._tree.state(step.path), resumed=True) is found
        except WorkTreeError:
            return False

    def _is_whole(self, steps: Iterable[Step]) -> bool:
        """Whether the store, or the record, holds all that *steps* would write."""
        wanted = {step.new.oid for step in steps if step.new and step.new.oid}
        try:
            self._store.verify(wanted - self._restore.made.keys())
        except DamagedSnapshotError:
            return False
        return True

    def _can_be_undone(self, steps: Iterable[Step]) -> bool:
        """Whether the undo point still holds all that *steps* would overwrite or remove."""
        losing = {
            step.old.oid
            for step in steps
            if step.old and step.old.oid and (step.new is None or step.new.oid != step.old.oid)
        }
        if losing and SnapshotKey(self._restore.undo) not in self._store.keys():  # noqa: SIM118
            return False
        try:
            self._store.verify(losing)
        except DamagedSnapshotError:
            return False
        return True

    def _carry_out(self, steps: Iterable[Step]) -> Outcome:
        """Carry *steps* out; then give the root its mode back, which no step can."""
        why_not = self._session.why_not_held
        outcome = carry_out(steps, self._tree, self._read, why_not, resumed=True)
        if self._restore.root_mode is None:
            return outcome
        try:
            self._tree.close_root(self._restore.root_mode)
        except WorkTreeError as error:
            failed = Skipped(b".", f"its mode stays: {error}")
            return Outcome(outcome.done, (*outcome.failed, failed))
        return outcome

    def _finish(self) -> str:
        turn = self._turn_since()
        restore = self._restore if turn is None else _of_files_alone(self._restore)
        outcome = self._carry_out(restore.steps)
        done = paths_done(restore, outcome)
        failed = (*outcome.failed, *restore.left)
        # No end capture: what changed since the cut is not known to be the restore's own.
        moved = record(self._keeping, restore, done, whole=not failed)
        self._say_end_is_unknown()
        drop_journal(self._session.folder)
        history = ", the history as well" if moved and restore.mode.cuts_history else ""
        if restore is not self._restore:
            history = f"; the history stays, since turn {turn} has begun meanwhile"
        if not failed and moved:
            return f"it is finished now{history}{self._named()}"
        return f"it is finished as far as possible{self._named(failed)}"

    def _turn_since(self) -> int | None:
        """The first turn begun since the restore was, where history was to move with the files."""
        if not self._restore.cuts and self._restore.redoes is None:
            return None
        since = self._session.entries[position_of(self._session.entries, self._restore.undo) :]
        return next((entry.number for entry in since if isinstance(entry, TurnEntry)), None)

    def _take_back(self) -> str:
        restore = self._restore
        outcome = self._carry_out(reversed_steps(restore.steps))
        self._say_end_is_unknown()
        drop_journal(self._session.folder)
        because = "the snapshot that it needs is damaged"
        if not outcome.failed:
            return f"it is taken back, because {because}; the history stays{self._named()}"
        named = self._named(outcome.failed)
        return f"it is taken back as far as possible, because {because}{named}"

    def _say_end_is_unknown(self) -> None:
        at = self._keeping.now()
        self._session.append(
            CaptureEntry(self._restore.undo, at, taken=False, reason="the restore was cut short")
        )

    def _named(self, failed: tuple[Skipped, ...] = ()) -> str:
        """Name what is not as it should be; "" when there is nothing."""
        named = (*failed, *self._left)
        if not named:
            return ""
        shown = [
            f"{one.path.decode('utf-8', 'backslashreplace')!r} ({one.reason})"
            for one in named[:NAMED_PATHS]
        ]
        more = f" and {len(named) - NAMED_PATHS} more" if len(named) > NAMED_PATHS else ""
        return f"; left as they are: {', '.join(shown)}{more}"


def _of_files_alone(restore: Restore) -> Restore:
    """Write *restore* as one of the files: the person went on, so the history is not to move."""
    return replace(restore, mode=Mode.FILES, cuts=False, redoes=None)
