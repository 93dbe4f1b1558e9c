"""Whether a snapshot would hold a file that is about to be written, and if not, why."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from keryx_py.snapshot.ignore import is_ignored
from keryx_py.snapshot.ruling import RULES_NAME
from keryx_py.snapshot.sorting import NEVER_HELD, ROOT_LEFT_OUT


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the snapshots of the project at *root* hold and leave out."""

    root: Path
    max_file_bytes: int
    exclude: tuple[str, ...] = ()

    def why_not(self, paths: Iterable[bytes], size: int) -> str:
        """Why no snapshot would hold what a call writes at one of *paths*; "" when all would.

        That is a file of *size* bytes, or, where one of *paths* is a folder, a folder that moves.
        Reads the `.gitignore` files on the way and the sizes that are there now. A file is named
        as too large also when it is so now: what the call does to it cannot be taken back.
        """
        paths = tuple(paths)
        is_folder = any(stat.S_ISDIR(self._mode_and_size(path)[0]) for path in paths)
        reasons = (self._why_not(path, size, is_folder) for path in paths)
        return next((reason for reason in reasons if reason), "")

    def _why_not(self, path: bytes, size: int, is_folder: bool) -> str:
        left_out = NEVER_HELD.intersection(path.split(b"/"))
        if path == ROOT_LEFT_OUT or path.startswith(ROOT_LEFT_OUT + b"/"):
            left_out = frozenset({ROOT_LEFT_OUT})
        if left_out:
            return f"{min(left_out).decode()} is never saved"
        if is_ignored({b"": "\n".join(self.exclude).encode()}, path, is_folder):
            return "the setting exclude leaves it out"
        if is_ignored(self._rules_above(path), path, is_folder):
            return "a .gitignore leaves it out"
        mode, size_now = self._mode_and_size(path)
        if max(size, size_now if stat.S_ISREG(mode) else 0) > self.max_file_bytes:
            return f"it is larger than {self.max_file_bytes / 2**20:g} MB"
        return ""

    def _rules_above(self, path: bytes) -> dict[bytes, bytes]:
        folders = [b"/".join(path.split(b"/")[:depth]) for depth in range(path.count(b"/") + 1)]
        texts = {folder: self._read_rules(folder) for folder in folders}
        return {folder: text for folder, text in texts.items() if text is not None}

    def _read_rules(self, folder: bytes) -> bytes | None:
        place = self.root / os.fsdecode(folder) / os.fsdecode(RULES_NAME)
        try:
            descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None  # also for a link, which counts as no rules
        try:
            # Not fdopen() first: it refuses a folder with an error of its own.
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(descriptor)

    def _mode_and_size(self, path: bytes) -> tuple[int, int]:
        try:
            found = (self.root / os.fsdecode(path)).lstat()
        except OSError:
            return 0, 0
        return found.st_mode, found.st_size
