"""Keep what the last walk saw on disk, so that a resumed session need not read everything again.

Only an aid: whatever is wrong with the files, the next walk reads contents instead. An old file
is as safe as a new one, since each entry still has to match the file's status.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from keryx_py.snapshot.listing import FileState, Kind
from keryx_py.snapshot.seen import Folder, Seen

_BASE_NAME = "keryx-seen"
_RECENT_NAME = "keryx-seen-recent"
_MAGIC = b"keryx seen 1\n"
_DIGEST_BYTES = 20
_COUNT = struct.Struct("<I")
_FOLDER = struct.Struct("<IQ?")
_FILE = struct.Struct("<qqqQI20s")
_RECENT_SHARE = 4
"""The recent changes are folded in when they reach one part in so many of the whole."""


class _UnusableError(Exception):
    """The file is not there, damaged, of another version, or about something else."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    digest: bytes
    folders: dict[bytes, Folder]
    gone: list[bytes]
    size: int


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

    def load(self) -> Folder | None:
        """Read what was seen; None when that is of no use."""
        try:
            base = self._read(self._base, b"")
        except _UnusableError:
            return None
        folders = base.folders
        with suppress(_UnusableError):
            recent = self._read(self._recent, base.digest)
            self._since_base = {*recent.folders, *recent.gone}
            folders.update(recent.folders)
            for path in recent.gone:
                folders.pop(path, None)
        self._base_digest, self._base_size = base.digest, base.size
        self._saved = _linked(folders)
        return self._saved

    def save(self, root: Folder) -> None:
        """Write what was seen: only the folders that changed, as long as they are few."""
        changed, gone = _changes(root, self._saved)
        if self._saved is not None and not changed and not gone:
            return
        self._since_base.update((folder.path for folder in changed), gone)
        if not self._save_recent(root):
            self._save_base(root)
        self._saved = root

    def _save_recent(self, root: Folder) -> bool:
        if not self._base_digest:
            return False
        folders = [folder for folder in root.below() if folder.path in self._since_base]
        gone = self._since_base - {folder.path for folder in folders}
        body = self._body(self._base_digest, folders, gone)
        if len(body) * _RECENT_SHARE > self._base_size:
            return False
        _write(self._recent, body)
        return True

    def _save_base(self, root: Folder) -> None:
        body = self._body(b"", root.below(), ())
        self._base_digest = _write(self._base, body)
        self._base_size = len(body)
        self._since_base.clear()
        self._recent.unlink(missing_ok=True)

    def _body(self, base: bytes, folders: Iterable[Folder], gone: Iterable[bytes]) -> bytes:
        blocks = [_encode_folder(folder) for folder in folders]
        head = [self._about, _sized(base), _names(gone), _COUNT.pack(len(blocks))]
        return b"".join([*head, *blocks])

    def _read(self, path: Path, base: bytes) -> _Loaded:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise _UnusableError from error
        start = len(_MAGIC) + _DIGEST_BYTES
        body = data[start:]
        digest = data[len(_MAGIC) : start]
        if not data.startswith(_MAGIC) or _digest(body) != digest:
            raise _UnusableError
        reader = _Reader(body)
        if reader.take(len(self._about)) != self._about or reader.sized() != base:
            raise _UnusableError
        gone = reader.names()
        folders = [_parse_folder(reader) for _ in range(reader.count())]
        return _Loaded(digest, {folder.path: folder for folder in folders}, gone, len(body))


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
        and folder.left_out == before.left_out
        and folder.files == before.files
    )


def _linked(folders: dict[bytes, Folder]) -> Folder | None:
    """Put each folder into the one above it; return the root."""
    for path, folder in folders.items():
        above, _, name = path.rpartition(b"/")
        if path and above in folders:
            folders[above].folders[os.fsdecode(name)] = folder
    return folders.get(b"")


def _encode_folder(folder: Folder) -> bytes:
    rows = [
        _FILE.pack(seen.modified, seen.changed, seen.size, seen.inode, seen.mode, seen.state.oid)
        for seen in folder.files.values()
    ]
    parts = [
        _sized(folder.path),
        _FOLDER.pack(folder.mode, folder.device, folder.text is not None),
        _sized(folder.text or b""),
        _sized(folder.tree),
        _names(map(os.fsencode, folder.left_out)),
        bytes(folder.left_out.values()),
        _names(map(os.fsencode, folder.files)),
        *rows,
    ]
    return b"".join(parts)


def _parse_folder(reader: _Reader) -> Folder:
    path = reader.sized()
    mode, device, has_text = _FOLDER.unpack(reader.take(_FOLDER.size))
    text, tree = reader.sized(), reader.sized()
    folder = Folder(path, mode, device, text=text if has_text else None, tree=tree)
    left_out = reader.names()
    kinds = reader.take(len(left_out))
    folder.left_out = {
        os.fsdecode(name): bool(kind) for name, kind in zip(left_out, kinds, strict=True)
    }
    names = reader.names()
    rows = _FILE.iter_unpack(reader.take(_FILE.size * len(names)))
    prefix = folder.prefix
    # Written out in one loop: a resumed session runs it once for every file.
    for name, (modified, changed, size, inode, mode, oid) in zip(names, rows, strict=True):
        path = prefix + name
        if stat.S_ISLNK(mode):
            state = FileState(Kind.LINK, 0, oid)
        else:
            state = FileState(Kind.FILE, stat.S_IMODE(mode), oid)
        once = modified if changed == modified else changed
        folder.files[os.fsdecode(name)] = Seen(modified, once, size, inode, mode, path, state)
    return folder


class _Reader:
    """Reads values off a body from the front."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._body):
            raise _UnusableError
        data = self._body[self._at : end]
        self._at = end
        return data

    def count(self) -> int:
        return int(_COUNT.unpack(self.take(_COUNT.size))[0])

    def sized(self) -> bytes:
        return self.take(self.count())

    def names(self) -> list[bytes]:
        count = self.count()
        joined = self.sized()
        return joined.split(b"\0") if count else []


def _sized(data: bytes) -> bytes:
    return _COUNT.pack(len(data)) + data


def _names(names: Iterable[bytes]) -> bytes:
    names = list(names)
    return _COUNT.pack(len(names)) + _sized(b"\0".join(names))


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()


def _write(path: Path, body: bytes) -> bytes:
    """Write *body* aside and rename it; return its digest.

    Not flushed: what a power cut leaves is told by the digest.
    """
    digest = _digest(body)
    aside = path.with_name(path.name + ".lock")
    aside.unlink(missing_ok=True)
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.writelines((_MAGIC, digest, body))
    aside.replace(path)
    return digest
