"""`keryx rewind`: what `/rewind` does, without the shell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from keryx_py.cli.boundary import guarded, visible_line
from keryx_py.cli.options import (
    Json,
    Keep,
    ModeWord,
    Number,
    Paths,
    PlanId,
    Root,
    SessionId,
    Yes,
    outer_options,
)

if TYPE_CHECKING:
    from keryx_py.settings import Settings
    from keryx_py.shell.rewind_cli import RewindCli
    from keryx_py.shell.screen import Streams

rewind_app = typer.Typer(help="/rewind without the shell.", no_args_is_help=True)


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
    options = outer_options(ctx)

    def inner(settings: Settings, streams: Streams) -> int:
        from keryx_py.shell.opening import open_for_rewind
        from keryx_py.shell.rewind_cli import RewindCli

        project = open_for_rewind(settings, opened.session, opened.root or options.root)
        try:
            for notice in project.notices:
                typer.echo(f"! {visible_line(notice)}", err=True)
            return work(RewindCli(project, streams, opened.as_json))
        finally:
            project.close()

    guarded(options, inner)
