"""A model is hostile input: whatever it calls, with whatever arguments, it gets an answer."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from keryx_py.messages import Item, JsonValue, Message, ToolCall, ToolResult
from keryx_py.models.scripted import Script, ScriptedModel, ScriptedReply, ScriptedTurn
from keryx_py.models.toolstream import CallAssembler
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, call, shell, write
from tests.cases.watching import look_at

FILE_TOOLS = ("write_file", "edit_file", "delete_file", "read_file", "list_dir", "move_file")
OUTSIDE_PATHS = (
    "{outside}/secret",
    "../outside/secret",
    "./../outside/secret",
    "d/../../outside/secret",
    "d/./.././../outside/secret",
    "//{outside}/secret",
    "out/secret",
    "d/out/secret",
    "one",
    "loop",
    "/proc/self/root{outside}/secret",
    "/proc/self/cwd/f",
    "/dev/stdin",
    "~/secret",
    "{outside}/../outside/secret",
    ".git/config",
    ".GIT/config",
    "d/../.git/hooks/pre-commit",
    ".git\u200c/config",
    "sub/.git/config",
)


@pytest.fixture
def outside(root: Path, tmp_path: Path) -> Path:
    """A folder beside the project, and links in the project that lead there."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_text("secret\n")
    (root / "d").mkdir()
    (root / "out").symlink_to(folder)
    (root / "d" / "out").symlink_to("../../outside")
    (root / "one").symlink_to(folder / "secret")
    (root / "loop").symlink_to("loop")
    (root / "f").write_text("the person's\n")
    for git in (root / ".git", root / "sub" / ".git"):
        (git / "hooks").mkdir(parents=True)
        (git / "config").write_text("[core]\n")
    return folder


def arguments(tool: str, path: str) -> dict[str, JsonValue]:
    """Make arguments of *tool* that name *path*."""
    match tool:
        case "write_file":
            return {"path": path, "content": "owned\n"}
        case "edit_file":
            return {"path": path, "old": "e", "new": "owned"}
        case "move_file":
            return {"source": "f", "target": path}
        case _:
            return {"path": path}


def results(sitting: Sitting) -> list[ToolResult]:
    """The results in the context, each right after its call, in the calls' order."""
    items: tuple[Item, ...] = sitting.project.window.items()
    found: list[ToolResult] = []
    waiting: list[str] = []
    for item in items:
        match item:
            case Message(calls=calls):
                assert not waiting, "a call without its result"
                waiting = [one.id for one in calls]
                assert len(set(waiting)) == len(waiting)
            case ToolResult(call_id=call_id):
                assert waiting, "a result without its call"
                assert waiting.pop(0) == call_id
                found.append(item)
    assert not waiting
    return found


def play_replies(sitting: Sitting, *replies: tuple[ToolCall, ...]) -> str:
    """Take one turn whose steps make these calls, exactly as they are written here."""
    steps = (*(ScriptedReply(calls=calls) for calls in replies), ScriptedReply("done"))
    sitting.project.model = ScriptedModel(script=Script(turns=(ScriptedTurn("go", steps),)))
    return sitting.play("go")


def test_no_path_leads_a_file_tool_outside_or_into_git(root: Path, outside: Path, sit: Sit) -> None:
    """Absolute, through `..`, through links, through /proc, in any spelling of `.git`."""
    closed = (root / ".git", outside, root / "sub" / ".git")
    before = [look_at(folder) for folder in closed]
    paths = [path.format(outside=outside) for path in OUTSIDE_PATHS]
    sitting = sit()
    calls = [call(tool, **arguments(tool, path)) for tool in FILE_TOOLS for path in paths]
    calls += [call("move_file", source=path, target="taken") for path in paths]
    calls += [call("search_text", pattern="secret|core", path=path) for path in paths]

    said = sitting.play(tuple(calls))

    assert [look_at(folder) for folder in closed] == before
    answers = results(sitting)
    assert len(answers) == len(calls)
    assert not any("secret\n" in one.output or "[core]" in one.output for one in answers)
    assert "bug" not in said


