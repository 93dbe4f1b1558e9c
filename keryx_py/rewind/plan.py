"""Work out what a rewind would do. Nothing here reads or writes a disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from keryx_py.rewind.points import RewindPoint
from keryx_py.session.archive import Mode
from keryx_py.snapshot.listing import FileState, Kind, Skipped
from keryx_py.snapshot.store import SnapshotKey


class AuthorKind(Enum):
    """Who changed a path."""

    TURN = "turn"
    PERSON = "person"
    SESSION = "session"
    """A turn or a rewind of another session of the project."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Author:
    """One who changed a path since the point."""

    kind: AuthorKind
    turn: int | None = None
    """The turn's number, in its own session; None for who is no turn, such as a rewind of a
    SESSION."""
    session: str = ""
    """The id of the other session; empty unless a SESSION."""


@dataclass(frozen=True, slots=True)
class PathChange:
    """One path that a restore would change."""

    path: bytes
    now: FileState | None
    """None when nothing is there now."""
    then: FileState | None
    """What the restore puts there; None when it removes."""
    by: tuple[Author, ...] = ()
    """Who changed it since, in order of time; the last one's content is what would go."""
    being_written: bool = False
    """Whether its content moved between two previews, so that it alone makes no plan stale."""


class Way(Enum):
    """How much of the difference a rewind takes back."""

    PLAIN = "plain"
    """All of it."""
    KEEP = "keep"
    """What the person changed stays."""
    ONLY = "only"
    """One turn's changes alone; what came later stays."""
    PICKED = "picked"
    """The hunks that the person picked."""


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """The files half of a rewind."""

    target: SnapshotKey | None
    """None when the files before the point are those of now."""
    changes: tuple[PathChange, ...]
    """In path order, folders among them."""
    staying: tuple[Skipped, ...]
    """What a full restore would change and this one leaves, each with the reason: ignored,
    skipped, a repository's own folder, or what such a path stands in the way of."""
    not_covered: tuple[Skipped, ...]
    """What is skipped or ignored now or then among the paths that the span's turns wrote."""
    files_now: int
    """How many files the work tree holds now."""
    made: Mapping[bytes, bytes] = field(default_factory=dict)
    """The contents that were made for this plan and are held nowhere yet, by their blob ids."""
    merged: tuple[bytes, ...] = ()
    """The paths among *changes* whose new state joins both sides, in path order."""
    kept: tuple[bytes, ...] = ()
    """The paths that stay because the person, or what came later, changed them; in path order."""
    kept_for_others: frozenset[bytes] = frozenset()
    """Those of *kept* that, beside turns, other sessions alone changed."""
    conflicts: tuple[Skipped, ...] = ()
    """The paths that both sides changed and no merge could join, each with why: they stay, or come
    back as they were left."""


@dataclass(frozen=True, slots=True)
class HistoryCut:
    """The history half of a rewind."""

    to: int
    turns: tuple[int, ...]
    """The numbers of the live turns that go, ascending."""
    messages: int
    prompt: str
    """The prompt that goes back on the input line."""


@dataclass(frozen=True, slots=True)
class NotUndone:
    """Something in the span that no rewind takes back."""

    turn: int
    what: str
    """Such as "ran: npm install (exit 0)", "delegated: …", "wrote outside the project"."""


@dataclass(frozen=True, slots=True)
class RewindPlan:
    """The exact changes of one rewind, as a value: what is shown and what is carried out."""

    id: str
    """A digest of all that the plan rests on; equal plans have equal ids."""
    point: RewindPoint
    mode: Mode
    paths: tuple[bytes, ...]
    """The paths asked for; empty for all."""
    files: RestorePlan | None
    history: HistoryCut | None
    not_undone: tuple[NotUndone, ...]
    position: int
    """How many entries the archive had."""
    redoes: int | None = None
    """For a redo, the position of the RewindEntry that it takes back."""
    returning: tuple[int, ...] = ()
    """For a redo, the numbers of the turns that count again."""
    way: Way = Way.PLAIN

    @property
    def empty(self) -> bool:
        """Whether carrying it out would change nothing."""
        return (
            not (self.files and self.files.changes)
            and self.history is None
            and (self.redoes is None)
        )


class ChangeKind(Enum):
    """How a restore changes a path, as the preview says it."""

    MODIFIED = "modified"
    BROUGHT_BACK = "brought back"
    REMOVED = "removed"


def counted(changes: Iterable[PathChange]) -> int:
    """Count the files and links among *changes*: the number that is shown everywhere."""
    return sum(1 for change in changes if _is_content(change.now) or _is_content(change.then))


def _is_content(state: FileState | None) -> bool:
    return state is not None and state.kind is not Kind.FOLDER


def kind_of(change: PathChange) -> ChangeKind:
    """Say how *change* is shown."""
    if change.then is None:
        return ChangeKind.REMOVED
    return ChangeKind.BROUGHT_BACK if change.now is None else ChangeKind.MODIFIED
