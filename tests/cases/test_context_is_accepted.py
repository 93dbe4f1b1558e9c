"""After any rewind, kill or compaction the next request is one that a strict server accepts."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from keryx_py.messages import JsonValue, Message, Role
from keryx_py.models.base import Request
from keryx_py.models.chat_wire import chat_body
from keryx_py.models.openai_chat import OpenAIModel
from keryx_py.session.context import join_messages
from tests.cases.children import Child
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, delegate, read, shell, write
from tests.servers import Answer, Received, StrictChatServer, chat_faults, chunk, refusal, sse

Reply: TypeAlias = str | Sequence[tuple[str, dict[str, JsonValue]]]
READ: tuple[str, dict[str, JsonValue]] = ("read_file", {"path": "f"})


def writing(text: str) -> tuple[str, dict[str, JsonValue]]:
    return ("write_file", {"path": "f", "content": text})


def running(command: str) -> tuple[str, dict[str, JsonValue]]:
    return ("shell_exec", {"command": command})


class OddServer(StrictChatServer):
    """A strict server whose first answers are odd ones."""

    def __init__(self, *replies: Reply, odd: Sequence[Callable[[], Answer]] = ()) -> None:
        super().__init__(*replies)
        self.odd = list(odd)

    def answer(self, received: Received) -> Answer:
        return self.odd.pop(0)() if self.odd else super().answer(received)


Serve = Callable[..., OddServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Give a function that starts a server with its replies."""
    with contextlib.ExitStack() as stack:
        yield lambda *replies, **more: stack.enter_context(OddServer(*replies, **more))


def talk_to(server: StrictChatServer, sitting: Sitting) -> Sitting:
    """Let *sitting* answer from *server*, with the real client of its protocol."""
    sitting.project.model = OpenAIModel(
        "strict", base_url=server.base_url, sleep=lambda seconds: None
    )
    return sitting


def roles(received: Received) -> list[JsonValue]:
    messages = received.body["messages"]
    assert isinstance(messages, list)
    return [message["role"] for message in messages if isinstance(message, dict)]


def faults(sitting: Sitting) -> list[str]:
    """What a strict server would say of the next prompt's request."""
    items = join_messages((*sitting.project.window.items(), Message(Role.USER, "next")))
    return list(chat_faults(chat_body("m", Request("system", items, ()), usage=False)))


# ---- calls that were cut short


def test_a_turn_that_was_killed_in_a_tool_does_not_spoil_the_next_request(
    root: Path, serve: Serve, sit: Sit
) -> None:
    """API-01: each call has its result right after it, the one that was cut short as well."""
    server = serve(
        [running("echo x > one"), running("echo t > new; exec sleep 60"), writing("never")]
    )
    sitting = sit()
    sitting.close()

    child = Child(lambda: talk_to(server, sitting.resume()).play("go"))
    end = time.monotonic() + 10
    while not (root / "new").exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    child.kill()
    said = talk_to(server, sitting.resume()).play("again")
    asked = server.received[-1].body["messages"]
    sitting.rewind(1, "both")
    after = sitting.play("once more")

    assert server.refused == []
    assert "failed" not in said + after
    assert "interrupted" in str(asked)
    assert [path.name for path in root.iterdir()] == []
    assert roles(server.received[-1]) == ["system", "user"]


def test_ctrl_c_between_parallel_calls_leaves_whole_pairs(
    root: Path, serve: Serve, sit: Sit
) -> None:
    """API-01: those that never ran have a result too; a rewind takes the whole turn."""
    server = serve([READ, running("kill -INT $PPID; exec sleep 30"), READ, writing("never")])
    sitting = talk_to(server, sit())

    said = sitting.play("go", "again")
    asked = roles(server.received[-1])
    sitting.rewind(1, "both")
    sitting.play("once more")

    assert "the turn was stopped" in said
    assert asked == ["system", "user", "assistant", *["tool"] * 4, "user"]
    assert server.refused == []
    assert not (root / "f").exists()


def test_a_kill_after_any_line_of_the_archive_leaves_an_accepted_context(
    root: Path, serve: Serve, sit: Sit
) -> None:
    """API-01: whatever line was the last; between parallel calls and in a delegated task too."""
    sitting = sit(delegates={"task": (write("d", "1"), read("d"))})
    sitting.play(
        write("f", "1"),
        (read("f"), write("f", "2"), shell("echo 3 > f"), delegate("task")),
        "/rewind 2",
        "/rewind confirm",
        (),
    )
    archive = sitting.project.session.folder / "archive.jsonl"
    lines = archive.read_bytes().splitlines(keepends=True)

    for count in range(1, len(lines) + 1):
        sitting.close()
        archive.write_bytes(b"".join(lines[:count]))
        sitting.resume()
        assert faults(sitting) == [], count

    assert len(lines) > 20
    server = serve()
    talk_to(server, sitting).play("next")
    assert server.refused == []


