"""`keryx` itself and `keryx run`; the other commands are put below it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from keryx_py import __version__
from keryx_py.cli.boundary import guarded
from keryx_py.cli.options import Approve, BaseUrl, ModelName, NoColor, Options, Root
from keryx_py.cli.rewinds import rewind_app
from keryx_py.cli.sessions import sessions_app

if TYPE_CHECKING:
    from keryx_py.settings import Settings
    from keryx_py.shell.screen import Streams

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="A line shell for working on a project with a language model, "
    "and for taking its work back with /rewind.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(sessions_app, name="sessions")
app.add_typer(rewind_app, name="rewind")


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

    guarded(options, work)


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

    guarded(options, work)
