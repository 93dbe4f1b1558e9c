"""/rewind, /undo, /redo and /diff: list, preview, confirm. Holds the one pending plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from keryx_py.rewind.plan import RewindPlan, Way
from keryx_py.rewind.rewinder import (
    ListedPoint,
    RefusedError,
    Rewinder,
    RewindReport,
    StalePlanError,
)
from keryx_py.session.archive import Mode
from keryx_py.shell.asker import Answers
from keryx_py.shell.diff_view import shown_diff, shown_diff_text
from keryx_py.shell.diff_words import parse_diff
from keryx_py.shell.hunk_walk import HunkWalk, hunks_text, take_numbered
from keryx_py.shell.left_running import LeftRunning
from keryx_py.shell.line import Command, UsageError, quote_word
from keryx_py.shell.picking import Chosen, Decision, Picker
from keryx_py.shell.point_names import with_numbers
from keryx_py.shell.points_view import points_text
from keryx_py.shell.project import OpenProject
from keryx_py.shell.render import ERROR, SCREEN_LINES, WARNING
from keryx_py.shell.report_view import report_text
from keryx_py.shell.rewind_view import LineCounts, Ways, named_paths, preview_text
from keryx_py.shell.rewind_words import (
    ConfirmWanted,
    HunksWanted,
    ListWanted,
    PickWanted,
    PreviewWanted,
    parse_rewind,
)
from keryx_py.shell.screen import Screen
from keryx_py.shell.turn_view import CaptureView, Clock
from keryx_py.shell.visible import visible

T = TypeVar("T")

WAYS = Ways(
    confirm="/rewind confirm applies it",
    show_all="/rewind {number} {mode} diff shows all",
    redo="/redo",
    files="/rewind {number} files",
    keep="/rewind {number} {mode} keep leaves them",
    both_sides="/diff {number} {path} shows both sides",
)
PICKER_WAYS = replace(WAYS, confirm="y applies it", show_all="d shows all")


@dataclass(frozen=True, slots=True)
class Shown:
    """A preview as it stands on the screen."""

    plan: RewindPlan
    in_full: bool


class RewindCommands:
    """The rewinds of the open project, and the preview that waits to be confirmed."""

    def __init__(
        self,
        project: OpenProject,
        screen: Screen,
        clock: Clock,
        *,
        picker: Picker | None = None,
        answers: Answers | None = None,
        confirm: Callable[[str], bool] | None = None,
    ) -> None:
        """Without *picker* points, and without *answers* hunks, are chosen by number alone."""
        self._ways = WAYS
        self._picker = picker
        self._answers = answers
        self._left = LeftRunning(project, screen, confirm)
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
        words = with_numbers(command.args, rewinder.find_named)
        match parse_rewind(words, self._project.root):
            case ListWanted():
                self._list(rewinder)
            case ConfirmWanted():
                return self._confirm(rewinder)
            case PickWanted():
                return self._pick(rewinder)
            case HunksWanted() as wanted:
                self._pick_hunks(rewinder, wanted)
            case PreviewWanted(number, mode, paths, in_full, way):
                plan = self._plan(rewinder, number, mode, paths, way)
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
        wanted = parse_diff(command.args, self._project.root, rewinder.find_named)
        diff = shown_diff(rewinder.compare(wanted.span, wanted.paths), SCREEN_LINES)
        if diff.files:
            self._screen.page(shown_diff_text(diff, SCREEN_LINES), self._project.page)
        else:
            self._screen.say("no file differs")

    # ---- what they do

    def _list(self, rewinder: Rewinder) -> None:
        points = self._with_progress(rewinder.list_points)
        if points:
            self._screen.show(points_text(points, self._screen.width))
        else:
            self._screen.say("no points yet: every prompt that you send makes one")

    def _plan(
        self,
        rewinder: Rewinder,
        number: int,
        mode: Mode,
        paths: tuple[bytes, ...] = (),
        way: Way = Way.PLAIN,
    ) -> RewindPlan:
        return self._with_progress(
            lambda capture: rewinder.plan(
                number,
                mode,
                paths,
                way=way,
                previous=self._previous(number, mode, paths),
                progress=capture,
            )
        )

    def _pick(self, rewinder: Rewinder) -> str:
        """Let the person choose a point and what of it, again until they leave or confirm."""
        if self._picker is None:
            raise UsageError(
                "points are picked with the keys of a terminal, and this is none; "
                "/rewind lists them and /rewind N previews one"
            )
        points = self._with_progress(rewinder.list_points)
        if not points:
            self._screen.say("no points yet: every prompt that you send makes one")
            return ""
        self._ways = PICKER_WAYS
        try:
            return self._pick_among(rewinder, self._picker, points)
        finally:
            self._ways = WAYS

    def _pick_among(self, rewinder: Rewinder, picker: Picker, points: Sequence[ListedPoint]) -> str:
        at, keep = 0, False
        while (chosen := picker.choose(points, at, keep=keep)) is not None:
            at, keep = chosen.at, chosen.keep
            try:
                self._preview_chosen(rewinder, points[at].point.number, chosen)
            except RefusedError as refused:
                self._screen.say(visible(str(refused)), ERROR)
                continue
            if (
                prompt := self._decide(rewinder, picker, points[at].point.number, chosen)
            ) is not None:
                return prompt
        self._screen.say("nothing was picked")
        return ""

    def _preview_chosen(self, rewinder: Rewinder, number: int, chosen: Chosen) -> None:
        keep = chosen.keep and chosen.mode.moves_files
        plan = self._plan(rewinder, number, chosen.mode, (), Way.KEEP if keep else Way.PLAIN)
        self._preview(rewinder, plan, in_full=chosen.in_full)

    def _decide(
        self, rewinder: Rewinder, picker: Picker, number: int, chosen: Chosen
    ) -> str | None:
        """Ask what becomes of the preview; None when the person goes back to the list."""
        while True:
            match picker.decide(chosen, confirmable=self._pending is not None):
                case Decision.CONFIRM:
                    prompt = self._confirm(rewinder)
                    if self._pending is None:
                        return prompt
                    continue
                case Decision.BACK:
                    self._pending = None
                    return None
                case Decision.KEEP:
                    chosen = replace(chosen, keep=not chosen.keep)
                case Decision.DIFF:
                    chosen = replace(chosen, in_full=True)
            self._preview_chosen(rewinder, number, chosen)

    def _pick_hunks(self, rewinder: Rewinder, wanted: HunksWanted) -> None:
        """Have hunks chosen, by key or by number, and preview taking them back."""
        every = self._plan(rewinder, wanted.number, Mode.FILES, wanted.paths)
        paths = rewinder.hunks(every)
        if not paths:
            self._preview(rewinder, every, in_full=False)
        elif wanted.hunks:
            picking = take_numbered(paths, wanted.hunks)
            self._preview(rewinder, rewinder.pick(every, picking), in_full=False)
        elif self._answers is None:
            self._screen.show(hunks_text(paths))
            typed = " ".join(map(quote_word, wanted.typed))
            way = f"/rewind {wanted.number} pick {typed} 1".replace("  ", " ")
            self._screen.say(f"{way} previews taking hunk 1 back; 1,3-4 takes several")
        else:
            picking = HunkWalk(self._screen, self._answers).through(paths)
            if any(hunks for _, hunks in picking):
                self._preview(rewinder, rewinder.pick(every, picking), in_full=False)
            else:
                self._screen.say("no hunk was picked, so nothing would change")

    def _previous(self, number: int, mode: Mode, paths: tuple[bytes, ...]) -> RewindPlan | None:
        last = self._shown_last
        if last is None or last.redoes is not None:
            return None
        same = (last.point.number, last.mode, last.paths) == (number, mode, paths)
        return last if same else None

    def _preview(self, rewinder: Rewinder, plan: RewindPlan, *, in_full: bool) -> None:
        diff = rewinder.diff(plan, SCREEN_LINES + 1) if in_full and plan.files else None
        counts = rewinder.line_counts(plan, named_paths(plan))
        self._screen.show(preview_text(plan, counts, self._ways, diff, self._left.named()))
        self._pending = None if plan.empty else Shown(plan, in_full)
        self._shown_last = plan
        if plan.files is not None and plan.files.changes:
            self._left.offer_to_end()

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
        self._screen.show(report_text(report, WAYS, named, self._left.named()))
        return prompt_again(report)

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
