"""Whose change each path carries: the stretches of a session, and the stories of paths."""

from __future__ import annotations

from itertools import pairwise

import pytest

from keryx_py.rewind.attribution import Chapter, attribute
from keryx_py.rewind.plan import Author, AuthorKind
from keryx_py.rewind.timeline import PERSON, UNKNOWN, list_stretches
from keryx_py.session.archive import (
    CaptureEntry,
    CheckpointEntry,
    DamagedEntry,
    Entry,
    ErasedEntry,
    Mode,
    PrunedEntry,
    RewindEntry,
    RunEntry,
    SnapshotEntry,
    SnapshotOutcome,
    TurnEntry,
    UndoPointEntry,
)
from keryx_py.snapshot.listing import FileChange, FileState, Kind
from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.store import Side, SnapshotKey


def agent(number: int) -> Author:
    return Author(AuthorKind.TURN, number)


def whole_turn(number: int) -> list[Entry]:
    return [
        TurnEntry(number, 0, "", None),
        SnapshotEntry(number, 0, SnapshotOutcome.TAKEN),
        RunEntry(number, "c", "shell_exec", "shell", "", saved=True),
        CaptureEntry(number, 0, taken=True),
    ]


def crashed_turn(number: int) -> list[Entry]:
    return whole_turn(number)[:-1]


def unsaved_turn(number: int) -> list[Entry]:
    return [
        TurnEntry(number, 0, "", None),
        SnapshotEntry(number, 0, SnapshotOutcome.FAILED, "full"),
        RunEntry(number, "c", "shell_exec", "shell", "", saved=False),
        CaptureEntry(number, 0, taken=True),
    ]


def rewind(undo: int, *, ended: bool = True) -> list[Entry]:
    return [
        UndoPointEntry(undo, 0),
        SnapshotEntry(undo, 0, SnapshotOutcome.TAKEN),
        RewindEntry(0, 1, Mode.FILES, undo),
        CaptureEntry(undo, 0, taken=ended),
    ]


def checkpoint(number: int) -> list[Entry]:
    return [CheckpointEntry(number, 0, "n"), SnapshotEntry(number, 0, SnapshotOutcome.TAKEN)]


EVERY_KEY = frozenset(SnapshotKey(number, side) for number in range(1, 9) for side in Side)


@pytest.mark.parametrize(
    ("entries", "authors"),
    [
        pytest.param(whole_turn(1), [agent(1), PERSON], id="a turn, then the person"),
        pytest.param(
            [*whole_turn(1), *whole_turn(2)],
            [agent(1), PERSON, agent(2), PERSON],
            id="the person between two turns",
        ),
        pytest.param(crashed_turn(1), [UNKNOWN], id="a crash"),
        pytest.param(
            [*crashed_turn(1), *whole_turn(2)],
            [UNKNOWN, agent(2), PERSON],
            id="a crash, then a turn",
        ),
        pytest.param(
            [*whole_turn(1), *unsaved_turn(2)],
            [agent(1), UNKNOWN, PERSON],
            id="a turn that ran unsaved",
        ),
        pytest.param(
            [*whole_turn(1), *rewind(2)],
            [agent(1), PERSON, None, PERSON],
            id="a rewind's writes are nobody's",
        ),
        pytest.param(
            [*whole_turn(1), *rewind(2, ended=False)],
            [agent(1), PERSON, UNKNOWN],
            id="a rewind cut short",
        ),
        pytest.param(
            [*whole_turn(1), *checkpoint(2)], [agent(1), PERSON, PERSON], id="a checkpoint"
        ),
        pytest.param(
            [*whole_turn(1), *whole_turn(2), *whole_turn(3), PrunedEntry(0, (2,))],
            [agent(1), UNKNOWN, agent(3), PERSON],
            id="a pruned turn in between",
        ),
        pytest.param(
            [*whole_turn(1), DamagedEntry("torn"), *whole_turn(2)],
            [agent(1), UNKNOWN, agent(2), PERSON],
            id="a lost line in between",
        ),
        pytest.param(
            [*whole_turn(1), *whole_turn(3), ErasedEntry(0, (2,), 3)],
            [agent(1), UNKNOWN, agent(3), PERSON],
            id="an erased turn in between",
        ),
    ],
)
def test_whose_each_stretch_is(entries: list[Entry], authors: list[Author | None]) -> None:
    stretches = list_stretches(entries, EVERY_KEY, SnapshotKey(1))

    assert [stretch.author for stretch in stretches] == authors
    assert stretches[-1].after is None


def test_the_time_since_a_capture_that_is_not_recorded_is_unknown() -> None:
    stretches = list_stretches([], EVERY_KEY, SnapshotKey(1))

    assert [stretch.author for stretch in stretches] == [UNKNOWN]


def state(content: str) -> FileState | None:
    return None if content == "-" else FileState(Kind.FILE, 0o644, content.encode() * 20)


