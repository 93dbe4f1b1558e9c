"""What an archive's entries come to: which turns still count. Nothing here touches a disk.

The live turns are a chain: each turn names the one it follows, so the walk never revives
what a lost rewind had cut, and knows where a lost line leaves the answer open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from keryx_py.session.entries import (
    CaptureEntry,
    CheckpointEntry,
    CompactionEntry,
    DamagedEntry,
    Entries,
    Entry,
    ErasedEntry,
    ItemEntry,
    Mode,
    PrunedEntry,
    RanEntry,
    RedoEntry,
    RewindEntry,
    RootEntry,
    RunEntry,
    SnapshotEntry,
    SnapshotOutcome,
    TurnEnd,
    TurnEndEntry,
    TurnEntry,
    UndoPointEntry,
    UnpinnedEntry,
)

__all__ = [
    "CaptureEntry",
    "CheckpointEntry",
    "CompactionEntry",
    "DamagedEntry",
    "Entries",
    "Entry",
    "ErasedEntry",
    "ItemEntry",
    "Liveness",
    "Mode",
    "PrunedEntry",
    "RanEntry",
    "RedoEntry",
    "RewindEntry",
    "RootEntry",
    "RunEntry",
    "SnapshotEntry",
    "SnapshotOutcome",
    "TurnEnd",
    "TurnEndEntry",
    "TurnEntry",
    "UndoPointEntry",
    "UnpinnedEntry",
    "live_turns",
    "liveness",
    "next_number",
    "numbers_of",
    "pending_note",
    "shown_path",
    "standing_rewinds",
    "turn_entries",
    "visible",
]

_PATHS_NAMED = 50
_PATH_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Liveness:
    """Which turns count, and where lost lines leave that open."""

    turns: tuple[int, ...]
    """The numbers of the live turns, ascending."""
    gaps: tuple[int, ...] = ()
    """The live turns before which lines are lost, so that what stands there is a guess."""
    unsure: bool = False
    """Whether a line is lost after the last turn, which may have been a rewind."""

    def can_cut(self, to: int) -> bool:
        """Whether it is known what cutting the turns numbered *to* and above leaves."""
        return not self.unsure and all(gap < to for gap in self.gaps)


@dataclass(slots=True)
class _Walk:
    """The live turns so far, as a chain from the last one backwards."""

    head: int | None = None
    unsure: bool = False
    gaps: set[int] = field(default_factory=set)
    _follows: dict[int, int | None] = field(default_factory=dict)
    _heads_before: dict[int, int | None] = field(default_factory=dict)
    """The head before each rewind or lost line since the last turn, by position."""

    def live(self) -> tuple[int, ...]:
        """List the live turns, ascending."""
        return tuple(reversed(list(self._chain())))

    def step(self, position: int, entry: Entry) -> None:
        """Take *entry*, which stands at *position*, into account."""
        match entry:
            case TurnEntry(number=number, follows=follows):
                self._begin(number, follows)
            case RewindEntry(to=to, cut=True):
                self._heads_before[position] = self.head
                self.head = self._last_below(to)
            case RedoEntry(rewind=rewind):
                self.head = self._heads_before.pop(rewind, self.head)
            case DamagedEntry():
                self._heads_before[position] = self.head
                self.unsure = True
            case ItemEntry(turn=turn) | RunEntry(turn=turn) | RanEntry(turn=turn):
                self._go_on(turn)
            case TurnEndEntry(number=number):
                self._go_on(number)
            case _:
                pass

    def _begin(self, number: int, follows: int | None) -> None:
        known = follows is None or (follows < number and follows in self._follows)
        self.gaps.discard(number)
        if not known:
            # The turn it follows is lost, and with it what that one followed.
            self.gaps.add(number)
            follows = self._last_below(number if follows is None else min(follows, number))
        self._follows[number] = follows
        self.head = number
        self.unsure = False
        # No rewind from before a turn can be taken back.
        self._heads_before.clear()

    def _go_on(self, turn: int) -> None:
        # A turn that goes on after a lost line shows that the line was no rewind.
        if turn == self.head:
            self.unsure = False

    def _last_below(self, limit: int) -> int | None:
        return next((turn for turn in self._chain() if turn < limit), None)

    def _chain(self) -> Iterator[int]:
        turn = self.head
        while turn is not None:
            yield turn
            turn = self._follows[turn]


def liveness(entries: Entries) -> Liveness:
    """Work out which turns later rewinds left in, and where lost lines leave that open."""
    walk = _Walk()
    for position, entry in enumerate(entries):
        walk.step(position, entry)
    turns = walk.live()
    return Liveness(turns, tuple(turn for turn in turns if turn in walk.gaps), walk.unsure)


def live_turns(entries: Entries) -> tuple[int, ...]:
    """List the numbers of the turns that later rewinds left in, ascending."""
    return liveness(entries).turns


def turn_entries(entries: Entries) -> Mapping[int, TurnEntry]:
    """Give each turn's entry by its number, rewound turns included."""
    return {entry.number: entry for entry in entries if isinstance(entry, TurnEntry)}


