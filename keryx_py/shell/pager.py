"""A program that shows a long text a screenful at a time."""

from __future__ import annotations

import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_NONE = ("", "cat")
"""What people set their pager to so that there is none."""


@dataclass(frozen=True, slots=True)
class Pager:
    """The person's own pager, or else `less`."""

    command: str | None
    """As for sh -c; None for `less`."""
    environment: Mapping[str, str] = field(repr=False)

    def show(self, text: str) -> bool:
        """Show *text* until the person has seen enough; False where no pager can."""
        argv, environment = self._program()
        if not argv:
            return False
        with _ctrl_c_is_the_pagers():
            try:
                process = subprocess.Popen(argv, stdin=subprocess.PIPE, env=environment)
            except OSError:
                return False
            assert process.stdin is not None
            # The person may leave before the end.
            with suppress(BrokenPipeError), process.stdin as pipe:
                pipe.write(text.encode("utf-8", "backslashreplace"))
            # 127: the shell found no such program, and the text was not seen.
            return process.wait() != 127

    def _program(self) -> tuple[list[str], dict[str, str]]:
        environment = dict(self.environment)
        if self.command is not None:
            if self.command.strip() in _NONE:
                return [], environment
            # A plain `less` would show colours as escapes.
            environment.setdefault("LESS", "FRX")
            return ["/bin/sh", "-c", self.command], environment
        found = shutil.which("less", path=environment.get("PATH"))
        # Secure: nothing in the text or typed at it starts programs or writes files.
        environment |= {"LESSSECURE": "1", "LESSHISTFILE": "-"}
        return [found, "-R"] if found else [], environment


@contextmanager
def _ctrl_c_is_the_pagers() -> Iterator[None]:
    """Leave Ctrl-C to the pager, which shares the terminal."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # Not SIG_IGN, which the pager would inherit.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
