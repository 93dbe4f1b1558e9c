"""Look at the project: list a folder, read a file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from keryx_py.messages import JsonValue, ToolSpec
from keryx_py.tools.arguments import schema, text_of, whole_of
from keryx_py.tools.base import Args, Outcome, Progress, Risk, Shown, ToolError
from keryx_py.tools.files import MOST_BYTES, look_at_file, read_file_bytes
from keryx_py.tools.paths import Location, ProjectRoot, refusal, shown_name

MOST_ENTRIES = 1_000
MOST_LINES = 2_000
MOST_IN_A_LINE = 2_000
MOST_CHARACTERS = 60_000
_LOOKED_AT_FOR_NUL = 8_192

PATH: JsonValue = {
    "type": "string",
    "description": 'Relative to the project root, such as "src/main.py"; "." is the root.',
}


class ReadingTool:
    """What the tools that change nothing have in common."""

    def risk(self, args: Args) -> Risk:
        """Judge every call as reading."""
        return Risk.READ

    def preview(self, args: Args) -> Shown | None:
        """Show nothing: nobody is asked about reading."""
        return None

    def targets(self, args: Args) -> tuple[bytes, ...]:
        """Name no path: nothing is written."""
        return ()


class ListDir(ReadingTool):
    """List what is in one folder."""

    spec = ToolSpec(
        "list_dir",
        "List one folder of the project: folders end in /, links show where they lead, files "
        "show their size in bytes.",
        schema({"path": PATH}),
    )

    def __init__(self, root: ProjectRoot) -> None:
        self._root = root

    def title(self, args: Args) -> str:
        """Name the folder."""
        return shown_text(text_of(args, "path"))

    def run(self, args: Args, progress: Progress) -> Outcome:
        """List the folder, sorted by name."""
        location = self._root.resolve(text_of(args, "path"))
        lines = self._entries(location)
        if not lines:
            return Outcome("The folder is empty.", summary="empty")
        told = lines[:MOST_ENTRIES]
        if len(lines) > MOST_ENTRIES:
            told.append(f"[{len(lines) - MOST_ENTRIES} more entries; find_files can pick some]")
        return Outcome("\n".join(told), summary=counted(len(lines), "entry", "entries"))

    def _entries(self, location: Location) -> list[str]:
        found = self._root.look(location)
        if found is None:
            raise ToolError(f"{location.shown} does not exist")
        if not stat.S_ISDIR(found.st_mode):
            raise ToolError(f"{location.shown} is not a folder; read it with read_file")
        try:
            with self._root.folder(location.relative) as folder, os.scandir(folder) as entries:
                named = sorted((os.fsencode(entry.name), entry) for entry in entries)
                return [_entry_line(folder, name, entry) for name, entry in named]
        except OSError as error:
            raise refusal(location.shown, error) from error


class ReadFile(ReadingTool):
    """Read lines of one text file."""

    spec = ToolSpec(
        "read_file",
        "Read a text file of the project. Without offset and limit it reads from the first line, "
        f"at most {MOST_LINES} lines; a note in square brackets at the end says how to read on.",
        schema(
            {"path": PATH},
            {
                "offset": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "The first line to read; the file's first line is 1.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "How many lines to read.",
                },
            },
        ),
    )

    def __init__(self, root: ProjectRoot) -> None:
        self._root = root

    def title(self, args: Args) -> str:
        """Name the file and the first line, when it is not 1."""
        offset = whole_of(args, "offset", 1)
        path = shown_text(text_of(args, "path"))
        return path if offset == 1 else f"{path} from line {offset}"

    def run(self, args: Args, progress: Progress) -> Outcome:
        """Read the lines that were asked for, within the caps."""
        location = self._root.resolve(text_of(args, "path"))
        found = look_at_file(self._root, location)
        data = read_file_bytes(self._root, location)
        size = max(len(data), found.st_size if found is not None else 0)
        if is_binary(data):
            raise ToolError(f"{location.shown} is a binary file of {size:,} bytes")
        if not data:
            return Outcome("[The file is empty.]", summary="empty")
        return _read_lines(args, data, size)


def is_binary(data: bytes) -> bool:
    """Say whether *data* is no text, by git's rule: a NUL near the start."""
    return b"\0" in data[:_LOOKED_AT_FOR_NUL]


def counted(number: int, one: str, many: str) -> str:
    """Say *number* with the word that fits it."""
    return f"{number:,} {one if number == 1 else many}"


def shown_text(text: str) -> str:
    """Show a model's *text* on one line, what cannot be printed escaped."""
    return shown_name(text.encode("utf-8", "surrogateescape")) if text else '""'


def _entry_line(folder: int, name: bytes, entry: os.DirEntry[str]) -> str:
    shown = shown_name(name)
    if entry.is_dir(follow_symlinks=False):
        return f"{shown}/"
    try:
        if entry.is_symlink():
            return f"{shown} -> {shown_name(os.readlink(name, dir_fd=folder))}"
        found = entry.stat(follow_symlinks=False)
    except OSError:
        # Gone since the folder was read.
        return shown
    if not stat.S_ISREG(found.st_mode):
        return f"{shown} (not a file)"
    return f"{shown}  {found.st_size}"


def _read_lines(args: Args, data: bytes, size: int) -> Outcome:
    offset, limit = whole_of(args, "offset", 1), whole_of(args, "limit", MOST_LINES)
    plain = data.removeprefix(b"\xef\xbb\xbf")
    crlf = b"\n" in plain and plain.count(b"\n") == plain.count(b"\r\n")
    if crlf:
        plain = plain.replace(b"\r\n", b"\n")
    total = plain.count(b"\n") + (not plain.endswith(b"\n"))
    if offset > total:
        raise ToolError(f"the file has only {counted(total, 'line', 'lines')}")
    told = list(_capped(_lines_from(plain, offset), min(limit, MOST_LINES)))
    last = offset + len(told) - 1
    notes = []
    if last < total:
        notes.append(f"[lines {offset} to {last} of {total}; read on with offset {last + 1}]")
    if size > len(data):
        notes.append(
            f"[only the first {MOST_BYTES // 2**20} MB of {size:,} bytes can be read; "
            "use shell_exec for the rest]"
        )
    if crlf:
        notes.append("[the lines end in CRLF; write them with plain line ends]")
    return Outcome("\n".join([*told, *notes]), summary=counted(len(told), "line", "lines"))


def _lines_from(data: bytes, offset: int) -> Iterator[str]:
    start = 0
    for _ in range(offset - 1):
        start = data.index(b"\n", start) + 1
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        # Four bytes are the most that a character takes.
        line = data[start : min(end, start + 4 * MOST_IN_A_LINE + 1)].decode("utf-8", "replace")
        yield (
            line
            if end - start <= 4 * MOST_IN_A_LINE and len(line) <= MOST_IN_A_LINE
            else (f"{line[:MOST_IN_A_LINE]} [the line is cut here; it has {end - start:,} bytes]")
        )
        start = end + 1


def _capped(lines: Iterator[str], limit: int) -> Iterator[str]:
    room = MOST_CHARACTERS
    for line in lines:
        room -= len(line) + 1
        yield line
        limit -= 1
        if limit <= 0 or room <= MOST_IN_A_LINE:
            return
