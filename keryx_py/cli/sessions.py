"""`keryx sessions`: list, show, delete and erase them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from keryx_py.cli.boundary import guarded
from keryx_py.cli.options import Json, Root, SessionArgument, Yes, outer_options

if TYPE_CHECKING:
    from keryx_py.settings import Settings
    from keryx_py.shell.screen import Streams
    from keryx_py.shell.sessions_cli import SessionsCli

sessions_app = typer.Typer(help="List, show, delete and erase sessions.", no_args_is_help=True)


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

    guarded(outer_options(ctx), inner)
