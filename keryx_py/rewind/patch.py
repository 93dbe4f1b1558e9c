"""A difference that `git apply` takes, binary files included. Nothing here acts.

The binary form is git's own: `GIT binary patch`, each version in full as deflated base 85, once
forwards and once back, and the blobs' ids, by which git knows that it is the right file.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import replace

from keryx_py.rewind.textdiff import Version, diff_file, file_head
from keryx_py.snapshot.listing import Kind

_BYTES_A_LINE = 52
_LENGTHS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_NO_BLOB = "0" * 40


def patch_file(path: bytes, old: Version | None, new: Version | None) -> bytes:
    """Write the patch from *old* to *new* at *path*; empty when git would see no difference."""
    old, new = _as_git_keeps_it(old), _as_git_keeps_it(new)
    if old == new:
        return b""
    if old is not None and new is not None and old.kind is not new.kind:
        return patch_file(path, old, None) + patch_file(path, None, new)
    if _same_data(old, new) or all(version.is_text for version in (old, new) if version):
        text = diff_file(path, old, new)
    else:
        text = file_head(path, old, new) + "".join(_binary(old, new))
    return text.encode("utf-8", "surrogateescape")


def _as_git_keeps_it(version: Version | None) -> Version | None:
    """Leave of the permission bits the one that git keeps."""
    if version is None or version.kind is Kind.LINK:
        return version
    return replace(version, mode=0o755 if version.mode & 0o100 else 0o644)


def _same_data(old: Version | None, new: Version | None) -> bool:
    return (old.data if old else b"") == (new.data if new else b"")


def _binary(old: Version | None, new: Version | None) -> Iterator[str]:
    yield f"index {_blob_id(old)}..{_blob_id(new)}"
    # git says the mode here when the head says none.
    yield f" {old.git_mode}\n" if old and new and old.git_mode == new.git_mode else "\n"
    yield "GIT binary patch\n"
    yield from _literal(new.data if new else b"")
    yield from _literal(old.data if old else b"")


def _blob_id(version: Version | None) -> str:
    if version is None:
        return _NO_BLOB
    blob = b"blob %d\0" % len(version.data) + version.data
    return hashlib.sha1(blob, usedforsecurity=False).hexdigest()


def _literal(data: bytes) -> Iterator[str]:
    yield f"literal {len(data)}\n"
    deflated = zlib.compress(data)
    for start in range(0, len(deflated), _BYTES_A_LINE):
        part = deflated[start : start + _BYTES_A_LINE]
        yield _LENGTHS[len(part) - 1] + base64.b85encode(part, pad=True).decode("ascii") + "\n"
    yield "\n"
