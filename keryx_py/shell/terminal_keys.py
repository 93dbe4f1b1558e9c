"""What every reader of keys at a terminal needs to know of it."""

from __future__ import annotations

from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import ColorDepth


def take_waiting_keys(source: Input) -> list[KeyPress]:
    """Take from *source* what was typed and not yet read."""
    keys = get_typeahead(source)
    # In the terminal's line mode a half-typed line cannot be read; in its raw mode it can.
    with source.raw_mode():
        while new := source.read_keys() + source.flush_keys():
            keys += new
    # Where the cursor was for the last prompt says nothing to the next.
    return [key for key in keys if key.key is not Keys.CPRResponse]


def depth_of(color: bool) -> ColorDepth | None:
    """Say how many colours the input line may have; None lets the terminal say."""
    return None if color else ColorDepth.DEPTH_1_BIT
