"""The entries of an archive: plain values, one a line. Nothing here touches a disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from keryx_py.messages import Item


class TurnEnd(Enum):
    """How a turn ended."""

    DONE = "done"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class SnapshotOutcome(Enum):
    """What came of taking a snapshot."""

    TAKEN = "taken"
    FAILED = "failed"
    OFF = "off"
    """Snapshots were switched off; the mutating call ran all the same."""
    UNATTENDED = "unattended"


class Mode(Enum):
    """What a rewind takes back."""

    FILES = "files"
    HISTORY = "history"
    BOTH = "both"

    @property
    def moves_files(self) -> bool:
        """Whether files are restored."""
        return self is not Mode.HISTORY

    @property
    def cuts_history(self) -> bool:
        """Whether the conversation is cut."""
        return self is not Mode.FILES


@dataclass(frozen=True, slots=True)
class TurnEntry:
    """A turn began: the person sent a prompt."""

    number: int
    at: float
    """Seconds since the epoch, here and in every entry."""
    prompt: str
    follows: int | None
    """The number of the live turn before this one; None for the first."""
    note: str = ""
    """What the model is told before the prompt, such as which files went back."""
    unattended: bool = False


@dataclass(frozen=True, slots=True)
class ItemEntry:
    """The model said something, or a call had its result, in a turn."""

    turn: int
    item: Item


@dataclass(frozen=True, slots=True)
class RunEntry:
    """A mutating call is about to run."""

    turn: int
    call_id: str
    tool: str
    risk: str
    """The value of tools.base.Risk."""
    title: str
    saved: bool
    """Whether the turn's snapshot, or a later one, holds the files from before this call."""
    delegated: bool = False
    """Whether a sub-agent makes the call."""
    writes: tuple[str, ...] = ()
    """The paths, relative to the root, that a file tool is to write: where links lead."""
    git: tuple[str, ...] = ()
    """git's subcommands in a command's text that move a HEAD or a remote, such as "commit"."""


@dataclass(frozen=True, slots=True)
class RanEntry:
    """A mutating call has run."""

    turn: int
    call_id: str
    ok: bool
    summary: str
    """A few words, such as "exit 1"."""
    outside: bool = False
    """Whether it is known to have changed something outside the project root."""


@dataclass(frozen=True, slots=True)
class SnapshotEntry:
    """The snapshot of a point was taken, or could not be."""

    number: int
    at: float
    outcome: SnapshotOutcome
    reason: str = ""
    """Why there is none; empty when it was taken."""


@dataclass(frozen=True, slots=True)
class CaptureEntry:
    """The end capture of a point was taken, or could not be."""

    number: int
    at: float
    taken: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TurnEndEntry:
    """A turn ended."""

    number: int
    at: float
    how: TurnEnd
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CompactionEntry:
    """A summary stands in for turns."""

    at: float
    covers: tuple[int, ...]
    """The numbers of the turns whose messages it stands for, ascending."""
    summary: str
    focus: str = ""


@dataclass(frozen=True, slots=True)
class CheckpointEntry:
    """The person took a snapshot by hand."""

    number: int
    at: float
    name: str = ""
    """Empty for a checkpoint without a name; a named one is pinned."""
    note: str = ""
    """What the person wrote about it."""


@dataclass(frozen=True, slots=True)
class UnpinnedEntry:
    """A checkpoint's name was taken away: from here on its snapshot may be pruned."""

    number: int
    at: float


@dataclass(frozen=True, slots=True)
class UndoPointEntry:
    """A restore is about to change files; its undo point has this number."""

    number: int
    at: float


@dataclass(frozen=True, slots=True)
class RewindEntry:
    """A rewind was carried out."""

    at: float
    to: int
    """The number of the point."""
    mode: Mode
    undo: int | None
    """The undo point's number; None when no file was changed."""
    paths: tuple[str, ...] = ()
    """The paths that it changed, as text that os.fsencode turns back into bytes."""
    cut: bool = False
    """Whether the live turns numbered *to* and above went."""


@dataclass(frozen=True, slots=True)
class RedoEntry:
    """The latest rewind that still stood was taken back."""

    at: float
    rewind: int
    """The position in the archive of the RewindEntry that was taken back."""
    undo: int | None
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PrunedEntry:
    """Snapshots went, to keep the number or the size within its limit."""

    at: float
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RootEntry:
    """The project's root is another folder from here on."""

    at: float
    root: str
    """The path as text that os.fsencode turns back into bytes."""
    device: int
    inode: int


@dataclass(frozen=True, slots=True)
class ErasedEntry:
    """The archive was written anew without rewound turns; what came before cannot be redone."""

    at: float
    numbers: tuple[int, ...]
    """The turns that are gone for good, and the undo points that held their files, ascending."""
    highest: int
    """The highest number in use then, so that none is given out twice."""


@dataclass(frozen=True, slots=True)
class DamagedEntry:
    """A line of the archive that could not be read; made on reading, never written."""

    reason: str


Entry: TypeAlias = (
    TurnEntry
    | ItemEntry
    | RunEntry
    | RanEntry
    | SnapshotEntry
    | CaptureEntry
    | TurnEndEntry
    | CompactionEntry
    | CheckpointEntry
    | UnpinnedEntry
    | UndoPointEntry
    | RewindEntry
    | RedoEntry
    | PrunedEntry
    | RootEntry
    | ErasedEntry
    | DamagedEntry
)
"""One line of an archive. An entry's position is its index in the sequence of them all."""

Entries: TypeAlias = Sequence[Entry]
