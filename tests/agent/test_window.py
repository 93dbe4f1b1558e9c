"""The context's size, and making room in it by a summary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from keryx_py.agent.events import Event, NoticeGiven
from keryx_py.agent.window import ContextWindow
from keryx_py.messages import Message, Role, Usage
from keryx_py.models.base import ModelError, Reply, ReplyPart, Request
from keryx_py.session.archive import CompactionEntry, Entry, ItemEntry, TurnEntry


@dataclass
class Summarist:
    """A model that answers every request with one text, or fails."""

    text: str = "they talked"
    requests: list[Request] = field(default_factory=list)
    name: str = "summarist"
    context_tokens: int | None = None

    def stream(self, request: Request) -> Iterator[ReplyPart]:
        self.requests.append(request)
        if self.text == "fail":
            raise ModelError("no connection")
        yield Reply(Message(Role.ASSISTANT, self.text), None)


def five_turns() -> list[Entry]:
    entries: list[Entry] = []
    for number in range(1, 6):
        entries.append(TurnEntry(number, 0.0, "p" * 400, number - 1 or None))
        entries.append(ItemEntry(number, Message(Role.ASSISTANT, "a" * 400)))
    return entries


def window(entries: list[Entry], limit: int = 1_000_000) -> ContextWindow:
    return ContextWindow(
        "system", limit, entries=lambda: entries, append=entries.append, now=lambda: 5.0
    )


def test_a_compaction_covers_all_but_the_last_three_turns() -> None:
    entries = five_turns()
    model = Summarist()

    covered = window(entries).compact(model, "the tests", print)

    assert covered == (1, 2)
    assert entries[-1] == CompactionEntry(5.0, (1, 2), "they talked", "the tests")
    assert model.requests[0].tools == ()
    assert "the tests" in str(model.requests[0].items[-1])


def test_with_three_turns_there_is_nothing_to_compact() -> None:
    entries = five_turns()[:6]

    assert window(entries).compact(Summarist(), "", print) == ()
    assert len(entries) == 6


def test_no_summary_means_nothing_is_appended() -> None:
    entries = five_turns()

    with pytest.raises(ModelError, match="no summary"):
        window(entries).compact(Summarist(text="  "), "", print)

    assert not any(isinstance(entry, CompactionEntry) for entry in entries)


def test_room_is_made_only_near_the_windows_edge() -> None:
    entries = five_turns()
    roomy, tight = window(entries), window(entries, limit=1100)
    said: list[Event] = []

    assert not roomy.make_room(Summarist(), False, said.append)
    assert said == []
    assert tight.make_room(Summarist(), False, said.append)
    assert isinstance(said[0], NoticeGiven)
    assert not tight.make_room(Summarist(), False, said.append)


def test_the_models_own_window_counts_too() -> None:
    entries = five_turns()

    assert window(entries).make_room(Summarist(context_tokens=1100), False, print)


def test_a_summary_that_fails_is_said_and_the_context_stays() -> None:
    entries = five_turns()
    said: list[Event] = []

    assert not window(entries).make_room(Summarist(text="fail"), True, said.append)
    assert "no connection" in str(said[0])


def test_the_servers_count_corrects_the_estimate() -> None:
    entries = five_turns()
    one = window(entries)
    before = one.tokens()

    one.learn(Usage(before * 2, 0), one.items())

    assert one.tokens() == pytest.approx(before * 2, rel=0.02)