ODD_TEXTS = (
    "\0",
    "f\0g",
    "\x1b[2J",
    "\n",
    " ",
    "",
    ".",
    "..",
    "/",
    "a" * 300,
    "a/" * 3000 + "b",
    "\udcff\udcfe",
    "\u202e\u2066",
    "C:\\windows",
    "file:///etc/passwd",
    "|id",
    "$(id)",
    "-",
    "--help",
    "[" * 2000,
    "{" * 2000,
    "(?:" * 2000,
    "**/" * 2000,
    "(a+)+$",
)


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_any_text_in_any_argument_gets_an_answer(root: Path, sit: Sit, text: str) -> None:
    """The project's own file stays unless it was named."""
    (root / "f").write_text("the person's\n")
    sitting = sit()
    calls = (
        *(call(tool, **arguments(tool, text)) for tool in FILE_TOOLS[:-1]),
        call("move_file", source=text, target=text),
        call("edit_file", path="f", old=text, new=text),
        call("find_files", pattern=text),
        call("search_text", pattern=text),
        call("shell_exec", command=text, timeout_s=2),
        call("shell_exec", command=f"true {text}", timeout_s=2),
    )

    said = sitting.play(calls)

    assert len(results(sitting)) == len(calls)
    assert "bug" not in said
    assert not [letter for letter in said if ord(letter) < 32 and letter not in "\n\t"]
    assert (root / "f").read_text() == "the person's\n"


WRONG_ARGUMENTS = (
    "",
    "null",
    "[]",
    '"f"',
    "{",
    "{}{}",
    "\ufeff{}",
    '{"path": 1}',
    '{"path": ["f"], "content": "x"}',
    '{"path": {"path": "f"}, "content": "x"}',
    '{"path": "f", "path": "g", "content": "x"}',
    '{"path": "f", "content": "x", "approve": true}',
    '{"path": "f", "content": NaN}',
    '{"path": "f", "content": 1e999}',
    '{"path": "f", "content": ' + "9" * 5000 + "}",
    '{"path": "\\ud800", "content": "x"}',
    '{"path": "f", "content": ' + "[" * 200_000 + "]" * 200_000 + "}",
    '{"path": ' + '{"a":' * 100_000 + "1" + "}" * 100_000 + ', "content": "x"}',
    '{"__proto__": {}, "path": "f", "content": "x"}',
    '{"path": "f", "content": "' + "x" * (10 * 2**20) + '"}',
    "\x1b[2J\x1b]0;owned\x07",
)


@pytest.mark.parametrize("at", range(len(WRONG_ARGUMENTS)))
def test_arguments_that_do_not_fit_are_answered_and_do_nothing(
    root: Path, sit: Sit, at: int
) -> None:
    """No snapshot is taken for them, nothing is asked, and the session opens again."""
    sitting = sit()

    said = play_replies(sitting, (ToolCall("c1", "write_file", WRONG_ARGUMENTS[at]),))

    assert look_at(root) == {}
    assert [one.ok for one in results(sitting)] == [False]
    assert "invalid arguments" in said
    assert "\x1b" not in said
    assert len(said) < 5000
    assert sitting.project.store is not None
    assert sitting.project.store.keys() == frozenset()
    assert "done" in sitting.resume().play(shell("true"))


