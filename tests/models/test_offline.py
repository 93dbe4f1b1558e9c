"""The built-in model: which instructions it understands, and how it follows them."""

from __future__ import annotations

import json

import pytest

from keryx_py.messages import Item, Message, Role, ToolResult, ToolSpec
from keryx_py.models.base import Reply, Request, TextDelta
from keryx_py.models.instructions import NotUnderstoodError, parse_instructions
from keryx_py.models.offline import ABOUT, OfflineModel
from keryx_py.models.offline_summary import MOST_CHARACTERS
from keryx_py.models.prompts import last_block, prompt_of

TOOLS = (
    "list_dir",
    "read_file",
    "find_files",
    "search_text",
    "write_file",
    "edit_file",
    "move_file",
    "delete_file",
    "shell_exec",
    "delegate",
)


def ask(*items: Item, tools: tuple[str, ...] = TOOLS) -> Message:
    request = Request("", items, tuple(ToolSpec(tool, "", {}) for tool in tools))
    parts = list(OfflineModel().stream(request))
    assert isinstance(parts[-1], Reply)
    said = "".join(part.text for part in parts if isinstance(part, TextDelta))
    assert said == parts[-1].message.text
    return parts[-1].message


def run(prompt: str, *outcomes: tuple[bool, str], tools: tuple[str, ...] = TOOLS) -> list[Item]:
    """Play a turn whose calls come out as *outcomes* say; return its items."""
    items: list[Item] = [Message(Role.USER, prompt)]
    for ok, output in outcomes:
        message = ask(*items, tools=tools)
        (call,) = message.calls
        items += [message, ToolResult(call.id, output, ok)]
    return [*items, ask(*items, tools=tools)]


def said(items: list[Item]) -> str:
    last = items[-1]
    assert isinstance(last, Message)
    assert not last.calls
    return last.text


def calls(prompt: str) -> list[tuple[str, dict[str, str | bool]]]:
    return [(step.tool, dict(step.args)) for step in parse_instructions(prompt)]


@pytest.mark.parametrize(
    ("prompt", "tool", "args"),
    [
        ("create a.txt with hello", "write_file", {"path": "a.txt", "content": "hello\n"}),
        ("Write a.txt containing x y", "write_file", {"path": "a.txt", "content": "x y\n"}),
        ("write hello to a.txt", "write_file", {"path": "a.txt", "content": "hello\n"}),
        ("create a.txt", "write_file", {"path": "a.txt", "content": ""}),
        ('create a.txt with ""', "write_file", {"path": "a.txt", "content": ""}),
        (
            "please create the new file a.txt with the text hi",
            "write_file",
            {"path": "a.txt", "content": "hi\n"},
        ),
        ("create a.txt with line 1", "write_file", {"path": "a.txt", "content": "line 1\n"}),
        (
            r'create "a b.txt" with "x\n\"y\" then delete z"',
            "write_file",
            {"path": "a b.txt", "content": 'x\n"y" then delete z\n'},
        ),
        (
            r"create a.txt with 'no \n escape'",
            "write_file",
            {"path": "a.txt", "content": "no \\n escape\n"},
        ),
        (
            "create a.py with:\n```python\nx = 1\n\nthen delete\n```",
            "write_file",
            {"path": "a.py", "content": "x = 1\n\nthen delete\n"},
        ),
        (
            "create a.py:\n```\n\n  x\n\n```",
            "write_file",
            {"path": "a.py", "content": "\n  x\n\n"},
        ),
        (
            "create a.txt with one\ntwo",
            "write_file",
            {"path": "a.txt", "content": "one\ntwo\n"},
        ),
        ("create a.txt with don't", "write_file", {"path": "a.txt", "content": "don't\n"}),
        ("append x to a.txt", "shell_exec", {"command": "printf '%s\\n' x >> a.txt"}),
        (
            "append 'it is; rm -rf /' to 'a b'",
            "shell_exec",
            {"command": "printf '%s\\n' 'it is; rm -rf /' >> 'a b'"},
        ),
        ("add a line x to a.txt", "shell_exec", {"command": "printf '%s\\n' x >> a.txt"}),
        (
            "replace foo with bar in a.txt",
            "edit_file",
            {"path": "a.txt", "old": "foo", "new": "bar", "replace_all": False},
        ),
        (
            "replace all 'a with b' with \"\" in a.txt",
            "edit_file",
            {"path": "a.txt", "old": "a with b", "new": "", "replace_all": True},
        ),
        ("delete a.txt.", "delete_file", {"path": "a.txt"}),
        ("remove the file `a b`", "delete_file", {"path": "a b"}),
        ("move a to b", "move_file", {"source": "a", "target": "b"}),
        ("rename a.txt to docs/", "move_file", {"source": "a.txt", "target": "docs/a.txt"}),
        ("list", "list_dir", {"path": "."}),
        ("list src", "list_dir", {"path": "src"}),
        ("list the files in src", "list_dir", {"path": "src"}),
        ("read a.txt", "read_file", {"path": "a.txt"}),
        ("show me a.txt", "read_file", {"path": "a.txt"}),
        ("find *.py files", "find_files", {"pattern": "**/*.py"}),
        ("find src/*.py", "find_files", {"pattern": "src/*.py"}),
        ("search f(x) in src", "search_text", {"pattern": "f\\(x\\)", "path": "src"}),
        ("search for 'a in b'", "search_text", {"pattern": "a in b"}),
        ("grep f.*x", "search_text", {"pattern": "f.*x"}),
        ("run make test", "shell_exec", {"command": "make test"}),
        ("run `echo 'a' > b`", "shell_exec", {"command": "echo 'a' > b"}),
        ("execute the command: ls -l", "shell_exec", {"command": "ls -l"}),
        ("delegate 'list src then read a'", "delegate", {"task": "list src then read a"}),
    ],
)
def test_one_instruction_makes_one_call(
    prompt: str, tool: str, args: dict[str, str | bool]
) -> None:
    assert calls(prompt) == [(tool, args)]


