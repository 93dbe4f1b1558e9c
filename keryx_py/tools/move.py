"""Move and delete files."""

from __future__ import annotations

import os
import stat

from keryx_py.messages import ToolSpec
from keryx_py.tools.arguments import schema, text_of
from keryx_py.tools.base import Args, Outcome, Progress, Risk, Shown, ShownAs, ToolError
from keryx_py.tools.diff import compare
from keryx_py.tools.files import MOST_BYTES, move_entry, read_file_bytes, read_link, remove_entry
from keryx_py.tools.paths import Location, ProjectRoot, kind_name
from keryx_py.tools.read import PATH, shown_text


class MoveFile:
    """Move or rename a file, a link or a folder."""

    spec = ToolSpec(
        "move_file",
        "Move or rename a file or folder of the project; folders on the way are made. When the "
        "target is a folder that exists, the source is moved into it. A file that stands at the "
        "target is replaced.",
        schema({"source": PATH, "target": PATH}),
    )

    def __init__(self, root: ProjectRoot) -> None:
        self._root = root

    def risk(self, args: Args) -> Risk:
        """Judge as destructive when something stands at the target."""
        try:
            _, target = self._ends(args)
            return Risk.WRITE if self._root.look(target) is None else Risk.DESTRUCTIVE
        except ToolError:
            # It cannot run; should that change before it does, the person was asked.
            return Risk.DESTRUCTIVE

    def title(self, args: Args) -> str:
        """Name both ends."""
        return f"{shown_text(text_of(args, 'source'))} -> {shown_text(text_of(args, 'target'))}"

    def preview(self, args: Args) -> Shown | None:
        """Say what goes where, and what is replaced."""
        source, target = self._checked(args)
        replaced = self._root.look(target) is not None
        text = f"{source.shown} -> {target.shown}"
        return Shown(ShownAs.TEXT, f"{text} (replaces what is there)" if replaced else text)

    def targets(self, args: Args) -> tuple[bytes, ...]:
        """Name both ends: the one goes, the other comes."""
        try:
            source, target = self._ends(args)
        except ToolError:
            return ()
        return (source.relative, target.relative)

    def run(self, args: Args, progress: Progress) -> Outcome:
        """Move it, and say so."""
        source, target = self._checked(args)
        replaced = self._root.look(target) is not None
        move_entry(self._root, source, target)
        return Outcome(
            f"Moved {source.shown} to {target.shown}"
            f"{', replacing what was there' if replaced else ''}.",
            summary="replaced" if replaced else "moved",
        )

    def _ends(self, args: Args) -> tuple[Location, Location]:
        """Find the entry that moves and the place it moves to."""
        source = self._root.resolve_entry(text_of(args, "source"))
        path = text_of(args, "target")
        inside = self._root.resolve(path)
        found = self._root.look(inside)
        if found is not None and stat.S_ISDIR(found.st_mode):
            return source, self._root.below(inside, source.name)
        if path.endswith("/") and not self._is_folder(source):
            raise ToolError(f"the folder {inside.shown} does not exist")
        return source, self._root.resolve_entry(path)

    def _is_folder(self, location: Location) -> bool:
        found = self._root.look(location)
        return found is not None and stat.S_ISDIR(found.st_mode)

    def _checked(self, args: Args) -> tuple[Location, Location]:
        source, target = self._ends(args)
        moved, there = self._root.look(source), self._root.look(target)
        if not source.relative:
            raise ToolError("the project root itself cannot be moved")
        if moved is None:
            raise ToolError(f"{source.shown} does not exist")
        if source == target:
            raise ToolError(f"{source.shown} is there already")
        if stat.S_ISDIR(moved.st_mode):
            self._check_folder(source, target)
        if there is not None:
            _check_replaced(source, target, moved, there)
        return source, target

    def _check_folder(self, source: Location, target: Location) -> None:
        if target.relative.startswith(source.relative + b"/"):
            raise ToolError(f"{source.shown} cannot be moved into itself")
        if self._root.look(Location(source.relative + b"/.git")) is not None:
            raise ToolError(
                f"{source.shown} holds a git repository, which file tools do not touch; "
                "move it with shell_exec"
            )


class DeleteFile:
    """Delete one file or link."""

    spec = ToolSpec(
        "delete_file",
        "Delete one file of the project, or a link itself. For a folder use shell_exec.",
        schema({"path": PATH}),
    )

    def __init__(self, root: ProjectRoot) -> None:
        self._root = root

    def risk(self, args: Args) -> Risk:
        """Judge every call as destructive."""
        return Risk.DESTRUCTIVE

    def title(self, args: Args) -> str:
        """Name the file."""
        return shown_text(text_of(args, "path"))

    def preview(self, args: Args) -> Shown | None:
        """Show the lines that go."""
        return self._lost(self._checked(args))

    def targets(self, args: Args) -> tuple[bytes, ...]:
        """Name the file or link that goes."""
        try:
            return (self._root.resolve_entry(text_of(args, "path")).relative,)
        except ToolError:
            return ()

    def run(self, args: Args, progress: Progress) -> Outcome:
        """Delete it, and say so."""
        location = self._checked(args)
        remove_entry(self._root, location)
        return Outcome(f"Deleted {location.shown}.", summary="deleted")

    def _checked(self, args: Args) -> Location:
        location = self._root.resolve_entry(text_of(args, "path"))
        found = self._root.look(location)
        if found is None:
            raise ToolError(f"{location.shown} does not exist")
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)):
            kind = kind_name(found.st_mode)
            raise ToolError(f"{location.shown} is {kind}; delete it with shell_exec")
        return location

    def _lost(self, location: Location) -> Shown:
        found = self._root.look(location)
        if found is not None and stat.S_ISLNK(found.st_mode):
            return Shown(ShownAs.TEXT, f"{location.shown} -> {read_link(self._root, location)}")
        if found is not None and found.st_size > MOST_BYTES:
            return Shown(ShownAs.TEXT, f"{location.shown}, {found.st_size:,} bytes")
        try:
            content = read_file_bytes(self._root, location)
        except ToolError as error:
            # A file that cannot be read can still be deleted.
            return Shown(ShownAs.TEXT, str(error))
        return compare(location.shown, content, None).shown


def _check_replaced(
    source: Location, target: Location, moved: os.stat_result, there: os.stat_result
) -> None:
    if (moved.st_dev, moved.st_ino) == (there.st_dev, there.st_ino):
        if source.relative.lower() == target.relative.lower():
            # A file system that ignores case: this only changes the letters.
            return
        raise ToolError(f"{source.shown} and {target.shown} are the same file; delete one of them")
    if stat.S_ISDIR(there.st_mode) or stat.S_ISDIR(moved.st_mode):
        raise ToolError(f"{target.shown} exists already; a folder is never replaced")
