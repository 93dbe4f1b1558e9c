"""The commands of the conversation: compact it, leave it for another, copy it."""

from __future__ import annotations

from keryx_py.session.sessions import HeldError
from keryx_py.shell.command_spec import Shell, no_args, one_arg
from keryx_py.shell.line import Command, UsageError, whole_text
from keryx_py.shell.session_view import (
    first_lines_text,
    notices_text,
    sessions_text,
)
from keryx_py.shell.visible import visible


def run_compact(shell: Shell, command: Command) -> None:
    view = shell.view()
    try:
        said = shell.project.compact(whole_text(command.rest), view)
    finally:
        view.end()
    shell.screen.say(visible(said))


def run_sessions(shell: Shell, command: Command) -> None:
    no_args(command)
    sessions = shell.project.list_sessions()
    shell.screen.show(sessions_text(sessions, shell.project.session.id))


def run_resume(shell: Shell, command: Command) -> None:
    wanted = one_arg(command, "ID")
    if not wanted:
        raise UsageError("write /resume ID; /sessions lists the ids")
    try:
        shell.project.resume(wanted)
    except HeldError as held:
        if not shell.asker.confirm(f"{visible(str(held))}. Fork it, and go on in the copy?"):
            raise
        copy = shell.project.sessions.fork(wanted)
        copy.close()
        shell.project.resume(copy.id)
    show_open(shell)


def run_new(shell: Shell, command: Command) -> None:
    no_args(command)
    shell.project.new_session()
    show_open(shell)


def run_fork(shell: Shell, command: Command) -> None:
    no_args(command)
    shell.project.fork()
    show_open(shell)


def show_open(shell: Shell) -> None:
    """Say what is open now, and what opening it found."""
    shell.rewinds.forget()
    shell.screen.show(first_lines_text(shell.project))
    notices = shell.project.notices
    if notices:
        shell.screen.show(notices_text(notices))
