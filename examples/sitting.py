"""Sit at the real shell without a terminal: each line is shown as it is typed, then its answer."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from keryx_py.settings import Flags, load_settings
from keryx_py.shell.opening import Which, open_for_shell
from keryx_py.shell.repl import run_shell
from keryx_py.shell.screen import Streams

APPROVED = ("write", "shell", "destructive")


class TypedLines(io.TextIOBase):
    """A standard input that shows each line on *out* when the shell reads it."""

    def __init__(self, lines: Iterable[str], out: TextIO) -> None:
        self._lines = iter(lines)
        self._out = out

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        """Give the next line; nothing at the end."""
        line = next(self._lines, None)
        if line is None:
            return ""
        self._out.write(f"\n› {line}\n")
        return line + "\n"


def sit(lines: Iterable[str], root: Path, data_dir: Path, out: TextIO, *, go_on: bool) -> None:
    """Open the shell on *root*, in a new session or with *go_on* in its last, and type *lines*."""
    environ = {
        "HOME": str(data_dir),
        "PATH": os.environ.get("PATH", os.defpath),
        "KERYX_DATA_DIR": str(data_dir),
    }
    settings = load_settings(environ, Flags(approve=APPROVED, no_color=True), data_dir / "none")
    streams = Streams(TypedLines(lines, out), out, out, color=False)  # type: ignore[arg-type]
    project = open_for_shell(settings, Which(latest=go_on, root=root), streams)
    try:
        run_shell(project, streams)
    finally:
        project.close()
