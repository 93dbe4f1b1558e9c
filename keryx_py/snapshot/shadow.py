"""The shadow repository as a folder: its layout, its configuration, and what may stand there."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Container
from contextlib import suppress
from enum import Enum
from pathlib import Path

from keryx_py.snapshot.packs import TEMPORARY, flush_folder, write_aside
from keryx_py.snapshot.seen_file import SEEN_NAMES

FORMAT_FILE = "keryx-format"
_BEFORE_HEAD = frozenset(
    {"objects", "refs", "config", "config.lock", FORMAT_FILE, f"{FORMAT_FILE}.lock", "HEAD.lock"}
)
_FORMAT = b"1\n"
_BLOCK = 512
_PACKS = Path("objects") / "pack"
_OWN_FOLDERS = ("objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/keryx")
_NO_LINKS = frozenset({errno.EXDEV, errno.EMLINK, errno.EPERM, errno.ENOTSUP, errno.ENOSYS})
_HEAD = b"ref: refs/heads/main\n"

# Each of these judges the person's own file names, or files that git would read in a checkout.
_SILENCED = (
    "hasDotgit",
    "gitmodulesBlob",
    "gitmodulesLarge",
    "gitmodulesMissing",
    "gitmodulesName",
    "gitmodulesParse",
    "gitmodulesPath",
    "gitmodulesSymlink",
    "gitmodulesUpdate",
    "gitmodulesUrl",
    "gitattributesBlob",
    "gitattributesLarge",
    "gitattributesLineLength",
    "gitattributesMissing",
    "gitattributesSymlink",
    "gitignoreSymlink",
    "mailmapSymlink",
)


class Standing(Enum):
    """What stands where the shadow repository belongs."""

    NOTHING = "nothing"
    OURS = "ours"
    UNFINISHED = "unfinished"
    """A shadow repository whose making was cut short before it held anything."""
    EMPTY = "empty"
    OTHER_REPOSITORY = "other repository"
    """A git repository that this version of keryx did not make."""
    LINK = "link"
    """A link, or a folder that holds one in place of a folder of its own."""
    NOT_OWNED = "not owned"
    FOREIGN = "foreign"


def examine(folder: Path) -> Standing:
    """Say what stands at *folder*, without following a link there. Raises OSError."""
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return Standing.NOTHING
    if stat.S_ISLNK(status.st_mode):
        return Standing.LINK
    if not stat.S_ISDIR(status.st_mode):
        return Standing.FOREIGN
    if status.st_uid != os.geteuid():
        return Standing.NOT_OWNED
    if any((folder / name).is_symlink() for name in _OWN_FOLDERS):
        return Standing.LINK
    return _examine_inside(folder)


def _examine_inside(folder: Path) -> Standing:
    names = set(os.listdir(folder))
    if not names:
        return Standing.EMPTY
    whole = is_git_folder(folder) and "config" in names
    if whole and FORMAT_FILE in names and (folder / FORMAT_FILE).read_bytes() == _FORMAT:
        return Standing.OURS
    if is_git_folder(folder):
        return Standing.OTHER_REPOSITORY
    return Standing.UNFINISHED if names <= _BEFORE_HEAD else Standing.FOREIGN


def is_git_folder(folder: Path) -> bool:
    """Whether *folder* is itself a git directory, bare or not."""
    return (
        (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()
    )


def create(folder: Path, root: Path) -> None:
    """Make an empty shadow repository for *root*, or finish one; HEAD is written last."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in _OWN_FOLDERS:
        (folder / name).mkdir(mode=0o700, exist_ok=True)
    write_aside(folder / "config", configuration(root))
    write_aside(folder / FORMAT_FILE, _FORMAT)
    write_aside(folder / "HEAD", _HEAD)
    flush_folder(folder.parent)


def configure(folder: Path, root: Path) -> None:
    """Name *root* as the work tree, where another one is named."""
    wanted = configuration(root)
    if (folder / "config").read_bytes() != wanted:
        write_aside(folder / "config", wanted)


def configuration(root: Path) -> bytes:
    """Write the repository's own git configuration."""
    lines = [
        b"[core]",
        b"\trepositoryformatversion = 0",
        b"\tfilemode = true",
        b"\tbare = false",
        b"\tlogallrefupdates = false",
        b"\tworktree = " + _quoted(os.fsencode(root)),
        b"[gc]",
        b"\tauto = 0",
        b"[maintenance]",
        b"\tauto = false",
        b"[fsck]",
    ]
    lines += [f"\t{name} = ignore".encode() for name in _SILENCED]
    return b"\n".join(lines) + b"\n"


def _quoted(value: bytes) -> bytes:
    for plain, escaped in ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\n", b"\\n"), (b"\t", b"\\t")):
        value = value.replace(plain, escaped)
    return b'"' + value + b'"'


def has_leftovers(folder: Path) -> bool:
    """Whether a capture is being made in *folder*, or was left half-made by a dead process."""
    with suppress(OSError):
        there = set(os.listdir(folder / _PACKS))
        return any(name.startswith(TEMPORARY) or _lacks_index(name, there) for name in there)
    return False


def clear_leftovers(folder: Path) -> None:
    """Remove what a dead process left half-written: locks, temporary packs, packs without index."""
    for above, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".lock") or name.startswith(TEMPORARY):
                Path(above, name).unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        # Not glob() and exists(): on a failing disk they say that nothing is there.
        there = set(os.listdir(folder / _PACKS))
        for name in there:
            if _lacks_index(name, there):
                Path(folder, _PACKS, name).unlink(missing_ok=True)


def _lacks_index(name: str, there: Container[str]) -> bool:
    is_pack = name.startswith("pack-") and name.endswith(".pack")
    return is_pack and name.removesuffix(".pack") + ".idx" not in there


def size_on_disk(folder: Path) -> int:
    """Add up what the files in *folder* take on disk, in bytes."""
    total = 0
    waiting = [os.fspath(folder)]
    while waiting:
        # Files come and go while a capture is in the making.
        with suppress(FileNotFoundError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        waiting.append(entry.path)
                    else:
                        # Some file systems count blocks late: something never counts as nothing.
                        total += status.st_blocks * _BLOCK or status.st_size
    return total


def set_aside(folder: Path) -> Path:
    """Rename *folder* so that its place is free; return the new path."""
    number = 1
    while (aside := folder.with_name(f"{folder.name}.old-{number}")).exists():
        number += 1
    folder.rename(aside)
    return aside


def share(source: Path, target: Path) -> None:
    """Give the fresh repository *target* the packs of *source* and what it has seen, by hard
    links, or copies.

    None of these files is changed in place, so each repository still stands, and is deleted,
    alone. What goes from *source* meanwhile is passed over.
    """
    for index in (source / _PACKS).glob("pack-*.idx"):
        try:
            # The pack first: it counts as being there once its index is.
            _link(index.with_suffix(".pack"), target / _PACKS)
            _link(index, target / _PACKS)
        except FileNotFoundError:
            continue
    for name in SEEN_NAMES:
        with suppress(FileNotFoundError):
            _link(source / name, target)
    flush_folder(target / _PACKS)


def _link(file: Path, folder: Path) -> None:
    try:
        (folder / file.name).hardlink_to(file)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copyfile(file, folder / file.name)
        (folder / file.name).chmod(0o600)
