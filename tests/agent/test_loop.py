"""The loop of a turn: what it sends, what it keeps, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from keryx_py.agent.approval import Approval, Policy, Question
from keryx_py.agent.delegation import run_task
from keryx_py.agent.events import AnswerText, Event, NoticeGiven
from keryx_py.agent.loop import TooManyStepsError, TurnWork, run_turn
from keryx_py.agent.runner import Gates, Kept, Saved, ToolRunner, TurnSnapshot
from keryx_py.messages import Item, Message, Role, ToolCall, ToolResult, ToolSpec, Usage
from keryx_py.models.base import (
    ContextTooLongError,
    ModelError,
    Notice,
    Reply,
    ReplyPart,
    Request,
    TextDelta,
)
from keryx_py.session.archive import Entry, ItemEntry
from keryx_py.tools.base import Args, Outcome, Progress, Risk, Shown


class Echo:
    """A tool that reads nothing and says its text."""

    spec = ToolSpec(
        "echo",
        "Say the text.",
        {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": False,
        },
    )

    def risk(self, args: Args) -> Risk:
        return Risk.READ

    def title(self, args: Args) -> str:
        return str(args["text"])

    def preview(self, args: Args) -> Shown | None:
        return None

    def targets(self, args: Args) -> tuple[bytes, ...]:
        return ()

    def run(self, args: Args, progress: Progress) -> Outcome:
        return Outcome(str(args["text"]))


Play = list[ReplyPart | BaseException]


@dataclass
class Player:
    """A model that plays its replies in order."""

    plays: list[Play]
    requests: list[Request] = field(default_factory=list)
    name: str = "player"
    context_tokens: int | None = None

    def stream(self, request: Request) -> Iterator[ReplyPart]:
        self.requests.append(request)
        for part in self.plays.pop(0):
            if isinstance(part, BaseException):
                raise part
            yield part


@dataclass
class Silent:
    """Nobody to ask; lets a turn go on as often as it says."""

    more: int = 0

    def approve(self, question: Question) -> Approval:
        return Approval(granted=False)

    def go_on_without_snapshot(self, reason: str) -> bool:
        return False

    def go_on_after(self, steps: int) -> bool:
        self.more -= 1
        return self.more >= 0


def says(text: str, *calls: ToolCall) -> Play:
    return [TextDelta(text), Reply(Message(Role.ASSISTANT, text, calls), Usage(10, 2))]


def echo(text: str, call_id: str = "c1") -> ToolCall:
    return ToolCall(call_id, "echo", json.dumps({"text": text}))


@dataclass
class Turn:
    model: Player
    max_steps: int = 10
    asker: Silent = field(default_factory=Silent)
    room: bool = False
    items: list[Item] = field(default_factory=lambda: [Message(Role.USER, "go")])
    events: list[Event] = field(default_factory=list)
    counted: list[Usage] = field(default_factory=list)

    def keep(self, entry: Entry) -> None:
        if isinstance(entry, ItemEntry):
            self.items.append(entry.item)

    def work(self) -> TurnWork:
        gates = Gates(
            policy=Policy(),
            asker=self.asker,
            snapshot=TurnSnapshot(lambda: Saved(Kept.NOT_TAKEN)),
            coverage=lambda paths, size: "",
            append=self.keep,
            emit=self.events.append,
        )
        return TurnWork(
            turn=1,
            model=self.model,
            system="be brief",
            runner=ToolRunner({"echo": Echo()}, 1, gates),
            context=lambda: tuple(self.items),
            make_room=lambda needed: needed and self.room,
            count=lambda usage, items: self.counted.append(usage),
            append=self.keep,
            emit=self.events.append,
            asker=self.asker,
            max_steps=self.max_steps,
        )


def test_a_turn_goes_on_until_a_reply_makes_no_calls() -> None:
    turn = Turn(Player([says("first", echo("one"), echo("two", "c2")), says("done")]))

    run_turn(turn.work())

    assert turn.items[1:] == [
        Message(Role.ASSISTANT, "first", (echo("one"), echo("two", "c2"))),
        ToolResult("c1", "one", ok=True),
        ToolResult("c2", "two", ok=True),
        Message(Role.ASSISTANT, "done"),
    ]
    assert turn.model.requests[1].items == tuple(turn.items[:4])
    assert turn.counted == [Usage(10, 2)] * 2


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_reply_is_never_kept_and_is_said(text: str) -> None:
    turn = Turn(Player([[Reply(Message(Role.ASSISTANT, text), None)]]))

    run_turn(turn.work())

    assert turn.items == [Message(Role.USER, "go")]
    assert turn.events[-1] == NoticeGiven("the model answered nothing")


def test_notices_reach_the_person() -> None:
    turn = Turn(Player([[Notice("retrying in 2 s"), *says("ok")]]))

    run_turn(turn.work())

    assert NoticeGiven("retrying in 2 s") in turn.events


@pytest.mark.parametrize("cause", [KeyboardInterrupt(), ModelError("the stream was cut")])
def test_what_was_said_before_a_cut_is_kept_without_calls(cause: BaseException) -> None:
    turn = Turn(Player([[TextDelta("half an ans"), cause]]))

    with pytest.raises(type(cause)):
        run_turn(turn.work())

    assert turn.items[-1] == Message(Role.ASSISTANT, "half an ans")


def test_a_stream_without_a_reply_is_an_error() -> None:
    turn = Turn(Player([[TextDelta("half")]]))

    with pytest.raises(ModelError, match="before it was whole"):
        run_turn(turn.work())


def test_a_turn_stops_after_its_steps_when_nobody_lets_it_go_on() -> None:
    turn = Turn(Player([says("again", echo("x")) for _ in range(5)]), max_steps=2)

    with pytest.raises(TooManyStepsError, match="2 steps"):
        run_turn(turn.work())

    assert len(turn.model.requests) == 2


def test_a_turn_goes_on_when_the_person_says_so() -> None:
    plays = [says("again", echo("x")) for _ in range(3)] + [says("done")]
    turn = Turn(Player(plays), max_steps=2, asker=Silent(more=1))

    run_turn(turn.work())

    assert len(turn.model.requests) == 4


def test_a_context_too_long_is_compacted_and_asked_again() -> None:
    turn = Turn(Player([[ContextTooLongError("too long")], says("ok")]), room=True)

    run_turn(turn.work())

    assert turn.items[-1] == Message(Role.ASSISTANT, "ok")


def test_a_context_too_long_with_nothing_to_compact_is_an_error() -> None:
    turn = Turn(Player([[ContextTooLongError("too long")]]))

    with pytest.raises(ContextTooLongError):
        run_turn(turn.work())


def test_a_sub_agent_starts_fresh_and_its_words_stay_out_of_the_conversation() -> None:
    turn = Turn(Player([says("looking", echo("x")), says("all is well")]))

    outcome = run_task(turn.work(), "check it")

    assert outcome.ok
    assert outcome.output == "all is well"
    assert turn.model.requests[0].items == (Message(Role.USER, "check it"),)
    assert turn.items == [Message(Role.USER, "go")]
    assert not any(isinstance(event, AnswerText) for event in turn.events)


def test_a_sub_agent_that_fails_reports_so() -> None:
    turn = Turn(Player([[ModelError("no connection")]]))

    outcome = run_task(turn.work(), "check it")

    assert not outcome.ok
    assert "no connection" in outcome.output
