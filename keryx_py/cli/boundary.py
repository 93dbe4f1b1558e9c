"""Where every failure ends: as one line on standard error and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from keryx_py.cli.options import Options
from keryx_py.errors import KeryxError

if TYPE_CHECKING:
    from keryx_py.settings import Settings
    from keryx_py.shell.screen import Streams


def guarded(options: Options, work: Callable[[Settings, Streams], int]) -> None:
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
    typer.echo(f"keryx: {visible_line(text)}", err=True)
    return code


def visible_line(text: str) -> str:
    """Make *text* one line that cannot drive the terminal."""
    from keryx_py.shell.visible import on_one_line

    return on_one_line(text)
