"""Walk the work tree: what is there, what is left out, and what must be read because it is new.

The walk goes by folder descriptors, never follows a link, and reads no content but `.gitignore`
files; what it finds to be as it was keeps the state it had.
"""

from __future__ import annotations

import os
import stat
import sys
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from keryx_py.snapshot.descent import Descent, Identity
from keryx_py.snapshot.listing import FileState, Kind, Skipped
from keryx_py.snapshot.reading import is_our_own, kind_reason, size_reason
from keryx_py.snapshot.ruling import Ruling, read_rules
from keryx_py.snapshot.seen import Folder, Seen

ROOT_LEFT_OUT = b".metaproject/data"
NEVER_HELD = frozenset({".git", "node_modules"})
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
    name: str
    size: int
    forced: bool
    """Whether it is held only because it was asked for."""


@dataclass(slots=True)
class Scan:
    """What one walk found."""

    root: Folder
    listing: dict[bytes, FileState] = field(default_factory=dict)
    unread: deque[Unread] = field(default_factory=deque)
    ignored: set[bytes] = field(default_factory=set)
    skipped: list[Skipped] = field(default_factory=list)
    rules: dict[bytes, bytes] = field(default_factory=dict)
    asked_for: bool = False
    """Whether anything is held only because it was asked for."""


@dataclass(slots=True)
class _Frame:
    """One folder that the walk is in."""

    folder: Folder
    known: Folder | None
    """The folder as it was seen last; None when that says nothing."""
    ruling: Ruling
    excluding: Ruling
    same_rules: bool
    """Whether the rules from the root down to here are those of the last walk."""
    waiting: list[tuple[str, bool]] = field(default_factory=list)
    """The subfolders still to enter, and whether each is narrow."""


