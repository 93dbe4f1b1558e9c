"""The command line: flags to settings, settings to objects, objects to the shell."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from keryx_py import __version__
from keryx_py.errors import KeryxError

if TYPE_CHECKING:
    from keryx_py.settings import Settings
    from keryx_py.shell.rewind_cli import RewindCli
    from keryx_py.shell.screen import Streams
    from keryx_py.shell.sessions_cli import SessionsCli

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="A line shell for working on a project with a language model, "
    "and for taking its work back with /rewind.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
sessions_app = typer.Typer(help="List, show, delete and erase sessions.", no_args_is_help=True)
rewind_app = typer.Typer(help="/rewind without the shell.", no_args_is_help=True)
app.add_typer(sessions_app, name="sessions")
app.add_typer(rewind_app, name="rewind")

# typer reads annotations at run time on every supported Python, so unions are spelled Optional.
Root = Annotated[Optional[Path], typer.Option("--root", help="The project's folder.")]  # noqa: UP045
ModelName = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--model", help="offline, script:FILE, openai/NAME or anthropic/NAME."),
]
BaseUrl = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--base-url", help="A server that speaks the OpenAI chat protocol."),
]
Approve = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--approve",
        metavar="RISK",
        help="write, shell, delegate or destructive: approved without asking; repeatable.",
    ),
]
NoColor = Annotated[bool, typer.Option("--no-color", help="Print without colours.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SessionId = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--session", help="The session's id; without it, the one used last here."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do it without asking.")]
SessionArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The full id or a unique prefix.")
]

Number = Annotated[str, typer.Argument(metavar="N", help="The number of a point.")]
ModeWord = Annotated[str, typer.Argument(metavar="[MODE]", help="files, history, both or only.")]
Paths = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(metavar="[PATH]...", help="Only these paths; mode files only."),
]
Keep = Annotated[
    bool, typer.Option("--keep", help="Leave what you changed yourself; with files or both.")
]
PlanId = Annotated[
    str, typer.Option("--plan", metavar="ID", help="Refuse any plan but this one of a preview.")
]


@dataclass(frozen=True, slots=True)
class Options:
    """The options that the shell and `run` share."""

    root: Path | None = None
    model: str | None = None
    base_url: str | None = None
    approve: tuple[str, ...] = ()
    no_color: bool = False

    def over(self, outer: Options | None) -> Options:
        """Lay these over the options given before the subcommand."""
        if outer is None:
            return self
        return Options(
            self.root or outer.root,
            self.model or outer.model,
            self.base_url or outer.base_url,
            (*outer.approve, *self.approve),
            self.no_color or outer.no_color,
        )


def main() -> None:
    """Run keryx; every expected failure is one line on standard error and an exit code."""
    if not sys.platform.startswith(("linux", "darwin")):
        typer.echo("keryx runs on Linux and macOS only", err=True)
        sys.exit(1)
    app(prog_name="keryx")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"keryx {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def shell(
    ctx: typer.Context,
    root: Root = None,
    model: ModelName = None,
    base_url: BaseUrl = None,
    approve: Approve = None,
    no_color: NoColor = False,
    latest: Annotated[
        bool, typer.Option("-c", "--continue", help="Go on in the session used last here.")
    ] = False,
    resume: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("-r", "--resume", metavar="ID", help="Go on in that session."),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Open the shell on this project in a new session."""
    options = Options(root, model, base_url, tuple(approve or ()), no_color)
    if ctx.invoked_subcommand is not None:
        if latest or resume is not None:
            raise typer.BadParameter("-c and -r open the shell; they go with no subcommand")
        ctx.obj = options
        return
    if latest and resume is not None:
        raise typer.BadParameter("give -c or -r, not both")

    def work(settings: Settings, streams: Streams) -> int:
        from keryx_py.shell.opening import Which, open_for_shell
        from keryx_py.shell.repl import run_shell

        project = open_for_shell(settings, Which(resume, latest, root), streams)
        try:
            return run_shell(project, streams)
        finally:
            project.close()

    _guarded(options, work)


@app.command()
def run(
    ctx: typer.Context,
    prompt: Annotated[str, typer.Argument(help="The prompt; - reads it from standard input.")],
    root: Root = None,
    model: ModelName = None,
    base_url: BaseUrl = None,
    approve: Approve = None,
    no_color: NoColor = False,
) -> None:
    """Take one unattended turn and exit; no snapshot is taken."""
    options = Options(root, model, base_url, tuple(approve or ()), no_color).over(ctx.obj)

    def work(settings: Settings, streams: Streams) -> int:
        from keryx_py.shell.opening import open_unattended
        from keryx_py.shell.repl import run_once

        text = streams.read_all() if prompt == "-" else prompt
        project = open_unattended(settings, options.root)
        try:
            return run_once(project, text, streams)
        finally:
            project.close()

    _guarded(options, work)


