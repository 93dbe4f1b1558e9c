"""Points, plans and reports as the JSON objects that `keryx rewind --json` prints."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping

from keryx_py.messages import JsonValue
from keryx_py.rewind.plan import Author, PathChange, RestorePlan, RewindPlan, kind_of
from keryx_py.rewind.rewinder import ListedPoint, RewindReport
from keryx_py.shell.rewind_view import LineCounts
from keryx_py.snapshot.listing import FileState, Skipped

JsonObject = dict[str, JsonValue]


def point_json(listed: ListedPoint) -> JsonObject:
    """One point of the list."""
    point = listed.point
    return {
        "number": point.number,
        "kind": point.kind.value,
        "at": point.at,
        "label": point.label,
        "note": point.note,
        "live": point.live,
        "files": point.files.value,
        "reason": point.reason,
        "own_snapshot": point.own_snapshot,
        "changed": listed.changed,
        "changed_since": listed.changed_since,
    }


def plan_json(plan: RewindPlan, counts: LineCounts) -> JsonObject:
    """A preview."""
    files = plan.files
    cut = plan.history
    return {
        "plan": plan.id,
        "number": plan.point.number,
        "mode": plan.mode.value,
        "way": plan.way.value,
        "paths": [path_json(path) for path in plan.paths],
        "empty": plan.empty,
        "redo": plan.redoes is not None,
        "files": None if files is None else _files_json(files, counts),
        "history": None
        if cut is None
        else {"turns": list(cut.turns), "messages": cut.messages, "prompt": cut.prompt},
        "not_undone": [{"turn": one.turn, "what": one.what} for one in plan.not_undone],
    }


def report_json(report: RewindReport) -> JsonObject:
    """What came of a rewind."""
    return {
        "plan": report.plan.id,
        "done": [path_json(path) for path in report.done],
        "failed": _skipped_json(report.failed),
        "undo": report.undo,
        "history_cut": report.history_cut,
        "history_error": report.history_error,
        "files_put_back": report.files_put_back,
        "interrupted": report.interrupted,
    }


def path_json(path: bytes) -> JsonObject:
    """A path as text; one that is not UTF-8 in base64 too, and its text is then not exact."""
    try:
        return {"path": path.decode("utf-8")}
    except UnicodeDecodeError:
        return {
            "path": path.decode("utf-8", "replace"),
            "path_base64": base64.b64encode(path).decode("ascii"),
        }


def _files_json(files: RestorePlan, counts: LineCounts) -> JsonObject:
    return {
        "target": None
        if files.target is None
        else {"number": files.target.number, "side": files.target.side.value},
        "files_now": files.files_now,
        "changes": [_change_json(change, counts) for change in files.changes],
        "merged": [path_json(path) for path in files.merged],
        "kept": [path_json(path) for path in files.kept],
        "conflicts": _skipped_json(files.conflicts),
        "staying": _skipped_json(files.staying),
        "not_covered": _skipped_json(files.not_covered),
    }


def _change_json(change: PathChange, counts: LineCounts) -> JsonObject:
    added, removed = counts.get(change.path, (None, None))
    return {
        **path_json(change.path),
        "change": kind_of(change).value,
        "now": _state_json(change.now),
        "then": _state_json(change.then),
        "added": added,
        "removed": removed,
        "by": [_author_json(author) for author in change.by],
        "being_written": change.being_written,
    }


def _author_json(author: Author) -> Mapping[str, JsonValue]:
    of = {"session": author.session} if author.session else {}
    return {"kind": author.kind.value, "turn": author.turn, **of}


def _state_json(state: FileState | None) -> JsonValue:
    if state is None:
        return None
    return {"kind": state.kind.value, "mode": f"{state.mode:04o}", "oid": state.oid.hex()}


def _skipped_json(skipped: Iterable[Skipped]) -> list[JsonValue]:
    return [{**path_json(one.path), "reason": one.reason} for one in skipped]
