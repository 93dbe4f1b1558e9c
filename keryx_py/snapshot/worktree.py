"""The person's files: read, write and remove them, inside the root only, never through a link."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from keryx_py.snapshot.beside import bears, beside, new_mark, write_new
from keryx_py.snapshot.descent import OPEN_FOLDER, Identity
from keryx_py.snapshot.failures import WorkTreeError, in_words
from keryx_py.snapshot.listing import FileState, Kind, Skipped
from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.reading import Content, NotReadError, read_content

__all__ = ["RootReplacedError", "WorkTree", "WorkTreeError"]

_OWNER_ALL = 0o700
_NOT_EMPTY = frozenset({errno.ENOTEMPTY, errno.EEXIST})
_NO_FOLDER = frozenset({errno.ENOTDIR, errno.ELOOP})
_OPEN_PATH = getattr(os, "O_PATH", 0)


class RootReplacedError(WorkTreeError):
    """Another directory now stands where the root was."""


class _NotThereError(WorkTreeError):
    """Nothing can stand at the path, because its folder does not."""


class WorkTree:
    """The folder at *root*, held by its device and inode, reached by folder descriptors only."""

    def __init__(self, root: Path, mark: str = "") -> None:
        """What is written beside its place bears *mark*, or one of its own when that is empty."""
        self.mark = mark or new_mark()
        self._root = root
        with _told():
            self._identity = Identity.of(root.stat())
        self._held: tuple[bytes, int] | None = None

    @contextmanager
    def holding(self, path: bytes) -> Iterator[None]:
        """Keep the folder of *path* open meanwhile: what is looked at and then changed there is
        in one and the same folder. Does nothing when there is none."""
        above = path.rpartition(b"/")[0]
        with ExitStack() as stack:
            with suppress(WorkTreeError, OSError):
                self._held = above, stack.enter_context(self._parent(path))[0]
            try:
                yield
            finally:
                self._held = None

    def check_root(self) -> None:
        """Raise RootReplacedError when another directory stands at the root's path."""
        with self._opened_root():
            pass

    def state(self, path: bytes) -> FileState | None:
        """Look at *path* now, content hashed; None when nothing is there (also below a non-folder).

        Raises WorkTreeError when it cannot be read, or is of a kind that is never held.
        """
        try:
            with self._parent(path) as (folder, name):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    return FileState(Kind.FOLDER, stat.S_IMODE(status.st_mode), b"")
                return _state_of(read_content(name, folder, None))
        except _NotThereError:
            return None
        except NotReadError as error:
            raise WorkTreeError(str(error)) from error
        except FileNotFoundError:
            return None
        except OSError as error:
            raise WorkTreeError(in_words(error)) from error

    def read(self, path: bytes) -> bytes:
        """Read a file's bytes or a link's target."""
        try:
            with _told(), self._parent(path) as (folder, name):
                return read_content(name, folder, None).data
        except NotReadError as error:
            raise WorkTreeError(str(error)) from error

    def write_file(self, path: bytes, data: bytes, mode: int, *, flush: bool = True) -> None:
        """Put a file at *path*: written beside, mode set, flushed, renamed into place.

        Without *flush* it is safe against a power cut only after flush().
        """

        def write(folder: int, name: bytes) -> None:
            with beside(folder, name, self.mark) as temporary:
                write_new(folder, temporary, data, mode, flush=flush)
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)

        self._change(path, write)

    def write_link(self, path: bytes, target: bytes) -> None:
        """Put a link at *path*, made beside and renamed into place."""

        def write(folder: int, name: bytes) -> None:
            with beside(folder, name, self.mark) as temporary:
                os.symlink(target, temporary, dir_fd=folder)
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)

        self._change(path, write)

    def make_folder(self, path: bytes, mode: int) -> None:
        """Make the folder *path*; its parent stands."""

        def make(folder: int, name: bytes) -> None:
            os.mkdir(name, _OWNER_ALL, dir_fd=folder)
            _set_mode(folder, name, mode)

        self._change(path, make)

    def set_mode(self, path: bytes, mode: int) -> None:
        """Set a file's or folder's permission bits; never a link's."""
        with _told(), self._parent(path) as (folder, name):
            _set_mode(folder, name, mode)

    def set_file_mode(self, path: bytes, mode: int, *, flush: bool = True) -> None:
        """Set a file's permission bits; where it has other names, a copy takes its place.

        Those names, which may lie outside the root, keep the bits that they have.
        """
        with _told(), self._parent(path) as (folder, name):
            shared = os.stat(name, dir_fd=folder, follow_symlinks=False).st_nlink > 1
        if shared:
            self.write_file(path, self.read(path), mode, flush=flush)
        else:
            self.set_mode(path, mode)

    def remove_file(self, path: bytes) -> None:
        """Remove a file or link."""
        self._change(path, lambda folder, name: os.unlink(name, dir_fd=folder))

    def remove_folder(self, path: bytes) -> bool:
        """Remove a folder if it is empty; say whether it went."""
        went = True

        def remove(folder: int, name: bytes) -> None:
            nonlocal went
            try:
                os.rmdir(name, dir_fd=folder)
            except OSError as error:
                if error.errno not in _NOT_EMPTY:
                    raise
                went = False

        self._change(path, remove)
        return went

    def remove_leftovers(self, folder: bytes) -> tuple[Skipped, ...]:
        """Remove from *folder* what a killed write with this mark left there; b"" is the root.

        Nothing else is touched, however it is named. Return what could not be removed.
        """
        left: list[Skipped] = []
        with _told(), self._folder(folder) as descriptor:
            for name in map(os.fsencode, os.listdir(descriptor)):
                if not bears(self.mark, name):
                    continue
                try:
                    os.unlink(name, dir_fd=descriptor)
                except OSError as error:
                    path = folder + b"/" + name if folder else name
                    left.append(Skipped(path, f"half written; {in_words(error)}"))
        return tuple(left)

    def root_mode(self) -> int:
        """Read the root's permission bits."""
        with self._opened_root() as root, _told():
            return stat.S_IMODE(os.fstat(root).st_mode)

    def close_root(self, mode: int) -> None:
        """Give the root its *mode* back if a killed change left it open; else leave it as it is."""
        with self._opened_root() as root, _told():
            now = stat.S_IMODE(os.fstat(root).st_mode)
            if now != mode and now == mode | _OWNER_ALL:
                os.fchmod(root, mode)

    def flush(self) -> None:
        """Make all that was written safe against a power cut."""
        os.sync()

    def _change(self, path: bytes, change: Callable[[int, bytes], None]) -> None:
        """Do *change* in the folder of *path*, opened for writing if it is read-only."""
        with _told(), self._parent(path) as (folder, name):
            try:
                change(folder, name)
            except PermissionError:
                with _writable(folder) as opened:
                    if not opened:
                        raise
                    change(folder, name)

    @contextmanager
    def _opened_root(self) -> Iterator[int]:
        with _told():
            root = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if Identity.of(os.fstat(root)) != self._identity:
                raise RootReplacedError(f"another directory now stands at {self._root}")
            yield root
        finally:
            os.close(root)

    @contextmanager
    def _parent(self, path: bytes) -> Iterator[tuple[int, bytes]]:
        """Open the folder of *path*; yield its descriptor and the last name."""
        above, _, name = path.rpartition(b"/")
        if any(part in (b"", b".", b"..") for part in path.split(b"/")):
            raise WorkTreeError("not a path inside the project")
        with self._folder(above) as descriptor:
            yield descriptor, name

    @contextmanager
    def _folder(self, path: bytes) -> Iterator[int]:
        if self._held is not None and self._held[0] == path:
            yield self._held[1]
            return
        with self._opened_root() as root:
            descriptor = os.dup(root)
            try:
                for name in path.split(b"/") if path else ():
                    below = _open_below(descriptor, name)
                    os.close(descriptor)
                    descriptor = below
                yield descriptor
            finally:
                os.close(descriptor)


