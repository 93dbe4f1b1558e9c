"""Lines from anything that is no terminal, and what every reader of lines can do."""

from __future__ import annotations

from typing import BinaryIO, Protocol, TextIO


class Reader(Protocol):
    """One who gives the shell its lines."""

    def read(self, put_back: str) -> str:
        """Read one line, with *put_back* on it to begin with where lines can be edited.

        Raises EOFError at the end of input, KeyboardInterrupt for Ctrl-C.
        """


class PlainReader:
    """Lines from anything that is no terminal."""

    def __init__(self, stream: TextIO | BinaryIO | None) -> None:
        """*stream* is read as bytes where it has them; None is an input that was closed."""
        self._lines = getattr(stream, "buffer", stream)
        self._first = True

    def read(self, put_back: str) -> str:
        """Read one line. *put_back* is not joined to it."""
        raw = self._lines.readline() if self._lines is not None else b""
        if not raw:
            raise EOFError
        text = raw.decode("utf-8", "surrogateescape") if isinstance(raw, bytes) else str(raw)
        if self._first:
            self._first = False
            text = text.removeprefix("\ufeff")
        return text.removesuffix("\n").removesuffix("\r")
