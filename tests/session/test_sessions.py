"""Where sessions are kept: made, opened, found, listed and deleted, whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from keryx_py.messages import Message, Role
from keryx_py.session.archive import DamagedEntry, ItemEntry, PrunedEntry, RootEntry, TurnEntry
from keryx_py.session.errors import (
    HeldError,
    LeaseLostError,
    NoSuchSessionError,
    SessionError,
)
from keryx_py.session.journal import write_archive
from keryx_py.session.lines import Header, entry_line
from keryx_py.session.overview import glance
from keryx_py.session.sessions import Sessions

Child = Callable[..., "subprocess.Popen[str]"]

HELLO = TurnEntry(1, 1.0, "hello\n  there", None)


def kept(sessions: Sessions, root: Path, *, unattended: bool = False, said: bool = True) -> str:
    """Make a session, let it go, and return its id."""
    with sessions.create(root, unattended=unattended) as session:
        if said:
            session.append(HELLO)
        return session.id


def used(sessions: Sessions, session_id: str, at: float) -> None:
    """Say that a session was used last at *at*."""
    os.utime(sessions.find(session_id).folder / "archive.jsonl", (at, at))


def archive_of(sessions: Sessions, session_id: str) -> Path:
    return sessions.find(session_id).folder / "archive.jsonl"


def test_what_was_appended_is_there_when_it_is_opened_again(sessions: Sessions, root: Path) -> None:
    session_id = kept(sessions, root)

    with sessions.open(session_id) as session:
        assert session.entries == (HELLO,)
        assert session.root == root
        assert not session.root_gone
        assert not session.unattended
        assert session.notices == ()
        assert session.append(PrunedEntry(0.0, (1,))) == 1


def test_an_id_tells_the_moment_and_sorts_by_it(tmp_path: Path, root: Path) -> None:
    session_id = kept(Sessions(tmp_path / "data", now=lambda: 1796067912.0), root)

    assert re.fullmatch(r"20261130-194512-[a-z0-9]{4}", session_id)


def test_folders_and_files_are_for_their_owner_only(
    sessions: Sessions, root: Path, tmp_path: Path
) -> None:
    before = os.umask(0)
    try:
        with sessions.create(root) as session:
            session.append(HELLO)
            found = [tmp_path / "data", *(tmp_path / "data").rglob("*")]
            modes = {path: stat.S_IMODE(path.stat().st_mode) for path in found}
    finally:
        os.umask(before)

    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


def test_nothing_is_made_before_the_first_session(sessions: Sessions, tmp_path: Path) -> None:
    assert sessions.list() == ()
    assert sessions.latest(tmp_path) is None
    with pytest.raises(NoSuchSessionError):
        sessions.open("2026")

    assert not (tmp_path / "data").exists()


def test_a_held_session_is_refused_and_named(
    sessions: Sessions, root: Path, tmp_path: Path
) -> None:
    with sessions.create(root) as session:
        other = Sessions(tmp_path / "data", now=time.time)

        with pytest.raises(HeldError, match=str(os.getpid())):
            other.open(session.id)
        with pytest.raises(HeldError):
            other.delete(session.id)
        with pytest.raises(HeldError):
            other.erase(session.id)

        assert other.find(session.id).held
        session.append(HELLO)
    assert not sessions.find(session.id).held


@pytest.mark.parametrize("thief", ["unlink", "replace"])
def test_nothing_is_written_once_the_lease_is_lost(
    sessions: Sessions, root: Path, thief: str
) -> None:
    session = sessions.create(root)
    before = archive_of(sessions, session.id).read_bytes()
    (session.folder / "lease").unlink()
    if thief == "replace":
        (session.folder / "lease").touch()

    with pytest.raises(LeaseLostError):
        session.append(HELLO)

    assert session.entries == ()
    assert archive_of(sessions, session.id).read_bytes() == before
    session.close()


def test_a_closed_session_is_not_written_to(sessions: Sessions, root: Path) -> None:
    session = sessions.create(root)
    session.close()
    session.close()

    with pytest.raises(SessionError):
        session.append(HELLO)


HOLD = """
import sys, time
from pathlib import Path
from keryx_py.session.archive import TurnEntry
from keryx_py.session.sessions import Sessions

