"""Keep the terminal from echoing what is typed between two input lines."""

from __future__ import annotations

import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO


@contextmanager
def unechoed(terminal: TextIO) -> Iterator[None]:
    """Leave keys typed within, on *terminal*, to be read key by key and shown then.

    An echo in the midst of a turn's output would be drawn once more on the input line, and a
    Ctrl-D typed early would be eaten. Ctrl-C still interrupts. The terminal gets its ways back.
    """
    descriptor = terminal.fileno()
    before = termios.tcgetattr(descriptor)
    within = termios.tcgetattr(descriptor)
    within[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(descriptor, termios.TCSADRAIN, within)
    try:
        yield
    finally:
        # A terminal that is gone has no ways to get back.
        with suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