@pytest.mark.parametrize(
    "prompt",
    [
        "create a with 1, then run ls and then read a",
        "create a with 1 then run ls then read a",
        "create a with 1\nrun ls\nread a",
        "1. create a with 1\n2. run ls\n3. read a",
        "- create a with 1\n\n- Run ls\n- then read a",
    ],
)
def test_several_instructions_keep_their_order(prompt: str) -> None:
    assert calls(prompt) == [
        ("write_file", {"path": "a", "content": "1\n"}),
        ("shell_exec", {"command": "ls"}),
        ("read_file", {"path": "a"}),
    ]


def test_several_files_are_deleted_one_by_one() -> None:
    assert [args["path"] for _, args in calls("delete a, b and 'c and d'")] == ["a", "b", "c and d"]


@pytest.mark.parametrize(
    ("prompt", "part"),
    [
        ("list then frobnicate", "list then frobnicate"),
        ("run ls\ndelete all of it", "delete all of it"),
        ("delete the folder src", "delete the folder src"),
        ("create", "create"),
        ("run", "run"),
        ("replace a in b", "replace a in b"),
        ("listing things", "listing things"),
        ("", ""),
    ],
)
def test_what_is_no_instruction_is_named(prompt: str, part: str) -> None:
    with pytest.raises(NotUnderstoodError) as caught:
        parse_instructions(prompt)

    assert str(caught.value) == part


def test_a_turn_makes_its_calls_one_by_one_and_reports() -> None:
    items = run("create a.txt with x then read a.txt", (True, "written"), (True, "x"))

    assert said(items) == "Wrote `a.txt`.\n\nRead `a.txt`:\n\n```\nx\n```"


def test_a_failed_call_stops_the_later_ones() -> None:
    items = run("delete a then delete b", (False, "denied: keep that"))

    assert said(items) == (
        "“delete a” did not work: denied: keep that\n\nI stopped there; not done: “delete b”."
    )


def test_calls_have_ids_of_their_own_over_the_whole_conversation() -> None:
    first = run("list", (True, "x"))
    second = ask(*first, Message(Role.USER, "list"))

    ids = [call.id for item in [*first, second] if isinstance(item, Message) for call in item.calls]
    assert len(set(ids)) == len(ids) == 2


