"""What a list shows of a session, read without its lease and without parsing its archive."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from keryx_py.session.archive import RootEntry, TurnEntry, visible
from keryx_py.session.errors import SessionError
from keryx_py.session.folders import bytes_on_disk
from keryx_py.session.journal import FILE_NAME, open_archive
from keryx_py.session.lease import is_held
from keryx_py.session.lines import ROOT_MARK, TURN_MARK, Header, read_header, read_line

_CHUNK_BYTES = 1 << 20
_TITLE_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session as a list shows it, read without its lease."""

    id: str
    folder: Path
    root: Path
    title: str
    """The first prompt's first words on one line; empty before the first prompt."""
    created_at: float
    used_at: float
    bytes_on_disk: int
    """What its folder takes on disk."""
    turns: int
    unattended: bool
    root_gone: bool
    held: bool
    damage: str = ""
    """Why it cannot be opened, in one sentence; empty when it can, as far as a glance tells."""


@dataclass(frozen=True, slots=True)
class Glance:
    """What one pass over an archive's bytes tells."""

    root: Path | None
    """None when the first line is damaged and no later one names the root."""
    title: str
    created_at: float
    used_at: float
    turns: int
    """The prompts ever sent."""
    empty: bool
    """Whether nothing was ever said or done."""
    unattended: bool
    damage: str = ""


def glance(folder: Path) -> Glance:
    """Look over the session in *folder*; what is wrong with it becomes its damage."""
    try:
        descriptor = open_archive(folder / FILE_NAME, os.O_RDONLY)
    except SessionError as error:
        return _broken(folder, str(error))
    try:
        used_at = os.fstat(descriptor).st_mtime
        with os.fdopen(descriptor, "rb") as file:
            first = file.readline()
            header = read_header(first.removesuffix(b"\n"))
            marks = _Marks.of(file.fileno(), len(first))
            return _glance(folder, header, used_at, marks)
    except (OSError, SessionError) as error:
        return _broken(folder, str(error))


def describe(folder: Path, seen: Glance) -> SessionInfo:
    """Add to a glance what the disk and the lock tell."""
    return SessionInfo(
        id=folder.name,
        folder=folder,
        root=seen.root or Path(),
        title=seen.title,
        created_at=seen.created_at,
        used_at=seen.used_at,
        bytes_on_disk=bytes_on_disk(folder),
        turns=seen.turns,
        unattended=seen.unattended,
        root_gone=seen.root is None or not seen.root.is_dir(),
        held=is_held(folder),
        damage=seen.damage,
    )


def short_title(prompt: str) -> str:
    """Put the first words of *prompt* on one line."""
    words = visible(" ".join(prompt.split()))
    if len(words) <= _TITLE_CHARACTERS:
        return words
    return words[: _TITLE_CHARACTERS - 1].rstrip() + "…"


@dataclass(frozen=True, slots=True)
class _Marks:
    """Where an archive's bytes speak of turns and roots."""

    turns: int
    first_turn: bytes
    """The line of the first turn; empty for none."""
    last_root: bytes
    size: int
    """The bytes after the first line."""

    @classmethod
    def of(cls, descriptor: int, start: int) -> _Marks:
        """Look through the open file from *start* on.

        A text in a line cannot hold the marks: its own quotation marks are escaped.
        """
        turns, first_turn, last_root = 0, -1, -1
        overlap = max(len(TURN_MARK), len(ROOT_MARK)) - 1
        position, rest = start, b""
        while chunk := os.pread(descriptor, _CHUNK_BYTES, position):
            seen, before = rest + chunk, position - len(rest)
            # Only what ends in this chunk counts; the overlap was looked at before.
            count = seen.count(TURN_MARK) - rest.count(TURN_MARK)
            if count and first_turn < 0:
                first_turn = before + seen.index(TURN_MARK)
            turns += count
            if ROOT_MARK in seen:
                last_root = before + seen.rindex(ROOT_MARK)
            position += len(chunk)
            rest = seen[-overlap:]
        return cls(
            turns,
            _line_at(descriptor, first_turn),
            _line_at(descriptor, last_root),
            position - start,
        )


def _line_at(descriptor: int, place: int) -> bytes:
    """Read the line that holds the byte at *place*; empty for no place."""
    if place < 0:
        return b""
    start = max(place - _FARTHEST_START, 0)
    data = os.pread(descriptor, place - start, start)
    start += data.rfind(b"\n") + 1
    line = b""
    while chunk := os.pread(descriptor, _CHUNK_BYTES, start + len(line)):
        line += chunk
        if b"\n" in chunk:
            break
    return line.partition(b"\n")[0]


_FARTHEST_START = 64
"""A mark stands at most this many bytes into its line."""


def _glance(folder: Path, header: Header | None, used_at: float, marks: _Marks) -> Glance:
    turn = read_line(marks.first_turn)
    moved = read_line(marks.last_root)
    root: Path | None = None
    if isinstance(moved, RootEntry):
        root = Path(moved.root)
    elif header:
        root = Path(header.root)
    return Glance(
        root=root,
        title=short_title(turn.prompt) if isinstance(turn, TurnEntry) else "",
        created_at=header.created_at if header else used_at,
        used_at=used_at,
        turns=marks.turns,
        empty=marks.size == 0,
        unattended=header.unattended if header else False,
        damage="" if root else f"the first line of {folder / FILE_NAME} is damaged",
    )


def _broken(folder: Path, damage: str) -> Glance:
    try:
        used_at = folder.lstat().st_mtime
    except OSError:
        used_at = 0.0
    return Glance(None, "", used_at, used_at, 0, True, False, damage)