sessions = Sessions(Path(sys.argv[1]), now=time.time)
session = sessions.create(Path(sys.argv[2]))
number = 0
while True:
    number += 1
    session.append(TurnEntry(number, 0.0, "again", number - 1 or None))
    print(session.id, number, flush=True)
"""


def test_a_killed_process_loses_nothing_that_it_said_it_wrote(
    sessions: Sessions, root: Path, tmp_path: Path, child: Child
) -> None:
    process = child(HOLD, tmp_path / "data", root)
    assert process.stdout
    for _ in range(20):
        process.stdout.readline()

    process.kill()
    rest = process.stdout.read().splitlines()

    session_id, said = rest[-1].split() if rest else ("", "20")
    with sessions.open(session_id or sessions.list()[0].id) as session:
        assert len(session.entries) >= int(said)
        assert not any(isinstance(entry, DamagedEntry) for entry in session.entries)
        session.append(HELLO)


def test_a_unique_beginning_of_an_id_is_enough(sessions: Sessions, root: Path) -> None:
    one = kept(sessions, root)
    other = kept(sessions, root)

    assert sessions.find(one).id == one
    with pytest.raises(NoSuchSessionError, match="2 sessions begin with '20'"):
        sessions.find("20")
    sessions.delete(other)
    assert sessions.find("20").id == one


@pytest.mark.parametrize("name", ["", ".", "..", "../data", "nine", ".new-x", "\udcff\n"])
def test_what_is_no_id_finds_nothing(sessions: Sessions, root: Path, name: str) -> None:
    kept(sessions, root)

    with pytest.raises(NoSuchSessionError, match="no session has the id"):
        sessions.delete(name)

    assert len(sessions.list()) == 1


def test_the_list_shows_titles_turns_and_the_last_used_first(
    sessions: Sessions, root: Path
) -> None:
    older = kept(sessions, root)
    newer = kept(sessions, root)
    used(sessions, older, 1_000.0)
    used(sessions, newer, 2_000.0)

    first, second = sessions.list()

    assert (first.id, second.id) == (newer, older)
    assert first.title == "hello there"
    assert first.turns == 1
    assert first.root == root
    assert first.used_at == 2_000.0
    assert first.bytes_on_disk > 0
    assert not first.damage


def test_the_list_counts_turns_across_a_large_archive(sessions: Sessions, root: Path) -> None:
    quoting = Message(Role.ASSISTANT, ',{"kind":"turn",' + "x" * 700_000)
    with sessions.create(root) as session:
        for number in range(1, 6):
            session.append(ItemEntry(number, quoting))
            session.append(TurnEntry(number, 1.0, f"prompt {number}\x1b", None))

    (info,) = sessions.list()

    assert info.turns == 5
    assert info.title == "prompt 1\\x1b"


def test_a_turn_is_counted_once_wherever_the_file_is_cut_for_reading(tmp_path: Path) -> None:
    path = tmp_path / "archive.jsonl"
    header = Header("x", "/", 1, 2, 3.0)
    filler = ItemEntry(1, Message(Role.ASSISTANT, ""))
    # The turn's mark begins just before the first mebibyte after the header ends.
    room = (1 << 20) - len(entry_line(0, filler)) - len(b'[1,100,"00000000"')

    for shift in range(-4, 24):
        path.unlink(missing_ok=True)
        item = Message(Role.ASSISTANT, "x" * (room - shift))
        write_archive(path, header, (ItemEntry(1, item), HELLO))

        seen = glance(tmp_path)

        assert (seen.turns, seen.title) == (1, "hello there"), shift


def test_the_list_is_by_root_and_links_to_it_count(
    sessions: Sessions, root: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "link").symlink_to(root)
    one, _ = kept(sessions, root), kept(sessions, other)

    assert [info.id for info in sessions.list(root)] == [one]
    assert [info.id for info in sessions.list(tmp_path / "link")] == [one]
    assert len(sessions.list()) == 2


def test_the_latest_is_never_an_unattended_one(sessions: Sessions, root: Path) -> None:
    mine = kept(sessions, root)
    script = kept(sessions, root, unattended=True)
    used(sessions, mine, 1_000.0)

    latest = sessions.latest(root)

    assert latest
    assert latest.id == mine
    assert sessions.find(script).unattended
    with sessions.open(script) as session:
        assert session.unattended


def test_the_latest_is_one_in_which_something_was_said(sessions: Sessions, root: Path) -> None:
    mine = kept(sessions, root)
    empty = kept(sessions, root, said=False)
    used(sessions, mine, 1_000.0)

    latest = sessions.latest(root)
    sessions.delete(mine)
    only = sessions.latest(root)

    assert latest
    assert latest.id == mine
    assert only
    assert only.id == empty


def break_first_line(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"session"', b'"cession"', 1))


def newer_format(path: Path) -> None:
    path.write_bytes(b'{"keryx":9}\n')


def no_archive(path: Path) -> None:
    path.unlink()


def empty_archive(path: Path) -> None:
    path.write_bytes(b"")


def folder_there(path: Path) -> None:
    path.unlink()
    path.mkdir()


def link_there(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


BREAKAGES = [break_first_line, newer_format, no_archive, empty_archive, folder_there, link_there]


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_broken_session_is_listed_refused_and_can_be_deleted(
    sessions: Sessions, root: Path, breakage: Callable[[Path], None]
) -> None:
    good, bad = kept(sessions, root), kept(sessions, root)
    (sessions.find(bad).folder / "shadow.git").mkdir()
    breakage(archive_of(sessions, bad))

    listed = {info.id: info for info in sessions.list()}
    latest = sessions.latest(root)

    assert listed.keys() == {good, bad}
    assert listed[bad].damage
    assert listed[bad].root_gone
    assert latest
    assert latest.id == good
    with pytest.raises(SessionError):
        sessions.open(bad)
    assert not sessions.find(bad).held
    sessions.delete(bad)
    assert [info.id for info in sessions.list()] == [good]


def test_a_session_whose_first_line_is_damaged_opens_with_a_root(
    sessions: Sessions, root: Path
) -> None:
    session_id = kept(sessions, root)
    break_first_line(archive_of(sessions, session_id))
    with pytest.raises(SessionError, match="--root DIR"):
        sessions.open(session_id)

    sessions.open(session_id, new_root=root).close()

    with sessions.open(session_id) as session:
        assert session.root == root
        assert session.entries[0] == HELLO
    assert sessions.list(root)[0].id == session_id


def test_a_torn_line_is_said_when_it_is_opened(sessions: Sessions, root: Path) -> None:
    session_id = kept(sessions, root)
    path = archive_of(sessions, session_id)
    path.write_bytes(path.read_bytes() + b'[1,20,"')

    with sessions.open(session_id) as session:
        assert "torn" in session.notices[0]
        session.append(TurnEntry(2, 1.0, "on", 1))

    with sessions.open(session_id) as session:
        assert session.notices == ()
        assert len(session.entries) == 2


def test_lost_lines_that_leave_history_open_are_said(sessions: Sessions, root: Path) -> None:
    with sessions.create(root) as session:
        for number in range(1, 4):
            session.append(TurnEntry(number, 1.0, f"prompt {number}", number - 1 or None))
    path = archive_of(sessions, session.id)
    path.write_bytes(path.read_bytes().replace(b"prompt 2", b"prompt 9"))

    with sessions.open(session.id) as again:
        assert "cannot be rewound to before turn 3" in again.notices[-1]


def test_a_project_that_moved_gets_its_session_back(
    sessions: Sessions, root: Path, tmp_path: Path
) -> None:
    session_id = kept(sessions, root)
    moved = root.rename(tmp_path / "moved")
    assert sessions.find(session_id).root_gone

    with sessions.open(session_id, new_root=moved) as session:
        assert session.root == moved
        assert not session.root_gone

    with sessions.open(session_id) as session:
        assert session.root == moved
        assert session.notices == ()
    assert sessions.list(moved)[0].id == session_id
    assert sessions.list(root) == ()


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_new_root_must_be_a_folder(
    sessions: Sessions, root: Path, tmp_path: Path, name: str
) -> None:
    session_id = kept(sessions, root)
    (tmp_path / "file").touch()

    with pytest.raises(SessionError, match="cannot be the root"):
        sessions.open(session_id, new_root=tmp_path / name)

    with sessions.open(session_id) as session:
        assert session.root == root


def test_a_session_whose_root_is_gone_can_be_read(sessions: Sessions, root: Path) -> None:
    session_id = kept(sessions, root)
    root.rmdir()

    with sessions.open(session_id) as session:
        assert session.root_gone
        assert session.entries == (HELLO,)


def test_another_folder_at_the_root_is_said_once(
    sessions: Sessions, root: Path, tmp_path: Path
) -> None:
    session_id = kept(sessions, root)
    root.rename(tmp_path / "away")
    root.mkdir()

    with sessions.open(session_id) as session:
        said = session.notices
        assert isinstance(session.entries[-1], RootEntry)
    with sessions.open(session_id) as session:
        assert session.notices == ()

    assert "Another folder now stands at" in said[0]


def test_deleting_takes_all_of_it(sessions: Sessions, root: Path, tmp_path: Path) -> None:
    session_id = kept(sessions, root)
    packs = sessions.find(session_id).folder / "shadow.git" / "objects"
    packs.mkdir(parents=True)
    (packs / "pack").write_bytes(b"x")
    (packs / "out").symlink_to(root)
    packs.chmod(0o500)

    sessions.delete(session_id)

    assert list((tmp_path / "data" / "sessions").iterdir()) == []
    assert root.is_dir()
    with pytest.raises(NoSuchSessionError):
        sessions.open(session_id)


HOLD_FOLDER = """
import sys
from pathlib import Path
from keryx_py.session.lease import Lease

