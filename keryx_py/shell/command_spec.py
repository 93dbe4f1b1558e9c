"""What a command is, and what commands work on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from keryx_py.shell.asker import Confirmer
from keryx_py.shell.hints import Hint
from keryx_py.shell.line import Command, UsageError
from keryx_py.shell.project import OpenProject
from keryx_py.shell.rewind_command import RewindCommands
from keryx_py.shell.screen import Screen
from keryx_py.shell.turn_view import Clock, TurnView


@dataclass(slots=True)
class Shell:
    """What the commands work on."""

    project: OpenProject
    screen: Screen
    asker: Confirmer
    rewinds: RewindCommands
    clock: Clock
    edits: bool = False
    """Whether lines are edited, so that a text can be put on the next one."""
    put_back: str = ""
    """The text that the next input line begins with."""
    leaving: bool = False

    def view(self) -> TurnView:
        """Make what draws the events of one piece of work."""
        return TurnView(self.screen, self.clock, self.asker.was_shown)


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """One command."""

    name: str
    forms: tuple[tuple[str, str], ...]
    """What may follow the name, each with what it does; /help shows them."""
    run: Callable[[Shell, Command], None] = field(repr=False)
    hints: tuple[Hint, ...] = ()
    """What its arguments are; the last stands for all that follow."""


def no_args(command: Command) -> None:
    if command.rest:
        raise UsageError(f"/{command.name} takes nothing after it; nothing was done")


def one_arg(command: Command, name: str) -> str:
    """Take the one word after the command; empty when there is none."""
    words = command.args
    if len(words) > 1:
        raise UsageError(
            f"write /{command.name} {name}, with quotes where it has blanks; nothing was done"
        )
    return words[0] if words else ""
