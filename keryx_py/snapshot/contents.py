"""Read what a walk found to be new, and name or keep it; on two threads when it is much."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Protocol

from keryx_py.snapshot.descent import Descent, Identity
from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.packs import PackedEntry
from keryx_py.snapshot.reading import (
    Content,
    NotReadError,
    is_our_own,
    is_unreadable,
    read_content,
    said_of,
)
from keryx_py.snapshot.seen import row_to_trust
from keryx_py.snapshot.sorting import Scan, Unread
from keryx_py.snapshot.statuses import row_of

_BATCH_FILES = 128
_BATCH_BYTES = 1 << 20
_AHEAD = 4
_WORKERS = 3
_MUCH_FILES = 256
_MUCH_BYTES = 1 << 22


class Keeper(Protocol):
    """What becomes of contents: kept in a pack, or only named by their ids."""

    def prepare(self, contents: Sequence[bytes]) -> list[PackedEntry]:
        """Work out the entries of *contents*; called from several threads, changes nothing."""
        ...

    def keep(self, entry: PackedEntry, size: int) -> None:
        """Keep one prepared entry, made of *size* bytes."""
        ...


class OnlyNamed:
    """A keeper that keeps nothing."""

    def prepare(self, contents: Sequence[bytes]) -> list[PackedEntry]:
        """Work out the ids alone."""
        return [PackedEntry(object_id(ObjectKind.BLOB, data), b"", 0) for data in contents]

    def keep(self, entry: PackedEntry, size: int) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class ReadingRules:
    """How contents are read."""

    max_file_bytes: int
    trusted_before: int
    """A file changed since this time (nanoseconds since the epoch) is read again next time."""


@dataclass(frozen=True, slots=True)
class _Batch:
    items: list[Unread]
    contents: list[Content]


def read_unread(
    root: int, scan: Scan, keeper: Keeper, rules: ReadingRules, tick: Callable[[int], None]
) -> None:
    """Read all that *scan* left unread and enter it there; *tick* is told the bytes of each batch.

    Raises OSError.
    """
    batches = _batches(root, scan, rules)
    much = len(scan.unread) > _MUCH_FILES or sum(item.size for item in scan.unread) > _MUCH_BYTES
    with ThreadPoolExecutor(_WORKERS) if much else nullcontext() as workers:
        for batch, entries in _prepared(batches, keeper, workers):
            for item, content, entry in zip(batch.items, batch.contents, entries, strict=True):
                keeper.keep(entry, len(content.data))
                _enter(item, content, entry.oid, rules.trusted_before)
            tick(sum(len(content.data) for content in batch.contents))


def _prepared(
    batches: Iterator[_Batch], keeper: Keeper, workers: ThreadPoolExecutor | None
) -> Iterator[tuple[_Batch, list[PackedEntry]]]:
    """Prepare the batches, in their order; a few at a time when there are *workers*."""
    if workers is None:
        for batch in batches:
            yield batch, keeper.prepare([content.data for content in batch.contents])
        return
    ahead: deque[tuple[_Batch, Future[list[PackedEntry]]]] = deque()
    try:
        for batch in batches:
            contents = [content.data for content in batch.contents]
            ahead.append((batch, workers.submit(keeper.prepare, contents)))
            if len(ahead) > _AHEAD:
                first, future = ahead.popleft()
                yield first, future.result()
        while ahead:
            first, future = ahead.popleft()
            yield first, future.result()
    finally:
        for _, future in ahead:
            future.cancel()


def _batches(root: int, scan: Scan, rules: ReadingRules) -> Iterator[_Batch]:
    descent = Descent(root, Identity.of(os.fstat(root)))
    items: list[Unread] = []
    contents: list[Content] = []
    size = 0
    try:
        while scan.unread:
            item = scan.unread.popleft()  # what is read makes room for what is known of it
            content = _read(descent, item, rules)
            if content is None:
                continue
            items.append(item)
            contents.append(content)
            size += len(content.data)
            if len(items) >= _BATCH_FILES or size >= _BATCH_BYTES:
                yield _Batch(items, contents)
                items, contents, size = [], [], 0
    finally:
        descent.close()
    if items:
        yield _Batch(items, contents)


def _read(descent: Descent, item: Unread, rules: ReadingRules) -> Content | None:
    """Read one file or link; None when it is gone, or skipped by name. Raises OSError."""
    try:
        folder = descent.go(item.folder.path)
        return read_content(item.name, folder, None if item.forced else rules.max_file_bytes)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except NotReadError as error:
        item.folder.skipped[item.name] = str(error)
    except OSError as error:
        if is_our_own(error):
            raise
        if not is_unreadable(error):
            raise said_of(item.folder.prefix + item.name, error) from error
        item.folder.skipped[item.name] = "unreadable"  # its folder was closed meanwhile
    item.folder.columns().distrust(item.index)
    return None


def _enter(item: Unread, content: Content, oid: bytes, trusted_before: int) -> None:
    row = row_to_trust(row_of(content.status), trusted_before)
    item.folder.enter(item.index, oid, row)
