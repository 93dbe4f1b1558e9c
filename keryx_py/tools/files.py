"""The project's files, reached by folder descriptors: read whole, put in place, move, remove.

A place that was judged inside the root is opened name by name and through no link, so that a
link put there meanwhile leads nowhere.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress

from keryx_py.tools.base import ToolError
from keryx_py.tools.paths import Location, ProjectRoot, kind_name, refusal, shown_name

MOST_BYTES = 16 * 2**20
"""Files above this size are not read whole."""

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def read_file_bytes(root: ProjectRoot, location: Location, most: int = MOST_BYTES) -> bytes:
    """Read at most *most* bytes from the start of the file at *location*.

    Raises ToolError when there is no file, or it is of another kind.
    """
    found = look_at_file(root, location)
    if found is None:
        raise ToolError(f"{location.shown} does not exist")
    try:
        with root.folder(location.parent) as folder:
            descriptor = os.open(location.name, _READ, dir_fd=folder)
            with os.fdopen(descriptor, "rb") as file:
                _refuse_other_kinds(location, os.fstat(descriptor))
                return file.read(most)
    except OSError as error:
        raise refusal(location.shown, error) from error


def look_at_file(root: ProjectRoot, location: Location) -> os.stat_result | None:
    """Look at the file at *location*; None when nothing is there.

    Raises ToolError when something else than a file is there.
    """
    found = root.look(location)
    if found is not None:
        _refuse_other_kinds(location, found)
    return found


def is_writable(root: ProjectRoot, location: Location) -> bool:
    """Say whether the file at *location* may be written, as its mode has it.

    Renaming over it would work all the same; but whoever makes a file read-only means it.
    """
    found = look_at_file(root, location)
    with root.folder(location.parent) as folder:
        allowed = os.access(location.name, os.W_OK, dir_fd=folder)
    # Root is allowed everything.
    return allowed and found is not None and bool(found.st_mode & 0o222)


def put_file(root: ProjectRoot, location: Location, data: bytes) -> None:
    """Write *data* beside *location* and rename it into place, mode and owner kept.

    Raises ToolError, with what was there before still in place.
    """
    before = look_at_file(root, location)
    beside = b".keryx-" + secrets.token_hex(8).encode() + b".tmp"
    try:
        with root.folder(location.parent, make=True) as folder:
            try:
                _write_new(folder, beside, data, before)
                os.replace(beside, location.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException as error:
                _clear_away(folder, beside, location, error)
                raise
    except OSError as error:
        raise refusal(location.shown, error) from error


def _clear_away(folder: int, beside: bytes, location: Location, error: BaseException) -> None:
    """Remove what was written *beside* in vain. Raises ToolError that names it when it stays."""
    try:
        os.unlink(beside, dir_fd=folder)
    except FileNotFoundError:
        return
    except OSError:
        why = str(refusal(location.shown, error)) if isinstance(error, OSError) else "stopped"
        raise ToolError(
            f"{why}; what was written of it is left beside it as {beside.decode()}"
        ) from error


def move_entry(root: ProjectRoot, source: Location, target: Location) -> None:
    """Rename what is at *source* to *target*, folders on the way made."""
    try:
        with root.folder(source.parent) as old, root.folder(target.parent, make=True) as new:
            os.replace(source.name, target.name, src_dir_fd=old, dst_dir_fd=new)
    except OSError as error:
        raise refusal(f"{source.shown} to {target.shown}", error) from error


def remove_entry(root: ProjectRoot, location: Location) -> None:
    """Remove the file or link at *location*."""
    try:
        with root.folder(location.parent) as folder:
            os.unlink(location.name, dir_fd=folder)
    except OSError as error:
        raise refusal(location.shown, error) from error


def read_link(root: ProjectRoot, location: Location) -> str:
    """Read where the link at *location* leads, as text to show."""
    try:
        with root.folder(location.parent) as folder:
            return shown_name(os.readlink(location.name, dir_fd=folder))
    except OSError as error:
        raise refusal(location.shown, error) from error


def _refuse_other_kinds(location: Location, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ToolError(f"{location.shown} is {kind_name(found.st_mode)}, not a file")


def _write_new(folder: int, name: bytes, data: bytes, before: os.stat_result | None) -> None:
    descriptor = os.open(name, _CREATE, 0o666 if before is None else 0o600, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        if before is not None:
            _take_after(descriptor, before)


def _take_after(descriptor: int, before: os.stat_result) -> None:
    made = os.fstat(descriptor)
    if (made.st_uid, made.st_gid) != (before.st_uid, before.st_gid):
        # Only root may give a file away; another person's edit makes the file theirs.
        with suppress(PermissionError):
            os.fchown(descriptor, before.st_uid, before.st_gid)
    # After the owner: changing that clears the set-user-id bit.
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
