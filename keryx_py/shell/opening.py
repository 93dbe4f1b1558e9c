"""Open a project: find its root, choose the session, take the lease."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from keryx_py.root import find_root
from keryx_py.session.sessions import HeldError, NoSuchSessionError, Session, Sessions
from keryx_py.settings import Settings
from keryx_py.shell.project import OpenProject
from keryx_py.shell.screen import Screen, Streams


@dataclass(frozen=True, slots=True)
class Which:
    """Which session is meant: the one with an id, the one used last here, or a new one."""

    resume: str | None = None
    latest: bool = False
    root: Path | None = None
    """The root as the person named it; None when it is to be found."""


def open_sessions(settings: Settings) -> Sessions:
    """Give the sessions of the data folder."""
    return Sessions(settings.data_dir, now=time.time)


def project_root(settings: Settings, named: Path | None) -> Path:
    """Find the project root. Raises NoRootError."""
    return find_root(named, Path.cwd(), settings.home)


def open_for_shell(settings: Settings, which: Which, streams: Streams) -> OpenProject:
    """Open the session that *which* says; offer a fork of one that another process holds.

    Raises SessionError, NoRootError, ModelError.
    """
    sessions = open_sessions(settings)
    if which.resume is not None:
        wanted = sessions.find(which.resume).id
        moved = project_root(settings, which.root) if which.root is not None else None
        session = _hold(sessions, wanted, moved, streams, settings)
        return _opened(settings, sessions, session, _elsewhere(settings, session))
    root = project_root(settings, which.root)
    if not which.latest:
        return _opened(settings, sessions, sessions.create(root), "")
    info = sessions.latest(root)
    if info is None:
        said = "this project has no session to go on with; a new one was opened"
        return _opened(settings, sessions, sessions.create(root), said)
    return _opened(settings, sessions, _hold(sessions, info.id, None, streams, settings), "")


def open_unattended(settings: Settings, root: Path | None) -> OpenProject:
    """Open a new unattended session. Raises SessionError, NoRootError, ModelError."""
    sessions = open_sessions(settings)
    session = sessions.create(project_root(settings, root), unattended=True)
    return OpenProject(settings, sessions, session, now=time.time, unattended=True)


def open_for_rewind(settings: Settings, wanted: str | None, root: Path | None) -> OpenProject:
    """Open a session for `keryx rewind`: the one named, or the one used last here.

    Raises NoSuchSessionError, SessionError, NoRootError.
    """
    sessions = open_sessions(settings)
    if wanted is None:
        latest = sessions.latest(project_root(settings, root))
        if latest is None:
            raise NoSuchSessionError(
                "this project has no session yet; name one with --session, or open keryx here"
            )
        wanted = latest.id
    return _opened(settings, sessions, sessions.open(wanted), "")


def _opened(settings: Settings, sessions: Sessions, session: Session, said: str) -> OpenProject:
    try:
        project = OpenProject(settings, sessions, session, now=time.time)
    except BaseException:
        session.close()
        raise
    if said:
        project.notices = (said, *project.notices)
    return project


def _hold(
    sessions: Sessions, wanted: str, moved: Path | None, streams: Streams, settings: Settings
) -> Session:
    try:
        return sessions.open(wanted, new_root=moved)
    except HeldError as held:
        if not streams.interactive:
            raise
        # At first use: whoever types no answers needs no prompt_toolkit.
        from keryx_py.shell.asker import TerminalAsker
        from keryx_py.shell.reader import QuestionReader

        screen = Screen(streams.stdout, color=streams.color)
        question = f"{held}. Fork it, and go on in the copy?"
        if not TerminalAsker(screen, QuestionReader(color=streams.color)).confirm(question):
            raise
        return sessions.fork(wanted)


def _elsewhere(settings: Settings, session: Session) -> str:
    """Say so when the session's root is not the project that one stands in."""
    try:
        here = project_root(settings, None)
    except OSError:
        return ""
    return "" if here == session.root else f"this session works on {session.root}, not on {here}"