lease = Lease.take(Path(sys.argv[1]), 0.0)
print("held", flush=True)
sys.stdin.read()
"""


def test_what_dead_processes_left_is_cleared_and_what_the_living_make_stays(
    sessions: Sessions, root: Path, tmp_path: Path, child: Child
) -> None:
    home = tmp_path / "data" / "sessions"
    session_id = kept(sessions, root)
    dead, living = home / ".new-20200101-000000-dead", home / ".new-20200101-000000-life"
    gone = home / f".deleted-{session_id}-abcd"
    for folder in (dead, living, gone):
        folder.mkdir()
        (folder / "archive.jsonl").touch()
    half = home / session_id / ".archive.jsonl.new"
    half.write_bytes(b"half")
    process = child(HOLD_FOLDER, living)
    assert process.stdout
    process.stdout.readline()

    Sessions(tmp_path / "data", now=time.time).open(session_id).close()

    assert not dead.exists()
    assert not gone.exists()
    assert not half.exists()
    assert living.exists()


@pytest.mark.parametrize("locked", [False, True])
def test_a_new_folder_that_another_start_took_for_a_leftover_is_made_again(
    tmp_path: Path, root: Path, locked: bool
) -> None:
    taken: list[Path] = []

    def now_and_clear() -> float:
        for folder in (tmp_path / "data" / "sessions").glob(".new-*"):
            if not taken and (folder / "lease").exists() is locked:
                taken.append(folder)
                shutil.rmtree(folder)
        return 1.0

    session = Sessions(tmp_path / "data", now=now_and_clear).create(root)

    assert taken
    assert session.append(TurnEntry(1, 0.0, "go", None)) == 0
    assert session.folder.stat().st_mode & 0o777 == 0o700
    session.close()


LINKS: list[Callable[[Path], Path]] = [
    lambda data: data,
    lambda data: data / "sessions",
]


@pytest.mark.parametrize("place", LINKS)
def test_a_data_folder_that_is_a_link_is_refused(
    sessions: Sessions, root: Path, tmp_path: Path, place: Callable[[Path], Path]
) -> None:
    elsewhere, link = tmp_path / "elsewhere", place(tmp_path / "data")
    elsewhere.mkdir()
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(elsewhere)

    with pytest.raises(SessionError, match="is a link"):
        sessions.create(root)

    assert list(elsewhere.iterdir()) == []


def test_a_session_folder_that_is_a_link_is_not_opened(
    sessions: Sessions, root: Path, tmp_path: Path
) -> None:
    session_id = kept(sessions, root)
    folder = sessions.find(session_id).folder
    elsewhere = folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(elsewhere)

    with pytest.raises(SessionError):
        sessions.open(session_id)
    with pytest.raises(SessionError):
        sessions.delete(session_id)

    assert (elsewhere / "archive.jsonl").exists()


FOREIGN = """
import os, sys, time
from pathlib import Path
from keryx_py.session.errors import SessionError
from keryx_py.session.sessions import Sessions

