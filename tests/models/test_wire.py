"""What is sent is fit for any server, whatever the context holds."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keryx_py.messages import Item, Message, Role, ToolCall, ToolResult
from keryx_py.models.base import Request
from keryx_py.models.chat_wire import chat_body
from keryx_py.models.messages_wire import messages_body
from keryx_py.models.wire import arguments_object, tidy
from tests.servers import chat_faults

ANY_TEXT = st.text(st.characters(), max_size=8) | st.sampled_from(["", " ", "\ud800", "a\udc00"])
ARGUMENTS = ANY_TEXT | st.sampled_from(
    ["{}", '{"a": 1}', '{"a": "\\ud800"}', "[1]", '{"a": NaN}', "{" * 3, '{"a":' * 5000]
)
CALL = st.builds(
    ToolCall, id=st.sampled_from(["a", "b", "", "ü", "x" * 60]), tool=ANY_TEXT, args=ARGUMENTS
)


@st.composite
def turns(draw: st.DrawFn) -> tuple[Item, ...]:
    """Draw a context as the archive makes it: calls have their results, in order."""
    items: list[Item] = []
    for _ in range(draw(st.integers(1, 4))):
        items.append(Message(Role.USER, draw(ANY_TEXT)))
        for _ in range(draw(st.integers(0, 3))):
            calls = draw(st.lists(CALL, max_size=3, unique_by=lambda call: call.id))
            items.append(Message(Role.ASSISTANT, draw(ANY_TEXT), tuple(calls)))
            items += [ToolResult(call.id, draw(ANY_TEXT), draw(st.booleans())) for call in calls]
    return (*items, Message(Role.USER, draw(ANY_TEXT)))


@given(turns())
def test_a_chat_request_of_any_context_is_accepted(items: tuple[Item, ...]) -> None:
    body = chat_body("m", Request("\udcff", items, ()), usage=True)

    assert list(chat_faults(body)) == []
    json.dumps(body, ensure_ascii=False).encode("utf-8")


@given(turns())
def test_a_messages_request_of_any_context_alternates_and_has_no_empty_text(
    items: tuple[Item, ...],
) -> None:
    body = messages_body("m", "anthropic/m", Request("", items, ()), max_tokens=9)

    json.dumps(body, ensure_ascii=False).encode("utf-8")
    messages = body["messages"]
    assert isinstance(messages, list)
    roles = [message["role"] for message in messages if isinstance(message, dict)]
    assert roles == [("user", "assistant")[at % 2] for at in range(len(roles))]
    for message in messages:
        assert isinstance(message, dict)
        assert message["content"]
        for block in message["content"]:
            assert str(block.get("text", "x")).strip()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": [1, null]}', {"a": [1, None]}),
        ("", {}),
        ("  ", {}),
        ("[1]", {"not_valid_json": "[1]"}),
        ('{"a": ', {"not_valid_json": '{"a": '}),
        ('{"a": NaN}', {"not_valid_json": '{"a": NaN}'}),
        ("\ud800", {"not_valid_json": "\ufffd"}),
    ],
)
def test_arguments_always_become_an_object(text: str, found: object) -> None:
    assert arguments_object(text) == found


def test_results_follow_their_calls_when_ids_change() -> None:
    def step(*ids: str) -> Sequence[Item]:
        calls = tuple(ToolCall(call_id, "x", "{}") for call_id in ids)
        results = (ToolResult(call_id, call_id, ok=True) for call_id in ids)
        return (Message(Role.ASSISTANT, "", calls), *results)

    items = tidy([Message(Role.USER, "go"), *step("a", "b c"), *step("a")])

    pairs = [(item.call_id, item.output) for item in items if isinstance(item, ToolResult)]
    made = [call.id for item in items if isinstance(item, Message) for call in item.calls]
    assert [call_id for call_id, _ in pairs] == made
    assert [output for _, output in pairs] == ["a", "b c", "a"]
    assert len(set(made)) == 3
