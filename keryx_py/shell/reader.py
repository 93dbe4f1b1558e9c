"""Lines and answers from a person at a terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import AnyFormattedText
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.styles import Style

from keryx_py.shell.history import PrivateHistory

PROMPT = "keryx> "
GOES_ON = "  ...> "


@dataclass(frozen=True, slots=True)
class Furnishing:
    """What the input line is furnished with."""

    history: Path
    completer: Completer
    toolbar: Callable[[], str]
    """Called once a line, not once a key."""
    color: bool = True


class QuestionReader:
    """Answers from a person, each typed after its question was drawn."""

    def __init__(
        self, *, color: bool = True, source: Input | None = None, output: Output | None = None
    ) -> None:
        """*source* and *output* are the process's own terminal unless given."""
        self._session: PromptSession[str] = PromptSession(
            color_depth=depth_of(color), input=source, output=output
        )

    def ask(self, question: str) -> str:
        """Draw *question* and read one line typed after that; earlier keys wait for the shell."""
        waiting = self._take_waiting_keys()
        try:
            return self._session.prompt(question)
        finally:
            source = self._session.input
            store_typeahead(source, waiting + get_typeahead(source))

    def _take_waiting_keys(self) -> list[KeyPress]:
        source = self._session.input
        keys = get_typeahead(source)
        # In the terminal's line mode a half-typed line cannot be read; in its raw mode it can.
        with source.raw_mode():
            while new := source.read_keys() + source.flush_keys():
                keys += new
        # Where the cursor was for the last prompt says nothing to the next.
        return [key for key in keys if key.key is not Keys.CPRResponse]


class TerminalReader:
    """Lines from a person, with history, completion and a toolbar."""

    def __init__(
        self,
        furnishing: Furnishing,
        *,
        source: Input | None = None,
        output: Output | None = None,
    ) -> None:
        """*source* and *output* are the process's own terminal unless given."""
        self._furnishing = furnishing
        self._toolbar = ""
        self._put_back = ""
        self._untouched = False
        self._session: PromptSession[str] = PromptSession(
            PROMPT,
            multiline=True,
            prompt_continuation=GOES_ON,
            history=PrivateHistory(furnishing.history),
            completer=furnishing.completer,
            complete_while_typing=False,
            key_bindings=self._bindings(),
            bottom_toolbar=self._draw_toolbar,
            style=Style.from_dict({"bottom-toolbar": "noreverse"}),
            color_depth=depth_of(furnishing.color),
            enable_suspend=True,
            input=source,
            output=output,
        )
        self._questions = QuestionReader(color=furnishing.color, source=source, output=output)
        buffer = self._session.default_buffer
        buffer.on_text_changed += self._touch
        buffer.on_cursor_position_changed += self._touch

    def read(self, put_back: str) -> str:
        """Read one line, or several that were pasted or go on."""
        self._toolbar = self._furnishing.toolbar()
        self._put_back = put_back
        return self._session.prompt(default=put_back, pre_run=self._begin)

    def ask(self, question: str) -> str:
        """Draw *question* and read one line typed after that; earlier keys wait for the shell."""
        return self._questions.ask(question)

    def _begin(self) -> None:
        self._untouched = bool(self._put_back)

    def _touch(self, buffer: Buffer) -> None:
        self._untouched = False

    def _draw_toolbar(self) -> AnyFormattedText:
        return self._toolbar

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()

        @bindings.add("enter")
        def _(event: KeyPressEvent) -> None:
            _accept_or_go_on(event.current_buffer)

        @bindings.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.newline(copy_margin=False)

        @bindings.add("/", filter=Condition(lambda: self._untouched))
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.document = Document("/")

        return bindings


def depth_of(color: bool) -> ColorDepth | None:
    """Say how many colours the input line may have; None lets the terminal say."""
    return None if color else ColorDepth.DEPTH_1_BIT


def _accept_or_go_on(buffer: Buffer) -> None:
    """Take the line, unless it ends with a backslash that no other one guards."""
    text = buffer.text
    backslashes = len(text) - len(text.rstrip("\\"))
    if backslashes % 2 == 0 or buffer.cursor_position < len(text):
        buffer.validate_and_handle()
        return
    buffer.delete_before_cursor()
    buffer.insert_text("\n")
