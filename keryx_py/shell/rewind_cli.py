"""`keryx rewind`: the rewinds of a session without the shell. Each function prints, and returns
the exit code; what is refused is raised as KeryxError, a wrong line as its UsageError."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from keryx_py.rewind.plan import RewindPlan
from keryx_py.rewind.rewinder import Rewinder, RewindReport, StalePlanError
from keryx_py.session.archive import Mode
from keryx_py.shell.line import UsageError
from keryx_py.shell.paths import typed_paths
from keryx_py.shell.points_view import points_text
from keryx_py.shell.project import OpenProject
from keryx_py.shell.render import WARNING, diff_text
from keryx_py.shell.report_view import report_text
from keryx_py.shell.rewind_json import JsonObject, plan_json, point_json, report_json
from keryx_py.shell.rewind_view import Ways, named_paths, preview_text
from keryx_py.shell.rewind_words import parse_mode, parse_number
from keryx_py.shell.screen import Screen, Streams
from keryx_py.shell.turn_view import CaptureView
from keryx_py.shell.visible import shown_path, visible

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asked:
    """Which rewind is meant, as the words of the command line have it."""

    number: str
    mode: str = Mode.FILES.value
    paths: tuple[str, ...] = ()


@dataclass(slots=True)
class RewindCli:
    """The subcommands on one open project."""

    project: OpenProject
    streams: Streams
    as_json: bool = False
    screen: Screen = field(init=False)

    def __post_init__(self) -> None:
        self.screen = Screen(self.streams.stdout, color=self.streams.color)

    def list_points(self) -> int:
        """List the points, newest first; as JSON an array of points."""
        points = self._watched(self.project.rewinder().list_points)
        if self.as_json:
            self._print_json([point_json(listed) for listed in points])
        elif points:
            self.screen.show(points_text(points, self.screen.width))
        else:
            self.screen.say("no points yet: the session has no prompt")
        return 0

    def preview(self, asked: Asked) -> int:
        """Preview one rewind; as JSON a plan."""
        rewinder = self.project.rewinder()
        plan = self._plan(rewinder, asked)
        if self.as_json:
            self._print_json(plan_json(plan, rewinder.line_counts(plan)))
        else:
            self._show(rewinder, plan, _way_to_apply(plan))
        return 0

    def apply(self, asked: Asked, *, yes: bool, plan_id: str = "") -> int:
        """Preview one rewind and apply it; as JSON an object with its plan and its report.

        Without *yes* nothing is applied. *plan_id* from a preview refuses another plan.
        """
        rewinder = self.project.rewinder()
        plan = self._plan(rewinder, asked)
        if plan_id and plan.id != plan_id:
            self._show_stale(rewinder, plan)
            raise StalePlanError(plan)
        return self._carry_out(rewinder, plan, yes=yes)

    def diff(self, number: str, paths: Sequence[str] = ()) -> int:
        """Print what changed since a point; as JSON an object with the text."""
        rewinder = self.project.rewinder()
        wanted = typed_paths(paths, self.project.root)
        diff = rewinder.diff_points(parse_number(number), None, wanted)
        if self.as_json:
            self._print_json({"diff": diff})
        elif diff:
            self.screen.show(diff_text(diff, whole=True))
        return 0

    def undo(self, *, yes: bool) -> int:
        """Rewind the latest turn, both. Printed as by apply."""
        rewinder = self.project.rewinder()
        return self._carry_out(rewinder, rewinder.plan_undo(), yes=yes)

    def redo(self, *, yes: bool) -> int:
        """Take the latest rewind back. Printed as by apply."""
        rewinder = self.project.rewinder()
        return self._carry_out(rewinder, rewinder.plan_redo(), yes=yes)

    # ---- what they do

    def _plan(self, rewinder: Rewinder, asked: Asked) -> RewindPlan:
        number, mode = parse_number(asked.number), parse_mode(asked.mode)
        if asked.paths and mode is not Mode.FILES:
            raise UsageError("paths go with the mode files only")
        paths = typed_paths(asked.paths, self.project.root)
        return self._watched(lambda capture: rewinder.plan(number, mode, paths, progress=capture))

    def _carry_out(self, rewinder: Rewinder, plan: RewindPlan, *, yes: bool) -> int:
        counts = rewinder.line_counts(plan) if self.as_json else {}
        if not self.as_json:
            self._show(rewinder, plan, "with --yes this is applied" if not yes else "applying it")
        if plan.empty:
            if self.as_json:
                self._print_json({"plan": plan_json(plan, counts), "report": None})
            return 0
        if not yes:
            raise UsageError("nothing was changed: add --yes to apply it")
        try:
            report = self._watched(lambda capture: rewinder.apply(plan, capture))
        except StalePlanError as stale:
            self._show_stale(rewinder, stale.fresh)
            raise
        self._show_report(report, plan_json(plan, counts))
        return 1 if report.failed or report.history_error else 0

    def _show(self, rewinder: Rewinder, plan: RewindPlan, last: str) -> None:
        counts = rewinder.line_counts(plan, named_paths(plan))
        self.screen.show(preview_text(plan, counts, _ways(last)))

    def _show_stale(self, rewinder: Rewinder, plan: RewindPlan) -> None:
        if self.as_json:
            self._print_json({"plan": plan_json(plan, rewinder.line_counts(plan)), "report": None})
            return
        self.screen.say("the project has changed since; nothing was done", WARNING)
        self._show(rewinder, plan, _way_to_apply(plan))

    def _show_report(self, report: RewindReport, plan: JsonObject) -> None:
        if self.as_json:
            self._print_json({"plan": plan, "report": report_json(report)})
            return
        self.screen.show(report_text(report, _ways("")))
        cut = report.plan.history
        if report.history_cut and cut is not None and cut.prompt:
            self.screen.say(f"the prompt was: {visible(cut.prompt)}")

    def _watched(self, work: Callable[[CaptureView], T]) -> T:
        # JSON goes to programs, which are not shown how far a capture is.
        capture = CaptureView(
            self.screen, (lambda: 0.0) if self.as_json else time.monotonic, "reading"
        )
        try:
            return work(capture)
        finally:
            capture.end()

    def _print_json(self, value: JsonObject | list[JsonObject]) -> None:
        self.streams.stdout.write(json.dumps(value, ensure_ascii=True, indent=2) + "\n")
        self.streams.stdout.flush()


def _ways(last: str) -> Ways:
    return Ways(
        confirm=last,
        show_all="keryx rewind diff {number} shows what changed since",
        redo="keryx rewind redo --yes",
        files="keryx rewind apply {number} files --yes",
    )


def _way_to_apply(plan: RewindPlan) -> str:
    """Name the command line that applies exactly *plan*."""
    number, mode = plan.point.number, plan.mode.value
    paths = "".join(f" {shown_path(path)}" for path in plan.paths)
    return f"keryx rewind apply {number} {mode}{paths} --yes --plan {plan.id} applies it"
