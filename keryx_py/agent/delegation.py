"""A sub-agent: a fresh context, one task, the same gates, and a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from keryx_py.agent.events import AnswerEnded, AnswerText, Event, Waiting
from keryx_py.agent.loop import TooManyStepsError, TurnWork, run_turn
from keryx_py.agent.runner import Emit
from keryx_py.messages import Item, Message, Role
from keryx_py.models.base import ModelError
from keryx_py.session.archive import Entry, ItemEntry
from keryx_py.tools.base import Outcome


def run_task(work: TurnWork, task: str) -> Outcome:
    """Do *task* with the tools of *work*, whose context is replaced by the task alone.

    What the sub-agent says stays out of the archive; what it runs is recorded by its runner.
    """
    items: list[Item] = [Message(Role.USER, task)]

    def keep(entry: Entry) -> None:
        if isinstance(entry, ItemEntry):
            items.append(entry.item)

    try:
        run_turn(
            replace(
                work,
                context=lambda: tuple(items),
                make_room=lambda needed: False,
                append=keep,
                emit=_quietly(work.emit),
            )
        )
    except (ModelError, TooManyStepsError) as error:
        return Outcome(f"the task was not finished: {error}", ok=False, summary="not finished")
    return Outcome(_report(items), summary="report")


def _quietly(emit: Emit) -> Callable[[Event], None]:
    """Pass on what a sub-agent does, but not what it says: its report comes as the result."""

    def pass_on(event: Event) -> None:
        if not isinstance(event, Waiting | AnswerText | AnswerEnded):
            emit(event)

    return pass_on


def _report(items: list[Item]) -> str:
    said = [item.text for item in items if isinstance(item, Message) and item.text]
    return said[-1] if len(said) > 1 else "the sub-agent finished without a report"
