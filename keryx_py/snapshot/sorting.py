"""What becomes of a name that a walk meets: held, left out, skipped, or entered. Asks no disk."""

from __future__ import annotations

import stat
import sys
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field

from keryx_py.snapshot.descent import Identity
from keryx_py.snapshot.frame import Frame, Met
from keryx_py.snapshot.reading import kind_reason, size_reason
from keryx_py.snapshot.seen import Folder

ROOT_LEFT_OUT = b".metaproject/data"
NEVER_HELD = frozenset({b".git", b"node_modules"})
_FOLDS_CASE = sys.platform == "darwin"


@dataclass(frozen=True, slots=True)
class ScanRules:
    """What a walk holds and what it leaves out, apart from the project's own rules."""

    max_file_bytes: int
    exclude: tuple[bytes, ...] = ()
    """Patterns as in a `.gitignore` at the root."""
    off_limits: frozenset[Identity] = frozenset()
    """Folders of keryx's own, wherever they are met."""
    also: frozenset[bytes] = frozenset()
    """Paths that are held where they stand, whatever rule or limit says."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A file or link whose content must be read."""

    folder: Folder
    name: bytes
    index: int
    """Where in the folder it is listed."""
    size: int
    forced: bool
    """Whether it is held only because it was asked for."""


@dataclass(slots=True)
class Scan:
    """What one walk found."""

    root: Folder
    unread: deque[Unread] = field(default_factory=deque)
    asked_for: bool = False
    """Whether anything is held only because it was asked for."""


class Sorting:
    """Sorts out what one walk meets, into *scan* and the frames of its folders."""

    def __init__(self, rules: ScanRules, scan: Scan) -> None:
        self._rules = rules
        self._scan = scan
        self._within = _folders_of(rules.also)

    def asked_in(self, folder: bytes) -> Collection[bytes]:
        """List the names that are asked for in the folder at that path."""
        return self._within.get(folder, ())

    def is_asked_within(self, known: Folder) -> bool:
        """Whether anything is asked for in a folder that was not held of itself."""
        asked = self._within.get(known.path, ())
        return any(name in known.left_out or name in known.skipped for name in asked)

    def sort_out(self, frame: Frame, met: Met) -> None:
        """Decide what to do about a name that is new or changed."""
        folder, name = frame.folder, met.name
        path = folder.prefix + name
        is_folder = stat.S_ISDIR(met.mode)
        left_out = folder.narrow or self._is_left_out(frame, met, path, is_folder)
        if left_out and not folder.narrow:
            folder.left_out[name] = is_folder
        if left_out and not self._is_asked_for(name, path):
            return
        if left_out:
            self._scan.asked_for = True
        if is_folder:
            frame.waiting.append((name, left_out))
        elif stat.S_ISLNK(met.mode):
            self._scan.unread.append(Unread(folder, name, met.at, 0, left_out))
        elif not stat.S_ISREG(met.mode):
            folder.skipped[name] = kind_reason(met.mode)
        elif met.size <= self._rules.max_file_bytes:
            self._scan.unread.append(Unread(folder, name, met.at, met.size, left_out))
        elif path in self._rules.also:
            self._scan.asked_for = True
            self._scan.unread.append(Unread(folder, name, met.at, met.size, forced=True))
        else:
            folder.skipped[name] = size_reason(self._rules.max_file_bytes)

    def _is_left_out(self, frame: Frame, met: Met, path: bytes, is_folder: bool) -> bool:
        name, known = met.name, frame.known
        if _is_never_held(name) or path == ROOT_LEFT_OUT:
            return True
        if frame.same_rules and known is not None:
            # The rules said so last time and have not changed.
            if known.left_out.get(name) is is_folder:
                return True
            if name in known.folders if is_folder else met.was_held:
                return False
        return frame.rulings().ignores(name, is_folder)

    def _is_asked_for(self, name: bytes, path: bytes) -> bool:
        asked = path in self._rules.also or path in self._within
        return asked and not _is_git(name)


def _is_git(name: bytes) -> bool:
    return name == b".git" or (_FOLDS_CASE and name.lower() == b".git")


def _is_never_held(name: bytes) -> bool:
    return name in NEVER_HELD or _is_git(name)


def _folders_of(paths: Collection[bytes]) -> dict[bytes, set[bytes]]:
    """List, for each folder on the way to one of *paths*, the names asked for in it."""
    within: dict[bytes, set[bytes]] = {}
    for path in paths:
        above, _, name = path.rpartition(b"/")
        while name:
            within.setdefault(above, set()).add(name)
            above, _, name = above.rpartition(b"/")
    return within
