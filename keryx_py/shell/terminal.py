"""The shell at a terminal: its input line, and what the line can be completed with."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from keryx_py.session.archive import CheckpointEntry, TurnEntry, UndoPointEntry
from keryx_py.shell.asker import TerminalAsker
from keryx_py.shell.command_spec import Shell
from keryx_py.shell.commands import command_table, completions
from keryx_py.shell.completion import ShellCompleter
from keryx_py.shell.hints import Hint, Offer
from keryx_py.shell.history import history_file
from keryx_py.shell.project import OpenProject
from keryx_py.shell.reader import Furnishing, TerminalReader
from keryx_py.shell.render import first_words
from keryx_py.shell.rewind_command import RewindCommands
from keryx_py.shell.rewind_words import MODES
from keryx_py.shell.screen import Screen
from keryx_py.shell.session_view import toolbar_text
from keryx_py.tools.base import Risk


def terminal_shell(project: OpenProject, screen: Screen, reader: TerminalReader) -> Shell:
    """Make the shell of a person who edits lines and answers questions in *reader*."""
    rewinds = RewindCommands(project, screen, time.monotonic)
    asker = TerminalAsker(screen, reader)
    return Shell(project, screen, asker, rewinds, time.monotonic, edits=True)


def furnishing(project: OpenProject, color: bool) -> Furnishing:
    """Furnish the input line of *project*'s shell."""
    return Furnishing(
        history=history_file(project.settings.data_dir, project.root),
        completer=ShellCompleter(
            completions(), lambda hint: _offers(project, hint), lambda: project.root
        ),
        toolbar=lambda: toolbar_text(project),
        color=color,
    )


def _offers(project: OpenProject, hint: Hint) -> Iterable[Offer]:
    match hint:
        case Hint.POINT:
            return [Offer("confirm"), *_point_offers(project)]
        case Hint.MODE:
            return [Offer(mode) for mode in (*MODES, "diff")]
        case Hint.SESSION:
            return [Offer(info.id, first_words(info.title, 40)) for info in project.list_sessions()]
        case Hint.RISK:
            return [Offer(risk.value) for risk in Risk if risk.mutates]
        case Hint.COMMAND:
            return [Offer(name) for name in command_table()]
        case Hint.PATH:
            return []


def _point_offers(project: OpenProject) -> Iterator[Offer]:
    for entry in reversed(project.session.entries):
        match entry:
            case TurnEntry():
                yield Offer(str(entry.number), first_words(entry.prompt, 40))
            case CheckpointEntry():
                yield Offer(str(entry.number), f"checkpoint {first_words(entry.name, 30)}")
            case UndoPointEntry():
                yield Offer(str(entry.number), "undo point")
