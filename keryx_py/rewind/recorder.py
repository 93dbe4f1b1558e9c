"""The entries and captures that one turn leaves: begun, saved before the first change, ended."""

from __future__ import annotations

from collections.abc import Callable

from keryx_py.rewind.retention import Keeping, Taken, prune_snapshots, take_with_room
from keryx_py.session.archive import (
    CaptureEntry,
    CheckpointEntry,
    RunEntry,
    SnapshotEntry,
    SnapshotOutcome,
    TurnEnd,
    TurnEndEntry,
    TurnEntry,
    UnpinnedEntry,
    live_turns,
    next_number,
    pending_note,
)
from keryx_py.session.sessions import Session
from keryx_py.snapshot.store import (
    Progress,
    Side,
    SnapshotError,
    SnapshotKey,
    SnapshotStore,
)

STOPPED = "stopped with Ctrl-C"


class TurnRecorder:
    """Records turns and checkpoints in one session, with their snapshots."""

    def __init__(
        self,
        session: Session,
        store: SnapshotStore | None,
        *,
        without: SnapshotOutcome = SnapshotOutcome.OFF,
        reason: str = "",
        keep: int = 50,
        now: Callable[[], float],
    ) -> None:
        """*without* and *reason* say why there is no snapshot where *store* is None."""
        self._session = session
        self._keeping = None if store is None else Keeping(session, store, keep, now)
        self._outcome = without
        self._reason = reason
        self._now = now
        self._notices: list[str] = []

    def notices(self) -> tuple[str, ...]:
        """Hand over what the person should know, such as what was pruned; each is given once."""
        given, self._notices = tuple(self._notices), []
        return given

    def begin(self, prompt: str, note: str | None = None, *, unattended: bool = False) -> int:
        """Record that a turn began; return its number.

        *note* is what the model is told before the prompt; None for what rewinds left unsaid.
        Raises SessionError.
        """
        entries = self._session.entries
        live = live_turns(entries)
        entry = TurnEntry(
            number=next_number(entries),
            at=self._now(),
            prompt=prompt,
            follows=live[-1] if live else None,
            note=pending_note(entries) if note is None else note,
            unattended=unattended,
        )
        self._session.append(entry)
        return entry.number

    def without(self, number: int) -> None:
        """Record once that the turn *number* changes files without a snapshot."""
        if not any(entry.outcome is self._outcome for entry in self._outcomes(number)):
            entry = SnapshotEntry(number, self._now(), self._outcome, self._reason)
            self._session.append(entry)

    def snapshot(self, number: int, progress: Progress | None = None) -> str | None:
        """Save the files before the turn's first change; None when they are saved, else why not.

        Raises SessionError.
        """
        if any(entry.outcome is SnapshotOutcome.TAKEN for entry in self._outcomes(number)):
            return None
        self._session.check_lease()
        if self._keeping is None:
            self.without(number)
            return self._reason or self._outcome.value
        return self._take(self._keeping, number, progress)

    def end(
        self,
        number: int,
        how: TurnEnd,
        reason: str = "",
        progress: Progress | None = None,
    ) -> None:
        """Capture the files as the turn leaves them, and record its end. Raises SessionError."""
        self._session.check_lease()
        if self._keeping is not None and self._may_have_changed(number):
            self._session.append(self._capture_end(self._keeping, number, progress))
        self._session.append(TurnEndEntry(number, self._now(), how, reason))

    def checkpoint(self, name: str, progress: Progress | None = None, note: str = "") -> int:
        """Take a snapshot by hand; return its number. Raises SnapshotError, SessionError."""
        if self._keeping is None:
            raise SnapshotError(f"no snapshot can be taken: {self._reason or self._outcome.value}")
        number = next_number(self._session.entries)
        self._session.append(CheckpointEntry(number, self._now(), name, note))
        failure = self._take(self._keeping, number, progress)
        if failure is not None:
            if name:
                # The name is free for the next try.
                self._session.append(UnpinnedEntry(number, self._now()))
            raise SnapshotError(f"the checkpoint could not be saved: {failure}")
        return number

    def unpin(self, number: int) -> None:
        """Take a checkpoint's name away; its snapshot is counted and pruned like any other.

        Raises SessionError.
        """
        self._session.check_lease()
        self._session.append(UnpinnedEntry(number, self._now()))
        if self._keeping is not None:
            prune_snapshots(self._keeping)

    def _take(self, keeping: Keeping, number: int, progress: Progress | None) -> str | None:
        try:
            taken = take_with_room(keeping, SnapshotKey(number), (), progress=progress)
        except SnapshotError as error:
            return self._failed(number, str(error))
        except KeyboardInterrupt:
            return self._failed(number, STOPPED)
        self._session.append(SnapshotEntry(number, self._now(), SnapshotOutcome.TAKEN))
        self._note(taken)
        prune_snapshots(keeping, (number,))
        return None

    def _failed(self, number: int, reason: str) -> str:
        self._session.append(SnapshotEntry(number, self._now(), SnapshotOutcome.FAILED, reason))
        return reason

    def _capture_end(
        self, keeping: Keeping, number: int, progress: Progress | None
    ) -> CaptureEntry:
        try:
            taken = take_with_room(keeping, SnapshotKey(number, Side.END), (), progress=progress)
        except SnapshotError as error:
            return self._no_end(number, str(error))
        except KeyboardInterrupt:
            return self._no_end(number, STOPPED)
        self._note(taken)
        return CaptureEntry(number, self._now(), taken=True)

    def _no_end(self, number: int, reason: str) -> CaptureEntry:
        self._notices.append(
            f"the files as this turn left them were not saved ({reason}); "
            "what it changed counts as yours from here on"
        )
        return CaptureEntry(number, self._now(), taken=False, reason=reason)

    def _note(self, taken: Taken) -> None:
        if taken.pruned:
            self._notices.append(_made_room(taken.pruned))

    def _may_have_changed(self, number: int) -> bool:
        taken = any(entry.outcome is SnapshotOutcome.TAKEN for entry in self._outcomes(number))
        return taken or any(
            isinstance(entry, RunEntry) and entry.turn == number for entry in self._session.entries
        )

    def _outcomes(self, number: int) -> tuple[SnapshotEntry, ...]:
        return tuple(
            entry
            for entry in self._session.entries
            if isinstance(entry, SnapshotEntry) and entry.number == number
        )


def _made_room(pruned: tuple[int, ...]) -> str:
    numbers = ", ".join(str(number) for number in pruned)
    points = "point" if len(pruned) == 1 else "points"
    return f"the size limit is reached: the oldest snapshots went, of {points} {numbers}"
