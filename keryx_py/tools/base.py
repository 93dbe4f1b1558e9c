"""What a tool is: a spec, a judgement of risk, a showing, and a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias, runtime_checkable

from keryx_py.errors import KeryxError
from keryx_py.messages import ToolSpec


class ToolError(KeryxError):
    """The tool could not do it; the text goes back to the model as the call's result."""


class Risk(Enum):
    """What a call could do, in rising order."""

    READ = "read"
    WRITE = "write"
    SHELL = "shell"
    DELEGATE = "delegate"
    DESTRUCTIVE = "destructive"

    @property
    def mutates(self) -> bool:
        """Whether a call of this risk may change something."""
        return self is not Risk.READ


ArgValue: TypeAlias = str | int | bool
Args: TypeAlias = Mapping[str, ArgValue]
"""Arguments that passed their tool's schema."""

Progress: TypeAlias = Callable[[str], None]
"""Called with each piece of output while a tool runs."""


class ShownAs(Enum):
    """How a piece of text is meant to be drawn."""

    DIFF = "diff"
    COMMAND = "command"
    OUTPUT = "output"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Shown:
    """Something to show the person: before an approval, or after a run."""

    kind: ShownAs
    text: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run."""

    output: str
    """What the model is told."""
    ok: bool = True
    summary: str = ""
    """A few words for the person's tool line, such as "exit 1" or "+3 -1"."""
    shown: Shown | None = None
    """None when the line says it all."""
    outside: bool = False
    """Whether the run is known to have changed something outside the project root."""


class Tool(Protocol):
    """One thing the agent can do."""

    @property
    def spec(self) -> ToolSpec:
        """What the model is told."""

    def risk(self, args: Args) -> Risk:
        """Judge what the call with *args* could do. Reads at most; never raises."""

    def title(self, args: Args) -> str:
        """Say the call in one line, such as "src/a.py" or the command's first line."""

    def preview(self, args: Args) -> Shown | None:
        """What to show before asking: the whole command, or a write's diff.

        Raises ToolError when the call cannot work, so that nobody is asked in vain.
        """

    def targets(self, args: Args) -> tuple[bytes, ...]:
        """The paths below the root, relative to it, that a file tool would write; else none."""

    def run(self, args: Args, progress: Progress) -> Outcome:
        """Do it. Raises ToolError when it could not be done."""


@runtime_checkable
class MovesGit(Protocol):
    """A tool whose calls may run git."""

    def git_moves(self, args: Args) -> tuple[str, ...]:
        """Name git's subcommands in the call that move a HEAD or a remote. Never raises."""
