"""Carry a restore out, path by path.

Each path is looked at immediately before it is changed. One that holds neither what the undo
point holds nor what is planned is left and named; one that is already right is not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from keryx_py.rewind.difference import is_folder
from keryx_py.snapshot.listing import FileState, Kind, Skipped
from keryx_py.snapshot.store import DamagedSnapshotError
from keryx_py.snapshot.worktree import WorkTree, WorkTreeError

OPENED = 0o700
"""The bits that a folder has while something in it is changed."""

FLUSHED_EACH = 50
"""With more files to write, the disk is flushed once after the last."""


@dataclass(frozen=True, slots=True)
class Step:
    """One path of a restore."""

    path: bytes
    old: FileState | None
    """What the undo point holds there."""
    new: FileState | None
    """What is to stand there. The same as *old* for a folder whose mode is only looked after."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of the steps, each path in one of the two."""

    done: tuple[bytes, ...]
    failed: tuple[Skipped, ...]


class Found(Enum):
    """What stands at a step's path."""

    OLD = "old"
    NEW = "new"
    OTHER = "other"


def reversed_steps(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps that take *steps* back."""
    return tuple(Step(step.path, step.new, step.old) for step in steps)


def compare(step: Step, state: FileState | None, *, resumed: bool) -> Found:
    """Tell whether *state* is the step's old or new one, or another.

    When *resumed*, also what a restore that was killed leaves in between counts as the old one:
    a folder opened for a change, or nothing where a folder makes way or is to come.
    """
    if state == step.new:
        return Found.NEW
    if state == step.old or (resumed and _is_in_between(step, state)):
        return Found.OLD
    return Found.OTHER


def _is_in_between(step: Step, state: FileState | None) -> bool:
    if state is None:
        swaps = step.old is not None and step.new is not None
        return swaps and is_folder(step.old) != is_folder(step.new)
    if state.kind is not Kind.FOLDER:
        return False
    if is_folder(step.new) and not is_folder(step.old) and state.mode & 0o777 == OPENED:
        # Just made: its mode is set after that, and a parent may have given it set-id bits.
        return True
    sides = (side for side in (step.old, step.new) if side and side.kind is Kind.FOLDER)
    return any(state.mode == side.mode | OPENED for side in sides)


def carry_out(
    steps: Iterable[Step],
    tree: WorkTree,
    read: Callable[[bytes], bytes],
    why_not: Callable[[], str],
    *,
    resumed: bool = False,
) -> Outcome:
    """Make *tree* what *steps* say; *read* gives a blob by its id.

    Way is made first, then files and folders are written, then removed, then modes are set.
    *why_not* is asked before each change; what it answers, unless empty, is why no more is done.
    """
    return _Restore(steps, tree, read, why_not, resumed).run()


class _Restore:
    def __init__(
        self,
        steps: Iterable[Step],
        tree: WorkTree,
        read: Callable[[bytes], bytes],
        why_not: Callable[[], str],
        resumed: bool,
    ) -> None:
        self._steps = {step.path: step for step in steps}
        self._tree = tree
        self._read = read
        self._why_not = why_not
        self._resumed = resumed
        self._failed: dict[bytes, str] = {}
        self._modes_due: set[bytes] = set()
        writes = sum(1 for step in self._steps.values() if step.new and not is_folder(step.new))
        self._flush_each = writes <= FLUSHED_EACH

    def run(self) -> Outcome:
        ascending = [self._steps[path] for path in sorted(self._steps)]
        removals = [step for step in reversed(ascending) if step.new is None]
        for step in removals:
            if self._makes_way(step):
                self._try(step, self._remove)
        for step in ascending:
            if step.new is not None and not _only_modes(step):
                self._try(step, self._write)
        for step in removals:
            if not self._makes_way(step):
                self._try(step, self._remove)
        for step in reversed(ascending):
            if is_folder(step.new) and step.path not in self._failed:
                self._try(step, self._set_folder_mode)
        if not self._flush_each:
            self._tree.flush()
        done = tuple(path for path in sorted(self._steps) if path not in self._failed)
        failed = tuple(Skipped(path, self._failed[path]) for path in sorted(self._failed))
        return Outcome(done, failed)

    def _makes_way(self, step: Step) -> bool:
        """Whether *step* removes what stands below a path that will be a file or link."""
        above = step.path
        while (cut := above.rfind(b"/")) > 0:
            above = above[:cut]
            swap = self._steps.get(above)
            if swap is not None and swap.new is not None and not is_folder(swap.new):
                return True
        return False

    def _try(self, step: Step, act: Callable[[Step, FileState | None], None]) -> None:
        if why_not := self._why_not():
            self._failed[step.path] = why_not
            return
        with self._tree.holding(step.path):
            self._try_held(step, act)

    def _try_held(self, step: Step, act: Callable[[Step, FileState | None], None]) -> None:
        try:
            state = self._tree.state(step.path)
            match compare(step, state, resumed=self._resumed or step.path in self._modes_due):
                case Found.NEW:
                    return
                case Found.OLD:
                    act(step, state)
                case Found.OTHER:
                    self._failed[step.path] = "it changed after the undo point was taken"
        except (WorkTreeError, DamagedSnapshotError) as error:
            self._failed[step.path] = str(error)

    def _write(self, step: Step, state: FileState | None) -> None:
        new = step.new
        assert new is not None
        if is_folder(state) != is_folder(new) and state is not None:
            self._clear(step.path, state)
        match new.kind:
            case Kind.FOLDER:
                if not is_folder(state):
                    self._tree.make_folder(step.path, new.mode | OPENED)
                if new.mode | OPENED != new.mode:
                    self._modes_due.add(step.path)
            case Kind.LINK:
                self._tree.write_link(step.path, self._read(new.oid))
            case Kind.FILE:
                if state is not None and (state.kind, state.oid) == (new.kind, new.oid):
                    self._tree.set_file_mode(step.path, new.mode, flush=self._flush_each)
                else:
                    self._tree.write_file(
                        step.path, self._read(new.oid), new.mode, flush=self._flush_each
                    )

    def _clear(self, path: bytes, state: FileState) -> None:
        if state.kind is not Kind.FOLDER:
            self._tree.remove_file(path)
        elif not self._tree.remove_folder(path):
            raise WorkTreeError("the folder there is not empty")

    def _remove(self, step: Step, state: FileState | None) -> None:
        assert state is not None
        self._clear(step.path, state)

    def _set_folder_mode(self, step: Step, state: FileState | None) -> None:
        if step.new is not None and is_folder(state):
            self._tree.set_mode(step.path, step.new.mode)


def _only_modes(step: Step) -> bool:
    """Whether a folder stands on both sides, so that only its mode is to be set."""
    return is_folder(step.old) and is_folder(step.new)