# ---- answers with nothing in them


def test_an_answer_of_nothing_is_neither_kept_nor_sent(root: Path, serve: Serve, sit: Sit) -> None:
    """API-03: the turn says what happened, the next one works, and a rewind recovers all."""
    nothing = Answer((sse(chunk(""), chunk(finish="stop")),))
    blank = Answer((sse(chunk(" \n"), chunk(finish="stop")),))
    server = serve(odd=[lambda: nothing, lambda: blank])
    sitting = talk_to(server, sit())

    said = sitting.play("go", "go on")
    again = sitting.play("again")
    asked = roles(server.received[-1])
    sitting.rewind(1, "both")
    after = sitting.play("once more")

    assert said.count("! the model answered nothing\n") == 2
    assert asked == ["system", "user"]
    assert "failed" not in again + after
    assert server.refused == []
    assert roles(server.received[-1]) == ["system", "user"]


def test_ctrl_c_before_any_answer_leaves_a_context_that_is_accepted(
    root: Path, serve: Serve, sit: Sit
) -> None:
    """API-03: the prompt alone stands there; the next one joins it, and a rewind takes it away."""

    def press_and_wait() -> Answer:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        return Answer((sse(chunk("too late"), chunk(finish="stop")),))

    server = serve(odd=[press_and_wait])
    sitting = talk_to(server, sit())

    said = sitting.play("go", "again")
    asked = str(server.received[-1].body["messages"])
    sitting.rewind(1, "both")
    sitting.play("once more")

    assert "the turn was stopped" in said
    assert "go\\n\\nagain" in asked
    assert server.refused == []
    assert roles(server.received[-1]) == ["system", "user"]


def test_a_turn_that_failed_before_any_reply_can_be_rewound(
    root: Path, serve: Serve, sit: Sit
) -> None:
    """API-03: it is a point like any other."""
    server = serve(odd=[lambda: refusal(401, "no such key")])
    sitting = talk_to(server, sit())

    said = sitting.play("go", "/rewind 1 both", "/rewind confirm", "again")

    assert "the turn failed" in said
    assert "history: 1 turn went" in said
    assert server.refused == []
    assert roles(server.received[-1]) == ["system", "user"]


# ---- rewinds


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize(
    "lines",
    [
        ("/rewind 1 both", "/rewind confirm"),
        ("/rewind 1 history", "/rewind confirm"),
        ("/rewind 1", "/rewind confirm"),
        ("/rewind 3 both", "/rewind confirm", "/rewind 2 both", "/rewind confirm"),
        ("/rewind 3 files", "/rewind confirm", "/rewind 2 history", "/rewind confirm"),
        ("/rewind 2 both", "/rewind confirm", "/redo", "/rewind confirm"),
        ("/undo", "/undo", "/redo", "/undo", "/redo", "/redo"),
        ("/compact", "/rewind 5 both", "/rewind confirm"),
        ("/compact", "/rewind 2 both", "/rewind confirm"),
        ("/compact", "/rewind 2 both", "/rewind confirm", "/redo", "/rewind confirm"),
        ("/compact", "/rewind 1 history", "/rewind confirm", "/redo"),
        ("/compact", "/undo", "/undo", "/undo", "/undo", "/undo", "/undo"),
        ("/undo", "/compact", "/undo", "/compact"),
    ],
)
def test_after_any_rewind_the_next_request_is_accepted(
    root: Path, serve: Serve, sit: Sit, lines: tuple[str, ...], again: bool
) -> None:
    """API-05: sides alternate, pairs are whole, ids are single, and the first is the person's."""
    replies: list[Reply] = []
    for n in range(1, 7):
        replies += [[READ, writing(f"{n}")], [running(f"echo {n} > f")], f"answer {n}"]
    server = serve(*replies)
    sitting = talk_to(server, sit())
    sitting.play(*(f"prompt {n}" for n in range(1, 7)))

    sitting.play(*lines)
    if again:
        talk_to(server, sitting.resume())
    said = sitting.play("next", "and next", "/undo", "and again")

    assert len(server.received) >= 21
    assert server.refused == []
    assert "bug" not in said
    assert "the turn failed" not in said
