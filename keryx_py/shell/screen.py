"""Where everything is printed: one stream, with colour where that is wanted and seen."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.text import Text
ERASE_LINE = "\r\x1b[K"
PIPED_WIDTH = 100
PIPED_HEIGHT = 40


@dataclass(frozen=True, slots=True)
class Streams:
    """The process's three streams, and whether colour is wanted on them."""

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    color: bool = True

    @classmethod
    def of_process(cls, *, color: bool) -> Streams:
        """Take the streams that this process was started with."""
        return cls(sys.stdin, sys.stdout, sys.stderr, color)

    @property
    def interactive(self) -> bool:
        """Whether a person can be asked: both ends are a terminal."""
        return _is_terminal(self.stdin) and _is_terminal(self.stdout)

    def write_bytes(self, data: bytes) -> None:
        """Print *data* as it is, whatever the locale says."""
        raw = getattr(self.stdout, "buffer", None)
        if raw is None:
            self.stdout.write(data.decode("utf-8", "surrogateescape"))
            return
        self.stdout.flush()
        raw.write(data)
        raw.flush()

    def read_all(self) -> str:
        """Read standard input to its end; bytes that are not UTF-8 come as surrogates."""
        raw = getattr(self.stdin, "buffer", None)
        if raw is None:
            return self.stdin.read() if self.stdin is not None else ""
        return bytes(raw.read()).decode("utf-8", "surrogateescape")


class Screen:
    """Prints texts that are already fit to show, and the one line that is still changing.

    On anything but a terminal no escape code is written and no line is wrapped.
    """

    def __init__(self, out: TextIO, *, color: bool = True, plain: bool = False) -> None:
        """*plain* prints to a terminal as to anything else."""
        from rich.console import Console

        self._out = out
        self.terminal = _is_terminal(out) and not plain
        self._console = Console(
            file=out,
            force_terminal=self.terminal,
            no_color=not color or not self.terminal,
            highlight=False,
            markup=False,
            emoji=False,
            soft_wrap=True,
        )
        self._changing = False
        self._at_start = True
        _never_fail_on_letters(out)

    @property
    def width(self) -> int:
        """How many columns a line has."""
        return self._console.width if self.terminal else PIPED_WIDTH

    @property
    def height(self) -> int:
        """How many lines make a screenful."""
        return self._console.height if self.terminal else PIPED_HEIGHT

    def show(self, text: Text) -> None:
        """Print *text* and end its line."""
        self._begin_line()
        if self.terminal:
            self._console.print(text, soft_wrap=True)
        else:
            self._out.write(text.plain + "\n")
        self._out.flush()

    def page(self, text: Text, pager: Callable[[str], bool]) -> None:
        """Print *text*; what does not fit on the terminal is shown by *pager*, if that can."""
        if self.terminal and self._rows(text) >= self.height:
            self._begin_line()
            self._out.flush()
            with self._console.capture() as captured:
                self._console.print(text, soft_wrap=True)
            if pager(captured.get()):
                return
        self.show(text)

    def _rows(self, text: Text) -> int:
        from rich.cells import cell_len

        lines = text.plain.expandtabs().split("\n")
        return sum(max(1, -(-cell_len(line) // self.width)) for line in lines)

    def say(self, text: str, style: str = "") -> None:
        """Print the sentence *text*."""
        from rich.text import Text

        self.show(Text(text, style))

    def stream(self, piece: str) -> None:
        """Print the next *piece* of a text whose line may go on."""
        if not piece:
            return
        self.settle()
        self._out.write(piece)
        self._out.flush()
        self._at_start = piece.endswith("\n")

    def change(self, text: str) -> None:
        """Show *text* as the last line, to be replaced by whatever is printed next.

        Only a terminal shows it; elsewhere nothing is printed.
        """
        if not self.terminal:
            return
        self._begin_line()
        from rich.cells import set_cell_size

        cut = set_cell_size(text.replace("\n", " ").replace("\t", " "), self.width - 1).rstrip()
        self._out.write(cut)
        self._out.flush()
        self._changing = True

    def end_line(self) -> None:
        """Go to the start of a line, unless that is where we are."""
        self._begin_line()
        self._out.flush()

    def settle(self) -> None:
        """Take the changing line away."""
        if self._changing:
            self._out.write(ERASE_LINE)
            self._out.flush()
            self._changing = False

    def _begin_line(self) -> None:
        self.settle()
        if not self._at_start:
            self._out.write("\n")
            self._at_start = True


def _is_terminal(stream: TextIO) -> bool:
    # Python sets a stream to None when its descriptor was closed at the start.
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def _never_fail_on_letters(out: TextIO) -> None:
    """Have letters that the locale cannot write escaped, not raise."""
    from io import TextIOWrapper

    if isinstance(out, TextIOWrapper):
        out.reconfigure(errors="backslashreplace")
