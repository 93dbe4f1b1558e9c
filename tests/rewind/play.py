"""A project with a real session and a real shadow repository, and turns played on it."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from keryx_py.messages import Message, Role, ToolCall, ToolResult
from keryx_py.rewind.plan import RewindPlan
from keryx_py.rewind.recorder import TurnRecorder
from keryx_py.rewind.rewinder import Rewinder, RewindReport
from keryx_py.session.archive import ItemEntry, Mode, RanEntry, RunEntry, TurnEnd
from keryx_py.session.sessions import Session, Sessions
from keryx_py.snapshot.store import Limits, SnapshotStore

Look: TypeAlias = dict[bytes, tuple[str, int, bytes]]
"""What a plain recursive walk sees: kind, mode and content by path."""


def look_at(root: Path) -> Look:
    """Walk *root* without any of keryx's code; `.git` folders are looked at as well."""
    seen: Look = {}
    waiting = [os.fsencode(root)]
    while waiting:
        folder = waiting.pop()
        for entry in os.scandir(folder):
            status = entry.stat(follow_symlinks=False)
            path = os.path.relpath(entry.path, os.fsencode(root))
            mode = stat.S_IMODE(status.st_mode)
            if entry.is_symlink():
                seen[path] = ("link", 0, os.fsencode(Path(os.fsdecode(entry.path)).readlink()))
            elif entry.is_dir(follow_symlinks=False):
                seen[path] = ("folder", mode, b"")
                waiting.append(entry.path)
            elif stat.S_ISREG(status.st_mode):
                seen[path] = ("file", mode, Path(os.fsdecode(entry.path)).read_bytes())
            else:
                seen[path] = ("other", mode, b"")
    return seen


class Clock:
    """A clock that moves on by a second each time it is read."""

    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def __call__(self) -> float:
        self.time += 1
        return self.time


class Project:
    """A project root under a session, with the turns of a played agent."""

    def __init__(self, base: Path, limits: Limits | None = None, keep: int = 50) -> None:
        self.base = base
        self.root = base / "P"
        self.root.mkdir(exist_ok=True)
        self.home = base / "home"
        self.home.mkdir(exist_ok=True)
        self.data = base / "data"
        self.limits = limits
        self.keep = keep
        self.now = Clock()
        self.sessions = Sessions(self.data, now=self.now)
        self.session: Session = self.sessions.create(self.root)
        self.store = self.open_store()
        self._calls = 0

    def open_store(self) -> SnapshotStore:
        return SnapshotStore.open(
            self.session.folder / "shadow.git",
            self.root,
            home=self.home,
            data_dir=self.data,
            limits=self.limits,
        )

    def resume(self) -> None:
        """Leave, and come back as a new process would."""
        self.session.close()
        self.session = Sessions(self.data, now=self.now).open(self.session.id)
        self.store = self.open_store()

    def recorder(self) -> TurnRecorder:
        return TurnRecorder(self.session, self.store, keep=self.keep, now=self.now)

    def rewinder(self) -> Rewinder:
        return Rewinder(self.session, self.store, now=self.now, keep=self.keep)

    # ---- what a person or an agent does

    def write(self, path: str, text: str | bytes = "x\n", mode: int | None = None) -> None:
        where = self.root / path
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_bytes(text.encode() if isinstance(text, str) else text)
        if mode is not None:
            where.chmod(mode)

    def turn(
        self,
        work: Callable[[], object] | None = None,
        prompt: str = "do it",
        *,
        tool: str = "shell_exec",
        title: str = "sh",
        how: TurnEnd | None = TurnEnd.DONE,
    ) -> int:
        """Play a turn; *work* is what its one mutating call does. *how* None is a crash."""
        recorder = self.recorder()
        number = recorder.begin(prompt)
        if work is not None:
            self._calls += 1
            call = ToolCall(f"c{self._calls}", tool, "{}")
            self.session.append(ItemEntry(number, Message(Role.ASSISTANT, "", (call,))))
            assert recorder.snapshot(number) is None
            self.session.append(RunEntry(number, call.id, tool, "shell", title, saved=True))
            work()
            self.session.append(RanEntry(number, call.id, ok=True, summary="exit 0"))
            self.session.append(ItemEntry(number, ToolResult(call.id, "", ok=True)))
        if how is not None:
            self.session.append(ItemEntry(number, Message(Role.ASSISTANT, "done")))
            recorder.end(number, how)
        return number

    def call(self, turn: int, tool: str, args: dict[str, str]) -> None:
        """Record a call of a file tool that ran in *turn*, with its snapshot."""
        self._calls += 1
        call = ToolCall(f"c{self._calls}", tool, json.dumps(args))
        self.session.append(ItemEntry(turn, Message(Role.ASSISTANT, "", (call,))))
        assert self.recorder().snapshot(turn) is None
        path = args.get("path", "")
        self.session.append(
            RunEntry(turn, call.id, tool, "write", path, saved=True, writes=(path,))
        )
        self.session.append(RanEntry(turn, call.id, ok=True, summary=""))

    # ---- rewinds

    def plan(self, number: int, mode: Mode = Mode.FILES, *paths: str) -> RewindPlan:
        return self.rewinder().plan(number, mode, [os.fsencode(path) for path in paths])

    def rewind(self, number: int, mode: Mode = Mode.FILES, *paths: str) -> RewindReport:
        """Preview, check that previewing changed nothing, apply; check R1 and R4's like."""
        before = self.look()
        plan = self.plan(number, mode, *paths)
        assert self.look() == before
        return self.rewinder().apply(plan)

    def look(self) -> Look:
        return look_at(self.root)
