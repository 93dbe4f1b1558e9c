"""Find the project root: a folder that the person names, or the nearest one that holds `.git`."""

from __future__ import annotations

from pathlib import Path

from keryx_py.errors import KeryxError


class NoRootError(KeryxError):
    """The folder named as the root cannot be one."""


def find_root(named: Path | None, start: Path, home: Path) -> Path:
    """Return *named*, else the nearest folder from *start* upwards with a `.git`, else *start*.

    The search stops at *home*, at a change of owner and at a file system's border, so that a
    `.git` planted above the person's own folders is not taken. Raises NoRootError.
    """
    if named is not None:
        return _checked(named)
    start = _checked(start)
    found = _search(start, home.resolve())
    return found if found is not None else start


def _checked(folder: Path) -> Path:
    try:
        resolved = folder.expanduser().resolve(strict=True)
        if not resolved.is_dir():
            raise NoRootError(f"{folder} is not a folder; name the project's folder with --root")
    except (OSError, RuntimeError, ValueError) as error:
        raise NoRootError(
            f"{folder} cannot be opened; name an existing folder with --root"
        ) from error
    return resolved


def _search(start: Path, home: Path) -> Path | None:
    first = start.stat()
    for folder in (start, *start.parents):
        if folder == home and folder != start:
            return None
        try:
            here = folder.stat()
            if (here.st_uid, here.st_dev) != (first.st_uid, first.st_dev):
                return None
            (folder / ".git").lstat()
        except FileNotFoundError:
            continue
        except OSError:
            return None
        return folder
    return None
