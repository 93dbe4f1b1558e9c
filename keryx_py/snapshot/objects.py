"""Git's objects as plain values: ids, trees and commits, encoded and parsed. Touches no disk."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum

ID_BYTES = 20
LINK_MODE = b"120000"
FOLDER_MODE = b"40000"
PLAIN_MODE = b"100644"
EXEC_MODE = b"100755"

IDENTITY = b"keryx <keryx@localhost>"


class ObjectKind(IntEnum):
    """The kinds of git objects, by the numbers that packs use."""

    COMMIT = 1
    TREE = 2
    BLOB = 3
    TAG = 4


_NAMES = {
    ObjectKind.COMMIT: b"commit",
    ObjectKind.TREE: b"tree",
    ObjectKind.BLOB: b"blob",
    ObjectKind.TAG: b"tag",
}


class MalformedObjectError(ValueError):
    """The bytes are not an object of their kind."""


def object_id(kind: ObjectKind, data: bytes) -> bytes:
    """Compute the 20 bytes of git's id for *data* as a *kind*."""
    # The header goes in first, alone: joining would copy the content.
    digest = hashlib.sha1(b"%s %d\0" % (_NAMES[kind], len(data)), usedforsecurity=False)
    digest.update(data)
    return digest.digest()


def encode_tree(items: Iterable[tuple[bytes, bytes, bytes]]) -> bytes:
    """Encode (name, mode, id) triples as a git tree, sorted as git sorts."""
    # Git compares a folder's name as if it ended in a slash.
    keyed = sorted(
        (name + b"/" if mode == FOLDER_MODE else name, name, mode, oid) for name, mode, oid in items
    )
    return b"".join([b"%s %s\0%s" % (mode, name, oid) for _, name, mode, oid in keyed])


def parse_tree(data: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Read a git tree's entries as (name, mode, id). Raises MalformedObjectError."""
    position, end = 0, len(data)
    find = data.find
    while position < end:
        zero = find(b"\0", position)
        after = zero + 1 + ID_BYTES
        mode, _, name = data[position:zero].partition(b" ")
        if zero < 0 or after > end or not name or b"/" in name or name in (b".", b".."):
            raise MalformedObjectError("a tree entry is malformed")
        yield name, mode, data[zero + 1 : after]
        position = after


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, as far as it matters here."""

    tree: bytes
    parents: tuple[bytes, ...]
    message: bytes


def encode_commit(commit: Commit, at: int) -> bytes:
    """Encode *commit*, made at the second *at* by keryx itself."""
    lines = [b"tree " + commit.tree.hex().encode()]
    lines += [b"parent " + parent.hex().encode() for parent in commit.parents]
    stamp = b"%s %d +0000" % (IDENTITY, max(at, 0))
    return b"\n".join([*lines, b"author " + stamp, b"committer " + stamp, b"", commit.message])


def parse_commit(data: bytes) -> Commit:
    """Read a commit. Raises MalformedObjectError."""
    head, _, message = data.partition(b"\n\n")
    tree, parents = b"", []
    for line in head.split(b"\n"):
        word, _, value = line.partition(b" ")
        if word == b"tree":
            tree = _parse_id(value)
        elif word == b"parent":
            parents.append(_parse_id(value))
    if not tree:
        raise MalformedObjectError("a commit names no tree")
    return Commit(tree, tuple(parents), message)


def _parse_id(text: bytes) -> bytes:
    try:
        oid = bytes.fromhex(text.decode("ascii"))
    except ValueError as error:
        raise MalformedObjectError("an object id is malformed") from error
    if len(oid) != ID_BYTES:
        raise MalformedObjectError("an object id is malformed")
    return oid
