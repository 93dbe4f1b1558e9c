"""Write a file whole, or replace a piece of it: mode, line ends and byte order mark kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from keryx_py.messages import ToolSpec
from keryx_py.tools.arguments import flag_of, schema, text_of
from keryx_py.tools.base import Args, Outcome, Progress, Risk, Shown, ToolError
from keryx_py.tools.diff import Difference, compare
from keryx_py.tools.files import (
    MOST_BYTES,
    is_writable,
    look_at_file,
    put_file,
    read_file_bytes,
)
from keryx_py.tools.paths import Location, ProjectRoot
from keryx_py.tools.read import PATH, counted, is_binary, shown_text

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Write:
    """What one call would put where."""

    location: Location
    before: bytes | None
    """None when there is no file yet."""
    after: bytes

    @property
    def difference(self) -> Difference:
        """The lines that it adds and removes."""
        return compare(self.location.shown, self.before, self.after)


class WritingTool(ABC):
    """What the tools that write one file have in common: what is shown is what is written."""

    def __init__(self, root: ProjectRoot) -> None:
        self._root = root

    @abstractmethod
    def plan(self, args: Args) -> Write:
        """Work out the write; changes nothing. Raises ToolError when it cannot work."""

    def risk(self, args: Args) -> Risk:
        """Judge every call as writing."""
        return Risk.WRITE

    def title(self, args: Args) -> str:
        """Name the file."""
        return shown_text(text_of(args, "path"))

    def preview(self, args: Args) -> Shown | None:
        """Show the diff of what the run will write."""
        return self.plan(args).difference.shown

    def targets(self, args: Args) -> tuple[bytes, ...]:
        """Name the file that is written: where a link leads, not the link."""
        try:
            return (self._root.resolve(text_of(args, "path")).relative,)
        except ToolError:
            # The run will refuse it, so nothing is written.
            return ()

    def run(self, args: Args, progress: Progress) -> Outcome:
        """Write the file, and say what was done."""
        write = self.plan(args)
        name, difference = write.location.shown, write.difference
        if write.before == write.after:
            return Outcome(f"{name} already holds just that; nothing was written.", summary="same")
        put_file(self._root, write.location, write.after)
        verb = "Made" if write.before is None else "Changed"
        return Outcome(
            f"{verb} {name}: {difference.summary} lines.",
            summary=f"{difference.summary}{' new' if write.before is None else ''}",
            shown=difference.shown,
        )


class WriteFile(WritingTool):
    """Write a whole file."""

    spec = ToolSpec(
        "write_file",
        "Write a whole file: a new one, its folders made, or over one that is there. For a change "
        "to a part of a file use edit_file. A file whose lines end in CRLF keeps them.",
        schema({"path": PATH, "content": {"type": "string", "description": "All of the file."}}),
    )

    def plan(self, args: Args) -> Write:
        """Work out the write; changes nothing."""
        location = _resolve_file(self._root, text_of(args, "path"))
        before = _read_before(self._root, location)
        content = encoded("content", text_of(args, "content"))
        return Write(location, before, content if before is None else _in_style(before, content))


class EditFile(WritingTool):
    """Replace a piece of a file."""

    spec = ToolSpec(
        "edit_file",
        "Replace a piece of a text file. old must be the exact text, spaces and line ends "
        "included, and stand in the file exactly once: add lines around it until it does, or set "
        "replace_all.",
        schema(
            {
                "path": PATH,
                "old": {"type": "string", "description": "The text to replace, exactly."},
                "new": {"type": "string", "description": "What to put in its place."},
            },
            {
                "replace_all": {
                    "type": "boolean",
                    "description": "Replace every occurrence; false if left out.",
                }
            },
        ),
    )

    def plan(self, args: Args) -> Write:
        """Work out the write; changes nothing."""
        location = _resolve_file(self._root, text_of(args, "path"))
        before = _read_before(self._root, location)
        if before is None:
            raise ToolError(f"{location.shown} does not exist; make it with write_file")
        if is_binary(before):
            raise ToolError(f"{location.shown} is a binary file; edit_file changes text only")
        old, new = _as_in(before, text_of(args, "old"), text_of(args, "new"))
        _check_place(location, before, old, flag_of(args, "replace_all"))
        if old == new:
            raise ToolError("old and new are the same; nothing would change")
        return Write(location, before, before.replace(old, new))


def encoded(name: str, text: str) -> bytes:
    """Encode the argument *name*. Raises ToolError when it is no whole text."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolError(f'"{name}" holds half of a character (a lone surrogate)') from error


def _resolve_file(root: ProjectRoot, path: str) -> Location:
    location = root.resolve(path)
    if path.endswith("/") or not location.relative:
        raise ToolError(f"{location.shown} is a folder; name a file in it")
    return location


def _read_before(root: ProjectRoot, location: Location) -> bytes | None:
    """Read what a write goes over; None when there is no file.

    Raises ToolError when the file may not be written or is too large.
    """
    found = look_at_file(root, location)
    if found is None:
        return None
    if found.st_size > MOST_BYTES:
        raise ToolError(
            f"{location.shown} is larger than {MOST_BYTES // 2**20} MB; change it with shell_exec"
        )
    if not is_writable(root, location):
        raise ToolError(f"{location.shown} is read-only; change its mode with shell_exec first")
    return read_file_bytes(root, location)


def _is_crlf(data: bytes) -> bool:
    ends = data.count(b"\n")
    return ends > 0 and ends == data.count(b"\r\n")


def _in_style(before: bytes, content: bytes) -> bytes:
    """Give *content* the byte order mark and the line ends of what it goes over."""
    if _is_crlf(before) and b"\r" not in content:
        content = content.replace(b"\n", b"\r\n")
    if before.startswith(_BOM) and not content.startswith(_BOM):
        content = _BOM + content
    return content


def _as_in(before: bytes, old_text: str, new_text: str) -> tuple[bytes, bytes]:
    """Encode *old_text* and *new_text* with the line ends that the file has."""
    old, new = encoded("old", old_text), encoded("new", new_text)
    plain_old, plain_new = old.replace(b"\r\n", b"\n"), new.replace(b"\r\n", b"\n")
    crlf = plain_old.replace(b"\n", b"\r\n"), plain_new.replace(b"\n", b"\r\n")
    if _is_crlf(before):
        return crlf
    if old in before:
        return old, new
    # In a file of mixed ends each place has its own; elsewhere the model wrote ends of its own.
    return crlf if crlf[0] in before else (plain_old, plain_new)


def _check_place(location: Location, before: bytes, old: bytes, replace_all: bool) -> None:
    if not old:
        raise ToolError("old is empty; to write a whole file use write_file")
    first = before.find(old)
    if first < 0:
        raise ToolError(
            f"old was not found in {location.shown}; read the file and copy the text exactly, "
            "spaces and line ends included"
        )
    # One place further, not behind the first: "aa" stands twice in "aaa".
    if not replace_all and before.find(old, first + 1) >= 0:
        times = counted(max(2, before.count(old)), "time", "times")
        raise ToolError(
            f"old stands {times} in {location.shown}; add lines around it, or set replace_all"
        )