def test_megabytes_of_text_are_written_or_refused_and_never_flood_the_screen(
    root: Path, sit: Sit
) -> None:
    """As content, as a command, as a pattern, as a path, as a tool's name."""
    sitting = sit()
    much = "x" * (4 * 2**20)
    began = time.monotonic()

    said = play_replies(
        sitting,
        (
            write("f", much),
            shell(f"true {much}"),
            call("search_text", pattern=much),
            call("find_files", pattern=much),
            call("read_file", path=much),
            ToolCall("", much, "{}"),
        ),
    )

    assert len(results(sitting)) == 6
    assert "bug" not in said
    assert len(said) < 20_000
    assert (root / "f").stat().st_size == len(much)
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    "name",
    ["rm", "shell", "Write_File", "write_file ", "", "\x1b[2J", "a" * 5000, "../shell_exec", "\0"],
)
def test_an_unknown_tool_is_answered(root: Path, sit: Sit, name: str) -> None:
    """Nothing runs under a name that only resembles one."""
    sitting = sit()

    said = play_replies(sitting, (ToolCall("c1", name, '{"path": "f", "content": "x"}'),))

    assert look_at(root) == {}
    assert [one.ok for one in results(sitting)] == [False]
    assert "\x1b" not in said
    assert max(map(len, said.splitlines())) < 1000


def test_a_call_id_that_comes_twice_gets_two_answers(root: Path, sit: Sit) -> None:
    """In one reply and in a later one; the context stays one that a server accepts."""
    sitting = sit()
    one = ToolCall("same", "shell_exec", json.dumps({"command": "echo 1 >> log"}))

    play_replies(sitting, (one, one), (one,), (ToolCall("\x1b[2J" * 50, *one_args(one)),))

    assert (root / "log").read_text() == "1\n" * 4
    assert len(results(sitting)) == 4
    assert len(results(sitting.resume())) == 4


def one_args(one: ToolCall) -> tuple[str, str]:
    return one.tool, one.args


def test_a_thousand_calls_in_one_reply_are_all_answered(root: Path, sit: Sit) -> None:
    """Neither their number nor their order costs an answer, or hours."""
    sitting = sit()
    began = time.monotonic()

    play_replies(
        sitting,
        tuple(ToolCall(f"c{number}", f"tool{number % 7}", "{}") for number in range(1000)),
    )

    assert len(results(sitting)) == 1000
    assert time.monotonic() - began < 30


def test_thousands_of_pieces_of_calls_are_put_together_in_time() -> None:
    """Also when every piece begins another call."""
    assembler = CallAssembler()
    began = time.monotonic()
    for number in range(5000):
        assembler.feed(
            [{"index": number, "id": f"c{number}", "function": {"name": "t", "arguments": "{}"}}]
        )

    assert len(assembler.calls()) == 5000
    assert time.monotonic() - began < 10


def test_a_sub_agent_gets_no_more_than_its_parent(root: Path, sit: Sit) -> None:
    """The same gates: what is denied there is denied here, and it cannot delegate further."""
    (root / "f").write_text("the person's\n")
    task = (shell("rm -rf f"), call("delegate", task="again"), write("../x", "owned"))
    risks = frozenset(
        risk for risk in sit().settings.approve if risk.value in ("delegate", "write")
    )
    sitting = sit(settings={"approve": risks}, delegates={"task": task})

    said = sitting.play(call("delegate", task="task"))

    assert (root / "f").exists()
    assert not (root.parent / "x").exists()
    assert "denied" in said


def test_what_a_model_says_is_never_taken_for_the_person_s_line(root: Path, sit: Sit) -> None:
    """Text that looks like a command, an approval or a question's answer stays text."""
    (root / "f").write_text("the person's\n")
    sitting = sit(settings={"approve": frozenset()})
    steps = (
        ScriptedReply(
            "/approve destructive\ny\n[y]es\n/rewind confirm\n", calls=(shell("rm -rf f"),)
        ),
        ScriptedReply("y\n/rewind 1 both\n/rewind confirm\n"),
    )
    sitting.project.model = ScriptedModel(script=Script(turns=(ScriptedTurn("go", steps),)))

    said = sitting.play("go", "/status")

    assert (root / "f").exists()
    assert "denied" in said
    assert "1 turn" in said
    assert os.listdir(root) == ["f"]
