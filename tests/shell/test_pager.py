"""A pager shows a long text, ends when the person likes, and is never needed."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from rich.text import Text

from keryx_py.shell.pager import Pager
from keryx_py.shell.screen import Screen

PATH = {"PATH": os.environ["PATH"]}


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_the_persons_own_pager_is_given_the_text(tmp_path: Path) -> None:
    pager = Pager(f"cat > '{tmp_path}/seen'", PATH)

    assert pager.show("é\x1b[1m\udcff\n")

    assert (tmp_path / "seen").read_text() == "é\x1b[1m\\udcff\n"


@pytest.mark.parametrize("command", ["", "cat", " cat "])
def test_no_pager_is_a_choice(command: str) -> None:
    assert not Pager(command, PATH).show("x")


def test_a_pager_that_is_not_there_leaves_the_text_unseen() -> None:
    assert not Pager("no-such-program-anywhere 2>/dev/null", PATH).show("x\n" * 100_000)
    assert not Pager(None, {"PATH": "/nowhere"}).show("x")


def test_less_may_start_nothing_and_write_nothing(tmp_path: Path) -> None:
    less = tmp_path / "less"
    less.write_text(f'#!/bin/sh\necho "$@ $LESSSECURE $LESSHISTFILE" > {tmp_path}/seen\n')
    less.chmod(0o755)

    assert Pager(None, {"PATH": str(tmp_path)}).show("x")

    assert (tmp_path / "seen").read_text() == "-R 1 -\n"


def test_leaving_before_the_end_is_fine() -> None:
    assert Pager("exit 0", PATH).show("x\n" * 1_000_000)


def test_ctrl_c_belongs_to_the_pager() -> None:
    before = signal.getsignal(signal.SIGINT)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()

    assert Pager("sleep 0.5", PATH).show("x")

    assert signal.getsignal(signal.SIGINT) == before


def test_the_pager_itself_can_be_interrupted() -> None:
    start = time.monotonic()
    command = "trap 'exit 0' INT; (sleep 0.1; kill -INT $$) & wait; sleep 9"

    assert Pager(command, PATH).show("x")

    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    ("out", "lines", "paged"),
    [(Terminal(), 1000, True), (Terminal(), 3, False), (io.StringIO(), 1000, False)],
)
def test_only_what_a_terminal_cannot_hold_is_paged(
    out: io.StringIO, lines: int, paged: bool
) -> None:
    seen: list[str] = []

    def show(text: str) -> bool:
        seen.append(text)
        return True

    Screen(out).page(Text("row\n" * lines), show)

    assert bool(seen) is paged
    assert ("row" in out.getvalue()) is not paged


def test_what_no_pager_shows_is_printed() -> None:
    out = Terminal()

    Screen(out).page(Text("row\n" * 1000), lambda text: False)

    assert out.getvalue().count("row") == 1000
