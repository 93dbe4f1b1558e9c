"""The shell at a terminal: its input line, and what the line can be completed with."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from keryx_py.rewind.points import named_checkpoints
from keryx_py.session.archive import CheckpointEntry, TurnEntry, UndoPointEntry
from keryx_py.shell.asker import TerminalAsker
from keryx_py.shell.command_spec import Shell
from keryx_py.shell.commands import command_table, completions
from keryx_py.shell.completion import ShellCompleter
from keryx_py.shell.hints import Hint, Offer
from keryx_py.shell.history import history_file
from keryx_py.shell.point_names import SIGN
from keryx_py.shell.project import OpenProject
from keryx_py.shell.reader import Furnishing, TerminalReader
from keryx_py.shell.render import first_words
from keryx_py.shell.rewind_command import RewindCommands
from keryx_py.shell.rewind_words import DIFF, KEEP, MODES, ONLY, OPTIONS
from keryx_py.shell.screen import Screen
from keryx_py.shell.session_view import toolbar_text
from keryx_py.tools.base import Risk


def terminal_shell(project: OpenProject, screen: Screen, reader: TerminalReader) -> Shell:
    """Make the shell of a person who edits lines and answers questions in *reader*."""
    picker = reader.picker()
    asker = TerminalAsker(screen, reader)
    rewinds = RewindCommands(
        project, screen, time.monotonic, picker=picker, answers=reader, confirm=asker.confirm
    )
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
            return [Offer("confirm"), Offer("pick"), *_point_offers(project)]
        case Hint.COMPARED:
            return [Offer("all"), *_point_offers(project)]
        case Hint.COMPARED_TO:
            return [Offer("only"), *_point_offers(project)]
        case Hint.CHECKPOINT:
            return [Offer("-d", "take a name away")]
        case Hint.NAME:
            return _name_offers(project, "")
        case Hint.MODE:
            return [Offer(word) for word in (*MODES, *OPTIONS, ONLY, "pick")]
        case Hint.REWOUND:
            return [
                Offer(KEEP, "leave what you changed"),
                Offer(DIFF, "show the difference in full"),
            ]
        case Hint.SESSION:
            return [Offer(info.id, first_words(info.title, 40)) for info in project.list_sessions()]
        case Hint.RISK:
            return [Offer(risk.value) for risk in Risk if risk.mutates]
        case Hint.COMMAND:
            return [Offer(name) for name in command_table()]
        case Hint.PATH:
            return []


def _name_offers(project: OpenProject, sign: str) -> Iterator[Offer]:
    for name, number in reversed([*named_checkpoints(project.session.entries).items()]):
        yield Offer(sign + name, f"checkpoint {number}")


def _point_offers(project: OpenProject) -> Iterator[Offer]:
    yield from _name_offers(project, SIGN)
    for entry in reversed(project.session.entries):
        match entry:
            case TurnEntry():
                yield Offer(str(entry.number), first_words(entry.prompt, 40))
            case CheckpointEntry():
                yield Offer(str(entry.number), f"checkpoint {first_words(entry.name, 30)}")
            case UndoPointEntry():
                yield Offer(str(entry.number), "undo point")