def test_only_the_last_prompt_is_followed() -> None:
    first = run("delete a", (True, "deleted"))

    message = ask(*first, Message(Role.USER, "list src"))

    assert [(call.tool, json.loads(call.args)) for call in message.calls] == [
        ("list_dir", {"path": "src"})
    ]


@pytest.mark.parametrize(
    "before",
    [
        "[Went back: a.txt]\n\n",
        "[Summary of the conversation so far]\ndelete b\n\ndelete c\n[End of summary]\n\n",
        "[Summary of the conversation so far]\nx\n[End of summary]\n\n[Note:\ntwo lines]\n\n",
    ],
)
def test_notes_and_summaries_before_the_prompt_are_passed_over(before: str) -> None:
    assert said(run(before + "list", (True, "x"))).startswith("Listed `.`")


def test_an_unanswered_prompt_before_this_one_is_not_followed() -> None:
    text = said(run("delete everything.txt\n\nlist", (True, "x")))

    assert text.startswith("Listed `.`")
    assert "only the last paragraph" in text


def test_a_blank_line_inside_quotes_ends_no_paragraph() -> None:
    assert last_block('x\n\ncreate a with "1\n\n2"') == 'create a with "1\n\n2"'
    assert last_block("create a with\n\n```\n1\n\n2\n```") == "create a with\n\n```\n1\n\n2\n```"


def test_a_prompt_in_brackets_is_a_prompt() -> None:
    assert prompt_of("[x] is odd") == "[x] is odd"
    assert prompt_of("[x]") == "[x]"


def test_what_is_not_understood_changes_nothing_and_says_what_is() -> None:
    message = ask(Message(Role.USER, "make me a sandwich, would you"))

    assert message.calls == ()
    assert message.text.startswith("I did not understand “make me a sandwich, would you”")
    assert ABOUT in message.text
    for word in ("create", "--model openai/NAME", "OPENAI_API_KEY", "--base-url", "/model"):
        assert word in message.text


def test_a_greeting_is_told_what_this_is() -> None:
    assert ask(Message(Role.USER, "hello")).text == ABOUT
    assert "not a language model" in ABOUT


def test_a_tool_that_is_not_at_hand_is_said_before_anything_is_done() -> None:
    message = ask(Message(Role.USER, "list then delegate x"), tools=("list_dir",))

    assert message.calls == ()
    assert "delegate" in message.text


def test_long_output_is_cut_and_cannot_end_its_block() -> None:
    output = "\n".join(["```", *(f"line {number}" for number in range(100))])

    text = said(run("read a", (True, output)))

    assert "\n````\n```\nline 0\n" in text
    assert text.endswith("… (41 more lines)\n````")


def test_a_summary_tells_prompts_calls_and_outcomes() -> None:
    items = [
        *run("create a.txt with x then run make", (True, "written"), (False, "exit 2")),
        Message(Role.USER, "Summarise, please."),
    ]

    text = ask(*items, tools=()).text

    assert text.splitlines() == [
        "- Asked: create a.txt with x then run make",
        "  - wrote a.txt",
        "  - ran make (did not work: exit 2)",
        "  - Answered: Wrote `a.txt`. “run make” did not work: ``` exit 2 ```",
    ]


def test_a_summary_keeps_the_earlier_one_and_stays_bounded() -> None:
    start = "[Summary of the conversation so far]\n- Asked: the first thing\n[End of summary]\n\n"
    items: list[Item] = run(f"{start}list", (True, "x"))
    for number in range(300):
        items += run(f"create file{number} with x", (True, "written"))
    items.append(Message(Role.USER, "Summarise, please."))

    text = ask(*items, tools=()).text

    assert text.startswith("- Asked: the first thing\n- Asked: list\n")
    assert "wrote file299" in text
    assert "lines left out" in text
    assert len(text) <= MOST_CHARACTERS


def test_nothing_makes_a_short_summary() -> None:
    assert ask(Message(Role.USER, "Summarise."), tools=()).text == "Nothing was said or done yet."