# ---- keryx sessions


@sessions_app.command("list")
def sessions_list(ctx: typer.Context, as_json: Json = False) -> None:
    """List all sessions, the one used last first."""
    _on_sessions(ctx, lambda cli, settings: cli.list_all(), as_json=as_json)


@sessions_app.command("show")
def sessions_show(ctx: typer.Context, session: SessionArgument, as_json: Json = False) -> None:
    """Show one session."""
    _on_sessions(ctx, lambda cli, settings: cli.show(session), as_json=as_json)


@sessions_app.command("path")
def sessions_path(ctx: typer.Context, session: SessionArgument) -> None:
    """Print the path of a session's folder."""
    _on_sessions(ctx, lambda cli, settings: cli.path(session))


@sessions_app.command("delete")
def sessions_delete(
    ctx: typer.Context,
    sessions: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(metavar="[ID]...", help="Full ids or unique prefixes."),
    ] = None,
    older_than: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option("--older-than", metavar="DAYS", min=0, help="Not used for so many days."),
    ] = None,
    orphaned: Annotated[bool, typer.Option("--orphaned", help="Whose root is gone.")] = False,
    project: Annotated[bool, typer.Option("--project", help="Of this project.")] = False,
    root: Root = None,
    yes: Yes = False,
) -> None:
    """Delete sessions and their snapshots; asks first."""

    def work(cli: SessionsCli, settings: Settings) -> int:
        from keryx_py.shell.opening import project_root
        from keryx_py.shell.sessions_cli import Which

        here = project_root(settings, root) if project or root is not None else None
        which = Which(tuple(sessions or ()), older_than, orphaned, here)
        return cli.delete(which, yes=yes, now=time.time())

    _on_sessions(ctx, work)


@sessions_app.command("erase")
def sessions_erase(ctx: typer.Context, session: SessionArgument) -> None:
    """Rewrite a session without its rewound turns, and drop their snapshots."""
    _on_sessions(ctx, lambda cli, settings: cli.erase(session))


def _on_sessions(
    ctx: typer.Context, work: Callable[[SessionsCli, Settings], int], *, as_json: bool = False
) -> None:
    def inner(settings: Settings, streams: Streams) -> int:
        from keryx_py.shell.opening import open_sessions
        from keryx_py.shell.sessions_cli import SessionsCli

        return work(
            SessionsCli(open_sessions(settings), settings.data_dir, streams, as_json), settings
        )

    _guarded(_outer(ctx), inner)


# ---- keryx rewind


@rewind_app.command("list")
def rewind_list(
    ctx: typer.Context, session: SessionId = None, root: Root = None, as_json: Json = False
) -> None:
    """List the points, newest first."""
    _on_rewinds(ctx, Opened(session, root, as_json), lambda cli: cli.list_points())


@rewind_app.command("preview")
def rewind_preview(
    ctx: typer.Context,
    number: Number,
    mode: ModeWord = "files",
    paths: Paths = None,
    keep: Keep = False,
    session: SessionId = None,
    root: Root = None,
    as_json: Json = False,
) -> None:
    """Show what going back to a point would change."""
    from keryx_py.shell.rewind_cli import Asked

    asked = Asked(number, mode, tuple(paths or ()), keep)
    _on_rewinds(ctx, Opened(session, root, as_json), lambda cli: cli.preview(asked))


@rewind_app.command("apply")
def rewind_apply(
    ctx: typer.Context,
    number: Number,
    mode: ModeWord = "files",
    paths: Paths = None,
    keep: Keep = False,
    plan: PlanId = "",
    yes: Yes = False,
    session: SessionId = None,
    root: Root = None,
    as_json: Json = False,
) -> None:
    """Preview going back to a point, and with --yes do it."""
    from keryx_py.shell.rewind_cli import Asked

    asked = Asked(number, mode, tuple(paths or ()), keep)
    _on_rewinds(
        ctx, Opened(session, root, as_json), lambda cli: cli.apply(asked, yes=yes, plan_id=plan)
    )


@rewind_app.command("diff")
def rewind_diff(
    ctx: typer.Context,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="N [M|only] [PATH]... | all [PATH]...",
            help="Since point N, from N to M, in turn N only, or in the whole session.",
        ),
    ],
    session: SessionId = None,
    root: Root = None,
    as_json: Json = False,
) -> None:
    """Show what changed; piped, it is what git apply takes."""
    _on_rewinds(ctx, Opened(session, root, as_json), lambda cli: cli.diff(tuple(words)))


