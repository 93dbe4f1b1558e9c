"""Lines come from a person at a terminal, or from a pipe."""

from __future__ import annotations

import io
import stat
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_toolkit.completion import Completer, DummyCompleter
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from keryx_py.shell.history import forget_lines, history_file
from keryx_py.shell.plain_reader import PlainReader
from keryx_py.shell.reader import Furnishing, TerminalReader

ENTER, CTRL_C, CTRL_D, UP, LEFT, END = "\r", "\x03", "\x04", "\x1b[A", "\x1b[D", "\x1b[F"


@pytest.fixture
def keys() -> Iterator[PipeInput]:
    with create_pipe_input() as source:
        yield source


def reader_of(keys: PipeInput, folder: Path, completer: Completer | None = None) -> TerminalReader:
    furnishing = Furnishing(
        history=folder / "history" / "here",
        completer=completer or DummyCompleter(),
        toolbar=lambda: "offline  snapshots 3/50",
    )
    return TerminalReader(furnishing, source=keys, output=DummyOutput())


# ---- a pipe


def test_plain_lines_are_read_to_the_end() -> None:
    reader = PlainReader(io.BytesIO(b"\xef\xbb\xbfone\r\ntwo\n\nlast"))

    assert [reader.read("put back") for _ in range(4)] == ["one", "two", "", "last"]
    with pytest.raises(EOFError):
        reader.read("")


def test_bytes_that_are_not_utf8_are_kept_apart() -> None:
    assert PlainReader(io.BytesIO(b"/rewind 1 files a\xff\n")).read("") == "/rewind 1 files a\udcff"


def test_a_very_long_line_is_one_line() -> None:
    assert PlainReader(io.BytesIO(b"x" * 3_000_000 + b"\n")).read("") == "x" * 3_000_000


def test_an_input_that_was_closed_is_at_its_end() -> None:
    with pytest.raises(EOFError):
        PlainReader(None).read("")


# ---- a terminal


def test_a_typed_line_is_read(keys: PipeInput, tmp_path: Path) -> None:
    keys.send_text("fix the tests" + ENTER)

    assert reader_of(keys, tmp_path).read("") == "fix the tests"


def test_lines_typed_ahead_wait_their_turn(keys: PipeInput, tmp_path: Path) -> None:
    reader = reader_of(keys, tmp_path)
    keys.send_text("one\ntwo\n")

    assert [reader.read(""), reader.read("")] == ["one", "two"]


def test_escape_enter_makes_a_line_and_a_backslash_goes_on(keys: PipeInput, tmp_path: Path) -> None:
    keys.send_text("one\x1b\rtwo\\\rthree" + ENTER)

    assert reader_of(keys, tmp_path).read("") == "one\ntwo\nthree"


def test_two_backslashes_end_a_line(keys: PipeInput, tmp_path: Path) -> None:
    keys.send_text("a\\\\" + ENTER)

    assert reader_of(keys, tmp_path).read("") == "a\\\\"


def test_a_paste_with_newlines_is_one_prompt(keys: PipeInput, tmp_path: Path) -> None:
    keys.send_text("\x1b[200~def f():\r\n  pass\nx\x1b[201~" + ENTER)

    assert reader_of(keys, tmp_path).read("") == "def f():\n  pass\nx"


def test_ctrl_c_clears_and_ctrl_d_leaves(keys: PipeInput, tmp_path: Path) -> None:
    reader = reader_of(keys, tmp_path)
    keys.send_text("half" + CTRL_C)
    with pytest.raises(KeyboardInterrupt):
        reader.read("")

    keys.send_text(CTRL_D)
    with pytest.raises(EOFError):
        reader.read("")


def test_a_prompt_that_was_put_back_can_be_edited(keys: PipeInput, tmp_path: Path) -> None:
    keys.send_text(" please" + ENTER)

    assert reader_of(keys, tmp_path).read("fix it") == "fix it please"


def test_a_slash_as_first_key_replaces_what_was_put_back(keys: PipeInput, tmp_path: Path) -> None:
    reader = reader_of(keys, tmp_path)
    keys.send_text("/help" + ENTER + "and /etc" + ENTER + "/x" + ENTER + LEFT + END + "/" + ENTER)

    assert reader.read("fix it") == "/help"
    assert reader.read("fix it ") == "fix it and /etc"
    assert reader.read("") == "/x"
    assert reader.read("fix") == "fix/"


