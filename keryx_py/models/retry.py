"""Ask again when a server could not answer, visibly and a bounded number of times."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator

from keryx_py.models.base import ModelError, Notice, ReplyPart
from keryx_py.models.failures import TransientError

ATTEMPTS = 4
LONGEST_WAIT = 60.0
"""Seconds; a server that asks for more is not waited for."""


def with_retries(
    attempt: Callable[[], Generator[ReplyPart]], sleep: Callable[[float], None]
) -> Iterator[ReplyPart]:
    """Yield what *attempt* yields; after a TransientError wait and attempt it again.

    An *attempt* raises TransientError only while nothing of the answer has arrived.
    """
    for number in range(1, ATTEMPTS + 1):
        try:
            # Closed here and now: left to the collector, a stopped answer would go on arriving.
            with contextlib.closing(attempt()) as parts:
                yield from parts
            return
        except TransientError as error:
            wait = 2.0 ** (number - 1) if error.wait is None else error.wait
            if wait > LONGEST_WAIT:
                raise ModelError(f"{error.reason}; it asks to wait {wait:g} s.") from error
            if number == ATTEMPTS:
                raise
            yield Notice(f"{error.reason}; attempt {number + 1} of {ATTEMPTS} in {wait:g} s.")
        sleep(wait)
