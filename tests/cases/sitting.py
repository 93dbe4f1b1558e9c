"""Sit at the shell in a test: type lines, edit files in between, read what it said.

The shell, the tools, the sessions and the snapshots are the real ones; the model plays a script.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from keryx_py.messages import JsonValue, ToolCall
from keryx_py.models.scripted import (
    Script,
    ScriptedModel,
    ScriptedReply,
    ScriptedTurn,
    scripted_call,
)
from keryx_py.session.sessions import Session, Sessions
from keryx_py.settings import Settings
from keryx_py.shell.asker import Confirmer
from keryx_py.shell.command_spec import Shell
from keryx_py.shell.plain_reader import PlainReader
from keryx_py.shell.project import OpenProject
from keryx_py.shell.repl import Repl, run_shell
from keryx_py.shell.rewind_command import RewindCommands
from keryx_py.shell.screen import Screen, Streams
from keryx_py.tools.base import Risk

call = scripted_call
ALL_RISKS = frozenset(risk for risk in Risk)
Step: TypeAlias = str | ToolCall | tuple[ToolCall, ...] | Callable[[], object]
"""A line to type, the calls of a turn to take, or something to do in between."""


def shell(command: str) -> ToolCall:
    """A call of shell_exec."""
    return call("shell_exec", command=command)


def write(path: str, content: str) -> ToolCall:
    """A call of write_file."""
    return call("write_file", path=path, content=content)


def edit(path: str, old: str, new: str) -> ToolCall:
    """A call of edit_file."""
    return call("edit_file", path=path, old=old, new=new)


def read(path: str) -> ToolCall:
    """A call of read_file."""
    return call("read_file", path=path)


def delegate(task: str) -> ToolCall:
    """A call of delegate."""
    return call("delegate", task=task)


class Ticks:
    """A clock that moves a second each time it is read; sittings side by side share one."""

    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def __call__(self) -> float:
        self.time += 1
        return self.time


class Sitting:
    """One project, and the shell on it for as long as the test likes."""

    def __init__(
        self,
        root: Path,
        data_dir: Path,
        *,
        settings: dict[str, JsonValue | frozenset[Risk] | tuple[str, ...]] | None = None,
        delegates: dict[str, tuple[ToolCall, ...]] | None = None,
        now: Callable[[], float] | None = None,
    ) -> None:
        """*delegates* says which calls a sub-agent makes on a task."""
        self.root = root
        self.data_dir = data_dir
        self.now = now or Ticks()
        options: dict[str, object] = {
            "data_dir": data_dir,
            "home": data_dir.parent / "home",
            "approve": ALL_RISKS,
            "free_floor_gb": 0.0,
            "color": False,
            "tool_environment": {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]},
            **(settings or {}),
        }
        self.settings = Settings(**options)  # type: ignore[arg-type]
        self.sessions = Sessions(data_dir, now=self.now)
        self._turns: list[ScriptedTurn] = [
            _turn(task, calls) for task, calls in (delegates or {}).items()
        ]
        self._prompts = 0
        self.person: Confirmer | None = None
        """Who answers questions; None for nobody, as on a pipe."""
        self.project = self._open(self.sessions.create(root))

    def play(self, *steps: Step) -> str:
        """Take *steps* in one run of the shell; return everything that it printed."""
        out = io.StringIO()
        streams = Streams(_Steps(self, steps), out, out, color=False)  # type: ignore[arg-type]
        if self.person is None:
            run_shell(self.project, streams)
        else:
            screen = Screen(out, plain=True)
            rewinds = RewindCommands(
                self.project, screen, time.monotonic, confirm=self.person.confirm
            )
            shell = Shell(self.project, screen, self.person, rewinds, time.monotonic)
            Repl(shell, PlainReader(streams.stdin)).run()
        return out.getvalue()

    def rewind(self, number: int, mode: str = "files", *paths: str) -> str:
        """Preview and confirm; return what was printed."""
        words = " ".join(["/rewind", str(number), mode, *paths])
        return self.play(words, "/rewind confirm")

    def resume(self, new_root: Path | None = None) -> Sitting:
        """Close the session and open it again, as a new process would; with `--root` if given."""
        session_id = self.project.session.id
        self.close()
        self.project = self._open(self.sessions.open(session_id, new_root=new_root))
        return self

    def close(self) -> None:
        """Let the session go, and keep it even if nothing happened in it."""
        self.project.session.close()

    def line_for(self, step: str | ToolCall | tuple[ToolCall, ...]) -> str:
        """Give the line to type for *step*; a turn's calls are put into the script."""
        if isinstance(step, str):
            return step
        self._prompts += 1
        prompt = f"turn {self._prompts}"
        self._turns.append(_turn(prompt, (step,) if isinstance(step, ToolCall) else step))
        self._load_script()
        return prompt

    def _open(self, session: Session) -> OpenProject:
        self.project = OpenProject(self.settings, self.sessions, session, now=self.now)
        self._load_script()
        return self.project

    def _load_script(self) -> None:
        self.project.model = ScriptedModel(script=Script(turns=tuple(self._turns)))


def _turn(prompt: str, calls: tuple[ToolCall, ...]) -> ScriptedTurn:
    replies = (ScriptedReply(calls=calls),) if calls else ()
    return ScriptedTurn(prompt, (*replies, ScriptedReply("done")))


class _Steps:
    """A standard input whose next line is made when it is read."""

    def __init__(self, sitting: Sitting, steps: tuple[Step, ...]) -> None:
        self._sitting = sitting
        self._steps = list(steps)

    def isatty(self) -> bool:
        """No."""
        return False

    def readline(self) -> str:
        """The next line, once what is to be done before it is done; empty at the end."""
        while self._steps:
            step = self._steps.pop(0)
            if isinstance(step, str | ToolCall | tuple):
                return self._sitting.line_for(step) + "\n"
            step()
        return ""
