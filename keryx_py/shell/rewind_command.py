"""/rewind, /undo, /redo and /diff: list, preview, confirm. Holds the one pending plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from keryx_py.rewind.plan import RewindPlan
from keryx_py.rewind.points import FilesState
from keryx_py.rewind.rewinder import DiffStyle, Rewinder, RewindReport, StalePlanError
from keryx_py.session.archive import Mode
from keryx_py.shell.line import Command, UsageError
from keryx_py.shell.points_view import points_text
from keryx_py.shell.project import OpenProject
from keryx_py.shell.render import WARNING, diff_text, first_lines
from keryx_py.shell.report_view import report_text
from keryx_py.shell.rewind_view import LineCounts, Ways, named_paths, preview_text
from keryx_py.shell.rewind_words import (
    ConfirmWanted,
    ListWanted,
    PreviewWanted,
    parse_diff,
    parse_rewind,
)
from keryx_py.shell.screen import Screen
from keryx_py.shell.turn_view import CaptureView, Clock

T = TypeVar("T")

SCREEN_LINES = DiffStyle.SCREEN_LINES

WAYS = Ways(
    confirm="/rewind confirm applies it",
    show_all="/rewind {number} {mode} diff shows all",
    redo="/redo",
    files="/rewind {number} files",
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A preview as it stands on the screen."""

    plan: RewindPlan
    in_full: bool


class RewindCommands:
    """The rewinds of the open project, and the preview that waits to be confirmed."""

    def __init__(self, project: OpenProject, screen: Screen, clock: Clock) -> None:
        self._project = project
        self._screen = screen
        self._clock = clock
        self._pending: Shown | None = None
        self._shown_last: RewindPlan | None = None
        """By which a later preview of the same rewind knows what is being written."""

    # ---- the pending preview

    def withdraw(self) -> None:
        """Withdraw the pending preview, and say so if there is one."""
        if self._pending is not None:
            self._pending = None
            self._screen.say("preview withdrawn")

    def forget(self) -> None:
        """Forget what was shown: from now on files may have changed for other reasons."""
        self._shown_last = None

    # ---- the commands; each returns the prompt that goes back on the input line

    def rewind(self, command: Command) -> str:
        """/rewind in all its forms."""
        rewinder = self._project.rewinder()
        match parse_rewind(command.args, self._project.root):
            case ListWanted():
                self._list(rewinder)
            case ConfirmWanted():
                return self._confirm(rewinder)
            case PreviewWanted(number, mode, paths, in_full):
                plan = self._with_progress(
                    lambda capture: rewinder.plan(
                        number,
                        mode,
                        paths,
                        previous=self._previous(number, mode, paths),
                        progress=capture,
                    )
                )
                self._preview(rewinder, plan, in_full=in_full)
        return ""

    def undo(self) -> str:
        """/undo: rewind the latest turn, both."""
        rewinder = self._project.rewinder()
        return self._at_once_or_preview(rewinder, rewinder.plan_undo())

    def redo(self) -> str:
        """/redo: take the latest rewind back."""
        rewinder = self._project.rewinder()
        return self._at_once_or_preview(rewinder, rewinder.plan_redo())

    def diff(self, command: Command) -> None:
        """/diff: what changed since a point, or between two."""
        rewinder = self._project.rewinder()
        wanted = parse_diff(command.args)
        first = self._earliest(rewinder) if wanted.first is None else wanted.first
        diff = rewinder.diff_points(first, wanted.second, most_lines=SCREEN_LINES + 1)
        if diff:
            self._screen.show(diff_text(first_lines(diff, SCREEN_LINES)))
        else:
            self._screen.say("no file differs")

    # ---- what they do

    def _list(self, rewinder: Rewinder) -> None:
        points = self._with_progress(rewinder.list_points)
        if points:
            self._screen.show(points_text(points, self._screen.width))
        else:
            self._screen.say("no points yet: every prompt that you send makes one")

    def _earliest(self, rewinder: Rewinder) -> int:
        held = [
            listed.point.number
            for listed in rewinder.list_points()
            if listed.point.files is FilesState.HELD
        ]
        if not held:
            raise UsageError("no snapshot has been taken in this session, so there is no diff")
        return min(held)

    def _previous(self, number: int, mode: Mode, paths: tuple[bytes, ...]) -> RewindPlan | None:
        last = self._shown_last
        if last is None or last.redoes is not None:
            return None
        same = (last.point.number, last.mode, last.paths) == (number, mode, paths)
        return last if same else None

    def _preview(self, rewinder: Rewinder, plan: RewindPlan, *, in_full: bool) -> None:
        diff = rewinder.diff(plan, SCREEN_LINES + 1) if in_full and plan.files else None
        counts = rewinder.line_counts(plan, named_paths(plan))
        self._screen.show(preview_text(plan, counts, WAYS, diff, self._running()))
        self._pending = None if plan.empty else Shown(plan, in_full)
        self._shown_last = plan

    def _confirm(self, rewinder: Rewinder) -> str:
        if self._pending is None:
            raise UsageError("nothing to confirm: /rewind N shows a preview first")
        pending, self._pending = self._pending, None
        return self._apply(rewinder, pending)

    def _at_once_or_preview(self, rewinder: Rewinder, plan: RewindPlan) -> str:
        if not plan.empty and rewinder.may_apply_at_once(plan):
            counts = rewinder.line_counts(plan, named_paths(plan))
            return self._apply(rewinder, Shown(plan, in_full=False), counts)
        self._preview(rewinder, plan, in_full=False)
        return ""

    def _apply(self, rewinder: Rewinder, shown: Shown, named: LineCounts | None = None) -> str:
        try:
            report = self._with_progress(lambda capture: rewinder.apply(shown.plan, capture))
        except StalePlanError as stale:
            self._screen.say("the project has changed since; nothing was done", WARNING)
            self._preview(rewinder, stale.fresh, in_full=shown.in_full)
            return ""
        except KeyboardInterrupt:
            # Once a file is changed the rewinder holds Ctrl-C back, and reports it.
            self._screen.say("the rewind was stopped; nothing was changed")
            raise
        self.forget()
        self._screen.show(report_text(report, WAYS, named, self._running()))
        return prompt_again(report)

    def _running(self) -> tuple[str, ...]:
        return tuple(process.command for process in self._project.background())

    def _with_progress(self, work: Callable[[CaptureView], T]) -> T:
        capture = CaptureView(self._screen, self._clock, "reading")
        try:
            return work(capture)
        finally:
            capture.end()


def prompt_again(report: RewindReport) -> str:
    """Say which prompt goes back on the input line; none when no history was cut."""
    cut = report.plan.history
    return cut.prompt if report.history_cut and cut is not None else ""