@contextmanager
def _told() -> Iterator[None]:
    """Raise a WorkTreeError in place of an OSError."""
    try:
        yield
    except OSError as error:
        raise WorkTreeError(in_words(error)) from error


def _state_of(content: Content) -> FileState:
    oid = object_id(ObjectKind.BLOB, content.data)
    if stat.S_ISLNK(content.status.st_mode):
        return FileState(Kind.LINK, 0, oid)
    return FileState(Kind.FILE, stat.S_IMODE(content.status.st_mode), oid)


def _open_below(folder: int, name: bytes) -> int:
    try:
        return os.open(name, OPEN_FOLDER, dir_fd=folder)
    except FileNotFoundError as error:
        raise _NotThereError("its folder is missing") from error
    except PermissionError:
        # It may be unlistable and still let one through.
        if not _OPEN_PATH:
            raise
        return os.open(name, OPEN_FOLDER | _OPEN_PATH, dir_fd=folder)
    except OSError as error:
        if error.errno in _NO_FOLDER:
            raise _NotThereError(_in_the_way(folder, name)) from error
        raise


def _in_the_way(folder: int, name: bytes) -> str:
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    what = "link" if stat.S_ISLNK(status.st_mode) else "file"
    return f"a {what} stands in the way"


def _set_mode(folder: int, name: bytes, mode: int) -> None:
    flags = os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags | os.O_RDONLY | os.O_NONBLOCK, dir_fd=folder)
    except PermissionError:
        if not _OPEN_PATH:
            raise
        descriptor = os.open(name, flags | _OPEN_PATH, dir_fd=folder)
    try:
        kind = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
            raise WorkTreeError("neither a file nor a folder")
        _change_mode(descriptor, mode)
    finally:
        os.close(descriptor)


def _change_mode(descriptor: int, mode: int) -> None:
    try:
        os.fchmod(descriptor, mode)
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        # Opened as a place only, because it may not be read.
        Path(f"/proc/self/fd/{descriptor}").chmod(mode)


@contextmanager
def _writable(folder: int) -> Iterator[bool]:
    """Open a read-only *folder* for its owner as long as the context lasts; say whether it is."""
    status = os.fstat(folder)
    mode = stat.S_IMODE(status.st_mode)
    if status.st_uid != os.geteuid() or mode & _OWNER_ALL == _OWNER_ALL:
        yield False
        return
    _change_mode(folder, mode | _OWNER_ALL)
    try:
        yield True
    finally:
        try:
            _change_mode(folder, mode)
        except OSError as error:
            raise WorkTreeError(f"its folder stays open to change: {in_words(error)}") from error