@pytest.mark.parametrize(
    ("story", "authors"),
    [
        pytest.param([("1", agent(1)), ("2", PERSON)], (agent(1), PERSON), id="both"),
        pytest.param([("1", agent(1)), ("1", PERSON)], (agent(1),), id="the turn alone"),
        pytest.param([("0", agent(1)), ("2", PERSON)], (PERSON,), id="the person alone"),
        pytest.param(
            [("1", agent(1)), ("0", agent(2)), ("2", PERSON)], (PERSON,), id="undone by a turn"
        ),
        pytest.param(
            [("1", agent(1)), ("2", agent(2)), ("1", None)], (agent(1),), id="rewound to turn 1's"
        ),
        pytest.param(
            [("1", agent(1)), ("0", None), ("2", PERSON)], (PERSON,), id="rewound, then edited"
        ),
        pytest.param(
            [("1", PERSON), ("2", agent(1)), ("3", PERSON)],
            (PERSON, agent(1), PERSON),
            id="in order of time",
        ),
        pytest.param([("1", agent(1)), ("-", UNKNOWN)], (agent(1), UNKNOWN), id="unknown"),
        pytest.param([("9", None)], (), id="a rewind put there what nobody is known to have made"),
    ],
)
def test_whose_change_a_path_carries(
    story: list[tuple[str, Author | None]], authors: tuple[Author, ...]
) -> None:
    contents = ["0", *(content for content, _ in story)]
    changes = [FileChange(b"f", state(a), state(b)) for a, b in pairwise(contents)]
    moved = [(change,) if change.before != change.after else () for change in changes]
    chapters = [Chapter(who, changed) for (_, who), changed in zip(story, moved, strict=True)]
    first, last = state("0"), state(contents[-1])
    assert first is not None

    *known, (_, since) = [*zip(chapters, story, strict=True)]
    by = attribute(
        [b"f"],
        {b"f": first},
        [chapter for chapter, _ in known],
        {b"f": last} if last else {},
        since[1],
    )
    by_captures = attribute([b"f"], {b"f": first}, chapters, {b"f": last} if last else {}, PERSON)

    assert by[b"f"] == authors
    assert by_captures[b"f"] == authors


@pytest.mark.parametrize(
    ("now", "authors"), [("1", (agent(1),)), ("2", (agent(1), UNKNOWN)), ("0", ())]
)
def test_what_rules_hid_from_the_captures_is_not_called_the_person_s(
    now: str, authors: tuple[Author, ...]
) -> None:
    first, last = state("0"), state(now)
    assert first is not None
    assert last is not None
    chapters = [
        Chapter(agent(1), (FileChange(b"f", first, state("1")),)),
        Chapter(None, (FileChange(b"f", state("1"), None),)),
    ]

    by = attribute([b"f"], {b"f": first}, chapters, {b"f": last}, PERSON, {b"f"})

    assert by[b"f"] == authors


def chapter(author: Author | None, **changes: tuple[str, str]) -> Chapter:
    """What *author* changed: for each path the content before and after, "-" for no file."""
    return Chapter(
        author,
        tuple(
            FileChange(path.encode(), state(before), state(after))
            for path, (before, after) in changes.items()
        ),
    )


@pytest.mark.parametrize(
    ("chapters", "authors"),
    [
        pytest.param(
            [chapter(agent(2), f=("2", "-"), g=("-", "2"))],
            (agent(1), PERSON, agent(2)),
            id="moved",
        ),
        pytest.param(
            [
                chapter(agent(2), f=("2", "-"), h=("-", "2")),
                chapter(agent(3), h=("2", "-"), g=("-", "2")),
            ],
            (agent(1), PERSON, agent(2), agent(3)),
            id="moved twice",
        ),
        pytest.param(
            [chapter(agent(2), f=("2", "-"), g=("9", "2"))],
            (agent(1), PERSON, agent(2)),
            id="moved over another",
        ),
        pytest.param(
            [chapter(agent(2), f=("2", "3"), g=("-", "2"))],
            (agent(1), PERSON, agent(2)),
            id="moved, with something left in its place",
        ),
        pytest.param(
            [chapter(agent(2), f=("2", "-"), g=("-", "3"))], (agent(2),), id="changed on the way"
        ),
        pytest.param([chapter(agent(2), g=("-", "2"))], (agent(2),), id="copied"),
        pytest.param([chapter(None, f=("2", "-"), g=("-", "2"))], (), id="nobody's, by a rewind"),
    ],
)
def test_what_is_moved_whole_carries_on_whose_it_was(
    chapters: list[Chapter], authors: tuple[Author, ...]
) -> None:
    first = state("0")
    assert first is not None
    edits = [chapter(agent(1), f=("0", "1")), chapter(PERSON, f=("1", "2"))]
    last = chapters[-1].changes[-1]
    assert last.after is not None

    by = attribute([b"g"], {b"f": first}, [*edits, *chapters], {b"g": last.after}, PERSON)

    assert by == {b"g": authors}


def test_a_mode_alone_moves_nothing() -> None:
    content = object_id(ObjectKind.BLOB, b"1")
    new, run = FileState(Kind.FILE, 0o644, content), FileState(Kind.FILE, 0o755, content)
    chapters = [
        Chapter(PERSON, (FileChange(b"f", None, new),)),
        Chapter(agent(1), (FileChange(b"f", new, run),)),
    ]

    by = attribute([b"f"], {}, chapters, {b"f": run}, PERSON)

    assert by == {b"f": (PERSON, agent(1))}


def test_an_empty_file_is_not_told_to_be_moved() -> None:
    empty = FileState(Kind.FILE, 0o644, object_id(ObjectKind.BLOB, b""))
    edits = Chapter(PERSON, (FileChange(b"f", None, empty),))
    moved = Chapter(agent(1), (FileChange(b"f", empty, None), FileChange(b"g", None, empty)))

    by = attribute([b"g"], {}, [edits, moved], {b"g": empty}, PERSON)

    assert by == {b"g": (agent(1),)}
