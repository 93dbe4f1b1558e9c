"""Merge three versions of a text by lines, in memory, with libgit2's own merge.

Nothing is written anywhere: the versions stand in an object database that is a mapping.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keryx_py.snapshot.objects import ObjectKind, object_id


def is_text(data: bytes) -> bool:
    """Whether *data* can be merged by lines: it holds no NUL byte."""
    return b"\0" not in data


def merge_text(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Bring what changed from *base* to *theirs* into *ours*; None when the two conflict.

    None also when one of the versions is not text.
    """
    if not all(is_text(side) for side in (base, ours, theirs)):
        return None
    return _merged([_as_utf8(side) for side in (base, ours, theirs)])


def _as_utf8(data: bytes) -> bytes:
    # pygit2 hands the result over as UTF-8 text: so each byte stands for one character.
    return data.decode("latin-1").encode()


def _merged(sides: Sequence[bytes]) -> bytes | None:
    # Here, not above: pygit2 is slow to import, and most runs merge nothing.
    import pygit2
    from pygit2.enums import FileMode

    class InMemory(pygit2.OdbBackend):
        """Gives the blobs of one merge."""

        def __init__(self, blobs: Mapping[str, bytes]) -> None:
            super().__init__()
            self._blobs = blobs

        def read_cb(self, oid: pygit2.Oid) -> tuple[int, bytes]:
            return ObjectKind.BLOB, self._blobs[str(oid)]

        def exists_cb(self, oid: pygit2.Oid) -> bool:
            return str(oid) in self._blobs

    names = [object_id(ObjectKind.BLOB, side).hex() for side in sides]
    database = pygit2.Odb()
    database.add_backend(InMemory(dict(zip(names, sides, strict=True))), 1)
    repository = pygit2.Repository()
    repository.set_odb(database)
    base, ours, theirs = (
        pygit2.IndexEntry("text", pygit2.Oid(hex=name), FileMode.BLOB) for name in names
    )
    merged = repository.merge_file_from_index(base, ours, theirs)
    if not merged.automergeable:
        return None
    contents: str = merged.contents
    return contents.encode("latin-1")
