"""The hunks of one path, and what it holds when only some go back. Nothing here acts.

Taking all of them gives what the restore would put there, byte for byte; taking none, what is
there now.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import Enum

from keryx_py.rewind.textdiff import (
    CONTEXT_LINES,
    Block,
    Version,
    diff_file,
    grouped_blocks,
    hunk_lines,
    line_blocks,
    split_lines,
)
from keryx_py.snapshot.listing import Kind


class HunkKind(Enum):
    """What a hunk is about."""

    LINES = "lines"
    MODE = "mode"
    """The permission bits alone, of a file whose lines differ as well."""
    WHOLE = "whole"
    """All that differs at the path: it is binary, a link, made or removed, or only its mode is
    another."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """A part of the difference at a path that goes back or stays as one."""

    kind: HunkKind
    blocks: tuple[Block, ...] = ()
    """Of LINES: from now to then, the context among them."""

    @property
    def changes(self) -> tuple[Block, ...]:
        """The blocks in which lines differ."""
        return tuple(block for block in self.blocks if block[0] != "equal")


@dataclass(frozen=True, slots=True)
class HunkedPath:
    """One path that a restore would change, in hunks."""

    path: bytes
    now: Version | None
    """None when no file or link is there now."""
    then: Version | None
    """None when the restore removes it."""
    hunks: tuple[Hunk, ...]


def cut_into_hunks(path: bytes, now: Version | None, then: Version | None) -> HunkedPath:
    """Cut the difference from *now* to *then* into hunks; there are none when they are equal."""
    if now == then:
        return HunkedPath(path, now, then, ())
    if now is None or then is None or not _has_lines(now, then):
        return HunkedPath(path, now, then, (Hunk(HunkKind.WHOLE),))
    groups = grouped_blocks(line_blocks(split_lines(now), split_lines(then)))
    hunks = [Hunk(HunkKind.LINES, tuple(blocks)) for blocks in groups]
    if now.mode != then.mode:
        hunks.insert(0, Hunk(HunkKind.MODE))
    return HunkedPath(path, now, then, tuple(hunks))


def _has_lines(now: Version, then: Version) -> bool:
    return (
        now.kind is then.kind is Kind.FILE
        and now.data != then.data
        and now.is_text
        and then.is_text
    )


def split_hunk(hunk: Hunk) -> tuple[Hunk, ...]:
    """Split *hunk* wherever lines that did not change lie within it."""
    pieces = []
    for at, block in enumerate(hunk.blocks):
        if block[0] != "equal":
            before = [_last_lines(one) for one in hunk.blocks[max(0, at - 1) : at]]
            after = [_first_lines(one) for one in hunk.blocks[at + 1 : at + 2]]
            pieces.append(replace(hunk, blocks=(*before, block, *after)))
    return tuple(pieces) if len(pieces) > 1 else (hunk,)


def _last_lines(block: Block) -> Block:
    tag, i1, i2, j1, j2 = block
    return (tag, max(i1, i2 - CONTEXT_LINES), i2, max(j1, j2 - CONTEXT_LINES), j2)


def _first_lines(block: Block) -> Block:
    tag, i1, i2, j1, j2 = block
    return (tag, i1, min(i2, i1 + CONTEXT_LINES), j1, min(j2, j1 + CONTEXT_LINES))


def hunk_text(at: HunkedPath, hunk: Hunk) -> str:
    """Write *hunk* as a difference shows it, without the head that names the path."""
    match hunk.kind:
        case HunkKind.WHOLE:
            return diff_file(at.path, at.now, at.then) or _mode_text(at)
        case HunkKind.MODE:
            return _mode_text(at)
        case HunkKind.LINES:
            return "".join(hunk_lines(hunk.blocks, split_lines(at.now), split_lines(at.then)))


def _mode_text(at: HunkedPath) -> str:
    assert at.now is not None
    assert at.then is not None
    return f"old mode {at.now.git_mode}\nnew mode {at.then.git_mode}\n"


def compose(at: HunkedPath, taken: Collection[Hunk]) -> Version | None:
    """Give what stands at the path when the hunks *taken*, or pieces of them, go back."""
    kinds = {hunk.kind for hunk in taken}
    if HunkKind.WHOLE in kinds:
        return at.then
    if at.now is None or at.then is None:
        return at.now
    mode = at.then.mode if HunkKind.MODE in kinds else at.now.mode
    changed = {block for hunk in taken for block in hunk.changes}
    return replace(
        at.now, mode=mode, data=_data(at.now, at.then, changed) if changed else at.now.data
    )


def _data(now: Version, then: Version, taken: Collection[Block]) -> bytes:
    """Join now's lines and, for the blocks *taken*, then's; both ends are taken as they are."""
    old, new = split_lines(now), split_lines(then)
    parts: list[bytes] = []
    done = 0
    for _, i1, i2, j1, j2 in sorted(taken, key=lambda block: block[1:]):
        parts += [*old[done:i1], *new[j1:j2]]
        done = i2
    return b"".join([*parts, *old[done:]])
