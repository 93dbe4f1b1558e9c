"""Hold Ctrl-C while something runs that must not stop half-way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Held:
    """Whether Ctrl-C came while it was held."""

    came: bool = False


@contextmanager
def held_interrupts() -> Iterator[Held]:
    """Hold Ctrl-C until the block ends; say in the value given whether it came.

    Only the main thread is ever interrupted by Ctrl-C, so elsewhere nothing is to be held.
    """
    held = Held()
    if threading.current_thread() is not threading.main_thread():
        yield held
        return

    def note(number: int, frame: object) -> None:
        held.came = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield held
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)
