"""Erasing takes what was rewound out of the archive for good, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from keryx_py.messages import Message, Role
from keryx_py.session.archive import (
    CompactionEntry,
    Entry,
    ErasedEntry,
    ItemEntry,
    Mode,
    RedoEntry,
    RewindEntry,
    SnapshotEntry,
    SnapshotOutcome,
    TurnEntry,
    live_turns,
    next_number,
    standing_rewinds,
)
from keryx_py.session.context import build_context
from keryx_py.session.errors import SessionError
from keryx_py.session.sessions import Sessions

SECRET = "hunter2"


def turn(number: int, follows: int | None, words: str) -> tuple[Entry, ...]:
    return (
        TurnEntry(number, 0.0, words, follows),
        SnapshotEntry(number, 0.0, SnapshotOutcome.TAKEN),
        ItemEntry(number, Message(Role.ASSISTANT, f"about {words}")),
    )


def cut(to: int, mode: Mode = Mode.HISTORY) -> RewindEntry:
    return RewindEntry(0.0, to, mode, None, cut=True)


SAID: tuple[Entry, ...] = (
    *turn(1, None, "one"),
    *turn(2, 1, SECRET),
    CompactionEntry(0.0, (1, 2), f"they said {SECRET}"),
    CompactionEntry(0.0, (1,), "they said one"),
    cut(2),
    *turn(3, 1, "three"),
    *turn(4, 3, "four"),
    cut(4),
    RedoEntry(0.0, 15, None),
    *turn(5, 4, "five"),
    cut(5),
)


def kept(sessions: Sessions, root: Path, entries: tuple[Entry, ...]) -> str:
    with sessions.create(root) as session:
        for entry in entries:
            session.append(entry)
        return session.id


def test_rewound_turns_are_gone_and_the_rest_is_as_it_was(sessions: Sessions, root: Path) -> None:
    session_id = kept(sessions, root, SAID)

    numbers = sessions.erase(session_id)

    assert numbers == (2, 5)
    with sessions.open(session_id) as session:
        assert live_turns(session.entries) == (1, 3, 4)
        assert build_context(session.entries) == build_context(SAID)
        assert session.root == root
        assert session.notices == ()
    found = b"".join(path.read_bytes() for path in session.folder.iterdir())
    assert SECRET.encode() not in found
    assert b"five" not in found


def test_numbers_are_not_given_out_again_and_nothing_can_be_redone(
    sessions: Sessions, root: Path
) -> None:
    session_id = kept(sessions, root, SAID)

    sessions.erase(session_id)

    with sessions.open(session_id) as session:
        assert next_number(session.entries) == 6
        assert standing_rewinds(session.entries) == ()
        erased = session.entries[-1]
        assert isinstance(erased, ErasedEntry)
        assert (erased.numbers, erased.highest) == ((2, 5), 5)


def test_a_redo_still_takes_back_its_own_rewind(sessions: Sessions, root: Path) -> None:
    session_id = kept(sessions, root, SAID)

    sessions.erase(session_id)

    with sessions.open(session_id) as session:
        redo = next(entry for entry in session.entries if isinstance(entry, RedoEntry))
        assert session.entries[redo.rewind] == cut(4)


def test_with_nothing_rewound_the_archive_is_not_touched(sessions: Sessions, root: Path) -> None:
    session_id = kept(sessions, root, turn(1, None, "one"))
    path = sessions.find(session_id).folder / "archive.jsonl"
    before = path.stat().st_ino, path.read_bytes()

    assert sessions.erase(session_id) == ()

    assert (path.stat().st_ino, path.read_bytes()) == before


def test_where_lost_lines_leave_it_open_nothing_is_erased(sessions: Sessions, root: Path) -> None:
    session_id = kept(sessions, root, (*SAID, *turn(6, 4, "six"), *turn(7, 6, "seven")))
    path = sessions.find(session_id).folder / "archive.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"six"', b'"sox"'))
    before = path.read_bytes()

    with pytest.raises(SessionError, match="delete the whole session"):
        sessions.erase(session_id)

    assert path.read_bytes() == before


def test_a_damaged_line_stays_known_as_lost(sessions: Sessions, root: Path) -> None:
    session_id = kept(sessions, root, (*SAID, *turn(6, 4, "six")))
    path = sessions.find(session_id).folder / "archive.jsonl"
    path.write_bytes(path.read_bytes().replace(b"about one", b"abort one"))

    sessions.erase(session_id)

    with sessions.open(session_id) as session:
        assert live_turns(session.entries) == (1, 3, 4, 6)
        assert b"abort one" not in path.read_bytes()


def test_an_erasure_that_cannot_be_written_changes_nothing(sessions: Sessions, root: Path) -> None:
    session_id = kept(sessions, root, SAID)
    path = sessions.find(session_id).folder / "archive.jsonl"
    before = path.read_bytes()
    # Something that is neither removed nor overwritten stands where the new one is written.
    path.with_name(".archive.jsonl.new").mkdir()

    with pytest.raises(SessionError, match="nothing was written"):
        sessions.erase(session_id)

    assert path.read_bytes() == before
    sessions.open(session_id).close()
