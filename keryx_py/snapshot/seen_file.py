"""Keep what the last walk saw on disk, so that a resumed session need not read everything again.

Only an aid: whatever is wrong with the files, the next walk reads contents instead. An old file
is as safe as a new one, since each entry still has to match the file's status.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from keryx_py.snapshot.seen import Folder, Totals

_BASE_NAME = "keryx-seen"
_RECENT_NAME = "keryx-seen-recent"
_MAGIC = b"keryx seen 3\n"
_DIGEST_BYTES = 20
_COUNT = struct.Struct("<I")
_HEAD = struct.Struct("<IQqI???8I")
_RECENT_SHARE = 4
"""The recent changes are folded in when they reach one part in so many of the whole."""


class _UnusableError(Exception):
    """The file is not there, damaged, of another version, or about something else."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    digest: bytes
    packs: frozenset[bytes]
    folders: dict[bytes, Folder]
    below: dict[bytes, int]
    """How many subfolders each of them has."""
    gone: list[bytes]
    size: int


SEEN_NAMES = (_BASE_NAME, _RECENT_NAME)
"""The names of the files. Each is written anew and renamed, so that hard links are safe."""


class SeenFile:
    """The files in *repository* that keep what was seen: a base, and what changed since."""

    def __init__(self, repository: Path, about: bytes) -> None:
        """*about* says of what root and under what settings; entries about others are not used."""
        self._base = repository / _BASE_NAME
        self._recent = repository / _RECENT_NAME
        self._about = hashlib.sha256(about).digest()
        self._base_digest = b""
        self._base_size = 0
        self._saved: Folder | None = None
        self._since_base: set[bytes] = set()
        self.packs: frozenset[bytes] = frozenset()
        """The packs that held all of what was loaded when it was saved."""

    def load(self) -> Folder | None:
        """Read what was seen; None when that is of no use."""
        try:
            base = self._read(self._base, b"")
        except _UnusableError:
            return None
        folders, below, packs = base.folders, base.below, base.packs
        with suppress(_UnusableError):
            recent = self._read(self._recent, base.digest)
            self._since_base = {*recent.folders, *recent.gone}
            folders.update(recent.folders)
            below.update(recent.below)
            packs = recent.packs
            for path in recent.gone:
                folders.pop(path, None)
        root = _linked(folders)
        # A walk would pass over a subfolder that is not there.
        if root is None or any(len(one.folders) != below[at] for at, one in folders.items()):
            return None
        self._base_digest, self._base_size = base.digest, base.size
        self.packs = packs
        self._saved = root
        return root

    def save(self, root: Folder, packs: frozenset[bytes]) -> None:
        """Write what was seen: only the folders that changed, as long as they are few.

        All that *root* and what is below it names is held in *packs*.
        """
        changed, gone = _changes(root, self._saved)
        if self._saved is not None and not changed and not gone:
            return
        self._since_base.update((folder.path for folder in changed), gone)
        if not self._save_recent(root, packs):
            self._save_base(root, packs)
        self._saved = root

    def _save_recent(self, root: Folder, packs: frozenset[bytes]) -> bool:
        if not self._base_digest:
            return False
        folders = [folder for folder in root.below() if folder.path in self._since_base]
        gone = self._since_base - {folder.path for folder in folders}
        blocks = self._blocks(self._base_digest, packs, folders, gone)
        if sum(map(len, blocks)) * _RECENT_SHARE > self._base_size:
            return False
        _write(self._recent, blocks)
        return True

    def _save_base(self, root: Folder, packs: frozenset[bytes]) -> None:
        blocks = self._blocks(b"", packs, root.below(), ())
        self._base_digest = _write(self._base, blocks)
        self._base_size = sum(map(len, blocks))
        self._since_base.clear()
        self._recent.unlink(missing_ok=True)

    def _blocks(
        self,
        base: bytes,
        packs: frozenset[bytes],
        folders: Iterable[Folder],
        gone: Iterable[bytes],
    ) -> list[bytes]:
        # Not joined: for a large tree that would be the whole once more.
        blocks = [_encode_folder(folder) for folder in folders]
        head = [self._about, _sized(base), _names(packs), _names(gone), _COUNT.pack(len(blocks))]
        return head + blocks

    def _read(self, path: Path, base: bytes) -> _Loaded:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise _UnusableError from error
        start = len(_MAGIC) + _DIGEST_BYTES
        body = data[start:]
        digest = data[len(_MAGIC) : start]
        if not data.startswith(_MAGIC) or _digest([body]) != digest:
            raise _UnusableError
        reader = _Reader(body)
        if reader.take(len(self._about)) != self._about or reader.sized() != base:
            raise _UnusableError
        packs, gone, count = frozenset(reader.names()), reader.names(), reader.count()
        try:
            parsed = list(_parse_folders(body, reader.at, count))
        except (struct.error, ValueError) as error:
            raise _UnusableError from error
        folders = {folder.path: folder for folder, _ in parsed}
        below = {folder.path: number for folder, number in parsed}
        return _Loaded(digest, packs, folders, below, gone, len(body))


