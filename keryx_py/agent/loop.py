"""One turn: ask the model, run the calls of its reply, until a reply makes none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from keryx_py.agent.approval import Asker
from keryx_py.agent.events import AnswerEnded, AnswerText, NoticeGiven, Waiting
from keryx_py.agent.runner import Append, Emit, ToolRunner
from keryx_py.errors import KeryxError
from keryx_py.messages import Item, Message, Role, ToolSpec, Usage
from keryx_py.models.base import (
    ContextTooLongError,
    Model,
    ModelError,
    Notice,
    Reply,
    Request,
    TextDelta,
)
from keryx_py.session.archive import ItemEntry


class TooManyStepsError(KeryxError):
    """The turn took as many steps as it may, and nobody let it go on."""


@dataclass(frozen=True, slots=True)
class TurnWork:
    """What one turn works with."""

    turn: int
    model: Model
    system: str
    runner: ToolRunner
    context: Callable[[], tuple[Item, ...]]
    """The context as the archive gives it now."""
    make_room: Callable[[bool], bool]
    """Compact when the context nears the window, or at any rate when told True; say if it did."""
    count: Callable[[Usage, tuple[Item, ...]], None]
    """Learn from the server's count of a request."""
    append: Append
    emit: Emit
    asker: Asker
    max_steps: int

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """What the model is offered."""
        return tuple(tool.spec for tool in self.runner.tools.values())


def run_turn(work: TurnWork) -> None:
    """Work until the model makes no more calls.

    Raises ModelError, TooManyStepsError, SessionError; KeyboardInterrupt passes through with
    everything said so far in the archive.
    """
    steps = 0
    while True:
        if steps and steps % work.max_steps == 0 and not work.asker.go_on_after(steps):
            raise TooManyStepsError(f"the turn was stopped after {steps} steps")
        steps += 1
        message = _ask(work)
        if message.text.strip() or message.calls or message.thinking:
            work.append(ItemEntry(work.turn, message))
        for call in message.calls:
            work.append(ItemEntry(work.turn, work.runner.run(call)))
        if not message.calls:
            if not message.text.strip():
                work.emit(NoticeGiven("the model answered nothing"))
            return


def _ask(work: TurnWork) -> Message:
    work.make_room(False)
    try:
        return _stream(work)
    except ContextTooLongError:
        if not work.make_room(True):
            raise
        return _stream(work)


def _stream(work: TurnWork) -> Message:
    items = work.context()
    work.emit(Waiting())
    said: list[str] = []
    stream = work.model.stream(Request(work.system, items, work.tools))
    try:
        for part in stream:
            match part:
                case TextDelta(text):
                    said.append(text)
                    work.emit(AnswerText(text))
                case Notice(text):
                    work.emit(NoticeGiven(text))
                case Reply(message, usage):
                    work.emit(AnswerEnded())
                    if usage is not None:
                        work.count(usage, items)
                    return message
    except (KeyboardInterrupt, ModelError):
        _keep_what_was_said(work, "".join(said))
        raise
    finally:
        _close(stream)
    _keep_what_was_said(work, "".join(said))
    raise ModelError("the model's answer ended before it was whole; send the prompt again")


def _keep_what_was_said(work: TurnWork, said: str) -> None:
    if said.strip():
        work.emit(AnswerEnded())
        work.append(ItemEntry(work.turn, Message(Role.ASSISTANT, said)))


def _close(stream: object) -> None:
    # An iterator need not be a generator; those that hold a connection are.
    close = getattr(stream, "close", None)
    if callable(close):
        close()
