"""`keryx sessions` looks at sessions and lets them go, never one that is held."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from keryx_py.session.archive import Mode, RewindEntry, TurnEntry
from keryx_py.session.sessions import NoSuchSessionError, Session, SessionError, Sessions
from keryx_py.shell.history import PrivateHistory, history_file
from keryx_py.shell.line import UsageError
from keryx_py.shell.screen import Streams
from keryx_py.shell.sessions_cli import SessionsCli, Which

DAY = 86_400


class Desk:
    """Some sessions, and what was printed about them."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.root = folder / "project"
        self.root.mkdir()
        self.sessions = Sessions(self.data, now=time.time)
        self.out = io.StringIO()
        self.held: list[Session] = []

    def cli(self, *, as_json: bool = False) -> SessionsCli:
        streams = Streams(io.StringIO(), self.out, io.StringIO())
        return SessionsCli(self.sessions, self.data, streams, as_json)

    def session(self, prompt: str, *, root: Path | None = None, hold: bool = False) -> str:
        session = self.sessions.create(root or self.root)
        session.append(TurnEntry(1, time.time(), prompt, None))
        if hold:
            self.held.append(session)
        else:
            session.close()
        return session.id

    def ids(self) -> set[str]:
        return {info.id for info in self.sessions.list()}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    for session in desk.held:
        session.close()


def test_the_list_shows_titles_and_what_is_odd(desk: Desk) -> None:
    gone = desk.root.parent / "gone"
    gone.mkdir()
    desk.session("fix\nthe \x1b[2J tests")
    desk.session("other", root=gone, hold=True)
    gone.rmdir()

    assert desk.cli().list_all() == 0

    rows = desk.out.getvalue().splitlines()
    assert len(rows) == 2
    assert any("open elsewhere, root gone" in row for row in rows)
    assert any(r"fix the \x1b[2J tests" in row for row in rows)


def test_list_and_show_as_json(desk: Desk) -> None:
    wanted = desk.session("fix it")

    desk.cli(as_json=True).list_all()
    (listed,) = json.loads(desk.out.getvalue())
    desk.out.truncate(desk.out.seek(0))
    desk.cli(as_json=True).show(wanted)

    assert json.loads(desk.out.getvalue()) == listed
    assert listed["id"] == wanted
    assert listed["title"] == "fix it"
    assert listed["root"] == {"path": str(desk.root)}


def test_show_and_path(desk: Desk) -> None:
    wanted = desk.session("fix it")

    desk.cli().show(wanted)
    desk.cli().path(wanted)

    assert desk.out.getvalue().splitlines()[-1] == str(desk.data / "sessions" / wanted)
    with pytest.raises(NoSuchSessionError):
        desk.cli().show("nothing")


def test_nothing_is_deleted_unasked(desk: Desk) -> None:
    wanted = desk.session("fix it")

    with pytest.raises(UsageError, match="--yes"):
        desk.cli().delete(Which((wanted,)), yes=False, now=time.time())
    with pytest.raises(UsageError, match="name the sessions"):
        desk.cli().delete(Which(), yes=True, now=time.time())

    assert desk.ids() == {wanted}


def test_a_held_session_stays_and_the_others_go(desk: Desk) -> None:
    held, other = desk.session("held", hold=True), desk.session("other")

    code = desk.cli().delete(Which((held, other)), yes=True, now=time.time())

    assert code == 1
    assert desk.ids() == {held}
    assert "deleted 1 session" in desk.out.getvalue()


def test_old_and_orphaned_sessions_can_be_chosen(desk: Desk) -> None:
    gone = desk.root.parent / "gone"
    gone.mkdir()
    orphan, other = desk.session("orphan", root=gone), desk.session("other")
    gone.rmdir()
    now = time.time()

    assert desk.cli().delete(Which(older_than_days=1), yes=True, now=now) == 0
    assert desk.ids() == {orphan, other}
    desk.cli().delete(Which(orphaned=True), yes=True, now=now)
    assert desk.ids() == {other}
    desk.cli().delete(Which(older_than_days=1, root=desk.root), yes=True, now=now + 2 * DAY)
    assert desk.ids() == set()


def test_a_session_used_tomorrow_is_not_old(desk: Desk) -> None:
    """The clock was set back by a day since: no count of days makes that long ago."""
    session, now = desk.session("used"), time.time()

    desk.cli().delete(Which(older_than_days=0), yes=True, now=now - DAY)

    assert desk.ids() == {session}


def test_erasing_takes_rewound_prompts_out_of_the_history_too(desk: Desk) -> None:
    session = desk.sessions.create(desk.root)
    session.append(TurnEntry(1, time.time(), "keep this", None))
    session.append(TurnEntry(2, time.time(), "token 1234", 1))
    session.append(RewindEntry(time.time(), 2, Mode.HISTORY, None, (), cut=True))
    session.close()
    file = history_file(desk.data, desk.root)
    for line in ("keep this", "token 1234"):
        PrivateHistory(file).store_string(line)

    assert desk.cli().erase(session.id) == 0

    found = [path for path in desk.data.rglob("*") if path.is_file()]
    assert not [path for path in found if b"1234" in path.read_bytes()]
    assert "keep this" in file.read_text()
    assert "erased 1 rewound turn" in desk.out.getvalue()


def test_a_history_that_cannot_be_rewritten_is_named_after_the_rest_is_erased(desk: Desk) -> None:
    session = desk.sessions.create(desk.root)
    session.append(TurnEntry(1, time.time(), "token 1234", None))
    session.append(RewindEntry(time.time(), 1, Mode.HISTORY, None, (), cut=True))
    session.close()
    file = history_file(desk.data, desk.root)
    PrivateHistory(file).store_string("token 1234")
    file.with_suffix(".new").mkdir()  # stands in the way of writing it anew

    with pytest.raises(SessionError, match=f"stay in the input line's history: .*{file}"):
        desk.cli().erase(session.id)

    assert b"1234" not in (session.folder / "archive.jsonl").read_bytes()
    assert "1234" in file.read_text()
