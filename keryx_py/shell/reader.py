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
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output
from prompt_toolkit.styles import Style

from keryx_py.shell.history import PrivateHistory
from keryx_py.shell.picker import TerminalPicker
from keryx_py.shell.terminal_keys import depth_of, take_waiting_keys

PROMPT = "keryx> "
GOES_ON = "  ...> "
PICK = "/rewind pick"
"""The line that Esc, pressed twice on an empty one, stands for."""


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
        self,
        *,
        color: bool = True,
        keeps_early: bool = True,
        source: Input | None = None,
        output: Output | None = None,
    ) -> None:
        """*source* and *output* are the process's own terminal unless given.

        With *keeps_early* keys pressed before a question wait for the shell; else they are lost.
        """
        self._keeps_early = keeps_early
        self._session: PromptSession[str] = PromptSession(
            color_depth=depth_of(color), input=source, output=output
        )

    def ask(self, question: str) -> str:
        """Draw *question* and read one line typed after that; earlier keys are no answer."""
        source = self._session.input
        early = take_waiting_keys(source)
        try:
            return self._session.prompt(question)
        finally:
            if self._keeps_early:
                store_typeahead(source, early + get_typeahead(source))


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

    def picker(self) -> TerminalPicker:
        """Make what lets the person choose points with the keys, at the same terminal."""
        return TerminalPicker(
            color=self._furnishing.color, source=self._session.input, output=self._session.output
        )

    def next_answers(self) -> QuestionReader:
        """Make what reads the answers to questions that follow each other at once.

        A key too early for one of them must not become a prompt when the last is answered.
        """
        return QuestionReader(
            color=self._furnishing.color,
            keeps_early=False,
            source=self._session.input,
            output=self._session.output,
        )

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

    def _is_empty(self) -> bool:
        return not self._session.default_buffer.text

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

        @bindings.add("escape", "escape", filter=Condition(self._is_empty))
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.document = Document(PICK)
            event.app.exit(result=PICK)

        @bindings.add("/", filter=Condition(lambda: self._untouched))
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.document = Document("/")

        return bindings


def _accept_or_go_on(buffer: Buffer) -> None:
    """Take the line, unless it ends with a backslash that no other one guards."""
    text = buffer.text
    backslashes = len(text) - len(text.rstrip("\\"))
    if backslashes % 2 == 0 or buffer.cursor_position < len(text):
        buffer.validate_and_handle()
        return
    buffer.delete_before_cursor()
    buffer.insert_text("\n")
