"""Which folders may be captured, and whether the same one still stands there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from keryx_py.errors import KeryxError
from keryx_py.snapshot.descent import Identity
from keryx_py.snapshot.shadow import is_git_folder


class RootRefusedError(KeryxError):
    """Snapshots of this root are refused; the text names the cause and the way out."""


def check_root(root: Path, home: Path, data_dir: Path) -> Identity:
    """Return the identity of *root*. Raises RootRefusedError when it may not be captured."""
    try:
        status = root.stat()
    except OSError as error:
        raise RootRefusedError(
            f"{root} cannot be opened; start keryx in a folder that exists"
        ) from error
    if not stat.S_ISDIR(status.st_mode):
        raise RootRefusedError(f"{root} is not a folder; start keryx in one")
    identity = Identity.of(status)
    _refuse_wide(root, identity, home)
    if identity == _identity(data_dir):
        raise RootRefusedError(
            f"{root} is keryx's own data folder; start keryx in your project's folder"
        )
    if is_git_folder(root) or ".git" in root.resolve().parts:
        raise RootRefusedError(
            f"{root} is a git directory or inside one; start keryx in a work tree"
        )
    return identity


def _refuse_wide(root: Path, identity: Identity, home: Path) -> None:
    if identity == _identity(home):
        raise RootRefusedError(
            f"{root} is the home folder; start keryx in a project's folder below it, "
            "or name one with --root"
        )
    real = root.resolve()
    if real == Path(real.anchor):
        raise RootRefusedError(
            f"{root} is a file system's root; start keryx in a project's folder, "
            "or name one with --root"
        )


def _identity(path: Path) -> Identity | None:
    try:
        return Identity.of(path.stat())
    except OSError:
        return None


def identities(*paths: Path) -> frozenset[Identity]:
    """List the identities of those of *paths* that exist."""
    return frozenset(found for path in paths if (found := _identity(path)) is not None)


def open_root(root: Path, expected: Identity) -> int | None:
    """Open *root*; None when another directory now stands there. Raises OSError."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    if Identity.of(os.fstat(descriptor)) == expected:
        return descriptor
    os.close(descriptor)
    return None
