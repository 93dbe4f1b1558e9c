"""The table of commands. /help, completion and the running of a line are drawn from it."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from rich.text import Text

from keryx_py.shell.command_spec import CommandSpec, Shell, no_args, one_arg
from keryx_py.shell.hints import Hint
from keryx_py.shell.line import Command, UsageError
from keryx_py.shell.point_names import parse_checkpoint
from keryx_py.shell.render import padded
from keryx_py.shell.session_commands import run_compact, run_fork, run_new, run_resume, run_sessions
from keryx_py.shell.session_view import (
    approvals_text,
    status_text,
)
from keryx_py.shell.visible import on_one_line, shown_name, visible
from keryx_py.tools.base import Risk


def run_command(shell: Shell, command: Command) -> None:
    """Run *command*. Raises KeryxError."""
    spec = find_command(command.name)
    spec.run(shell, command)


def find_command(name: str) -> CommandSpec:
    """Look *name* up. Raises UsageError, which names the nearest."""
    table = command_table()
    if name in table:
        return table[name]
    if not name:
        raise UsageError("a command's name comes right after the slash; /help lists them")
    near = get_close_matches(name[:40].lower(), table, n=1, cutoff=0.5)
    hint = f"did you mean /{near[0]}?" if near else "/help lists the commands."
    raise UsageError(
        f"there is no command /{on_one_line(name[:40])}; {hint} "
        "A prompt that starts with a slash is written with two."
    )


def completions() -> Mapping[str, tuple[Hint, ...]]:
    """Say what each command's arguments are."""
    return {name: spec.hints for name, spec in command_table().items()}


def command_table() -> Mapping[str, CommandSpec]:
    """Give every command by its name, /quit beside /exit."""
    table = {spec.name: spec for spec in _COMMANDS}
    return table | {"quit": table["exit"]}


# ---- the shell itself


def _help(shell: Shell, command: Command) -> None:
    wanted = [find_command(word.removeprefix("/")) for word in command.args]
    rows = [
        (f"/{spec.name} {form}".rstrip(), summary)
        for spec in wanted or _COMMANDS
        for form, summary in spec.forms
    ]
    width = max(len(usage) for usage, _ in rows)
    text = Text()
    for usage, summary in rows:
        text.append(padded(usage, width), "bold").append(f"  {summary}\n")
    if not wanted:
        text.append("Every other line is a prompt; // begins one that starts with a slash.")
    text.rstrip()
    shell.screen.show(text)


def _status(shell: Shell, command: Command) -> None:
    no_args(command)
    shell.screen.show(status_text(shell.project))


def _exit(shell: Shell, command: Command) -> None:
    no_args(command)
    shell.leaving = True


def _model(shell: Shell, command: Command) -> None:
    name = one_arg(command, "NAME")
    if name:
        shell.project.use_model(name)
    shell.screen.say(f"model: {on_one_line(shell.project.model.name)}")


def _approve(shell: Shell, command: Command) -> None:
    policy = shell.project.policy
    word = one_arg(command, "RISK")
    if word:
        risk = _risk(word)
        if risk in policy.approved:
            policy.withdraw(risk)
        elif risk is Risk.DESTRUCTIVE:
            raise UsageError("destructive calls are always asked about; nothing was changed")
        else:
            policy.always(risk)
    shell.screen.say(approvals_text(policy.approved))


