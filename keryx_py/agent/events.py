"""What the loop reports while it works: values for the shell to draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from keryx_py.tools.base import Risk, Shown


@dataclass(frozen=True, slots=True)
class Waiting:
    """The model was asked; nothing has come yet."""


@dataclass(frozen=True, slots=True)
class AnswerText:
    """The next piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class AnswerEnded:
    """The answer of one step is whole."""


@dataclass(frozen=True, slots=True)
class NoticeGiven:
    """Something the person should know, in one sentence."""

    text: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A call passed its gates and runs now."""

    call_id: str
    tool: str
    title: str
    risk: Risk
    not_covered: str = ""
    """Why a rewind will not cover what the call writes; empty when it will."""
    delegated: bool = False
    """Whether a sub-agent makes the call."""


@dataclass(frozen=True, slots=True)
class CallOutput:
    """The next piece of a running call's output."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class CallEnded:
    """A call is over: it ran, or a gate stopped it."""

    call_id: str
    tool: str
    title: str
    ok: bool
    summary: str
    """A few words: "+3 -1", "exit 1", "denied", "unknown tool"."""
    shown: Shown | None = None
    delegated: bool = False


@dataclass(frozen=True, slots=True)
class SnapshotProgress:
    """A capture is under way."""

    files: int
    content_bytes: int


@dataclass(frozen=True, slots=True)
class SnapshotEnded:
    """A capture is over; a failure has its own notice."""


Event: TypeAlias = (
    Waiting
    | AnswerText
    | AnswerEnded
    | NoticeGiven
    | CallStarted
    | CallOutput
    | CallEnded
    | SnapshotProgress
    | SnapshotEnded
)
