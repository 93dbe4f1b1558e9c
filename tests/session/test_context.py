"""The context that is worked out from an archive is one that every server accepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keryx_py.messages import Item, Message, Role, Thinking, ToolCall, ToolResult, Usage
from keryx_py.session.archive import (
    CompactionEntry,
    DamagedEntry,
    Entry,
    ItemEntry,
    Mode,
    RedoEntry,
    RewindEntry,
    TurnEntry,
    live_turns,
    next_number,
    standing_rewinds,
)
from keryx_py.session.compaction import SUMMARY_INSTRUCTION, plan_compaction
from keryx_py.session.context import (
    TokenEstimate,
    build_context,
    measure,
)


def asked(text: str) -> Message:
    return Message(Role.USER, text)


def answered(text: str, *ids: str) -> Message:
    return Message(Role.ASSISTANT, text, tuple(ToolCall(name, "read_file", "{}") for name in ids))


def turn(number: int, *items: Item, note: str = "") -> tuple[Entry, ...]:
    follows = number - 1 or None
    begun = TurnEntry(number, 0.0, f"prompt {number}", follows, note)
    return (begun, *(ItemEntry(number, item) for item in items))


def done(call_id: str, output: str = "out") -> ToolResult:
    return ToolResult(call_id, output, ok=True)


def cut_short(call_id: str) -> ToolResult:
    return ToolResult(call_id, "interrupted", ok=False)


def check(context: Sequence[Item]) -> None:
    """Refuse what the strictest server refuses."""
    open_ids: list[str] = []
    seen: set[str] = set()
    before: Item | None = None
    for item in context:
        if isinstance(item, ToolResult):
            assert open_ids, "a result without a call"
            assert item.call_id == open_ids.pop(0), "a result out of place"
        else:
            assert not open_ids, "a call without a result"
            if before is None:
                assert item.role is Role.USER, "the first is not the person's"
            if isinstance(before, Message):
                assert item.role is not before.role, "one side twice"
            assert item.text.strip() or item.calls, "an empty message"
            assert not (item.role is Role.USER and item.calls)
            open_ids = [call.id for call in item.calls]
            assert all(open_ids)
            assert len(set(open_ids)) == len(open_ids), "an id twice"
            assert seen.isdisjoint(open_ids), "an id twice"
            seen.update(open_ids)
        before = item
    assert not open_ids, "a call without a result"


def test_the_context_is_prompts_answers_calls_and_results() -> None:
    entries = (*turn(1, answered("", "a", "b"), done("a"), done("b"), answered("ok")), *turn(2))

    context = build_context(entries)

    assert context == (
        asked("prompt 1"),
        answered("", "a", "b"),
        done("a"),
        done("b"),
        answered("ok"),
        asked("prompt 2"),
    )


def test_the_note_comes_before_the_prompt() -> None:
    assert build_context(turn(1, note="[a.py went back]")) == (
        asked("[a.py went back]\n\nprompt 1"),
    )


def test_a_call_without_a_result_was_interrupted() -> None:
    context = build_context((*turn(1, answered("", "a", "b"), done("b")), *turn(2)))

    assert context[1:4] == (answered("", "a", "b"), cut_short("a"), done("b"))


def test_results_without_a_call_and_second_results_are_left_out() -> None:
    items = (done("x"), answered("", "a"), done("a", "first"), done("a", "second"), done("y"))

    assert build_context(turn(1, *items)) == (
        asked("prompt 1"),
        answered("", "a"),
        done("a", "first"),
    )


def test_a_result_after_the_next_message_is_left_out() -> None:
    items = (answered("", "a"), answered("", "b"), done("a"), done("b"))

    context = build_context(turn(1, *items))

    assert context[1:] == (answered("", "a"), cut_short("a"), answered("", "b"), done("b"))


def test_results_come_in_the_order_of_the_calls() -> None:
    context = build_context(turn(1, answered("", "a", "b"), done("b"), done("a")))

    assert context[2:] == (done("a"), done("b"))


def test_ids_that_a_server_uses_again_become_unique() -> None:
    items = (answered("", "0"), done("0", "one"), answered("", "0", "0"), done("0", "two"))

    context = build_context(turn(1, *items))

    assert context[1:] == (
        answered("", "0"),
        done("0", "one"),
        answered("", "0-2", "0-3"),
        done("0-2", "two"),
        cut_short("0-3"),
    )


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_answer_is_never_sent_and_the_prompts_join(text: str) -> None:
    context = build_context((*turn(1, answered(text)), *turn(2)))

    assert context == (asked("prompt 1\n\nprompt 2"),)


def test_answers_in_a_row_join_and_keep_the_calls() -> None:
    context = build_context(turn(1, answered("one"), answered("two", "a"), done("a")))

    assert context[1:] == (answered("one\n\ntwo", "a"), done("a"))


def test_thinking_goes_back_as_it_came() -> None:
    block = Thinking("anthropic/x", '{"signature": "…"}')
    message = Message(Role.ASSISTANT, "", (ToolCall("a", "t", "{}"),), (block,))

    assert build_context(turn(1, message))[1] == message


def test_joined_answers_keep_the_thinking_that_led_to_the_calls() -> None:
    early, late = Thinking("x", "early"), Thinking("x", "late")
    first = Message(Role.ASSISTANT, "one", (), (early,))
    calling = Message(Role.ASSISTANT, "two", (ToolCall("a", "t", "{}"),), (late,))
    plain = Message(Role.ASSISTANT, "three")

    assert build_context(turn(1, first, calling))[1] == replace(calling, text="one\n\ntwo")
    assert build_context(turn(1, first, plain))[1] == replace(first, text="one\n\nthree")


def test_a_lost_turn_is_left_out_and_the_rest_is_sent() -> None:
    lost = (DamagedEntry("lost"), *turn(2, answered("two"))[1:])

    context = build_context((*turn(1, answered("one")), *lost, *turn(3)))

    assert context == (asked("prompt 1"), answered("one"), asked("prompt 3"))


def test_the_summary_stands_in_for_what_it_covers() -> None:
    entries = (*turn(1, answered("1")), *turn(2, answered("2")), *turn(3, answered("3")))

    context = build_context((*entries, CompactionEntry(0.0, (1, 2), "we met {}")))

    summary = "[Summary of the conversation so far]\nwe met {}\n[End of summary]"
    assert context == (asked(f"{summary}\n\nprompt 3"), answered("3"))


def test_a_compaction_falls_with_a_turn_it_covers_and_a_redo_revives_it() -> None:
    entries = (
        *turn(1, answered("1")),
        *turn(2, answered("2")),
        CompactionEntry(0.0, (1, 2), "short"),
        RewindEntry(0.0, 2, Mode.HISTORY, None, cut=True),
    )

    cut = build_context(entries)
    revived = build_context((*entries, RedoEntry(0.0, 5, None)))

    assert cut == (asked("prompt 1"), answered("1"))
    assert "short" in str(revived)


def test_a_compaction_made_in_turns_that_went_stands_when_what_it_covers_is_live() -> None:
    entries = (
        *turn(1, answered("1")),
        *turn(2, answered("2")),
        CompactionEntry(0.0, (1,), "short"),
        RewindEntry(0.0, 2, Mode.HISTORY, None, cut=True),
    )

    assert "short" in str(build_context(entries))


def test_the_newest_standing_compaction_counts() -> None:
    older, newer = CompactionEntry(0.0, (1,), "older"), CompactionEntry(0.0, (1, 2), "newer")

    context = build_context((*turn(1), *turn(2), *turn(3), older, newer))

    assert "newer" in str(context)
    assert "older" not in str(context)


TEXTS = st.sampled_from(["", " ", "one", "two\n", "\udc80"])
IDS = st.sampled_from(["", "a", "b", "a-2"])
CALLS = st.lists(IDS.map(lambda name: ToolCall(name, "read_file", "{}")), max_size=3)
ITEMS = st.one_of(
    st.builds(Message, st.sampled_from(Role), TEXTS, CALLS.map(tuple)),
    st.builds(Message, st.just(Role.ASSISTANT), TEXTS, CALLS.map(tuple)),
    st.builds(ToolResult, IDS, TEXTS, st.booleans()),
)


@st.composite
def archives(draw: st.DrawFn) -> tuple[Entry, ...]:
    """Play any session: turns, answers, rewinds, redos, compactions, then lose some lines."""
    entries: list[Entry] = []
    for _ in range(draw(st.integers(0, 12))):
        live = live_turns(entries)
        match draw(st.sampled_from(["turn", "items", "items", "rewind", "redo", "compact"])):
            case "turn":
                follows = live[-1] if live else None
                number = next_number(entries)
                entries.append(TurnEntry(number, 0.0, draw(TEXTS), follows, draw(TEXTS)))
            case "items" if live:
                entries += [ItemEntry(live[-1], item) for item in draw(st.lists(ITEMS, max_size=6))]
            case "rewind":
                mode = draw(st.sampled_from(Mode))
                to = draw(st.integers(1, 8))
                entries.append(RewindEntry(0.0, to, mode, None, cut=mode.cuts_history))
            case "redo" if standing := standing_rewinds(entries):
                entries.append(RedoEntry(0.0, standing[-1], None))
            case "compact" if live:
                plan = plan_compaction(entries, draw(st.integers(0, 3)))
                covers = plan.covers if plan else (draw(st.sampled_from(live)),)
                entries.append(CompactionEntry(0.0, covers, draw(TEXTS)))
            case _:
                pass
    lost = draw(st.sets(st.integers(0, 30), max_size=3))
    return tuple(
        DamagedEntry("lost") if position in lost else entry
        for position, entry in enumerate(entries)
    )


@given(archives())
def test_whatever_happened_the_context_is_accepted(entries: tuple[Entry, ...]) -> None:
    context = build_context(entries)

    check(context)
    assert bool(context) == bool(live_turns(entries))


@given(archives())
def test_whatever_happened_a_prompt_can_follow(entries: tuple[Entry, ...]) -> None:
    live = live_turns(entries)
    prompt = TurnEntry(next_number(entries), 0.0, "and now?", live[-1] if live else None)

    context = build_context((*entries, prompt))

    check(context)
    last = context[-1]
    assert isinstance(last, Message)
    assert last.role is Role.USER
    assert last.text.endswith("and now?")


@given(archives(), st.integers(0, 3))
def test_whatever_happened_the_request_for_a_summary_is_accepted(
    entries: tuple[Entry, ...], keep: int
) -> None:
    plan = plan_compaction(entries, keep)

    if plan:
        check(plan.request("names"))
        check(build_context((*entries, CompactionEntry(0.0, plan.covers, "short"))))


FOUR = (*turn(1, answered("1")), *turn(2, answered("2")), *turn(3, answered("3")), *turn(4))


def test_the_last_three_turns_stay() -> None:
    plan = plan_compaction(FOUR)

    assert plan
    assert plan.covers == (1,)
    assert plan.items == (asked("prompt 1"), answered("1"))


def test_with_no_more_than_three_turns_there_is_nothing_to_compact() -> None:
    assert plan_compaction(FOUR[:-1]) is None
    assert plan_compaction(()) is None


def test_what_is_compacted_already_is_nothing_to_compact() -> None:
    assert plan_compaction((*FOUR, CompactionEntry(0.0, (1,), "short"))) is None


def test_an_earlier_summary_stands_in_for_what_it_covers() -> None:
    entries = (*FOUR, CompactionEntry(0.0, (1,), "short"), *turn(5))

    plan = plan_compaction(entries)

    assert plan
    assert plan.covers == (1, 2)
    assert "short" in str(plan.items)
    assert "prompt 1" not in str(plan.items)


def test_the_request_ends_with_one_instruction_and_the_focus() -> None:
    plan = plan_compaction(FOUR)
    assert plan

    request = plan.request(focus="the parser")

    last = request[-1]
    assert isinstance(last, Message)
    assert last.text.startswith(SUMMARY_INSTRUCTION)
    assert last.text.endswith("the parser")


def test_an_unanswered_prompt_and_the_instruction_are_one_message() -> None:
    plan = plan_compaction((*turn(1), *turn(2)), keep_turns=1)
    assert plan

    assert len(plan.request()) == 1


def test_sizes_are_bytes_of_utf_8() -> None:
    call = Message(Role.ASSISTANT, "é", (ToolCall("a", "ls", "{}"),))

    assert measure((call, done("a", "\udc80"))) == 2 + 4 + 3


def test_the_estimate_follows_what_the_server_counts() -> None:
    estimate = TokenEstimate()

    better = estimate.seen(10_000, Usage(2_000, 5))

    assert better.tokens(5_000) == 1_000


@pytest.mark.parametrize(
    ("size", "usage"), [(10_000, None), (10_000, Usage(0, 0)), (10, Usage(2_000, 5))]
)
def test_an_estimate_learns_nothing_from_nothing(size: int, usage: Usage | None) -> None:
    assert TokenEstimate().seen(size, usage) == TokenEstimate()