@rewind_app.command("export")
def rewind_export(
    ctx: typer.Context,
    number: Annotated[
        str, typer.Argument(metavar="[N]", help="The turn whose changes are meant.")
    ] = "",
    since: Annotated[
        str, typer.Option("--since", metavar="N", help="Instead: all that changed since point N.")
    ] = "",
    patch: Annotated[
        bool, typer.Option("--patch", help="As a patch that git apply takes, binary files too.")
    ] = False,
    output: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--output", "-o", metavar="FILE", help="A new file; else standard output."),
    ] = None,
    session: SessionId = None,
    root: Root = None,
) -> None:
    """Write what a turn changed as a patch."""
    from keryx_py.shell.rewind_cli import Export

    wanted = Export(number, since, patch, output)
    _on_rewinds(ctx, Opened(session, root, False), lambda cli: cli.export(wanted))


@rewind_app.command("undo")
def rewind_undo(
    ctx: typer.Context,
    yes: Yes = False,
    session: SessionId = None,
    root: Root = None,
    as_json: Json = False,
) -> None:
    """Rewind the latest turn, files and history."""
    _on_rewinds(ctx, Opened(session, root, as_json), lambda cli: cli.undo(yes=yes))


@rewind_app.command("redo")
def rewind_redo(
    ctx: typer.Context,
    yes: Yes = False,
    session: SessionId = None,
    root: Root = None,
    as_json: Json = False,
) -> None:
    """Take the latest rewind back."""
    _on_rewinds(ctx, Opened(session, root, as_json), lambda cli: cli.redo(yes=yes))


@dataclass(frozen=True, slots=True)
class Opened:
    """What `keryx rewind` works on, and how it prints."""

    session: str | None
    root: Path | None
    as_json: bool


def _on_rewinds(ctx: typer.Context, opened: Opened, work: Callable[[RewindCli], int]) -> None:
    options = _outer(ctx)

    def inner(settings: Settings, streams: Streams) -> int:
        from keryx_py.shell.opening import open_for_rewind
        from keryx_py.shell.rewind_cli import RewindCli

        project = open_for_rewind(settings, opened.session, opened.root or options.root)
        try:
            for notice in project.notices:
                typer.echo(f"! {_visible_line(notice)}", err=True)
            return work(RewindCli(project, streams, opened.as_json))
        finally:
            project.close()

    _guarded(options, inner)


# ---- what all of them share


def _outer(ctx: typer.Context) -> Options:
    return ctx.obj if isinstance(ctx.obj, Options) else Options()


def _guarded(options: Options, work: Callable[[Settings, Streams], int]) -> None:
    """Do *work*, and turn what happens into an exit code and at most one line."""
    raise typer.Exit(_exit_code(options, work))


def _exit_code(options: Options, work: Callable[[Settings, Streams], int]) -> int:
    from keryx_py.shell.line import UsageError
    from keryx_py.shell.repl import bug_sentence, system_reason

    data_dir = _early_folder()
    try:
        settings = _settings(options)
        data_dir = settings.data_dir
        return work(settings, _streams(settings))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Nobody reads any more; the interpreter must not try to flush at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except UsageError as error:
        return _say(str(error), 2)
    except KeryxError as error:
        return _say(str(error), 1)
    except OSError as error:
        return _say(f"the system refused: {system_reason(error)}", 1)
    except Exception as error:  # noqa: BLE001 - the last catcher: no traceback reaches a person
        return _say(bug_sentence(error, data_dir), 1)


def _early_folder() -> Path:
    """Say where a bug is noted as long as no settings say where the data folder is."""
    try:
        return Path.home() / ".keryx"
    except RuntimeError:
        return Path("/")  # no home folder: the sentence alone must do


def _settings(options: Options) -> Settings:
    import platformdirs

    from keryx_py.settings import Flags, load_settings

    flags = Flags(options.model, options.base_url, options.approve, options.no_color)
    try:
        folder = platformdirs.user_config_path("keryx", appauthor=False)
    except RuntimeError:
        folder = Path()  # no home folder, so no settings in it
    return load_settings(os.environ, flags, folder / "settings.toml")


def _streams(settings: Settings) -> Streams:
    from keryx_py.shell.screen import Streams

    return Streams.of_process(color=settings.color)


def _say(text: str, code: int) -> int:
    typer.echo(f"keryx: {_visible_line(text)}", err=True)
    return code


def _visible_line(text: str) -> str:
    """Make *text* one line that cannot drive the terminal."""
    from keryx_py.shell.visible import on_one_line

    return on_one_line(text)
