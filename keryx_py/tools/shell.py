"""Run a shell command in the project root, bounded in time and output."""

from __future__ import annotations

import codecs
import os
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

from keryx_py.messages import ToolSpec
from keryx_py.tools.arguments import schema, text_of, whole_of
from keryx_py.tools.base import Args, Outcome, Progress, Risk, Shown, ShownAs, ToolError
from keryx_py.tools.git_moves import git_moves
from keryx_py.tools.paths import ProjectRoot
from keryx_py.tools.process_group import end_group, left_running, start_group
from keryx_py.tools.shell_reach import writes_outside
from keryx_py.tools.shell_risk import judge_command

DEFAULT_SECONDS = 120
MOST_SECONDS = 3_600
KEPT_AT_START = 15_000
KEPT_AT_END = 15_000
_MOST_IN_TITLE = 200


@dataclass(frozen=True, slots=True)
class BackgroundProcess:
    """What a command left running."""

    pgid: int
    """The number of its process group."""
    command: str


class Capped:
    """Text of which the head and the tail are kept, however much is added."""

    def __init__(self, head: int = KEPT_AT_START, tail: int = KEPT_AT_END) -> None:
        self._head_room = head
        self._tail_most = tail
        self._head: list[str] = []
        self._tail: deque[str] = deque()
        self._tail_length = 0
        self._left_out = 0

    def add(self, text: str) -> None:
        """Add *text* at the end."""
        head, rest = text[: self._head_room], text[self._head_room :]
        if head:
            self._head.append(head)
            self._head_room -= len(head)
        if rest:
            self._tail.append(rest)
            self._tail_length += len(rest)
        while self._tail and self._tail_length - len(self._tail[0]) >= self._tail_most:
            gone = self._tail.popleft()
            self._tail_length -= len(gone)
            self._left_out += len(gone)

    def text(self) -> str:
        """Return what was kept, with a line that says how much was left out."""
        tail = "".join(self._tail)
        kept = tail[-self._tail_most :]
        left_out = self._left_out + len(tail) - len(kept)
        note = f"\n[… {left_out:,} characters left out …]\n" if left_out else ""
        return "".join(self._head) + note + kept


class ShellExec:
    """Run a command with `/bin/sh -c`."""

    spec = ToolSpec(
        "shell_exec",
        "Run a command with /bin/sh -c in the project root. Standard input is closed, so nothing "
        "can be asked. Output is stdout and stderr together; of long output the middle is left "
        f"out. After timeout_s seconds ({DEFAULT_SECONDS} if left out) the command is ended with "
        "all that it started. Each call is a shell of its own: cd and variables do not last.",
        schema(
            {"command": {"type": "string", "description": "The command, as for sh -c."}},
            {
                "timeout_s": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MOST_SECONDS,
                    "description": "Seconds until the command is ended.",
                }
            },
        ),
    )

    def __init__(self, root: ProjectRoot, environment: Mapping[str, str]) -> None:
        self._root = root
        self._environment = environment
        self._left: list[BackgroundProcess] = []

    def risk(self, args: Args) -> Risk:
        """Judge by the command's text."""
        return judge_command(text_of(args, "command"))

    def title(self, args: Args) -> str:
        """Say the command's first line."""
        first, _, rest = text_of(args, "command").strip().partition("\n")
        cut = bool(rest) or len(first) > _MOST_IN_TITLE
        return _plain(first[:_MOST_IN_TITLE]) + (" …" if cut else "")

    def preview(self, args: Args) -> Shown | None:
        """Show the whole command."""
        return Shown(ShownAs.COMMAND, _plain(_command(args)))

    def targets(self, args: Args) -> tuple[bytes, ...]:
        """Name no path: what a command writes is not known beforehand."""
        return ()

    def git_moves(self, args: Args) -> tuple[str, ...]:
        """Name git's subcommands in the command that commit, move a HEAD or push."""
        return git_moves(text_of(args, "command"))

    def run(self, args: Args, progress: Progress) -> Outcome:
        """Run the command to its end, or to the end of its time."""
        command, seconds = _command(args), whole_of(args, "timeout_s", DEFAULT_SECONDS)
        kept = Capped()
        decoder = codecs.getincrementaldecoder("utf-8")("replace")

        def take(chunk: bytes, final: bool = False) -> None:
            text = decoder.decode(chunk, final)
            if text:
                kept.add(text)
                progress(text)

        group = start_group(os.fsencode(command), self._root.path, self._environment)
        try:
            code = group.follow(take, seconds)
            take(b"", final=True)
        finally:
            self._left.append(BackgroundProcess(group.pgid, _plain(command)))
            runs_on = any(one.pgid == group.pgid for one in self.background())
        outcome = _outcome(code, kept.text(), seconds, runs_on)
        return replace(outcome, outside=writes_outside(command, self._root.path))

    def background(self) -> tuple[BackgroundProcess, ...]:
        """List what commands left running and that still runs."""
        self._left = [one for one in self._left if left_running(one.pgid)]
        return tuple(self._left)

    def end_background(self) -> None:
        """End all that commands left running."""
        for one in self.background():
            end_group(one.pgid)


def _command(args: Args) -> str:
    command = text_of(args, "command")
    if not command.strip():
        raise ToolError("the command is empty")
    if "\0" in command:
        raise ToolError("the command holds a NUL character")
    if len(os.fsencode(command)) >= 2**17:
        raise ToolError("the command is too long; write it into a script file and run that")
    return command


def _plain(command: str) -> str:
    """Show bytes that are no text as escapes; line ends stay."""
    return command.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _outcome(code: int | None, output: str, seconds: int, runs_on: bool) -> Outcome:
    match code:
        case None:
            summary = f"timed out after {seconds} s"
        case _ if code < 0:
            summary = f"ended by signal {-code}"
        case _:
            summary = f"exit {code}"
    shown = Shown(ShownAs.OUTPUT, output) if output else None
    notes = [f"[{summary}{'' if output else ', no output'}]"]
    if runs_on:
        notes.append("[a process that it started still runs in the background]")
    text = output if not output or output.endswith("\n") else output + "\n"
    return Outcome(text + "\n".join(notes), code == 0, summary, shown)
