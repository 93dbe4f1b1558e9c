"""Scripts of replies: how they are chosen, and what is said of a bad file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keryx_py.messages import Item, Message, Role, ToolCall, ToolResult, ToolSpec, Usage
from keryx_py.models.base import ContextTooLongError, ModelError, Notice, Reply, Request
from keryx_py.models.scripted import ScriptedModel, ScriptedReply, scripted_call

TOOL = ToolSpec("write_file", "", {})
SCRIPT = '''
summary = "We greeted."
context_tokens = 5000

[[turn]]
prompt = "greet"

[[turn.reply]]
text = "I will write it."
usage = { input = 90, output = 4 }
delay = 0.5

[[turn.reply.call]]
tool = "write_file"
args.path = "hello.txt"
args.content = """
Hello!
  "You"
"""

[[turn.reply.call]]
tool = "shell_exec"
args = { command = "cat hello.txt", timeout_s = 5 }

[[turn.reply]]
text = "Done."

[[turn]]
prompt = "again"
reply = [{ text = "first" }]

[[turn]]
prompt = "again"
reply = [{ text = "second" }]

[[reply]]
notice = "Wait."
text = "In order 1"

[[reply]]
error = "too much"
too_long = true
'''


def user(text: str) -> Message:
    return Message(Role.USER, text)


def play(model: ScriptedModel, *items: Item, tools: tuple[ToolSpec, ...] = (TOOL,)) -> Reply:
    part = list(model.stream(Request("", items, tools)))[-1]
    assert isinstance(part, Reply)
    return part


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "demo.toml"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


def test_a_turn_is_played_step_by_step(file: Path) -> None:
    slept: list[float] = []
    model = ScriptedModel.from_file(file, slept.append)
    items: list[Item] = [user("please greet me")]

    first = play(model, *items)
    items += [first.message, *(ToolResult(call.id, "ok", ok=True) for call in first.message.calls)]
    second = play(model, *items)

    assert slept == [0.5]
    assert first.message.text == "I will write it."
    assert first.usage == Usage(90, 4)
    assert [(call.tool, json.loads(call.args)) for call in first.message.calls] == [
        ("write_file", {"path": "hello.txt", "content": 'Hello!\n  "You"\n'}),
        ("shell_exec", {"command": "cat hello.txt", "timeout_s": 5}),
    ]
    assert len({call.id for call in first.message.calls}) == 2
    assert second.message == Message(Role.ASSISTANT, "Done.")


def test_the_same_context_gets_the_same_reply_in_another_process(file: Path) -> None:
    items = (user("again"), Message(Role.ASSISTANT, "first"), user("again"))

    replies = [play(ScriptedModel.from_file(file), *items).message.text for _ in range(2)]

    assert replies == ["second", "second"]


def test_a_prompt_that_is_sent_again_goes_on_to_its_next_turn(file: Path) -> None:
    model = ScriptedModel.from_file(file)
    items: list[Item] = []
    said: list[str] = []

    for _ in range(3):
        items.append(user("again"))
        items.append(play(model, *items).message)
        said.append(play(model, *items[:-1]).message.text)

    assert said == ["first", "second", "second"]


def test_after_a_rewind_the_turn_is_played_again(file: Path) -> None:
    model = ScriptedModel.from_file(file)
    first = play(model, user("again"))
    play(model, user("again"), first.message, user("again"))

    assert play(model, user("again")).message.text == "first"


def test_other_prompts_take_the_plain_replies_in_order(file: Path) -> None:
    model = ScriptedModel.from_file(file)
    request = Request("", (user("else"),), (TOOL,))

    parts = list(model.stream(request))
    with pytest.raises(ContextTooLongError, match="too much"):
        list(model.stream(request))
    with pytest.raises(ModelError, match='no further reply for the prompt "else"'):
        list(model.stream(request))

    assert parts[0] == Notice("Wait.")
    assert isinstance(parts[-1], Reply)
    assert parts[-1].message.text == "In order 1"


def test_a_turn_that_has_no_step_left_says_so(file: Path) -> None:
    items = (user("again"), Message(Role.ASSISTANT, "", (ToolCall("a", "x", "{}"),)))

    with pytest.raises(ModelError, match="no further reply"):
        play(ScriptedModel.from_file(file), *items, ToolResult("a", "", ok=True))


def test_a_summary_takes_no_reply(file: Path) -> None:
    model = ScriptedModel.from_file(file)

    summary = play(model, user("greet"), user("Summarise"), tools=())

    assert summary.message.text == "We greeted."
    assert play(model, user("else")).message.text == "In order 1"


def test_the_end_of_a_joined_prompt_is_what_is_answered(file: Path) -> None:
    text = (
        "[Summary of the conversation so far]\ngreet\n[End of summary]\n\n[note]\n\ngreet\n\nagain"
    )

    assert play(ScriptedModel.from_file(file), user(text)).message.text == "first"


def test_a_script_knows_its_name_and_window(file: Path) -> None:
    model = ScriptedModel.from_file(file)

    assert (model.name, model.context_tokens) == (f"script:{file}", 5000)


def test_replies_can_be_given_as_values() -> None:
    slept: list[float] = []
    call = scripted_call("write_file", path="a", content="x\n")
    model = ScriptedModel(
        [ScriptedReply("Writing.", (call, call), delay=2), "Done."], sleep=slept.append
    )
    earlier = Message(Role.ASSISTANT, "", (ToolCall("call_1", "x", "{}"),))

    first = play(model, user("a"), earlier, ToolResult("call_1", "", ok=True), user("b"))
    second = play(model, user("a"))

    assert slept == [2]
    assert [call.id for call in first.message.calls] == ["call_2", "call_3"]
    assert json.loads(first.message.calls[0].args) == {"path": "a", "content": "x\n"}
    assert second.message.text == "Done."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[reply]\n", "line 1"),
        ("", "holds no reply"),
        ('[[reply]]\ntxt = "x"', 'unknown key "txt" in reply 1; did you mean "text"?'),
        ("[[reply]]\ntext = 3", '"text" in reply 1 must be text'),
        ('[reply]\ntext = "x"', '"reply" at the top must be a list of tables'),
        ("[[reply]]\ndelay = 1", "reply 1 says nothing"),
        ('[[reply]]\ntext = "x"\ndelay = -1', '"delay" in reply 1 must be a number'),
        ('[[reply]]\ntext = "x"\ndelay = nan', '"delay" in reply 1 must be a number'),
        ('[[reply]]\ntext = "x"\nusage = 3', '"usage" of reply 1'),
        ('[[turn]]\nprompt = "x"', "turn 1 has no reply"),
        ("[[turn]]\n[[turn.reply]]\n[[turn.reply.call]]\nargs = {}", "turn 1, reply 1, call 1"),
        ('[[reply]]\n[[reply.call]]\ntool = "x"\nargs = 3', '"args" of reply 1, call 1'),
        ('[[reply]]\n[[reply.call]]\ntool = "x"\nargs.a = 2020-01-01', "dates"),
        ('[[reply]]\nerror = "x"\ntoo_long = 1', "true or false"),
    ],
)
def test_a_bad_file_is_one_sentence_that_says_where(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ModelError) as caught:
        ScriptedModel.from_file(path)

    assert str(path) in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "missing.toml"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ModelError, match=r"missing\.toml"):
        ScriptedModel.from_file(path)
