"""What a capture knows beside its git tree, as JSON: modes, empty folders, what is not held, rules.

Permission bits that most files or folders share are said once; the rest is listed by path.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field

from keryx_py.snapshot.listing import Skipped, TreeState
from keryx_py.snapshot.objects import EXEC_MODE, FOLDER_MODE, PLAIN_MODE
from keryx_py.snapshot.seen import Folder
from keryx_py.snapshot.trees import git_mode

_VERSION = 1
_USUAL = {PLAIN_MODE: 0o644, EXEC_MODE: 0o755, FOLDER_MODE: 0o755}
_MODE_LIMIT = 0o7777


class MalformedRecordError(ValueError):
    """The bytes are not a record."""


@dataclass(frozen=True, slots=True)
class Record:
    """A capture's record."""

    usual: Mapping[bytes, int]
    """The permission bits that go without saying, by git's mode."""
    odd: Mapping[bytes, int]
    """The others, by path."""
    bare: Mapping[bytes, int]
    """The folders of which git holds nothing, and their permission bits."""
    ignored: frozenset[bytes] = frozenset()
    skipped: tuple[Skipped, ...] = ()
    rules: Mapping[bytes, bytes] = field(default_factory=dict)

    def mode_of(self, path: bytes, git: bytes) -> int:
        """Look up the permission bits of *path*, which git holds with the mode *git*."""
        return self.odd.get(path, self.usual[git])


def make_record(state: TreeState, root: Folder) -> Record:
    """Describe what the git trees of *root*, as walked and built, do not say of *state*."""
    usual = _usual_modes(root)
    odd: dict[bytes, int] = {}
    bare: dict[bytes, int] = {}
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        if not _is_worth_a_look(folder, usual):
            continue
        waiting.extend(folder.folders.values())
        if not folder.tree:
            bare[folder.path] = folder.mode
        elif folder.mode != usual[FOLDER_MODE]:
            odd[folder.path] = folder.mode
        prefix = folder.prefix
        odd.update(
            (prefix + name, stat.S_IMODE(mode))
            for name, mode, _ in folder.items()
            if _is_odd(mode, usual)
        )
    # The root itself is no path in a listing.
    odd.pop(b"", None)
    return Record(usual, odd, bare, state.ignored, state.skipped, state.rules)


def _is_worth_a_look(folder: Folder, usual: Mapping[bytes, int]) -> bool:
    """Whether there is anything in *folder* or below that does not go without saying."""
    totals = folder.totals
    return totals is None or totals.has_bare or any(_is_odd(mode, usual) for mode in totals.modes)


def _usual_modes(root: Folder) -> dict[bytes, int]:
    """Choose the permission bits that are met most, for each of git's modes."""
    counts = root.totals.modes if root.totals is not None else {}
    usual = dict(_USUAL)
    # The commonest comes last and stays; among equals the order is that of the modes.
    for mode, _ in sorted(counts.items(), key=lambda item: (item[1], item[0])):
        if not stat.S_ISLNK(mode):
            usual[git_mode(mode)] = stat.S_IMODE(mode)
    return usual


def _is_odd(mode: int, usual: Mapping[bytes, int]) -> bool:
    return not stat.S_ISLNK(mode) and stat.S_IMODE(mode) != usual[git_mode(mode)]


def encode_record(record: Record) -> bytes:
    """Write *record* as JSON; equal records give equal bytes."""
    value = {
        "version": _VERSION,
        "usual": {mode.decode(): bits for mode, bits in record.usual.items()},
        "odd": {_text(path): bits for path, bits in record.odd.items()},
        "bare": {_text(path): bits for path, bits in record.bare.items()},
        "ignored": sorted(_text(path) for path in record.ignored),
        "skipped": sorted([_text(item.path), item.reason] for item in record.skipped),
        "rules": {_text(path): _text(text) for path, text in record.rules.items()},
    }
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def parse_record(data: bytes) -> Record:
    """Read a record. Raises MalformedRecordError."""
    try:
        value = json.loads(data)
        if value["version"] != _VERSION:
            raise MalformedRecordError("the record is of another version")
        return Record(
            {mode.encode(): _mode(bits) for mode, bits in value["usual"].items()},
            {_bytes(path): _mode(bits) for path, bits in value["odd"].items()},
            {_bytes(path): _mode(bits) for path, bits in value["bare"].items()},
            frozenset(_bytes(path) for path in value["ignored"]),
            tuple(Skipped(_bytes(path), str(reason)) for path, reason in value["skipped"]),
            {_bytes(path): _bytes(text) for path, text in value["rules"].items()},
        )
    except MalformedRecordError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise MalformedRecordError("the record cannot be read") from error


def _mode(bits: object) -> int:
    if not isinstance(bits, int) or not 0 <= bits <= _MODE_LIMIT:
        raise MalformedRecordError("the record holds a mode that is none")
    return bits


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
