"""`keryx sessions`: look at sessions, and let them go. Each function prints, and returns the exit
code; what is refused is raised as KeryxError."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from keryx_py.messages import JsonValue
from keryx_py.rewind.points import erased_numbers
from keryx_py.session.archive import TurnEntry
from keryx_py.session.copying import SHADOW_NAME
from keryx_py.session.sessions import HeldError, SessionError, SessionInfo, Sessions
from keryx_py.shell.asker import TerminalAsker
from keryx_py.shell.line import UsageError
from keryx_py.shell.render import counted, size_text
from keryx_py.shell.rewind_json import path_json
from keryx_py.shell.screen import Screen, Streams
from keryx_py.shell.session_view import session_text, sessions_text
from keryx_py.shell.visible import on_one_line
from keryx_py.snapshot.purging import purge_captures

SECONDS_A_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Which:
    """Which sessions are to be deleted: all that are named, and all that fit every choice made."""

    ids: tuple[str, ...] = ()
    older_than_days: float | None = None
    orphaned: bool = False
    """Only those whose root is gone."""
    root: Path | None = None
    """Only those of this project."""

    @property
    def chooses(self) -> bool:
        """Whether anything but ids is asked for."""
        return self.older_than_days is not None or self.orphaned or self.root is not None


@dataclass(slots=True)
class SessionsCli:
    """The subcommands on the sessions of one data folder."""

    sessions: Sessions
    data_dir: Path
    streams: Streams
    as_json: bool = False
    screen: Screen = field(init=False)

    def __post_init__(self) -> None:
        self.screen = Screen(self.streams.stdout, color=self.streams.color)

    def list_all(self, root: Path | None = None) -> int:
        """List all sessions, or those of *root*; as JSON an array."""
        found = self.sessions.list(root)
        if self.as_json:
            self._print_json([info_json(info) for info in found])
        elif found:
            self.screen.show(sessions_text(found))
        else:
            self.screen.say("no sessions yet")
        return 0

    def show(self, wanted: str) -> int:
        """Show one session; as JSON an object."""
        info = self.sessions.find(wanted)
        if self.as_json:
            self._print_json(info_json(info))
        else:
            self.screen.show(session_text(info))
        return 0

    def path(self, wanted: str) -> int:
        """Print the path of one session's folder, as it is."""
        self.screen.say(os.fspath(self.sessions.find(wanted).folder))
        return 0

    def delete(self, which: Which, *, yes: bool, now: float) -> int:
        """Delete sessions, their snapshots with them; asks first unless told *yes*."""
        found = self._chosen(which, now)
        if not found:
            self.screen.say("no session fits; nothing was deleted")
            return 0
        if not yes and not self._agrees(found):
            self.screen.say("nothing was deleted")
            return 1
        held = [info for info in found if not self._delete(info)]
        self.screen.say(f"deleted {counted(len(found) - len(held), 'session')}")
        return 1 if held else 0

    def erase(self, wanted: str) -> int:
        """Rewrite one session's archive without its rewound turns, and drop their snapshots."""
        # At first use: the other subcommands need nothing of the input line's library.
        from keryx_py.shell.history import forget_lines, history_file

        info = self.sessions.find(wanted)
        if self._is_cut_short(info):
            raise SessionError(_to_finish(info, "erased"))
        prompts = self._prompts(info)
        gone = self.sessions.erase(info.id)
        self._drop_snapshots(info)
        file = history_file(self.data_dir, info.root)
        try:
            forget_lines(file, {prompts[number] for number in gone if number in prompts})
        except OSError as error:
            raise SessionError(
                f"the turns are erased from session {info.id}, but their prompts stay in the "
                f"input line's history: {error.strerror or error}; delete {file}"
            ) from error
        self.screen.say(f"erased {counted(len(gone), 'rewound turn')} from session {info.id}")
        return 0

    # ---- what they do

    def _chosen(self, which: Which, now: float) -> tuple[SessionInfo, ...]:
        if not which.ids and not which.chooses:
            raise UsageError(
                "name the sessions to delete, or choose with --older-than, --orphaned or --project"
            )
        named = [self.sessions.find(wanted) for wanted in which.ids]
        if which.chooses:
            named += [info for info in self.sessions.list(which.root) if _fits(info, which, now)]
        return tuple({info.id: info for info in named}.values())

    def _agrees(self, found: Sequence[SessionInfo]) -> bool:
        self.screen.show(sessions_text(found))
        total = size_text(sum(info.bytes_on_disk for info in found))
        if not self.streams.interactive:
            raise UsageError("nothing was deleted: nobody can be asked here, so add --yes")
        question = f"Delete {counted(len(found), 'session')} ({total}), snapshots included?"
        return _asker(self.screen).confirm(question)

    def _delete(self, info: SessionInfo) -> bool:
        """Delete one session; say so and return False when it is held or holds what is needed."""
        if self._is_cut_short(info) and not info.root_gone:
            self.screen.say(f"! {_to_finish(info, 'deleted')}")
            return False
        try:
            self.sessions.delete(info.id)
        except HeldError as held:
            self.screen.say(f"! {on_one_line(str(held))}")
            return False
        return True

    def _is_cut_short(self, info: SessionInfo) -> bool:
        # At first use: to list sessions, nothing of what restores files is needed.
        from keryx_py.rewind.recovery import is_cut_short

        return is_cut_short(info.folder)

    def _prompts(self, info: SessionInfo) -> dict[int, str]:
        with self.sessions.open(info.id) as session:
            return {e.number: e.prompt for e in session.entries if isinstance(e, TurnEntry)}

    def _drop_snapshots(self, info: SessionInfo) -> None:
        """Purge the snapshots of all that was ever erased: an earlier erasure may be cut short.

        Raises SnapshotError.
        """
        folder = info.folder / SHADOW_NAME
        if not folder.exists():
            return
        with self.sessions.open(info.id) as session:
            gone = erased_numbers(session.entries)
            if gone:
                purge_captures(folder, gone)

    def _print_json(self, value: JsonValue) -> None:
        self.streams.stdout.write(json.dumps(value, ensure_ascii=True, indent=2) + "\n")
        self.streams.stdout.flush()


def info_json(info: SessionInfo) -> dict[str, JsonValue]:
    """One session."""
    return {
        "id": info.id,
        "title": info.title,
        "root": path_json(os.fsencode(info.root)),
        "folder": path_json(os.fsencode(info.folder)),
        "created_at": info.created_at,
        "used_at": info.used_at,
        "bytes": info.bytes_on_disk,
        "turns": info.turns,
        "unattended": info.unattended,
        "root_gone": info.root_gone,
        "held": info.held,
    }


def _to_finish(info: SessionInfo, unlike: str) -> str:
    """Say why nothing of a session is deleted or erased whose undo point a restore needs."""
    return (
        f"a restore in session {info.id} was cut short, and only that session holds what it "
        f"replaced: start keryx in {on_one_line(os.fspath(info.root))} to finish it; "
        f"nothing was {unlike}"
    )


def _fits(info: SessionInfo, which: Which, now: float) -> bool:
    days = which.older_than_days
    old = days is None or info.used_at < now - days * SECONDS_A_DAY
    return old and (info.root_gone or not which.orphaned)


def _asker(screen: Screen) -> TerminalAsker:
    from keryx_py.shell.reader import QuestionReader

    return TerminalAsker(screen, QuestionReader())
