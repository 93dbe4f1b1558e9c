"""The record of a restore under way: on disk before the first change, gone after the last.

The file is replaced whole and holds a checksum, so it is either there and right or not there.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from keryx_py.errors import KeryxError
from keryx_py.rewind.apply import Step
from keryx_py.session.archive import Mode
from keryx_py.session.journal import flush_folder
from keryx_py.snapshot.listing import FileState, Kind, Skipped

NAME = "restore.json"
VERSION = 1


class JournalError(KeryxError):
    """The record of a restore cannot be written or read."""


class DamagedJournalError(JournalError):
    """What the record of a restore says is lost for good."""


@dataclass(frozen=True, slots=True)
class Restore:
    """All that is needed to finish a restore, or to take it back, after a crash."""

    undo: int
    """The undo point's number."""
    to: int
    mode: Mode
    cuts: bool
    """Whether history is to be cut when every path is right."""
    redoes: int | None
    """For a redo, the position of the RewindEntry that it takes back."""
    steps: tuple[Step, ...]
    left: tuple[Skipped, ...] = ()
    """The planned paths that were left before the first change, with the reasons."""
    made: Mapping[bytes, bytes] = field(default_factory=dict)
    """The contents that the steps write and no capture holds, by their blob ids."""
    mark: str = ""
    """What the names bear that are written beside their places; empty when that is not known."""
    root_mode: int | None = None
    """The root's permission bits before the first change; None when they are not known."""


def journal_path(folder: Path) -> Path:
    """Where the session in *folder* records a restore."""
    return folder / NAME


def write_journal(folder: Path, restore: Restore) -> None:
    """Put the record of *restore* on the disk, safe against a power cut. Raises JournalError."""
    body = json.dumps(_encode(restore), ensure_ascii=True, separators=(",", ":")).encode()
    aside = folder / f"{NAME}.new"
    try:
        descriptor = os.open(
            aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        with os.fdopen(descriptor, "wb") as file:
            file.write(body + b"\n" + _checksum(body) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        aside.replace(journal_path(folder))
        flush_folder(folder)
    except OSError as error:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        why = error.strerror or type(error).__name__
        raise JournalError(f"the record of the restore could not be written: {why}") from error


def read_journal(folder: Path) -> Restore | None:
    """Read the record of a restore that was cut short; None when there is none.

    Raises DamagedJournalError, JournalError when it may be read another time.
    """
    try:
        content = journal_path(folder).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise JournalError(f"the record of the restore could not be read: {why}") from error
    body, _, rest = content.partition(b"\n")
    if rest != _checksum(body) + b"\n":
        raise DamagedJournalError("the record of the restore is damaged")
    try:
        return _decode(json.loads(body))
    except (ValueError, KeyError, TypeError) as error:
        why = "the record of the restore is not one that can be read"
        raise DamagedJournalError(why) from error


def drop_journal(folder: Path) -> None:
    """Take the record away: the restore is over."""
    # Where that fails, the next start finds everything done and takes it away.
    with suppress(OSError):
        journal_path(folder).unlink(missing_ok=True)
        flush_folder(folder)


def set_journal_aside(folder: Path) -> None:
    """Put a record that is of no more use out of the way, for whoever wants to look at it."""
    with suppress(OSError):
        journal_path(folder).replace(folder / f"{NAME}.unfinished")
        flush_folder(folder)


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def _encode(restore: Restore) -> Mapping[str, object]:
    return {
        "version": VERSION,
        "undo": restore.undo,
        "to": restore.to,
        "mode": restore.mode.value,
        "cuts": restore.cuts,
        "redoes": restore.redoes,
        "mark": restore.mark,
        "root_mode": restore.root_mode,
        "steps": [
            [_text(step.path), _encode_state(step.old), _encode_state(step.new)]
            for step in restore.steps
        ],
        "left": [[_text(skipped.path), skipped.reason] for skipped in restore.left],
        "made": {
            oid.hex(): base64.b64encode(content).decode("ascii")
            for oid, content in restore.made.items()
        },
    }


def _decode(record: Mapping[str, object]) -> Restore:
    steps, left, redoes = record["steps"], record["left"], record["redoes"]
    made, mark, root_mode = record.get("made", {}), record.get("mark", ""), record.get("root_mode")
    if isinstance(version := record["version"], int) and version > VERSION:
        raise JournalError("a newer keryx made the record of the restore: start that")
    if version != VERSION or not isinstance(steps, list) or not isinstance(left, list):
        raise ValueError("another format")
    if not isinstance(made, dict):
        raise TypeError("not contents by their ids")
    if not isinstance(mark, str):
        raise TypeError("not a mark")
    return Restore(
        undo=_number(record["undo"]),
        to=_number(record["to"]),
        mode=Mode(record["mode"]),
        cuts=record["cuts"] is True,
        redoes=None if redoes is None else _number(redoes),
        steps=tuple(
            Step(_bytes(path), _decode_state(old), _decode_state(new)) for path, old, new in steps
        ),
        left=tuple(Skipped(_bytes(path), str(reason)) for path, reason in left),
        made={bytes.fromhex(oid): base64.b64decode(content) for oid, content in made.items()},
        mark=mark,
        root_mode=None if root_mode is None else _number(root_mode),
    )


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError("not a number")
    return value


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _encode_state(state: FileState | None) -> list[object] | None:
    return None if state is None else [state.kind.value, state.mode, state.oid.hex()]


def _decode_state(value: object) -> FileState | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise TypeError("not a state")
    kind, mode, oid = value
    return FileState(Kind(kind), _number(mode), bytes.fromhex(oid))
