"""A real terminal: the program on a pty, and a screen that shows what a person would see."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pyte
import pytest

UNSEALED = ("PROMPT_TOOLKIT_NO_CPR",)
TOOLBAR = "offline"
"""What stands at the bottom whenever the shell waits for a line."""


class AnsweringScreen(pyte.HistoryScreen):
    """A screen that answers when it is asked where its cursor is."""

    def __init__(self, columns: int, rows: int, answer: Callable[[str], None]) -> None:
        super().__init__(columns, rows, history=5000)
        self._answer = answer

    def write_process_input(self, data: str) -> None:
        """Send what the terminal itself has to say."""
        self._answer(data)


class Terminal:
    """One run of keryx on a pty of its own."""

    def __init__(self, root: Path, *options: str, columns: int = 100, rows: int = 40) -> None:
        self.screen = AnsweringScreen(columns, rows, self.type)
        self._stream = pyte.ByteStream(self.screen)
        environment = {**os.environ, "TERM": "xterm-256color"}
        self.child = pexpect.spawn(
            sys.executable,
            ["-m", "keryx_py", "--root", str(root), *options],
            dimensions=(rows, columns),
            env={name: value for name, value in environment.items() if name not in UNSEALED},
            timeout=20,
        )
        self.child.delaybeforesend = None

    def text(self) -> str:
        """What stands on the screen now, without the blanks at line ends."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def everything(self) -> str:
        """What scrolled off the screen, and the screen."""
        width = self.screen.columns
        gone = [
            "".join(row[column].data for column in range(width)).rstrip()
            for row in self.screen.history.top
        ]
        return "\n".join([*gone, self.text()])

    def type(self, keys: str) -> None:
        """Press *keys*."""
        self.child.send(keys.encode("utf-8", "surrogateescape"))

    def enter(self, line: str) -> None:
        """Type *line* and press Enter."""
        self.type(line + "\r")

    def wait_for_line(self, seconds: float = 20) -> str:
        """Wait until the shell waits for a line; return the screen."""
        return self.wait_until(
            lambda: TOOLBAR in self.text().split("\n")[-1], "the input line", seconds
        )

    def wait_for(self, *wanted: str, seconds: float = 20) -> str:
        """Wait until every one of *wanted* is on the screen; return the screen."""
        return self.wait_until(
            lambda: all(text in self.text() for text in wanted), repr(wanted), seconds
        )

    def wait_until(self, condition: Callable[[], bool], what: str, seconds: float = 20) -> str:
        """Wait until *condition* holds; fail with the screen when it never does."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                pytest.fail(f"waited in vain for {what}; the screen:\n{self.everything()}")
            self._read()
        return self.text()

    def wait_for_end(self) -> int:
        """Wait until the program has ended; return its exit code."""
        self.wait_until(lambda: not self.child.isalive(), "the end")
        self.child.close()
        return int(self.child.exitstatus if self.child.exitstatus is not None else -1)

    def close(self) -> None:
        """End the program if it still runs."""
        self.child.close(force=True)

    def _read(self) -> None:
        try:
            self._stream.feed(self.child.read_nonblocking(65536, timeout=0.05))
        except (pexpect.TIMEOUT, pexpect.EOF):
            time.sleep(0.01)


Open = Callable[..., Terminal]


@pytest.fixture
def open_terminal() -> Iterator[Open]:
    """Give a function that opens a Terminal; all are closed when the test ends."""
    opened: list[Terminal] = []

    def start(root: Path, *options: str, columns: int = 100, rows: int = 40) -> Terminal:
        opened.append(Terminal(root, *options, columns=columns, rows=rows))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project with one file."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "notes.md").write_text("first\n")
    return root
