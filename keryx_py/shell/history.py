"""The lines typed in one project, kept for its person alone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import FileHistory

from keryx_py.shell.line import whole_text


def history_file(data_dir: Path, root: Path) -> Path:
    """Say where the lines typed at *root* are kept."""
    return data_dir / "history" / hashlib.sha256(os.fsencode(root)).hexdigest()[:24]


class PrivateHistory(FileHistory):
    """Lines in a file that only its owner can read. A disk that refuses costs no line its turn."""

    def __init__(self, file: Path) -> None:
        super().__init__(str(file))
        self._file = file

    def load_history_strings(self) -> Iterable[str]:
        """Read the lines, newest first; none when they cannot be read."""
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        """Write one line to the file."""
        # Typing goes on without a history when the disk is full or the folder is read-only.
        with suppress(OSError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self._file, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            super().store_string(whole_text(string))


def forget_lines(file: Path, lines: Collection[str]) -> None:
    """Take *lines* out of the history in *file*, wherever they stand.

    Raises OSError; then the file is as it was.
    """
    # Not a PrivateHistory, for which lines that cannot be read are none.
    kept = [line for line in FileHistory(str(file)).load_history_strings() if line not in lines]
    beside = file.with_suffix(".new")
    beside.unlink(missing_ok=True)
    beside.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    rewritten = FileHistory(str(beside))
    for line in reversed(kept):
        rewritten.store_string(line)
    beside.replace(file)
