"""Where sessions are kept: create, open, list, fork, delete, erase.

A session appears and goes in one rename, so that whoever is killed leaves none that is half
there; what is left aside is cleared at the next start.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from keryx_py.session.archive import shown_path
from keryx_py.session.copying import copy_session
from keryx_py.session.erasure import plan_erasure
from keryx_py.session.errors import (
    HeldError,
    LeaseLostError,
    NoSuchSessionError,
    SessionError,
)
from keryx_py.session.folders import check_own, close_to_others, make_private, remove_tree
from keryx_py.session.journal import (
    FILE_NAME,
    Journal,
    flush_folder,
    write_archive,
    write_lines,
)
from keryx_py.session.lease import FILE_NAME as LEASE_NAME
from keryx_py.session.lease import NOTE_NAME, Lease, is_held
from keryx_py.session.lines import Header, header_line, read_header
from keryx_py.session.opened import Session, clear_aside, undecided
from keryx_py.session.overview import SessionInfo, describe, glance

__all__ = [
    "HeldError",
    "LeaseLostError",
    "NoSuchSessionError",
    "Session",
    "SessionError",
    "SessionInfo",
    "Sessions",
]

_ASIDE = ".new-"
_DELETED = ".deleted-"
_ID_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
_ATTEMPTS = 5


class Sessions:
    """All the sessions in one data folder."""

    def __init__(self, data_dir: Path, *, now: Callable[[], float]) -> None:
        """Nothing is made on disk before the first session is."""
        self._data_dir = data_dir
        self._home = data_dir / "sessions"
        self._now = now
        self._cleared = False

    def create(self, root: Path, *, unattended: bool = False) -> Session:
        """Make a new session for *root* and hold it."""
        root = root.absolute()
        try:
            found = root.stat()
        except OSError as error:
            raise SessionError(
                f"{shown_path(str(root))} cannot be the root: {error.strerror or error}"
            ) from error

        def fill(folder: Path, session_id: str) -> None:
            header = Header(
                session_id, str(root), found.st_dev, found.st_ino, self._now(), unattended
            )
            write_archive(folder / FILE_NAME, header, ())

        return self._made(fill)

    def open(self, id_or_prefix: str, *, new_root: Path | None = None) -> Session:
        """Hold a session and read its archive.

        Raises NoSuchSessionError, HeldError, SessionError.
        """
        folder = self._folder(id_or_prefix)
        self._clear_leftovers()
        lease = self._take(folder)
        try:
            if _discarded(folder):
                raise NoSuchSessionError(f"session {folder.name} was deleted just now")
            clear_aside(folder)
            return self._opened(folder, lease, new_root)
        except BaseException as error:
            lease.release()
            if isinstance(error, OSError):
                raise SessionError(
                    f"session {folder.name} cannot be opened: {error.strerror or error}"
                ) from error
            raise

    def latest(self, root: Path) -> SessionInfo | None:
        """The session of *root* used last, unattended ones left out; None when there is none.

        One in which nothing was ever said comes after all others.
        """
        wanted = os.path.realpath(root)
        unused: SessionInfo | None = None
        for folder in sorted(self.folders(), key=_used_at, reverse=True):
            seen = glance(folder)
            if seen.damage or seen.unattended or not _is_same(seen.root, wanted):
                continue
            if not seen.empty:
                return describe(folder, seen)
            unused = unused or describe(folder, seen)
        return unused

    def list(self, root: Path | None = None) -> tuple[SessionInfo, ...]:
        """All sessions, or those of *root*, the one used last first."""
        wanted = None if root is None else os.path.realpath(root)
        seen = [(folder, glance(folder)) for folder in self.folders()]
        infos = [
            describe(folder, look)
            for folder, look in seen
            if wanted is None or _is_same(look.root, wanted)
        ]
        return tuple(sorted(infos, key=lambda info: (info.used_at, info.id), reverse=True))

    @contextmanager
    def claimed(self, folder: Path) -> Iterator[None]:
        """Hold the session in *folder* without reading it. Raises HeldError, SessionError."""
        lease = self._take(folder)
        try:
            if _discarded(folder):
                raise NoSuchSessionError(f"session {folder.name} was deleted just now")
            yield
        finally:
            lease.release()

    def find(self, id_or_prefix: str) -> SessionInfo:
        """Raises NoSuchSessionError."""
        folder = self._folder(id_or_prefix)
        return describe(folder, glance(folder))

    def fork(self, id_or_prefix: str) -> Session:
        """Copy a session, its shadow repository by hard links, and hold the copy.

        The original may be held by another process or by this one.
        """
        source = self._folder(id_or_prefix)

        def fill(folder: Path, session_id: str) -> None:
            first, _, rest = copy_session(source, folder).partition(b"\n")
            header = read_header(first)
            if header is None:
                raise SessionError(
                    f"session {source.name} cannot be forked: its archive's first line is damaged"
                )
            copy = Header(
                session_id,
                header.root,
                header.device,
                header.inode,
                self._now(),
                forked_from=source.name,
            )
            write_lines(folder / FILE_NAME, (header_line(copy), rest))

        return self._made(fill)

    def delete(self, id_or_prefix: str) -> None:
        """Delete a session's folder. Raises HeldError."""
        folder = self._folder(id_or_prefix)
        lease = self._take(folder)
        try:
            # Out of sight first: a delete that is killed leaves no half session.
            aside = self._home / f"{_DELETED}{folder.name}-{_random_letters()}"
            folder.rename(aside)
            lease.moved(aside)
            flush_folder(self._home)
            remove_tree(aside)
        except OSError as error:
            raise SessionError(
                f"session {folder.name} could not be removed whole: {error}; "
                "what is left of it is cleared at the next start"
            ) from error
        finally:
            lease.release()

    def erase(self, id_or_prefix: str) -> tuple[int, ...]:
        """Rewrite the archive without rewound turns; return their numbers.

        Their snapshots may go. Raises HeldError, and SessionError when lost lines leave open
        which turns are rewound.
        """
        with self.open(id_or_prefix) as session:
            if undecided(session.entries):
                raise SessionError(
                    f"lines are lost in the archive of session {session.id}, so it is not known "
                    "which turns are rewound; delete the whole session instead"
                )
            plan = plan_erasure(session.entries, self._now())
            if plan.numbers:
                session.replace_archive(plan.entries)
            return plan.numbers

    def _made(self, fill: Callable[[Path, str], None]) -> Session:
        """Make a session that *fill* writes, and hold it."""
        make_private(self._data_dir)
        make_private(self._home)
        close_to_others(self._home)
        self._clear_leftovers()
        for _ in range(_ATTEMPTS):
            session_id = self._new_id()
            aside, folder = self._home / f"{_ASIDE}{session_id}", self._home / session_id
            if folder.exists() or aside.exists():
                continue
            try:
                return self._made_aside(aside, folder, fill)
            except (HeldError, LeaseLostError):
                # Another start took the new folder for a leftover.
                continue
        raise SessionError(f"no new session can be made in {shown_path(str(self._home))}")

    def _made_aside(self, aside: Path, folder: Path, fill: Callable[[Path, str], None]) -> Session:
        make_private(aside)
        lease: Lease | None = None
        try:
            lease = Lease.take(aside, self._now())
            # The lock's library makes the folder anew when another start cleared it just now.
            close_to_others(aside)
            fill(aside, folder.name)
            flush_folder(aside)
            lease.check()
            aside.rename(folder)
            lease.moved(folder)
            flush_folder(self._home)
            return self._opened(folder, lease, None)
        except BaseException as error:
            taken_away = not aside.exists() and not folder.exists()
            with suppress(OSError):
                remove_tree(aside)
            if lease:
                lease.release()
            if taken_away and isinstance(error, OSError | SessionError):
                raise LeaseLostError(f"{shown_path(str(aside))} was removed") from error
            if isinstance(error, OSError):
                raise SessionError(
                    f"no new session can be made in {shown_path(str(self._home))}: "
                    f"{error.strerror or error}; make room there"
                ) from error
            raise

    def _opened(self, folder: Path, lease: Lease, new_root: Path | None) -> Session:
        journal = Journal.open(folder / FILE_NAME)
        try:
            session = Session(folder, lease, journal, self._now)
            if new_root is None:
                session.find_root()
            else:
                session.set_root(new_root)
        except BaseException:
            journal.close()
            raise
        return session

    def _take(self, folder: Path) -> Lease:
        check_own(self._home)
        check_own(folder)
        return Lease.take(folder, self._now())

    def _new_id(self) -> str:
        moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime(self._now()))
        return f"{moment}-{_random_letters()}"

    def folders(self) -> Iterator[Path]:
        """Name the sessions' folders, in no order; links and the like are left out.

        Raises SessionError.
        """
        if not os.path.lexists(self._home):
            return
        check_own(self._home)
        try:
            with os.scandir(self._home) as items:
                found = [item for item in items if item.is_dir(follow_symlinks=False)]
        except OSError as error:
            raise SessionError(
                f"{shown_path(str(self._home))} cannot be read: {error.strerror or error}"
            ) from error
        yield from (Path(item.path) for item in found if not item.name.startswith("."))

    def _folder(self, id_or_prefix: str) -> Path:
        names = sorted(folder.name for folder in self.folders())
        found = [name for name in names if id_or_prefix and name.startswith(id_or_prefix)]
        if len(found) == 1:
            return self._home / found[0]
        wanted = shown_path(id_or_prefix)
        if not found:
            raise NoSuchSessionError(
                f"no session has the id {wanted!r}; `keryx sessions list` names them all"
            )
        raise NoSuchSessionError(
            f"{len(found)} sessions begin with {wanted!r}: {', '.join(found[:5])}"
            f"{', …' if len(found) > 5 else ''}; give more of the id"
        )

    def _clear_leftovers(self) -> None:
        """Remove what dead processes left aside; once is enough."""
        if self._cleared:
            return
        self._cleared = True
        for item in sorted(self._home.glob(".*")):
            left = item.name.startswith((_ASIDE, _DELETED)) and not item.is_symlink()
            if left and item.is_dir() and not is_held(item):
                # What is refused here is cleared at a later start.
                with suppress(OSError, SessionError):
                    self._clear_leftover(item)

    def _clear_leftover(self, folder: Path) -> None:
        # Held while it goes: it may be one that another start is just making.
        lease = Lease.take(folder, self._now())
        try:
            remove_tree(folder)
        finally:
            lease.release()


def _discarded(folder: Path) -> bool:
    """Remove a folder that holds a lease alone: taking it made a deleted session's folder anew."""
    if {path.name for path in folder.iterdir()} - {LEASE_NAME, NOTE_NAME}:
        return False
    with suppress(OSError):
        remove_tree(folder)
    return True


def _used_at(folder: Path) -> tuple[int, str]:
    try:
        return (folder / FILE_NAME).stat().st_mtime_ns, folder.name
    except OSError:
        return 0, folder.name


def _is_same(root: Path | None, wanted: str) -> bool:
    return root is not None and os.path.realpath(root) == wanted


def _random_letters() -> str:
    return "".join(secrets.choice(_ID_LETTERS) for _ in range(4))