if os.geteuid() == 0:
    os.setuid(65534)
try:
    Sessions(Path(sys.argv[1]), now=time.time).create(Path("/"))
except SessionError as error:
    print(error)
"""


def test_another_users_data_folder_is_refused(child: Child) -> None:
    # Never written to: it is the system's, and the child is a normal user.
    out, _ = child(FOREIGN, "/usr").communicate(timeout=20)

    assert out.startswith("/usr belongs to another user")


def test_a_root_that_is_gone_makes_no_session(sessions: Sessions, tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="cannot be the root"):
        sessions.create(tmp_path / "missing")

    assert sessions.list() == ()


def test_a_data_folder_that_is_a_file_is_one_sentence(root: Path, tmp_path: Path) -> None:
    (tmp_path / "data").touch()

    with pytest.raises(SessionError, match="is no folder"):
        Sessions(tmp_path / "data", now=time.time).create(root)
    with pytest.raises(SessionError, match="cannot be made"):
        Sessions(tmp_path / "data" / "below", now=time.time).create(root)


def test_two_sessions_of_one_root_are_apart(sessions: Sessions, root: Path) -> None:
    with sessions.create(root) as one, sessions.create(root) as other:
        one.append(HELLO)

        assert other.entries == ()
        assert one.id != other.id


SHUT = """
import os, sys, time
from pathlib import Path
from keryx_py.session.errors import SessionError
from keryx_py.session.lease import Lease
from keryx_py.session.sessions import Sessions

# Loads what a user who may not look into another's Python cannot load later.
Lease.take(Path(sys.argv[1]).parent, 0.0).release()
if os.geteuid() == 0:
    os.setuid(65534)
data = Path(sys.argv[1])
sessions = Sessions(data, now=time.time)
calls = [
    lambda name: sessions.list(),
    sessions.open,
    sessions.fork,
    sessions.delete,
    lambda name: sessions.create(Path("/")).close(),
]
for place in ("sessions/ID/archive.jsonl", "sessions/ID/lease", "sessions/ID", "sessions", "."):
    for call in calls:
        session = sessions.create(Path("/"))
        session.close()
        shut = data / place.replace("ID", session.id)
        mode = shut.stat().st_mode
        shut.chmod(0)
        try:
            call(session.id)
        except SessionError as error:
            assert "\\n" not in str(error)
        if shut.exists():
            shut.chmod(mode)
print("right")
"""


def test_what_cannot_be_read_is_one_sentence(child: Child) -> None:
    with tempfile.TemporaryDirectory() as folder:
        # Not tmp_path: nobody else may enter it.
        Path(folder).chmod(0o777)

        out, _ = child(SHUT, Path(folder) / "data").communicate(timeout=30)

        assert out == "right\n"
