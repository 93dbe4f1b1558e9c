"""The difference between two versions of a file, as `git apply` reads it. Nothing here acts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TypeAlias

from keryx_py.snapshot.listing import Kind

CONTEXT_LINES = 3
MOST_COMPARED = 25_000_000
"""Beyond so many pairs of lines, what differs is shown as one block: comparing takes too long."""
MOST_BYTES = 20_000_000
"""A larger file is not compared by lines."""
LOOKED_AT_FOR_NUL = 8000
"""Git takes a file for binary when a NUL stands among so many first bytes."""

TEXT_KINDS = {Kind.FILE: 0o100000, Kind.LINK: 0o120000}

Block: TypeAlias = tuple[str, int, int, int, int]
"""As in difflib: the tag, then the lines from and to in the old and in the new version."""


@dataclass(frozen=True, slots=True)
class Version:
    """A file's or a link's content, with its type and mode."""

    kind: Kind
    mode: int
    data: bytes

    @property
    def git_mode(self) -> str:
        """The six octal digits that git shows."""
        return f"{TEXT_KINDS[self.kind] | (0 if self.kind is Kind.LINK else self.mode):06o}"

    @property
    def is_text(self) -> bool:
        """Whether it is compared by lines."""
        return b"\0" not in self.data[:LOOKED_AT_FOR_NUL] and len(self.data) <= MOST_BYTES


def diff_file(path: bytes, old: Version | None, new: Version | None) -> str:
    """Write the difference from *old* to *new* at *path*; empty when there is none."""
    if old == new:
        return ""
    if old is not None and new is not None and old.kind is not new.kind:
        return diff_file(path, old, None) + diff_file(path, None, new)
    return "".join(_lines_of(path, old, new))


def count_lines(old: Version | None, new: Version | None) -> tuple[int, int] | None:
    """Count the lines that going from *old* to *new* adds and removes; None for binary content."""
    if not all(version.is_text for version in (old, new) if version is not None):
        return None
    blocks = line_blocks(split_lines(old), split_lines(new))
    added = sum(block[4] - block[3] for block in blocks if block[0] != "equal")
    removed = sum(block[2] - block[1] for block in blocks if block[0] != "equal")
    return added, removed


def quote_name(name: bytes) -> str:
    """Write *name* as git does: in quotes, with escapes, when it holds anything odd."""
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError:
        return _quoted(name)
    if text.isprintable() and '"' not in text and "\\" not in text:
        return text
    return _quoted(name)


def _quoted(name: bytes) -> str:
    escapes = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
    shown = (
        f"\\{escapes[byte]}"
        if byte in escapes
        else chr(byte)
        if 32 <= byte < 127
        else f"\\{byte:03o}"
        for byte in name
    )
    return f'"{"".join(shown)}"'


def file_head(path: bytes, old: Version | None, new: Version | None) -> str:
    """Write the lines that say which file it is, and what becomes of it and its mode."""
    head = f"diff --git {quote_name(b'a/' + path)} {quote_name(b'b/' + path)}\n"
    if old is None and new is not None:
        return head + f"new file mode {new.git_mode}\n"
    if new is None and old is not None:
        return head + f"deleted file mode {old.git_mode}\n"
    if old is not None and new is not None and old.git_mode != new.git_mode:
        return head + f"old mode {old.git_mode}\nnew mode {new.git_mode}\n"
    return head


def _lines_of(path: bytes, old: Version | None, new: Version | None) -> Iterator[str]:
    before, after = quote_name(b"a/" + path), quote_name(b"b/" + path)
    yield file_head(path, old, new)
    if (old.data if old else b"") == (new.data if new else b""):
        return
    before, after = before if old else "/dev/null", after if new else "/dev/null"
    if not all(version.is_text for version in (old, new) if version is not None):
        yield f"Binary files {before} and {after} differ\n"
        return
    # A name with a blank ends with a tab, so that no reader takes the rest for a time.
    yield f"--- {before}{_tab(before)}\n+++ {after}{_tab(after)}\n"
    yield from _hunks(split_lines(old), split_lines(new))


def _tab(name: str) -> str:
    return "\t" if " " in name and not name.startswith('"') else ""


def split_lines(version: Version | None) -> list[bytes]:
    """Split at line feeds alone: a carriage return belongs to its line."""
    if version is None or not version.data:
        return []
    parts = version.data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def line_blocks(old: Sequence[bytes], new: Sequence[bytes]) -> list[Block]:
    """Compare two lists of lines, what both begin and end with set aside first."""
    shorter = min(len(old), len(new))
    head = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    rest = shorter - head
    tail = next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)
    old_end, new_end = len(old) - tail, len(new) - tail
    blocks: list[Block] = [("equal", 0, head, 0, head)] if head else []
    if (old_end - head) * (new_end - head) > MOST_COMPARED:
        blocks.append(("replace", head, old_end, head, new_end))
    elif head < old_end or head < new_end:
        matcher = SequenceMatcher(None, old[head:old_end], new[head:new_end])
        blocks += [
            (tag, i1 + head, i2 + head, j1 + head, j2 + head)
            for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        ]
    if tail:
        blocks.append(("equal", old_end, len(old), new_end, len(new)))
    return blocks


def grouped_blocks(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Group blocks into hunks: long equal stretches are cut down to their context."""
    group: list[Block] = []
    for at, (tag, i1, i2, j1, j2) in enumerate(blocks):
        if tag != "equal":
            group.append((tag, i1, i2, j1, j2))
            continue
        before = 0 if at == 0 else CONTEXT_LINES
        after = 0 if at == len(blocks) - 1 else CONTEXT_LINES
        if i2 - i1 <= before + after:
            group.append((tag, i1, i2, j1, j2))
            continue
        if group:
            yield [*group, (tag, i1, i1 + before, j1, j1 + before)]
        group = [(tag, i2 - after, i2, j2 - after, j2)]
    if any(block[0] != "equal" for block in group):
        yield group


def hunk_lines(
    blocks: Sequence[Block], old: Sequence[bytes], new: Sequence[bytes]
) -> Iterator[str]:
    """Write one hunk, its head first; *blocks* are those that it is made of."""
    start, stop = blocks[0], blocks[-1]
    yield f"@@ -{_range(start[1], stop[2])} +{_range(start[3], stop[4])} @@\n"
    for tag, i1, i2, j1, j2 in blocks:
        if tag == "equal":
            yield from (_line(" ", line) for line in old[i1:i2])
            continue
        yield from (_line("-", line) for line in old[i1:i2])
        yield from (_line("+", line) for line in new[j1:j2])


def _hunks(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[str]:
    for blocks in grouped_blocks(line_blocks(old, new)):
        yield from hunk_lines(blocks, old, new)


def _range(start: int, stop: int) -> str:
    count = stop - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


def _line(sign: str, line: bytes) -> str:
    text = sign + line.decode("utf-8", "surrogateescape")
    return text if text.endswith("\n") else f"{text}\n\\ No newline at end of file\n"