def test_the_history_is_the_persons_alone(keys: PipeInput, tmp_path: Path) -> None:
    keys.send_bytes(b"bad \xff byte\r")

    assert reader_of(keys, tmp_path).read("") == "bad \udcff byte"

    file = tmp_path / "history" / "here"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert "+bad \ufffd byte" in file.read_text()


def test_a_history_that_cannot_be_written_costs_nothing(keys: PipeInput, tmp_path: Path) -> None:
    (tmp_path / "history").write_text("in the way")
    keys.send_text("one" + ENTER)

    assert reader_of(keys, tmp_path).read("") == "one"


def test_lines_can_be_taken_out_of_the_history(keys: PipeInput, tmp_path: Path) -> None:
    reader = reader_of(keys, tmp_path)
    keys.send_text("one\x1b\rmore" + ENTER + "token 1234" + ENTER + "two" + ENTER)
    for _ in range(3):
        reader.read("")

    forget_lines(tmp_path / "history" / "here", {"token 1234"})

    text = (tmp_path / "history" / "here").read_text()
    assert "1234" not in text
    keys.send_text(UP + UP + ENTER)
    assert reader_of(keys, tmp_path).read("") == "one\nmore"
    assert stat.S_IMODE((tmp_path / "history" / "here").stat().st_mode) == 0o600


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux has a file that fails")
def test_a_history_that_cannot_be_read_is_not_replaced_by_an_empty_one(tmp_path: Path) -> None:
    history = tmp_path / "here"
    history.symlink_to("/proc/self/mem")

    with pytest.raises(OSError, match="Input/output error"):
        forget_lines(history, {"token 1234"})

    assert [path.name for path in tmp_path.iterdir()] == ["here"]
    assert history.is_symlink()


def test_each_project_has_its_own_history() -> None:
    data = Path("/data")

    assert history_file(data, Path("/a")) == history_file(data, Path("/a"))
    assert history_file(data, Path("/a")) != history_file(data, Path("/b"))


# ---- questions


def test_nothing_typed_before_a_question_answers_it(keys: PipeInput, tmp_path: Path) -> None:
    reader = reader_of(keys, tmp_path)
    keys.send_text("y\n/rewi")
    person = threading.Thread(target=_answer_after, args=(keys, "no" + ENTER))
    person.start()

    answer = reader.ask("[y]es [n]o > ")
    person.join()

    assert answer == "no"
    keys.send_text("nd 3" + ENTER)
    assert [reader.read(""), reader.read("")] == ["y", "/rewind 3"]


def test_what_is_too_early_for_a_question_among_many_is_no_prompt_later(
    keys: PipeInput, tmp_path: Path
) -> None:
    reader = reader_of(keys, tmp_path)
    answers = reader.next_answers()
    keys.send_text("y\ny\n")
    person = threading.Thread(target=_answer_after, args=(keys, "n" + ENTER))
    person.start()

    answer = answers.ask("take it? ")
    person.join()

    assert answer == "n"
    keys.send_text("/rewind" + ENTER)
    assert reader.read("") == "/rewind"


def test_escape_twice_on_an_empty_line_is_the_picker(keys: PipeInput, tmp_path: Path) -> None:
    reader = reader_of(keys, tmp_path)

    keys.send_text("\x1b\x1b")
    assert reader.read("") == "/rewind pick"

    keys.send_text("word\x1b\x1b")
    was_read = threading.Event()
    person = threading.Thread(target=_answer_until, args=(keys, ENTER, was_read))
    person.start()
    # Enter right behind Escape is a new line, and on a busy machine one may come to be so.
    assert reader.read("").strip() == "word"
    was_read.set()
    person.join()


def test_ctrl_c_at_a_question_is_passed_on(keys: PipeInput, tmp_path: Path) -> None:
    reader = reader_of(keys, tmp_path)
    person = threading.Thread(target=_answer_after, args=(keys, CTRL_C))
    person.start()

    with pytest.raises(KeyboardInterrupt):
        reader.ask("[y]es [n]o > ")
    person.join()


def _answer_until(keys: PipeInput, text: str, was_read: threading.Event) -> None:
    while not was_read.wait(2):
        keys.send_text(text)


def _answer_after(keys: PipeInput, text: str, seconds: float = 0.4) -> None:
    time.sleep(seconds)
    keys.send_text(text)
