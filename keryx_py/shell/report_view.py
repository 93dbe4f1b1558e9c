"""What came of a rewind, as a text. Nothing here prints."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from keryx_py.rewind.plan import (
    RestorePlan,
)
from keryx_py.rewind.rewinder import RewindReport
from keryx_py.session.archive import Mode
from keryx_py.shell.render import (
    ERROR,
    counted,
)
from keryx_py.shell.rewind_view import (
    LineCounts,
    Ways,
    changes_sum,
    conflicts_part,
    paths_text,
    rest_text,
    running_part,
    skipped_text,
)
from keryx_py.shell.visible import on_one_line


def report_text(
    report: RewindReport,
    ways: Ways,
    named: LineCounts | None = None,
    running: Sequence[str] = (),
) -> Text:
    """Say what came of a rewind: what was done, what was not and why, and the way back.

    With *named*, the lines of the paths, the paths are listed too: nobody saw a preview of them.
    *running* are the commands of what the turns left running.
    """
    plan = report.plan
    text = Text()
    if plan.files is not None:
        _files_report(text, report, plan.files, ways, named)
        running_part(text, running)
    if report.files_put_back:
        text.append("the files were put back as they were before the rewind\n", ERROR)
    _history_report(text, report, ways)
    if report.interrupted:
        text.append("Ctrl-C came after the first file was changed, so the rewind was finished\n")
    text.append(_way_back(report, ways))
    text.rstrip()
    return text


def _way_back(report: RewindReport, ways: Ways) -> str:
    """Say what takes the rewind back. No /redo does so after a /redo: its undo point does."""
    undo = report.undo
    if undo is None:
        return f"{ways.redo} takes this back\n" if report.history_cut else ""
    if report.plan.redoes is not None and report.done:
        return f"undo point {undo}: {ways.files.format(number=undo)} takes this back\n"
    if report.done or report.history_cut:
        return f"undo point {undo}: {ways.redo} takes this back\n"
    return ""


def _files_report(
    text: Text,
    report: RewindReport,
    files: RestorePlan,
    ways: Ways,
    named: LineCounts | None,
) -> None:
    done = set(report.done)
    changed = [change for change in files.changes if change.path in done]
    if changed:
        text.append(f"files: {changes_sum(changed)}\n", "green")
    elif not files.changes:
        text.append("files: nothing had to change\n")
    else:
        text.append("files: none was changed\n")
    if named is not None and changed:
        paths_text(text, changed, named)
    if report.failed:
        text.append(f"{counted(len(report.failed), 'path')} failed:\n", ERROR)
        for skipped in report.failed:
            text.append(f"  {skipped_text(skipped)}\n", ERROR)
    conflicts_part(text, report.plan, ways)
    rest_text(text, "left as it is", [skipped_text(skipped) for skipped in files.staying])
    not_covered = [skipped_text(skipped) for skipped in files.not_covered]
    rest_text(text, "not covered by a rewind", not_covered)


def _history_report(text: Text, report: RewindReport, ways: Ways) -> None:
    plan = report.plan
    if report.history_error:
        text.append(f"the history stays: {on_one_line(report.history_error)}\n", ERROR)
    elif report.history_cut and plan.history is not None:
        text.append(f"history: {counted(len(plan.history.turns), 'turn')} went\n", "green")
    elif report.history_cut or (plan.redoes is not None and plan.mode.cuts_history):
        text.append("history: as it was before the rewind\n", "green")
    if plan.mode is Mode.HISTORY and plan.redoes is None and report.history_cut:
        way = ways.files.format(number=plan.point.number)
        text.append(f"files left as they are; use {way}\n")
