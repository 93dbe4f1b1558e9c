"""Deflate and inflate one object's content: with isal where it is installed, else with zlib."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import TypeAlias

Deflate: TypeAlias = Callable[[bytes], bytes]
Inflate: TypeAlias = Callable[[bytes, int], bytes]
"""Inflates the stream that some bytes begin with to that many bytes; raises zlib.error or
ValueError when it is none."""


def fastest_deflate() -> Deflate:
    """Choose the quickest way to compress that this machine has."""
    try:
        from isal import isal_zlib
    except ImportError:
        return _with_zlib
    compress = isal_zlib.compress

    def with_isal(data: bytes) -> bytes:
        return bytes(compress(data, 1))

    return with_isal


def _with_zlib(data: bytes) -> bytes:
    return zlib.compress(data, 1)


def fastest_inflate() -> Inflate:
    """Choose the quickest way to take compressed content apart that this machine has."""
    try:
        from isal import igzip_lib, isal_zlib
    except ImportError:
        return _inflate_with_zlib

    def with_isal(data: bytes, size: int) -> bytes:
        stream = isal_zlib.decompressobj()
        try:
            # One byte more than there should be: so a longer stream is noticed.
            content = bytes(stream.decompress(data, size + 1))
        except igzip_lib.IsalError as error:  # type: ignore[misc]  # a class; its stub errs
            raise zlib.error(str(error)) from error
        return _of_size(content, size)

    return with_isal


def _inflate_with_zlib(data: bytes, size: int) -> bytes:
    return _of_size(zlib.decompressobj().decompress(data, size + 1), size)


def _of_size(content: bytes, size: int) -> bytes:
    if len(content) != size:
        raise ValueError("the content is not as long as its head says")
    return content
