"""An archive's lines: how one is written, and what a file's bytes come to. Nothing here touches
a disk."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from keryx_py.messages import JsonValue
from keryx_py.session.archive import DamagedEntry, Entry
from keryx_py.session.codec import DecodeError, Fields, Record, decode, encode
from keryx_py.session.errors import SessionError

VERSION = 1
"""The format's version, in each archive's first line."""

TURN_MARK = b',{"kind":"turn",'
"""Stands once in each line of a turn and nowhere else."""
ROOT_MARK = b',{"kind":"root",'

_ENTRY = re.compile(rb'\[(\d{1,15}),(\d{1,15}),"([0-9a-f]{8})",')
_HEADER = re.compile(rb'\{"keryx":1,"check":"([0-9a-f]{8})","session":')
_VERSION = re.compile(rb'\{"keryx":(\d{1,9})[,}]')
_FARTHEST_JUMP = 1_000_000
"""So many lines at once are not lost; a number beyond is no number."""
_LOST = DamagedEntry("a line is missing here")
_DAMAGED = DamagedEntry("a line was damaged here")


@dataclass(frozen=True, slots=True)
class Header:
    """What an archive's first line says of its session."""

    id: str
    root: str
    """The project root as text that os.fsencode turns back into bytes."""
    device: int
    inode: int
    created_at: float
    unattended: bool = False
    forked_from: str = ""
    """The id of the session that this one is a copy of; empty for none."""


@dataclass(frozen=True, slots=True)
class ReadArchive:
    """What an archive's bytes come to."""

    header: Header | None
    """None when the first line is damaged."""
    entries: tuple[Entry, ...]
    size: int
    """The bytes of whole lines."""
    torn: int
    """The bytes of a torn last line."""
    notices: tuple[str, ...]


def header_line(header: Header) -> bytes:
    """Write an archive's first line."""
    record: Record = {
        "id": header.id,
        "root": header.root,
        "device": header.device,
        "inode": header.inode,
        "created": header.created_at,
        "unattended": header.unattended,
        "forked_from": header.forked_from,
    }
    body = _json(record)
    return b'{"keryx":%d,"check":"%08x","session":%s}\n' % (VERSION, zlib.crc32(body), body)


def entry_line(position: int, entry: Entry) -> bytes:
    """Write the line of *entry*, which stands at *position*."""
    body = _json(encode(entry))
    return b'[%d,%d,"%08x",%s]\n' % (position, len(body), _checksum(position, body), body)


def read_line(line: bytes) -> Entry | None:
    """Read one line, without its end; None when it is damaged or unknown."""
    whole = _whole_line(line)
    try:
        return decode(_parsed(whole.body)) if whole else None
    except DecodeError:
        return None


def read_header(line: bytes) -> Header | None:
    """Read the first line, without its end; None when it is damaged.

    Raises SessionError when a newer keryx wrote it.
    """
    version = _VERSION.match(line)
    if version and int(version[1]) > VERSION:
        raise SessionError(
            f"a newer keryx wrote this session (format {int(version[1])}, this one reads up to "
            f"{VERSION}); update keryx to open it"
        )
    match = _HEADER.match(line)
    if not match or not line.endswith(b"}"):
        return None
    body = line[match.end() : -1]
    if zlib.crc32(body) != int(match[1], 16):
        return None
    try:
        fields = Fields.of(_parsed(body))
        return Header(
            fields.text("id"),
            fields.text("root"),
            fields.whole("device"),
            fields.whole("inode"),
            fields.moment("created"),
            fields.flag("unattended", False),
            fields.text("forked_from", ""),
        )
    except DecodeError:
        return None


def read_archive(data: bytes) -> ReadArchive:
    """Read a whole archive; whatever is wrong with it becomes a notice.

    Raises SessionError when a newer keryx wrote it.
    """
    size = data.rfind(b"\n") + 1
    torn = len(data) - size
    first_end = data.find(b"\n")
    first = data[:first_end] if first_end >= 0 else data
    header = read_header(first)
    reading = _Reading()
    for number, line in _lines(data[:size]):
        # Where the first line is lost, an entry may stand first.
        if number > 1 or _whole_line(line):
            reading.take(number, line)
    notices = list(reading.notices())
    if header is None:
        notices.insert(0, "The archive's first line is damaged.")
    if torn:
        notices.append(
            "The archive's last line was torn and is dropped; the step in flight is lost."
        )
    return ReadArchive(header, reading.entries(), size, torn, tuple(notices))


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    # Not splitlines(): it splits at more than newlines.
    return enumerate(data.split(b"\n")[:-1], start=1)


