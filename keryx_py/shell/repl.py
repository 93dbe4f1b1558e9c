"""Read a line, parse it, run it, again. Ctrl-C and errors end here."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Thread

from keryx_py.errors import KeryxError
from keryx_py.session.archive import TurnEnd
from keryx_py.shell.asker import NobodyAsker
from keryx_py.shell.command_spec import Shell
from keryx_py.shell.commands import command_table, run_command
from keryx_py.shell.left_running import running_line
from keryx_py.shell.line import Command, Prompt, UsageError, parse_line, whole_text
from keryx_py.shell.plain_reader import PlainReader, Reader
from keryx_py.shell.project import OpenProject
from keryx_py.shell.render import ERROR
from keryx_py.shell.rewind_command import RewindCommands
from keryx_py.shell.screen import Screen, Streams
from keryx_py.shell.session_commands import show_open
from keryx_py.shell.session_view import notices_text
from keryx_py.shell.turn_view import TurnView
from keryx_py.shell.turns import TurnReport
from keryx_py.shell.visible import on_one_line, shown_path, visible


def run_shell(project: OpenProject, streams: Streams) -> int:
    """Open the shell on *project* until the person leaves; return the exit code.

    On a terminal lines are edited and questions asked; anywhere else plain lines are read and
    nobody is asked. *project* is not closed.
    """
    if streams.interactive:
        # At first use: half the time to the prompt, and nothing that plain lines need.
        from keryx_py.shell.quiet import unechoed
        from keryx_py.shell.reader import TerminalReader
        from keryx_py.shell.terminal import furnishing, terminal_shell

        # Some models' libraries take a second to import: meanwhile the person types.
        Thread(target=project.preload_model, daemon=True).start()
        reader = TerminalReader(furnishing(project, streams.color))
        screen = Screen(streams.stdout, color=streams.color)
        shell = terminal_shell(project, screen, reader)
        with unechoed(streams.stdin):
            return Repl(shell, reader).run()
    screen = Screen(streams.stdout, plain=True)
    rewinds = RewindCommands(project, screen, time.monotonic)
    shell = Shell(project, screen, NobodyAsker(screen), rewinds, time.monotonic)
    return Repl(shell, PlainReader(streams.stdin)).run()


def run_once(project: OpenProject, prompt: str, streams: Streams) -> int:
    """Take one unattended turn; return the exit code.

    Raises KeryxError for a turn that failed, and for a prompt that is a command of the shell.
    """
    line = parse_line(prompt)
    if line is None:
        raise UsageError('the prompt is empty; write keryx run "PROMPT"')
    if isinstance(line, Command) and line.name in command_table():
        if project.rewind_refused and line.name in REWINDING:
            raise KeryxError(project.rewind_refused)
        raise KeryxError(f"keryx run takes a prompt, and /{line.name} is a command of the shell")
    screen = Screen(streams.stdout, color=streams.color)
    _show_notices(screen, project)
    view = TurnView(screen, time.monotonic)
    text = line.text if isinstance(line, Prompt) else whole_text(prompt)
    try:
        report = project.take_turn(text, NobodyAsker(screen), view)
    finally:
        view.end()
    if report.how is TurnEnd.FAILED:
        raise KeryxError(report.reason)
    return 130 if report.how is TurnEnd.INTERRUPTED else 0


REWINDING = ("rewind", "undo", "redo", "diff", "checkpoint")


class Repl:
    """The shell's loop."""

    def __init__(self, shell: Shell, reader: Reader) -> None:
        self._shell = shell
        self._reader = reader

    def run(self) -> int:
        """Run lines until there are no more, or the person leaves; return the exit code."""
        shell = self._shell
        with self._no_error_passes():
            if shell.project.settings.warnings:
                shell.screen.show(notices_text(shell.project.settings.warnings))
            show_open(shell)
        while not shell.leaving:
            with self._no_error_passes():
                self._run_next()
        with self._no_error_passes():
            for process in shell.project.background():
                shell.screen.say(f"still running: {running_line(process)}")
        return 0

    def _run_next(self) -> None:
        put_back, self._shell.put_back = self._shell.put_back, ""
        try:
            line = parse_line(self._reader.read(put_back))
        except EOFError:
            self._shell.leaving = True
            return
        if not _is_confirm(line):
            self._shell.rewinds.withdraw()
        match line:
            case Command():
                run_command(self._shell, line)
            case Prompt(text):
                self._take_turn(text)

    def _take_turn(self, prompt: str) -> None:
        shell = self._shell
        shell.rewinds.forget()
        view = shell.view()
        try:
            report = shell.project.take_turn(prompt, shell.asker, view)
        finally:
            view.end()
        self._show_end(report)

    def _show_end(self, report: TurnReport) -> None:
        shell = self._shell
        if report.how is TurnEnd.INTERRUPTED:
            shell.screen.say("the turn was stopped")
        if report.how is TurnEnd.FAILED:
            shell.screen.say(f"the turn failed: {visible(report.reason)}", ERROR)
        shell.put_back = report.prompt_again

    @contextmanager
    def _no_error_passes(self) -> Iterator[None]:
        """Say every error in one sentence, and go on. Ctrl-C withdraws a pending preview."""
        screen = self._shell.screen
        try:
            yield
        except KeyboardInterrupt:
            screen.end_line()
            self._shell.rewinds.withdraw()
        except KeryxError as error:
            screen.say(visible(str(error)), ERROR)
        except BrokenPipeError:
            # Nobody reads any more, so nothing can be said either.
            raise
        except OSError as error:
            screen.say(f"the system refused: {visible(system_reason(error))}", ERROR)
        except Exception as error:  # noqa: BLE001 - the last catcher: a bug must not end the shell
            screen.say(bug_sentence(error, self._shell.project.settings.data_dir), ERROR)


def system_reason(error: OSError) -> str:
    """Say in a few words what the system refused, and where."""
    reason = error.strerror or str(error) or type(error).__name__
    if error.filename is None or isinstance(error.filename, int):
        return reason
    return f"{reason} ({shown_path(os.fsencode(error.filename))})"


def bug_sentence(error: Exception, data_dir: Path) -> str:
    """Write *error*'s traceback to a file, and say so in one sentence."""
    what = on_one_line(f"{type(error).__name__}: {error}")[:300]
    file = data_dir / "bugs.log"
    stamp = datetime.now().isoformat(timespec="seconds")
    text = f"---- {stamp}\n{''.join(traceback.format_exception(error))}\n"
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as log:
            log.write(text)
    except OSError as refused:
        return f"keryx hit a bug: {what}; where it happened could not be written down: {refused}"
    return f"keryx hit a bug: {what}; where it happened is in {shown_path(os.fsencode(file))}"


def _is_confirm(line: Command | Prompt | None) -> bool:
    return isinstance(line, Command) and line.name == "rewind" and line.rest == "confirm"


def _show_notices(screen: Screen, project: OpenProject) -> None:
    notices = (*project.settings.warnings, *project.notices)
    if notices:
        screen.show(notices_text(notices))
