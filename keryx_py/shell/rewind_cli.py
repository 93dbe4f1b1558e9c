"""`keryx rewind`: the rewinds of a session without the shell. Each function prints, and returns
the exit code; what is refused is raised as KeryxError, a wrong line as its UsageError."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from keryx_py.rewind.comparing import OneTurn, Since
from keryx_py.rewind.differing import Compared
from keryx_py.rewind.patch import patch_file
from keryx_py.rewind.plan import RewindPlan, Way
from keryx_py.rewind.rewinder import Rewinder, RewindReport, StalePlanError
from keryx_py.session.archive import Mode
from keryx_py.shell.diff_view import shown_diff, shown_diff_text
from keryx_py.shell.diff_words import parse_diff
from keryx_py.shell.line import UsageError
from keryx_py.shell.paths import typed_paths
from keryx_py.shell.point_names import with_numbers
from keryx_py.shell.points_view import points_text
from keryx_py.shell.project import OpenProject
from keryx_py.shell.render import WARNING
from keryx_py.shell.report_view import report_text
from keryx_py.shell.rewind_json import JsonObject, plan_json, point_json, report_json
from keryx_py.shell.rewind_view import Ways, named_paths, preview_text
from keryx_py.shell.rewind_words import ONLY, parse_mode, parse_number, path_word
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
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Export:
    """What is exported, and how, as the command line has it."""

    turn: str = ""
    """The number of a turn; empty when a point is named instead."""
    since: str = ""
    patch: bool = False
    output: Path | None = None
    """None for standard output."""


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

    def diff(self, words: Sequence[str]) -> int:
        """Print what differs, named by *words* as after /diff; as JSON an object with the text.

        On a terminal it is shown; elsewhere it is what `git apply` takes, byte for byte.
        """
        rewinder = self.project.rewinder()
        wanted = parse_diff(tuple(words), self.project.root, rewinder.find_named)
        compared = rewinder.compare(wanted.span, wanted.paths)
        if self.as_json:
            diff = shown_diff(compared)
            sums: JsonObject = {"files": diff.files, "added": diff.added, "removed": diff.removed}
            self._print_json({"diff": diff.text, **sums})
        elif not self.screen.terminal:
            self.streams.write_bytes(patch_of(compared))
        elif (diff := shown_diff(compared)).files:
            self.screen.page(shown_diff_text(diff), self.project.page)
        else:
            self.screen.say("no file differs")
        return 0

    def export(self, wanted: Export) -> int:
        """Print what a turn changed, or what changed since a point, as a patch for `git apply`."""
        rewinder = self.project.rewinder()
        if not wanted.patch:
            raise UsageError("say in which form: add --patch for one that git apply takes")
        if bool(wanted.turn) == bool(wanted.since):
            raise UsageError("name a turn (export N --patch) or a point (export --since N --patch)")
        number = self._number(rewinder, wanted.turn or wanted.since)
        span = OneTurn(number) if wanted.turn else Since(number)
        patch = patch_of(rewinder.compare(span))
        if not patch:
            self.streams.stderr.write("keryx: nothing that a patch can hold differs\n")
        if wanted.output is None:
            self.streams.write_bytes(patch)
        else:
            write_new_file(wanted.output, patch)
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

    def _number(self, rewinder: Rewinder, word: str) -> int:
        return parse_number(with_numbers((word,), rewinder.find_named)[0])

    def _plan(self, rewinder: Rewinder, asked: Asked) -> RewindPlan:
        number, (mode, way) = self._number(rewinder, asked.number), _mode_and_way(asked)
        if asked.paths and mode is not Mode.FILES:
            raise UsageError("paths go with the mode files only")
        paths = typed_paths(asked.paths, self.project.root)
        return self._watched(
            lambda capture: rewinder.plan(number, mode, paths, way=way, progress=capture)
        )

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


def patch_of(compared: Iterable[Compared]) -> bytes:
    """Write all that was *compared* as one patch."""
    return b"".join(patch_file(one.path, one.old, one.new) for one in compared)


def write_new_file(path: Path, data: bytes) -> None:
    """Write *data* to a file that is not there yet. Raises UsageError for one that is."""
    try:
        with path.open("xb") as file:
            try:
                file.write(data)
                file.flush()
            except OSError:
                path.unlink(missing_ok=True)
                raise
    except FileExistsError:
        raise UsageError(
            f"{shown_path(os.fsencode(path))} is there already; name another file"
        ) from None


def _mode_and_way(asked: Asked) -> tuple[Mode, Way]:
    if asked.mode == ONLY:
        if asked.keep:
            raise UsageError("only leaves what came later as it is; it goes without --keep")
        return Mode.FILES, Way.ONLY
    mode = parse_mode(asked.mode)
    if asked.keep and not mode.moves_files:
        raise UsageError("--keep goes with files or both, as history holds no edits of yours")
    return mode, Way.KEEP if asked.keep else Way.PLAIN


def _ways(last: str) -> Ways:
    return Ways(
        confirm=last,
        show_all="keryx rewind diff {number} shows what changed since",
        redo="keryx rewind redo --yes",
        files="keryx rewind apply {number} files --yes",
        keep="--keep leaves them",
        both_sides="keryx rewind diff {number} {path} shows both sides",
        quote=shlex.quote,
    )


def _way_to_apply(plan: RewindPlan) -> str:
    """Name the command line that applies exactly *plan*."""
    number, keep = plan.point.number, " --keep" if plan.way is Way.KEEP else ""
    mode = ONLY if plan.way is Way.ONLY else plan.mode.value
    paths = "".join(f" {shlex.quote(path_word(path))}" for path in plan.paths)
    if any(shown_path(path) != os.fsdecode(path) for path in plan.paths):
        return f"keryx rewind apply, with the same words and --yes --plan {plan.id}, applies it"
    return f"keryx rewind apply {number} {mode}{paths}{keep} --yes --plan {plan.id} applies it"