def numbers_of(entry: Entry) -> Iterator[int]:
    """Name every number of a turn or point that *entry* mentions."""
    match entry:
        case TurnEntry(number=number, follows=follows):
            yield number
            yield from _present(follows)
        case ItemEntry(turn=turn) | RunEntry(turn=turn) | RanEntry(turn=turn):
            yield turn
        case (
            SnapshotEntry(number=number)
            | CaptureEntry(number=number)
            | TurnEndEntry(number=number)
            | CheckpointEntry(number=number)
            | UnpinnedEntry(number=number)
            | UndoPointEntry(number=number)
        ):
            yield number
        case CompactionEntry(covers=numbers) | PrunedEntry(numbers=numbers):
            yield from numbers
        case RewindEntry(to=to, undo=undo):
            yield to
            yield from _present(undo)
        case RedoEntry(undo=undo):
            yield from _present(undo)
        case ErasedEntry(highest=highest):
            yield highest
        case RootEntry() | DamagedEntry():
            pass


def next_number(entries: Entries) -> int:
    """Work out the next number to give out; one that a lost line may have used is left out."""
    highest = 0
    lost_since = 0
    for entry in entries:
        mentioned = max(numbers_of(entry), default=0)
        if mentioned > highest:
            highest, lost_since = mentioned, 0
        elif isinstance(entry, DamagedEntry):
            lost_since += 1
    return highest + lost_since + 1


def standing_rewinds(entries: Entries) -> tuple[int, ...]:
    """List the positions of the rewinds that `/redo` can take back, the latest last."""
    standing: list[int] = []
    for position, entry in enumerate(entries):
        match entry:
            case TurnEntry() | ErasedEntry():
                standing.clear()
            case RewindEntry():
                standing.append(position)
            case RedoEntry(rewind=rewind) if rewind in standing:
                standing.remove(rewind)
            case _:
                pass
    return tuple(standing)


def taken_back_by(entries: Entries, redo: RedoEntry) -> RewindEntry | None:
    """Find the rewind that *redo* took back; None when its line is lost or was moved."""
    rewind = entries[redo.rewind] if 0 <= redo.rewind < len(entries) else None
    return rewind if isinstance(rewind, RewindEntry) else None


def pending_note(entries: Entries) -> str:
    """Write what the next prompt's message begins with: which paths went back unsaid.

    Empty when the model knows of every file that went back.
    """
    paths = sorted({path for rewind in _untold(entries) for path in rewind.paths})
    if not paths:
        return ""
    named = ", ".join(shown_path(path) for path in paths[:_PATHS_NAMED])
    more = f" and {len(paths) - _PATHS_NAMED} more" if len(paths) > _PATHS_NAMED else ""
    return (
        "[The person has taken files back to an earlier state. These paths changed on the disk: "
        f"{named}{more}. What they hold now counts, not what was said of them before.]"
    )


def _untold(entries: Entries) -> tuple[RewindEntry, ...]:
    """List the rewinds that moved files and that no live turn's note tells of."""
    walk = _Walk()
    untold: tuple[RewindEntry, ...] = ()
    told: dict[int, tuple[RewindEntry, ...]] = {}
    before: dict[int, tuple[RewindEntry, ...]] = {}
    for position, entry in enumerate(entries):
        match entry:
            case TurnEntry(number=number):
                told[number], untold = untold, ()
                before.clear()
            case RewindEntry(to=to, cut=cut):
                before[position] = untold
                gone = tuple(turn for turn in walk.live() if turn >= to) if cut else ()
                untold = _untold_after(entry, untold, [told[turn] for turn in gone])
            case RedoEntry(rewind=rewind):
                untold = before.pop(rewind, untold)
            case _:
                pass
        walk.step(position, entry)
    return untold


def _untold_after(
    rewind: RewindEntry,
    untold: tuple[RewindEntry, ...],
    notes_gone: list[tuple[RewindEntry, ...]],
) -> tuple[RewindEntry, ...]:
    if not rewind.cut:
        # Also a `both` whose history stayed because a file failed.
        return (*untold, rewind) if rewind.mode.moves_files else untold
    if rewind.mode is Mode.BOTH:
        # Files and conversation agree again; what was told in the first turn that went is
        # from before it, and the model no longer knows of it.
        return notes_gone[0] if notes_gone else ()
    return (*(told for note in notes_gone for told in note), *untold)


def shown_path(path: str) -> str:
    """Write *path* on one line, control characters visible."""
    return visible(path[:_PATH_CHARACTERS]) + ("…" if len(path) > _PATH_CHARACTERS else "")


def visible(text: str) -> str:
    """Write *text* with its control characters as escapes."""
    return "".join(map(_visible_character, text))


def _visible_character(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        # A byte of a name that is not UTF-8, as os.fsdecode gives it.
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def _present(number: int | None) -> Iterable[int]:
    return () if number is None else (number,)
