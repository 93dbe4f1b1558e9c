"""Draw what the agent does, as it does it."""

from __future__ import annotations

from collections.abc import Callable

from rich.text import Text

from keryx_py.agent.events import (
    AnswerEnded,
    AnswerText,
    CallEnded,
    CallOutput,
    CallStarted,
    Event,
    NoticeGiven,
    SnapshotEnded,
    SnapshotProgress,
    Waiting,
)
from keryx_py.shell.render import QUIET, WARNING, counted, short, shown_text, size_text
from keryx_py.shell.screen import Screen
from keryx_py.shell.visible import on_one_line, visible, visible_output
from keryx_py.snapshot.store import WalkProgress
from keryx_py.tools.base import Shown

PATIENCE = 1.0
"""How many seconds a capture may take before its progress is shown."""
REDRAW = 0.1
LONGEST_NAME = 60
LONGEST_TITLE = 500
"""What a model gives for the name of a tool or a file may be megabytes long."""

Clock = Callable[[], float]


class CaptureView:
    """Shows how far a capture is, once it has taken a while."""

    def __init__(self, screen: Screen, clock: Clock, doing: str = "saving") -> None:
        self._screen = screen
        self._clock = clock
        self._doing = doing
        self._since: float | None = None
        self._drawn: float | None = None

    def __call__(self, progress: WalkProgress) -> None:
        """Draw *progress* when that is due."""
        now = self._clock()
        if self._since is None:
            self._since = now
        if now - self._since < PATIENCE:
            return
        if self._drawn is None and not self._screen.terminal:
            self._screen.say(f"{self._doing} the project's files …", QUIET)
        if self._drawn is None or now - self._drawn >= REDRAW:
            self._drawn = now
            self._screen.change(
                f"{self._doing} the project's files: {counted(progress.files, 'file')}, "
                f"{size_text(progress.content_bytes)} … Ctrl-C stops it"
            )

    def end(self) -> None:
        """Take the progress away."""
        self._since = self._drawn = None
        self._screen.settle()


class TurnView:
    """Draws the events of turns on *screen*."""

    def __init__(
        self,
        screen: Screen,
        clock: Clock,
        was_shown: Callable[[Shown], bool] = lambda shown: False,
    ) -> None:
        """*was_shown* knows what a question showed, which is not drawn twice."""
        self._screen = screen
        self._clock = clock
        self._was_shown = was_shown
        self._capture = CaptureView(screen, clock)
        self._not_covered: dict[str, str] = {}
        self._running = ""
        self._redrawn = 0.0

    def __call__(self, event: Event) -> None:
        """Draw *event*."""
        match event:
            case Waiting():
                self._screen.change("… waiting for the model")
            case AnswerText(text):
                self._screen.stream(visible_output(text))
            case AnswerEnded():
                self._screen.end_line()
            case NoticeGiven(text):
                self._screen.say(f"! {visible(short(text))}", WARNING)
            case CallStarted():
                self._start(event)
            case CallOutput(_, text):
                self._draw_output(text)
            case CallEnded():
                self._end(event)
            case SnapshotProgress(files, content_bytes):
                self._capture(WalkProgress(files, content_bytes))
            case SnapshotEnded():
                self._capture.end()

    def end(self) -> None:
        """Leave the screen at the start of a line."""
        self._capture.end()
        self._screen.end_line()
        self._not_covered.clear()

    def _start(self, event: CallStarted) -> None:
        if event.not_covered:
            self._not_covered[event.call_id] = event.not_covered
        self._running = f"○ {event.tool} {_brief(event.title, LONGEST_TITLE)}"
        self._screen.change(self._running)

    def _draw_output(self, text: str) -> None:
        now = self._clock()
        rows = text.split("\n")
        last = next((row for row in reversed(rows) if row.strip()), "")
        if last and now - self._redrawn >= REDRAW:
            self._redrawn = now
            self._screen.change(f"{self._running}  │ {on_one_line(last[-400:])}")

    def _end(self, event: CallEnded) -> None:
        line = Text("  " if event.delegated else "")
        line.append("● " if event.ok else "✗ ", "green" if event.ok else "red")
        line.append(f"{_brief(event.tool, LONGEST_NAME)} ", "bold")
        line.append(_brief(event.title, LONGEST_TITLE))
        if event.summary:
            line.append(f"  {on_one_line(event.summary)}", QUIET if event.ok else "red")
        not_covered = self._not_covered.pop(event.call_id, "")
        if not_covered:
            line.append(f"  (a rewind will not cover it: {on_one_line(not_covered)})", WARNING)
        self._screen.show(line)
        if event.shown is not None and not self._was_shown(event.shown):
            self._screen.show(shown_text(event.shown, self._screen.height))


def _brief(text: str, most: int) -> str:
    return on_one_line(text[:most]) + ("…" if len(text) > most else "")
