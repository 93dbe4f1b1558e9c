"""Find files by name, and lines by what is in them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

from keryx_py.messages import ToolSpec
from keryx_py.tools.arguments import schema, text_of
from keryx_py.tools.base import Args, Outcome, Progress, ToolError
from keryx_py.tools.glob import Glob
from keryx_py.tools.matching import MOST_BYTES, MOST_MATCHES
from keryx_py.tools.paths import Location, ProjectRoot, shown_name
from keryx_py.tools.read import ReadingTool, counted, shown_text
from keryx_py.tools.walk import MOST_VISITED, Walk

MOST_FOUND = 500
SEARCH_SECONDS = 20.0
_MOST_CHARACTERS = 10_000


class FindFiles(ReadingTool):
    """Find files and folders by a glob pattern."""

    spec = ToolSpec(
        "find_files",
        "Find files and folders by a glob pattern from the project root: `*` matches within a "
        "name, `**` over folders, `{a,b}` either; `**/*.py` finds in every folder, `*.py` only "
        "at the root. Skips .git and node_modules.",
        schema({"pattern": {"type": "string", "description": "Such as `src/**/*.{js,ts}`."}}),
    )

    def __init__(self, root: ProjectRoot) -> None:
        self._root = root

    def title(self, args: Args) -> str:
        """Show the pattern."""
        return shown_text(text_of(args, "pattern"))

    def run(self, args: Args, progress: Progress) -> Outcome:
        """Walk where the pattern may match, and list what does."""
        pattern = text_of(args, "pattern").removeprefix(os.fsdecode(self._root.path) + "/")
        glob = Glob(pattern)
        walk = Walk(self._root, glob.may_match_below)
        lines: list[str] = []
        for found in walk.below(Location(b"")):
            if not glob.matches(found.relative):
                continue
            if len(lines) == MOST_FOUND:
                lines.append(f"[more than {MOST_FOUND}; narrow the pattern]")
                break
            lines.append(shown_name(found.relative) + ("/" if found.is_folder else ""))
        if not lines:
            hint = "" if "/" in pattern else f"; `**/{pattern}` looks in every folder"
            lines = [f"[nothing matches{hint}]"]
        summary = counted(sum(not line.startswith("[") for line in lines), "match", "matches")
        return Outcome("\n".join([*lines, *_walk_notes(walk)]), summary=summary)


class SearchText(ReadingTool):
    """Find the lines that match a regular expression."""

    spec = ToolSpec(
        "search_text",
        "Search the project's text files line by line for a Python regular expression, and list "
        "path:line: text. Skips .git, node_modules, binary files, and files over "
        f"{MOST_BYTES // 2**20} MB.",
        schema(
            {
                "pattern": {
                    "type": "string",
                    "description": "A regular expression, case-sensitive; (?i) at the start "
                    "ignores case. What is no regular expression is searched as plain text.",
                }
            },
            {
                "path": {
                    "type": "string",
                    "description": "The folder or file to search; the whole project if left out.",
                }
            },
        ),
    )

    def __init__(self, root: ProjectRoot, seconds: float = SEARCH_SECONDS) -> None:
        self._root = root
        self._seconds = seconds

    def title(self, args: Args) -> str:
        """Show the pattern, and where it is searched."""
        pattern = shown_text(text_of(args, "pattern"))
        return f"{pattern} in {shown_text(text_of(args, 'path'))}" if "path" in args else pattern

    def run(self, args: Args, progress: Progress) -> Outcome:
        """Search below the path in a process of its own, within the time."""
        pattern = text_of(args, "pattern")
        if not pattern:
            raise ToolError("the pattern is empty")
        if len(pattern) > _MOST_CHARACTERS:
            raise ToolError(f"the pattern is longer than {_MOST_CHARACTERS:,} characters")
        location = self._root.resolve(text_of(args, "path", "."))
        walk = Walk(self._root)
        paths = self._paths(location, walk)
        told, in_time = _search_apart(self._root.path, pattern, paths, self._seconds)
        lines = [_match_line(paths, one) for one in told if one[0] == "match"]
        notes = [*_notes(told), *_walk_notes(walk)]
        if not in_time:
            notes.append(
                f"[stopped after {self._seconds:g} s; narrow the path or make the pattern simpler]"
            )
        return Outcome(
            "\n".join([*(lines or ["[no line matches]"]), *notes]),
            summary=counted(len(lines), "match", "matches"),
        )

    def _paths(self, location: Location, walk: Walk) -> list[bytes]:
        found = self._root.look(location)
        if found is None:
            raise ToolError(f"{location.shown} does not exist")
        if not stat.S_ISDIR(found.st_mode):
            return [location.relative]
        return [one.relative for one in walk.below(location) if one.is_file]


_Told = list[str | int]


def _search_apart(
    root: bytes, pattern: str, paths: list[bytes], seconds: float
) -> tuple[list[_Told], bool]:
    """Run the search, and return what it told and whether it ended by itself."""
    head = json.dumps([os.fsdecode(root), pattern]).encode("ascii") + b"\n"
    script = str(Path(__file__).with_name("matching.py"))
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-W", "ignore", "-X", "utf8", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
    ) as process:
        in_time = True
        try:
            output, _ = process.communicate(head + _ended(paths), timeout=seconds)
        except subprocess.TimeoutExpired:
            in_time = False
            process.kill()
            output, _ = process.communicate()
        except BaseException:
            process.kill()
            raise
    if in_time and process.returncode != 0:
        raise ToolError("the search failed; try a simpler pattern")
    whole = output[: output.rfind(b"\n") + 1].decode("ascii")
    return [json.loads(line) for line in whole.splitlines()], in_time


def _ended(paths: list[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in paths)


def _match_line(paths: list[bytes], told: _Told) -> str:
    _, index, number, text = told
    return f"{shown_name(paths[int(index)])}:{number}: {text}"


def _notes(told: list[_Told]) -> list[str]:
    notes = [
        f"[the pattern is not a regular expression ({one[1]}); searched as plain text]"
        for one in told
        if one[0] == "plain"
    ]
    if ["full"] in told:
        notes.append(f"[more than {MOST_MATCHES} matches; narrow the path or the pattern]")
    large = sum(one[0] == "large" for one in told)
    if large:
        notes.append(
            f"[not searched: {counted(large, 'file', 'files')} over {MOST_BYTES // 2**20} MB]"
        )
    return notes


def _walk_notes(walk: Walk) -> list[str]:
    notes = []
    if walk.unread:
        notes.append(f"[{counted(walk.unread, 'folder', 'folders')} could not be read]")
    if walk.stopped:
        notes.append(f"[stopped after {MOST_VISITED:,} entries; name a folder in the project]")
    return notes