def _risk(word: str) -> Risk:
    names = [risk.value for risk in Risk if risk.mutates]
    if word == Risk.READ.value:
        raise UsageError("reading needs no approval")
    if word not in names:
        near = get_close_matches(word.lower(), names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"the risks are {', '.join(names)}"
        raise UsageError(f"{shown_name(word)} is not a risk; {hint}")
    return Risk(word)


# ---- going back


def _rewind(shell: Shell, command: Command) -> None:
    _put_back(shell, shell.rewinds.rewind(command))


def _undo(shell: Shell, command: Command) -> None:
    no_args(command)
    _put_back(shell, shell.rewinds.undo())


def _redo(shell: Shell, command: Command) -> None:
    no_args(command)
    _put_back(shell, shell.rewinds.redo())


def _diff(shell: Shell, command: Command) -> None:
    shell.rewinds.diff(command)


def _checkpoint(shell: Shell, command: Command) -> None:
    wanted = parse_checkpoint(command.rest)
    if wanted.removes:
        number = shell.project.unpin(wanted.name)
        shell.screen.say(
            f"checkpoint {number} has no name any more; "
            "its snapshot stays until it is pruned as the oldest"
        )
        return
    view = shell.view()
    try:
        number = shell.project.checkpoint(wanted.name, view, wanted.note)
    finally:
        view.end()
    named = f", @{wanted.name}," if wanted.name else ""
    shell.screen.say(f"checkpoint {number}{named} taken")


def _put_back(shell: Shell, prompt: str) -> None:
    """Put *prompt* on the next input line; where there is none to edit, print it."""
    if not prompt:
        return
    if shell.edits:
        shell.put_back = prompt
    else:
        shell.screen.say(f"the prompt was: {visible(prompt)}")


_COMMANDS = (
    CommandSpec("help", (("[COMMAND…]", "show the commands"),), _help, (Hint.COMMAND,)),
    CommandSpec(
        "rewind",
        (
            ("", "list the points, newest first"),
            ("N [MODE]", "preview going back to before N; MODE is files, history or both"),
            ("N files PATH…", "preview only these paths"),
            ("N [MODE] keep", "preview leaving what you changed yourself; not with history"),
            ("N only [PATH…]", "preview taking back turn N alone, later turns kept"),
            ("N [MODE] diff", "preview with the difference in full"),
            ("N pick [PATH…]", "go through the hunks; with 1,3-4 at the end, take these"),
            ("confirm", "apply exactly what was previewed"),
            ("pick", "choose a point with the keys; Esc twice on an empty line does too"),
        ),
        _rewind,
        (Hint.POINT, Hint.MODE, Hint.REWOUND),
    ),
    CommandSpec("undo", (("", "rewind the latest turn, files and history"),), _undo),
    CommandSpec("redo", (("", "take the latest rewind back"),), _redo),
    CommandSpec(
        "diff",
        (
            ("N [M] [PATH…]", "show what changed since point N, or between two"),
            ("N only [PATH…]", "what turn N changed"),
            ("all [PATH…]", "what changed in the whole session"),
        ),
        _diff,
        (Hint.COMPARED, Hint.COMPARED_TO, Hint.PATH),
    ),
    CommandSpec(
        "checkpoint",
        (
            ("", "take a snapshot now"),
            ("NAME [NOTE]", "the same, never pruned; @NAME stands for its number"),
            ("-d NAME", "take the name away: the snapshot is pruned like others then"),
        ),
        _checkpoint,
        (Hint.CHECKPOINT, Hint.NAME),
    ),
    CommandSpec("compact", (("[FOCUS]", "put a summary in place of early turns"),), run_compact),
    CommandSpec("status", (("", "show what is open, kept and approved"),), _status),
    CommandSpec("sessions", (("", "list the sessions of this project"),), run_sessions),
    CommandSpec("resume", (("ID", "go on in another session"),), run_resume, (Hint.SESSION,)),
    CommandSpec("new", (("", "go on in a new session"),), run_new),
    CommandSpec("fork", (("", "go on in a copy of this session"),), run_fork),
    CommandSpec("model", (("[NAME]", "show or change the model"),), _model),
    CommandSpec(
        "approve",
        (("[RISK]", "approve write, shell or delegate without being asked; again: ask"),),
        _approve,
        (Hint.RISK,),
    ),
    CommandSpec("exit", (("", "leave; Ctrl-D does too"),), _exit),
)
