"""The options and arguments of the command line, one spelling for all commands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Optional

import typer

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


def outer_options(ctx: typer.Context) -> Options:
    """Give the options that stood before the subcommand."""
    return ctx.obj if isinstance(ctx.obj, Options) else Options()