class Walk:
    """One walk over the tree at an open *root* descriptor."""

    def __init__(
        self,
        root: int,
        rules: ScanRules,
        known: Folder | None,
        kept: Collection[bytes] | None,
        tick: Callable[[int], None],
    ) -> None:
        """Content whose id is not among *kept* (None: all are) is read again although it is
        unchanged; *tick* is told how many files have been seen."""
        status = os.fstat(root)
        self._descent = Descent(root, Identity.of(status))
        self._rules = rules
        self._kept = kept
        self._tick = tick
        self._known = known
        self._also_within = _folders_of(rules.also)
        self._folder_states: dict[int, FileState] = {}
        self._ancestors = {Identity.of(status)}
        self._root_status = status
        self._scan = Scan(Folder(b"", stat.S_IMODE(status.st_mode), status.st_dev))

    def run(self) -> Scan:
        """Walk the whole tree. Raises OSError, RulesUnreadableError."""
        frames = [self._root_frame()]
        try:
            while frames:
                frame = frames[-1]
                if not frame.waiting:
                    self._leave(frames)
                    continue
                name, narrow = frame.waiting.pop()
                below = self._enter(frame, name, narrow)
                if below is not None:
                    frames.append(below)
        finally:
            self._descent.close()
        return self._scan

    def _root_frame(self) -> _Frame:
        exclude = b"\n".join(self._rules.exclude) or None
        folder, known = self._scan.root, self._known
        text = self._rules_of(folder, known)
        frame = _Frame(
            folder,
            known,
            Ruling(None, b"", text),
            Ruling(None, b"", exclude),
            same_rules=known is not None and text == known.text,
        )
        self._list(frame)
        return frame

    def _leave(self, frames: list[_Frame]) -> None:
        frames.pop()
        if frames:
            self._leave_below()

    def _leave_below(self) -> None:
        self._ancestors.discard(self._descent.identity)
        self._descent.leave()

    def _enter(self, above: _Frame, name: str, narrow: bool) -> _Frame | None:
        """Go into a subfolder and list it; None when there is nothing to walk there."""
        raw = os.fsencode(name)
        path = above.folder.prefix + raw
        try:
            status = self._descent.enter(name)
        except OSError as error:
            self._not_entered(above, name, path, error)
            return None
        if self._is_off_limits(above, name, path):
            self._descent.leave()
            return None
        folder = Folder(path, stat.S_IMODE(status.st_mode), status.st_dev, narrow=narrow)
        try:
            frame = self._entered(above, folder, name, raw)
        except PermissionError:
            self._skip(path, "unreadable")  # it may be listed, but not looked into
            self._leave_below()
            return None
        above.folder.folders[name] = folder
        self._scan.listing[path] = self._folder_state(folder.mode)
        if narrow:
            self._list_narrow(frame)
        else:
            self._list(frame)
        return frame

    def _entered(self, above: _Frame, folder: Folder, name: str, raw: bytes) -> _Frame:
        if folder.narrow:
            return _Frame(folder, None, above.ruling, above.excluding, same_rules=False)
        known = above.known.folders.get(name) if above.known is not None else None
        if known is not None and (known.narrow or known.device != folder.device):
            known = None
        text = self._rules_of(folder, known)
        same = above.same_rules and known is not None and text == known.text
        return _Frame(
            folder,
            known,
            Ruling(above.ruling, raw, text),
            Ruling(above.excluding, raw, None),
            same_rules=same,
        )

    def _is_off_limits(self, above: _Frame, name: str, path: bytes) -> bool:
        """Whether the folder just entered is keryx's own, or one that the walk is already in."""
        identity = self._descent.identity
        if identity in self._rules.off_limits:
            self._leave_out(above.folder, name, path, is_folder=True)
            return True
        if identity in self._ancestors:
            self._skip(path, "a folder inside itself")
            return True
        self._ancestors.add(identity)
        return False

    def _not_entered(self, above: _Frame, name: str, path: bytes, error: OSError) -> None:
        """Say what came of a subfolder that could not be opened."""
        if is_our_own(error):
            raise error
        try:
            status = os.stat(name, dir_fd=self._descent.descriptor(), follow_symlinks=False)
        except FileNotFoundError:
            return
        except OSError:
            self._skip(path, "unreadable")
            return
        if stat.S_ISDIR(status.st_mode):
            self._skip(path, "unreadable")
        else:
            self._sort_out(above, name, path, status)

    def _list(self, frame: _Frame) -> None:
        """Take in all names of the current folder."""
        files, known = frame.folder.files, frame.known
        known_files: dict[str, Seen] = known.files if known and frame.same_rules else {}
        listing, kept, look_up = self._scan.listing, self._kept, known_files.get
        prefix = frame.folder.prefix
        with os.scandir(self._descent.descriptor()) as entries:
            for entry in entries:
                name = entry.name
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                except OSError:
                    self._skip(prefix + os.fsencode(name), "unreadable")
                    continue
                seen = look_up(name)
                if (
                    seen is not None
                    and seen.modified == status.st_mtime_ns
                    and seen.changed == status.st_ctime_ns
                    and seen.size == status.st_size
                    and seen.inode == status.st_ino
                    and seen.mode == status.st_mode
                    and (kept is None or seen.state.oid in kept)
                ):
                    files[name] = seen
                    listing[seen.path] = seen.state
                else:
                    self._sort_out(frame, name, prefix + os.fsencode(name), status)
        self._tick(len(listing) + len(self._scan.unread))

    def _list_narrow(self, frame: _Frame) -> None:
        """Take in only the names of the current folder that were asked for."""
        prefix = frame.folder.prefix
        for name in self._also_within.get(frame.folder.path, ()):
            try:
                status = os.stat(name, dir_fd=self._descent.descriptor(), follow_symlinks=False)
            except FileNotFoundError:
                continue
            except OSError:
                self._skip(prefix + name, "unreadable")
                continue
            self._sort_out(frame, os.fsdecode(name), prefix + name, status)

    def _sort_out(self, frame: _Frame, name: str, path: bytes, status: os.stat_result) -> None:
        """Decide what to do about a name that is new or changed."""
        mode = status.st_mode
        is_folder = stat.S_ISDIR(mode)
        left_out = frame.folder.narrow or self._is_left_out(frame, name, path, is_folder)
        if left_out and not frame.folder.narrow:
            self._leave_out(frame.folder, name, path, is_folder)
        if left_out and not self._is_asked_for(name, path):
            return
        if left_out:
            self._scan.asked_for = True
        if is_folder:
            frame.waiting.append((name, left_out))
        elif stat.S_ISLNK(mode):
            self._scan.unread.append(Unread(frame.folder, name, 0, left_out))
        elif not stat.S_ISREG(mode):
            self._skip(path, kind_reason(mode))
        elif status.st_size <= self._rules.max_file_bytes:
            self._scan.unread.append(Unread(frame.folder, name, status.st_size, left_out))
        elif path in self._rules.also:
            self._scan.asked_for = True
            self._scan.unread.append(Unread(frame.folder, name, status.st_size, forced=True))
        else:
            self._skip(path, size_reason(self._rules.max_file_bytes))

    def _is_left_out(self, frame: _Frame, name: str, path: bytes, is_folder: bool) -> bool:
        if _is_never_held(name) or path == ROOT_LEFT_OUT:
            return True
        if frame.same_rules and frame.known is not None:
            # The rules said so last time and have not changed.
            if frame.known.left_out.get(name) is is_folder:
                return True
            if not is_folder and name in frame.known.files:
                return False
            if is_folder and name in frame.known.folders and not frame.known.folders[name].narrow:
                return False
        raw = os.fsencode(name)
        return frame.excluding.ignores(raw, is_folder) or frame.ruling.ignores(raw, is_folder)

    def _is_asked_for(self, name: str, path: bytes) -> bool:
        asked = path in self._rules.also or path in self._also_within
        return asked and not _is_git(name)

    def _leave_out(self, folder: Folder, name: str, path: bytes, is_folder: bool) -> None:
        folder.left_out[name] = is_folder
        self._scan.ignored.add(path)

    def _skip(self, path: bytes, reason: str) -> None:
        self._scan.skipped.append(Skipped(path, reason))

    def _folder_state(self, mode: int) -> FileState:
        state = self._folder_states.get(mode)
        if state is None:
            state = self._folder_states[mode] = FileState(Kind.FOLDER, mode, b"")
        return state

    def _rules_of(self, folder: Folder, known: Folder | None) -> bytes | None:
        text = read_rules(self._descent.descriptor(), folder, known)
        if text is not None:
            folder.text = self._scan.rules[folder.path] = text
        return text


def _is_git(name: str) -> bool:
    return name == ".git" or (_FOLDS_CASE and name.lower() == ".git")


def _is_never_held(name: str) -> bool:
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
