"""One open session: its archive, its root, and the lease under which it is written."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from keryx_py.session.archive import Entry, RootEntry, liveness, shown_path
from keryx_py.session.errors import LeaseLostError, SessionError
from keryx_py.session.journal import (
    ASIDE_NAME,
    FILE_NAME,
    Journal,
    flush_folder,
    write_archive,
)
from keryx_py.session.lease import Lease
from keryx_py.session.lines import Header


class Session:
    """One open session, under this process's lease."""

    id: str
    folder: Path
    root: Path
    root_gone: bool
    """Whether no folder stands at the root: the history can be read, files cannot be restored."""
    unattended: bool
    """Whether `keryx run` made it."""
    notices: tuple[str, ...]
    """What opening found and mended, for the person: a torn line dropped, another inode, …"""

    def __init__(
        self, folder: Path, lease: Lease, journal: Journal, now: Callable[[], float]
    ) -> None:
        """Its root is not known before find_root or set_root."""
        self.id = folder.name
        self.folder = folder
        self.unattended = journal.header.unattended if journal.header else False
        self.notices = (*journal.notices, *undecided(journal.entries))
        self._lease = lease
        self._journal = journal
        self._now = now
        self.root = Path()
        self.root_gone = True

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Everything in the archive, in order."""
        return self._journal.entries

    def append(self, entry: Entry) -> int:
        """Write *entry* and flush it; return its position.

        Raises LeaseLostError, SessionError when the disk refuses; then nothing was appended.
        """
        self.check_lease()
        return self._journal.append(entry)

    def check_lease(self) -> None:
        """Raise LeaseLostError when this process is no longer the holder."""
        self._lease.check()

    def why_not_held(self) -> str:
        """Say in a few words that this process is no longer the holder; empty when it is."""
        try:
            self.check_lease()
        except LeaseLostError:
            return "this process no longer holds the session"
        return ""

    def set_root(self, root: Path) -> None:
        """Give a moved project's session its new root. Raises SessionError."""
        root = root.absolute()
        try:
            found = root.stat()
        except OSError as error:
            raise SessionError(
                f"{shown_path(str(root))} cannot be the root: {error.strerror or error}"
            ) from error
        if not root.is_dir():
            raise SessionError(f"{shown_path(str(root))} cannot be the root: it is no folder")
        self.append(RootEntry(self._now(), str(root), found.st_dev, found.st_ino))
        self.root, self.root_gone = root, False

    def find_root(self) -> None:
        """Go to the root that the archive names, and note when another folder stands there.

        Raises SessionError when no line names one.
        """
        known = _known_root(self._journal)
        if known is None:
            raise SessionError(
                f"the first line of session {self.id} is damaged, so its project root is not "
                f"known; open it with: keryx -r {self.id} --root DIR"
            )
        self.root = Path(known.root)
        self.root_gone = not self.root.is_dir()
        # Not the device: its number may change with each start of the machine.
        if not self.root_gone and self.root.stat().st_ino != known.inode:
            shown = shown_path(known.root)
            self.notices += (f"Another folder now stands at {shown} than when it was last used.",)
            # Said once; a full disk must not keep the session from being read.
            with suppress(SessionError):
                self.set_root(self.root)

    def replace_archive(self, entries: tuple[Entry, ...]) -> None:
        """Write the archive anew with *entries*; the session is closed afterwards.

        Raises LeaseLostError, SessionError; then the old archive stands.
        """
        known = _known_root(self._journal)
        header = self._journal.header or Header(
            self.id, str(self.root), 0, known.inode if known else 0, self._now()
        )
        aside = self.folder / ASIDE_NAME
        clear_aside(self.folder)
        try:
            write_archive(aside, header, entries)
            self.check_lease()
            aside.replace(self.folder / FILE_NAME)
            flush_folder(self.folder)
        except OSError as error:
            raise SessionError(
                f"the archive of session {self.id} stays as it was: {error.strerror or error}"
            ) from error
        finally:
            clear_aside(self.folder)
        self.close()

    def close(self) -> None:
        """Let the lease go."""
        self._journal.close()
        self._lease.release()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _known_root(journal: Journal) -> RootEntry | None:
    for entry in reversed(journal.entries):
        if isinstance(entry, RootEntry):
            return entry
    if header := journal.header:
        return RootEntry(header.created_at, header.root, header.device, header.inode)
    return None


def undecided(entries: tuple[Entry, ...]) -> tuple[str, ...]:
    """Say where lost lines leave open which turns count."""
    state = liveness(entries)
    if state.unsure:
        return (
            "A line is lost after the last turn; it may have been a rewind, so history cannot be "
            "rewound before the next turn.",
        )
    if state.gaps:
        return (
            f"A turn before turn {state.gaps[-1]} is lost; history cannot be rewound to before "
            f"turn {state.gaps[-1]}.",
        )
    return ()


def clear_aside(folder: Path) -> None:
    """Remove an archive that a killed erase left half written."""
    with suppress(OSError):
        (folder / ASIDE_NAME).unlink(missing_ok=True)
