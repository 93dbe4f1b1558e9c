"""What a restore changes, path by path, and what it must leave. Nothing here touches a disk.

What the target holds comes back, whatever rules say now. What it does not hold goes only if it
was neither ignored nor skipped, then and now; what may not go stays, and blocks what it stands on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from keryx_py.snapshot.ignore import is_ignored
from keryx_py.snapshot.listing import (
    FileChange,
    FileState,
    Kind,
    Skipped,
    TreeState,
    differences,
)


@dataclass(frozen=True, slots=True)
class Limit:
    """The paths that a restore is limited to."""

    within: tuple[bytes, ...] = ()
    """Each path and all below it."""
    exactly: frozenset[bytes] | None = None
    """Just these paths; None for no such limit."""

    def covers(self, path: bytes) -> bool:
        """Whether *path* was asked for."""
        if self.exactly is not None and path not in self.exactly:
            return False
        return not self.within or any(is_within(path, folder) for folder in self.within)


EVERYTHING = Limit()


@dataclass(frozen=True, slots=True)
class Asked:
    """What is in a tree, or known to be absent, only because it was asked for by its path."""

    then: frozenset[bytes] = frozenset()
    """Which of these the tree of then does not hold did not stand there, whatever rules say."""
    now: Mapping[bytes, str] = field(default_factory=dict)
    """What rules or limits leave out now, and why; it may not go."""


UNASKED = Asked()


@dataclass(frozen=True, slots=True)
class Difference:
    """What a restore changes, and what it leaves although the target differs."""

    changes: tuple[FileChange, ...]
    """From now to then, in path order."""
    staying: tuple[Skipped, ...]


def is_within(path: bytes, folder: bytes) -> bool:
    """Whether *path* is *folder* or lies below it."""
    return path == folder or path.startswith(folder + b"/")


def folders_above(path: bytes) -> Iterator[bytes]:
    """Name the folders above *path*, the nearest first, the root left out."""
    while (cut := path.rfind(b"/")) > 0:
        path = path[:cut]
        yield path


def at_or_above(path: bytes, among: Collection[bytes]) -> bytes | None:
    """Find *path*, or else the nearest folder above it, in *among*."""
    if path in among:
        return path
    return next((folder for folder in folders_above(path) if folder in among), None)


def left_out(paths: Iterable[bytes], tree: TreeState) -> Mapping[bytes, str]:
    """Those of *paths* that rules or limits leave out of *tree*, and why."""
    skipped = {one.path: one.reason for one in tree.skipped}
    found: dict[bytes, str] = {}
    for path in paths:
        if (above := at_or_above(path, tree.ignored)) is not None:
            found[path] = why_ignored(above)
        elif path in skipped:
            found[path] = skipped[path]
    return found


def _is_needed(above: FileChange, change: FileChange) -> bool:
    """Whether *change* needs the folder *above* made, or may leave it empty."""
    if change.after is None:
        return above.after is None
    return is_folder(above.after) and not is_folder(above.before)


def is_folder(state: FileState | None) -> bool:
    """Whether a folder stands there."""
    return state is not None and state.kind is Kind.FOLDER


def work_out(
    now: TreeState,
    then: TreeState,
    limit: Limit = EVERYTHING,
    asked: Asked = UNASKED,
) -> Difference:
    """Work out what making *now* into *then* changes within *limit*, and what it must leave."""
    return _Work(now, then, limit, asked).result()


class _Work:
    """One working-out; each step narrows `going` and fills `staying`."""

    def __init__(self, now: TreeState, then: TreeState, limit: Limit, asked: Asked) -> None:
        self.hidden = asked.now
        self.known_absent = asked.then - asked.now.keys()
        self.now = now
        self.then = then
        self.limit = limit
        self.differing = {c.path: c for c in differences(now.listing, then.listing)}
        self.skipped_now = {skipped.path: skipped.reason for skipped in now.skipped}
        self.skipped_then = {skipped.path: skipped.reason for skipped in then.skipped}
        self.staying: dict[bytes, str] = {}
        self.going: dict[bytes, FileChange] = {}

    def result(self) -> Difference:
        self._ask()
        self._keep_what_may_not_go()
        self._name_what_is_new_and_not_held()
        self._keep_what_holds_something()
        self._block_what_stands_on_it()
        changes = tuple(self.going[path] for path in sorted(self.going))
        staying = tuple(Skipped(path, self.staying[path]) for path in sorted(self.staying))
        return Difference(changes, staying)

    def _ask(self) -> None:
        """Take what the limit covers, and the folders that it cannot do without."""
        for path, change in self.differing.items():
            if not self.limit.covers(path):
                continue
            self.going[path] = change
            for folder in folders_above(path):
                above = self.differing.get(folder)
                if above is not None and _is_needed(above, change):
                    self.going[folder] = above

    def _keep_what_may_not_go(self) -> None:
        for path, change in tuple(self.going.items()):
            if change.after is None and (reason := self._why_it_stays(path, change)):
                self._keep(path, reason)

    def _why_it_stays(self, path: bytes, change: FileChange) -> str:
        if (found := at_or_above(path, self.skipped_then)) is not None:
            return f"not saved then: {self.skipped_then[found]}"
        if path in self.hidden:
            return self.hidden[path]
        if path in self.known_absent:
            return ""
        if at_or_above(path, self.then.ignored) is not None:
            return "ignored then"
        if is_ignored(self.then.rules, path, is_folder(change.before)):
            return "ignored then"
        if at_or_above(path, self.now.ignored) is not None:
            return "ignored"
        return ""

    def _name_what_is_new_and_not_held(self) -> None:
        """Name what a full restore would remove or replace, and which no undo point can hold."""
        for path, reason in self.skipped_now.items():
            if path in self.now.listing:
                continue
            if self._is_held_then(path):
                if path in self.going:
                    self._keep(path, reason)
            elif self.limit.covers(path) and not self._was_left_out(path):
                self.staying.setdefault(path, reason)

        for path in self.now.ignored:
            if not self._is_held_then(path) and self.limit.covers(path):
                self._name_if_newly_ignored(path)

    def _name_if_newly_ignored(self, path: bytes) -> None:
        """Name what would go, were it not for rules of now: it is ignored only since."""
        ruled_out = any(is_ignored(self.then.rules, path, folder) for folder in (False, True))
        if not ruled_out and not self._was_left_out(path):
            self.staying.setdefault(path, why_ignored(path))

    def _is_held_then(self, path: bytes) -> bool:
        """Whether the target holds *path*, told by what differs: it need not be read for that."""
        change = self.differing.get(path)
        return path in self.now.listing if change is None else change.after is not None

    def _was_left_out(self, path: bytes) -> bool:
        above = at_or_above(path, self.skipped_then)
        return above is not None or at_or_above(path, self.then.ignored) is not None

    def _keep_what_holds_something(self) -> None:
        """A folder goes, or makes way, only when nothing below it stays."""
        vanishing = [
            path
            for path, change in self.going.items()
            if is_folder(change.before) and not is_folder(change.after)
        ]
        if not vanishing:
            return
        holding = self._what_folders_hold(vanishing)
        for path in sorted(vanishing, reverse=True):
            inside = holding.get(path)
            if inside is None:
                continue
            inner, reason = inside
            if not self.limit.covers(path):
                del self.going[path]
                continue
            if self.limit.covers(inner):
                self.staying.setdefault(inner, reason)
            self._keep(path, reason if inner == path else f"holds {_shown(inner)}")

    def _what_folders_hold(self, vanishing: list[bytes]) -> dict[bytes, tuple[bytes, str]]:
        """For each folder that holds something that stays, the first such path and why."""
        holding: dict[bytes, tuple[bytes, str]] = {}
        # What lies in a folder that is held only because it was asked for was not looked at.
        hidden = left_out((path for path in vanishing if path not in self.known_absent), self.now)
        staying = (*self._what_stays(), *hidden.items())
        for path, reason in sorted(staying):
            for folder in (path, *folders_above(path)):
                holding.setdefault(folder, (path, reason))
        return holding

    def _what_stays(self) -> Iterable[tuple[bytes, str]]:
        yield from self.staying.items()
        yield from self.skipped_now.items()
        # A folder that a rewind made is among what may go; only an empty one is ever removed.
        for path in self.now.ignored - self.known_absent:
            yield path, why_ignored(path)
        for path, change in self.differing.items():
            if change.after is None and path not in self.going and path not in self.staying:
                yield path, "not asked for"

    def _block_what_stands_on_it(self) -> None:
        """Leave what cannot be put where something else stays."""
        for path in sorted(self.going):
            if self.going[path].after is None:
                continue
            above = self._what_blocks(path)
            if above is not None:
                self._keep(path, f"{_shown(above)} stands in the way")

    def _what_blocks(self, path: bytes) -> bytes | None:
        """The topmost thing above *path* that stays and cannot be written in."""
        found = None
        for folder in folders_above(path):
            if folder in self.skipped_now:
                found = folder
        return found

    def _keep(self, path: bytes, reason: str) -> None:
        self.going.pop(path, None)
        self.staying[path] = reason


def why_ignored(path: bytes) -> str:
    """Say why the ignored *path* is not held."""
    own = path == b".git" or path.endswith(b"/.git")
    return "a repository's own folder" if own else "ignored"


def _shown(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def count_files(changes: Iterable[FileChange]) -> int:
    """Count the files and links among *changes*; folders are not counted."""
    return sum(
        1
        for change in changes
        if any(state and state.kind is not Kind.FOLDER for state in (change.before, change.after))
    )


def named_by(path: bytes, trees: Iterable[TreeState]) -> bool:
    """Whether *path* names anything in *trees*: something held, ignored, skipped, or a folder."""
    for tree in trees:
        if path in tree.listing or at_or_above(path, tree.ignored) is not None:
            return True
        skipped: Mapping[bytes, str] = {one.path: one.reason for one in tree.skipped}
        if at_or_above(path, skipped) is not None:
            return True
    return False
