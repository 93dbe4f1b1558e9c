"""A tree of files as plain values. Nothing here reads or writes a disk."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias


class Kind(Enum):
    """What can stand at a path and be kept."""

    FILE = "file"
    LINK = "link"
    FOLDER = "folder"


@dataclass(frozen=True, slots=True)
class FileState:
    """What stands at one path: enough to tell two states apart, and to bring one back."""

    kind: Kind
    mode: int
    """Permission bits, 0 to 0o7777; 0 for a link."""
    oid: bytes
    """The 20 bytes of the git blob id of the content or the link's target; empty for a folder."""


Listing: TypeAlias = Mapping[bytes, FileState]
"""Every file, link and folder held, by its path relative to the root, with `/` between names.

The root itself is not in it; every other folder that was walked is, empty or not.
"""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path that is there and is not held, and why."""

    path: bytes
    reason: str
    """A few words, such as "larger than 5 MB", "unreadable", "a pipe", "being written"."""


@dataclass(frozen=True, slots=True)
class TreeState:
    """The work tree at one moment, and what of it is not held."""

    listing: Listing
    ignored: frozenset[bytes] = frozenset()
    """Paths that ignore rules, `exclude` or the fixed exclusions left out; a wholly ignored
    folder stands once, without what is below it."""
    skipped: tuple[Skipped, ...] = ()
    rules: Mapping[bytes, bytes] = field(default_factory=dict)
    """The text of each `.gitignore` consulted, by its folder's path; b"" is the root."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """One path in two trees."""

    path: bytes
    before: FileState | None
    """None when nothing stood there."""
    after: FileState | None


class QuickListing(Mapping[bytes, FileState]):
    """A listing that answers some questions without going through all its paths."""

    @abstractmethod
    def changes_to(self, after: Listing) -> tuple[FileChange, ...] | None:
        """List what differs in *after*, in path order; None when there is no quicker way."""

    @abstractmethod
    def count_contents(self) -> int:
        """Count the files and links."""


def differences(before: Listing, after: Listing) -> tuple[FileChange, ...]:
    """List the paths whose states differ between *before* and *after*, in path order.

    Listings read from captures may have to read more for it: raises DamagedSnapshotError.
    """
    if before is after:
        return ()
    quick = before.changes_to(after) if isinstance(before, QuickListing) else None
    return compare_all(before, after) if quick is None else quick


def compare_all(before: Listing, after: Listing) -> tuple[FileChange, ...]:
    """List what differs as differences() does, path by path."""
    before, after = in_memory(before), in_memory(after)
    changed = [
        FileChange(path, state, after.get(path))
        for path, state in before.items()
        if after.get(path) != state
    ]
    changed += [
        FileChange(path, None, state) for path, state in after.items() if path not in before
    ]
    return tuple(sorted(changed, key=lambda change: change.path))


def in_memory(listing: Listing) -> Listing:
    """Read a *listing* whole, for those who look every path up. Raises DamagedSnapshotError."""
    return listing if isinstance(listing, dict) else dict(listing.items())


def count_contents(listing: Listing) -> int:
    """Count the files and links in *listing*."""
    if isinstance(listing, QuickListing):
        return listing.count_contents()
    return sum(1 for state in listing.values() if state.kind is not Kind.FOLDER)