def _changes(root: Folder, saved: Folder | None) -> tuple[list[Folder], set[bytes]]:
    """List the folders that are not as in *saved*, and the paths of those that are gone."""
    changed: list[Folder] = []
    gone: set[bytes] = set()
    pairs: list[tuple[Folder, Folder | None]] = [(root, saved)]
    for folder, before in pairs:
        if before is not None and folder is before:
            continue
        if before is None or not _is_same(folder, before):
            changed.append(folder)
        folders = before.folders if before is not None else {}
        for name in folders.keys() - folder.folders.keys():
            gone.update(below.path for below in folders[name].below())
        pairs.extend((below, folders.get(name)) for name, below in folder.folders.items())
    return changed, gone


def _is_same(folder: Folder, before: Folder) -> bool:
    return (
        folder.mode == before.mode
        and folder.device == before.device
        and folder.text == before.text
        and folder.tree == before.tree
        # Modes deep below change these and no tree.
        and folder.totals == before.totals
        and folder.left_out == before.left_out
        and folder.skipped == before.skipped
        and folder.refused == before.refused
        and folder.listed == before.listed
        and folder.stats == before.stats
        and folder.ids == before.ids
    )


def _linked(folders: dict[bytes, Folder]) -> Folder | None:
    """Put each folder into the one above it; return the root."""
    for path, folder in folders.items():
        above, _, name = path.rpartition(b"/")
        if path and above in folders:
            folders[above].folders[name] = folder
    return folders.get(b"")


def _encode_folder(folder: Folder) -> bytes:
    totals = folder.totals
    assert totals is not None
    counts = [number for pair in totals.modes.items() for number in pair]
    blobs = (
        folder.path,
        folder.text or b"",
        folder.tree or b"",
        _encode_notes(folder),
        struct.pack(f"<{len(counts)}I", *counts),
        folder.listed,
        folder.stats,
        folder.ids,
    )
    head = _HEAD.pack(
        folder.mode,
        folder.device,
        totals.files,
        len(folder.folders),
        folder.text is not None,
        totals.has_bare,
        totals.has_notes,
        *map(len, blobs),
    )
    return b"".join((head, *blobs))


def _parse_folders(body: bytes, start: int, count: int) -> Iterator[tuple[Folder, int]]:
    """Read *count* folders, and how many subfolders each has. Written for speed: they are many."""
    for _ in range(count):
        head = _HEAD.unpack_from(body, start)
        mode, device, files, below, has_text, has_bare, has_notes, *sizes = head
        start += _HEAD.size
        parts = []
        for size in sizes:
            parts.append(body[start : start + size])
            start += size
        path, text, tree, notes, counts, listed, stats, ids = parts
        folder = Folder(path, mode, device, listed, bytearray(stats), bytearray(ids))
        folder.tree = tree
        if has_text:
            folder.text = text
        numbers = struct.unpack(f"<{len(counts) // 4}I", counts)
        modes = dict(zip(numbers[::2], numbers[1::2], strict=True))
        folder.totals = Totals(modes, files, has_bare, has_notes)
        if notes:
            _parse_notes(folder, notes)
        yield folder, below


def _encode_notes(folder: Folder) -> bytes:
    if not (folder.left_out or folder.skipped or folder.refused):
        return b""
    left_out = folder.left_out
    return b"".join(
        (
            _names(left_out),
            _sized(bytes(left_out.values())),
            *(
                _names(reasons) + _sized(b"\0".join(map(str.encode, reasons.values())))
                for reasons in (folder.skipped, folder.refused)
            ),
        )
    )


def _parse_notes(folder: Folder, notes: bytes) -> None:
    reader = _Reader(notes)
    folder.left_out = dict(zip(reader.names(), map(bool, reader.sized()), strict=True))
    folder.skipped, folder.refused = reader.reasons(), reader.reasons()


class _Reader:
    """Reads values off a body from the front."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.at = 0

    def take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self._body):
            raise _UnusableError
        data = self._body[self.at : end]
        self.at = end
        return data

    def count(self) -> int:
        return int(_COUNT.unpack(self.take(_COUNT.size))[0])

    def sized(self) -> bytes:
        return self.take(self.count())

    def names(self) -> list[bytes]:
        count = self.count()
        joined = self.sized()
        return joined.split(b"\0") if count else []

    def reasons(self) -> dict[bytes, str]:
        names, joined = self.names(), self.sized()
        reasons = map(bytes.decode, joined.split(b"\0") if names else ())
        return dict(zip(names, reasons, strict=True))


def _sized(data: bytes | bytearray) -> bytes:
    return _COUNT.pack(len(data)) + data


def _names(names: Iterable[bytes]) -> bytes:
    names = list(names)
    return _COUNT.pack(len(names)) + _sized(b"\0".join(names))


def _digest(blocks: Iterable[bytes]) -> bytes:
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for block in blocks:
        digest.update(block)
    return digest.digest()


def _write(path: Path, blocks: Sequence[bytes]) -> bytes:
    """Write *blocks* aside and rename the file; return their digest.

    Not flushed: what a power cut leaves is told by the digest.
    """
    digest = _digest(blocks)
    aside = path.with_name(path.name + ".lock")
    aside.unlink(missing_ok=True)
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.writelines((_MAGIC, digest, *blocks))
    aside.replace(path)
    return digest
