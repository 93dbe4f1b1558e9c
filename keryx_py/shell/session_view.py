"""Sessions, the status, and the first lines, as texts. Nothing here prints."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from keryx_py.session.archive import TurnEntry
from keryx_py.session.sessions import SessionInfo
from keryx_py.shell.project import OpenProject
from keryx_py.shell.render import QUIET, WARNING, counted, first_words, padded, size_text, time_text
from keryx_py.shell.visible import on_one_line, shown_path, visible
from keryx_py.tools.base import Risk

TITLE_WIDTH = 44


def first_lines_text(project: OpenProject) -> Text:
    """Say what is open: root, model, session, and whether snapshots are on or why not."""
    text = Text()
    rows = (
        ("root", shown_path(os.fsencode(project.root))),
        ("model", on_one_line(project.model.name)),
        ("session", project.session.id),
        ("snapshots", snapshots_text(project)),
    )
    _table(text, rows)
    return text


def snapshots_text(project: OpenProject) -> str:
    """Say in a few words whether snapshots are on, or why not."""
    if project.snapshots_off:
        return f"off: {on_one_line(project.snapshots_off)}"
    return f"on, {project.snapshot_count()}/{project.settings.keep} kept"


def notices_text(notices: Sequence[str]) -> Text:
    """Draw what the person should know, one line each."""
    return Text("\n".join(f"! {visible(notice)}" for notice in notices), WARNING)


def toolbar_text(project: OpenProject) -> str:
    """Say what is open on the line below the input."""
    parts = [on_one_line(project.model.name), project.session.id]
    if project.snapshots_off or project.store is None:
        parts.append("snapshots off")
    else:
        parts.append(f"snapshots {project.snapshot_count()}/{project.settings.keep}")
        parts.append(size_text(project.store.size()))
    parts.append(approvals_text(project.policy.approved))
    return "  ".join(parts)


def approvals_text(approved: frozenset[Risk]) -> str:
    """Say which risks run without being asked about."""
    names = [risk.value for risk in Risk if risk.mutates and risk in approved]
    return f"approved: {', '.join(names)}" if names else "asks before every change"


def status_text(project: OpenProject) -> Text:
    """Draw all that /status says."""
    turns = sum(isinstance(entry, TurnEntry) for entry in project.session.entries)
    rows = [
        ("root", shown_path(os.fsencode(project.root))),
        ("session", f"{project.session.id}, {counted(turns, 'turn')}"),
        ("folder", shown_path(os.fsencode(project.session.folder))),
        ("model", on_one_line(project.model.name)),
        ("snapshots", snapshots_text(project)),
    ]
    if project.store is not None:
        rows.append(("size", f"{size_text(project.store.size())} in the shadow repository"))
    if project.settings.exclude:
        rows.append(("not covered", on_one_line(", ".join(project.settings.exclude))))
    rows.append(("approvals", approvals_text(project.policy.approved)))
    rows.append(("context", f"about {counted(project.window.tokens(), 'token')}"))
    running = project.background()
    if running:
        rows.append(("running", counted(len(running), "process", "processes") + " left behind"))
    text = Text()
    _table(text, rows)
    return text


def sessions_text(sessions: Sequence[SessionInfo], current: str = "") -> Text:
    """Draw a line for each of *sessions*: id, title, time, size, and what is odd about it."""
    text = Text()
    width = max((len(info.id) for info in sessions), default=0)
    for info in sessions:
        text.append(padded(info.id, width), "bold" if info.id == current else "")
        title = first_words(info.title, TITLE_WIDTH) or "(no prompt yet)"
        text.append("  " + padded(title, TITLE_WIDTH))
        text.append(f"  {time_text(info.used_at)}  {size_text(info.bytes_on_disk):>9}")
        text.append(f"  {', '.join(session_marks(info, current))}".rstrip() + "\n", QUIET)
    text.rstrip()
    return text


def session_marks(info: SessionInfo, current: str = "") -> list[str]:
    """List what is odd about a session."""
    marks = {
        "open here": info.id == current,
        "open elsewhere": info.held and info.id != current,
        "root gone": info.root_gone,
        "unattended": info.unattended,
    }
    return [mark for mark, holds in marks.items() if holds]


def session_text(info: SessionInfo) -> Text:
    """Draw all that is known of one session without opening it."""
    rows = [
        ("session", info.id),
        ("title", on_one_line(info.title) or "(no prompt yet)"),
        ("root", shown_path(os.fsencode(info.root)) + " (gone)" * info.root_gone),
        ("folder", shown_path(os.fsencode(info.folder))),
        ("created", time_text(info.created_at)),
        ("last used", time_text(info.used_at)),
        ("size", size_text(info.bytes_on_disk)),
        ("turns", f"{info.turns:,}"),
    ]
    marks = [mark for mark in session_marks(info) if mark != "root gone"]
    if marks:
        rows.append(("state", ", ".join(marks)))
    text = Text()
    _table(text, rows)
    return text


def _table(text: Text, rows: Sequence[tuple[str, str]]) -> None:
    width = max(cell_len(name) for name, _ in rows)
    for name, value in rows:
        text.append(padded(name, width + 2), QUIET)
        text.append(value + "\n")
    text.rstrip()