@dataclass(slots=True)
class _Reading:
    """The lines read so far, by the position that each one names."""

    _found: dict[int, tuple[int, Entry]] = field(default_factory=dict)
    """Position to checksum and entry."""
    _next: int = 0
    _damaged: list[int] = field(default_factory=list)
    """The file's line numbers of damaged lines."""
    _damaged_since: int = 0
    """How many damaged lines came after the last whole one."""
    _left_out: list[str] = field(default_factory=list)
    _doubled: int = 0
    _moved: int = 0

    def take(self, number: int, line: bytes) -> None:
        """Read the file's line *number*."""
        if not line:
            return
        whole = _whole_line(line)
        if whole is None or whole.position > self._next + _FARTHEST_JUMP:
            self._damaged.append(number)
            self._damaged_since += 1
            return
        if whole.position in self._found:
            if self._found[whole.position][0] == whole.checksum:
                self._doubled += 1
            else:
                self._left_out.append(
                    f"Line {number} of the archive claims another's place; it is left out."
                )
            return
        if whole.position < self._next:
            self._moved += 1
        self._found[whole.position] = (whole.checksum, self._decoded(number, whole.body))
        if whole.position >= self._next:
            self._next = whole.position + 1
            self._damaged_since = 0

    def entries(self) -> tuple[Entry, ...]:
        """List the entries by position; what is lost has an entry that says so."""
        lost = _DAMAGED if self._damaged else _LOST
        return (
            *(
                self._found[position][1] if position in self._found else lost
                for position in range(self._next)
            ),
            # At the end each damaged line stands for itself.
            *[_DAMAGED] * self._damaged_since,
        )

    def notices(self) -> Iterator[str]:
        """Say what was amiss."""
        missing = self._next - len(self._found)
        damaged_inside = len(self._damaged) - self._damaged_since
        if self._damaged:
            where = ", ".join(str(number) for number in self._damaged[:10])
            more = f" and {len(self._damaged) - 10} more" if len(self._damaged) > 10 else ""
            lines = "line is" if len(self._damaged) == 1 else "lines are"
            yield (
                f"{len(self._damaged)} {lines} damaged in the archive (line {where}{more}); "
                "what they said is lost, the rest is there."
            )
        if missing > damaged_inside:
            lines = "line is" if missing - damaged_inside == 1 else "lines are"
            yield f"{missing - damaged_inside} {lines} missing from the archive."
        yield from self._left_out
        if self._doubled:
            yield f"Lines stand twice in the archive ({self._doubled}); each counts once."
        if self._moved:
            yield f"Lines stood out of order in the archive ({self._moved}); they are in order now."

    def _decoded(self, number: int, body: bytes) -> Entry:
        try:
            return decode(_parsed(body))
        except DecodeError as error:
            self._left_out.append(f"Line {number} of the archive is left out: {error}.")
            return DamagedEntry(str(error))


@dataclass(frozen=True, slots=True)
class _WholeLine:
    position: int
    checksum: int
    body: bytes


def _whole_line(line: bytes) -> _WholeLine | None:
    """Take a line apart; None when it is not as it was written."""
    match = _ENTRY.match(line)
    if not match or not line.endswith(b"]"):
        return None
    body = line[match.end() : -1]
    position, length, checksum = int(match[1]), int(match[2]), int(match[3], 16)
    if len(body) != length or _checksum(position, body) != checksum:
        return None
    return _WholeLine(position, checksum, body)


def _checksum(position: int, body: bytes) -> int:
    # Over the number too, so that a flipped one is seen.
    return zlib.crc32(body, zlib.crc32(b"%d" % position))


def _json(record: Mapping[str, JsonValue]) -> bytes:
    # ASCII only: lone surrogates and control characters survive as escapes.
    return json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def _parsed(body: bytes) -> JsonValue:
    try:
        value: JsonValue = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise DecodeError("it is no JSON") from error
    return value
