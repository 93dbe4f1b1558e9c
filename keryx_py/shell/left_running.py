"""What commands left running: it may change files again, so it is named, and may be ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from keryx_py.shell.project import OpenProject
from keryx_py.shell.render import counted, first_words
from keryx_py.shell.screen import Screen
from keryx_py.tools.shell import BackgroundProcess


class LeftRunning:
    """The processes that commands of the open project started and that still run."""

    def __init__(
        self, project: OpenProject, screen: Screen, confirm: Callable[[str], bool] | None
    ) -> None:
        """*confirm* asks the person a yes-or-no question; None where nobody can be asked."""
        self._project = project
        self._screen = screen
        self._confirm = confirm
        self._left_alone: set[int] = set()
        """The groups that the person was asked about, and wants to run on."""

    def named(self) -> tuple[str, ...]:
        """Name each, with the command that ends it."""
        return tuple(map(running_line, self._project.background()))

    def offer_to_end(self) -> None:
        """Ask once about each whether it is to end, and end it on a yes."""
        running = [one for one in self._project.background() if one.pgid not in self._left_alone]
        if self._confirm is None or not running:
            return
        if not self._confirm(_question(running)):
            self._left_alone |= {one.pgid for one in running}
            return
        self._project.end_background()
        rest = self.named()
        self._screen.say(f"still running: {'; '.join(rest)}" if rest else "ended")


def running_line(process: BackgroundProcess) -> str:
    """Name *process* by its command, and say what ends it and all that it started."""
    return f"{first_words(process.command, 100)} (kill -- -{process.pgid} ends it)"


def _question(running: Sequence[BackgroundProcess]) -> str:
    commands = "; ".join(first_words(one.command, 60) for one in running)
    runs, it = ("runs", "it") if len(running) == 1 else ("run", "them")
    many = counted(len(running), "process", "processes")
    return f"{many} that keryx started still {runs}: {commands}. End {it}?"
