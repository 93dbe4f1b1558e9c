"""Which points there are, and what holds the files before each: tables over plain entries."""

from __future__ import annotations

import pytest

from keryx_py.rewind.points import FilesState, PointKind, list_points
from keryx_py.session.archive import (
    CaptureEntry,
    CheckpointEntry,
    DamagedEntry,
    Entry,
    ErasedEntry,
    Mode,
    PrunedEntry,
    RedoEntry,
    RewindEntry,
    RunEntry,
    SnapshotEntry,
    SnapshotOutcome,
    TurnEntry,
    UndoPointEntry,
)
from keryx_py.snapshot.store import SnapshotKey


def turn(number: int, follows: int | None = None) -> TurnEntry:
    return TurnEntry(number, float(number), f"prompt {number}", follows)


def run(number: int, *, saved: bool = True) -> RunEntry:
    return RunEntry(number, "c", "shell_exec", "shell", "sh", saved)


def taken(number: int) -> SnapshotEntry:
    return SnapshotEntry(number, 0, SnapshotOutcome.TAKEN)


def failed(number: int, reason: str = "the disk is full") -> SnapshotEntry:
    return SnapshotEntry(number, 0, SnapshotOutcome.FAILED, reason)


def off(number: int) -> SnapshotEntry:
    return SnapshotEntry(number, 0, SnapshotOutcome.OFF)


HELD, UNCHANGED, GONE = FilesState.HELD, FilesState.UNCHANGED, FilesState.GONE


@pytest.mark.parametrize(
    ("entries", "kept", "expected"),
    [
        pytest.param([], [], {}, id="nothing"),
        pytest.param([turn(1)], [], {1: (UNCHANGED, None, "")}, id="only read"),
        pytest.param([turn(1), taken(1), run(1)], [1], {1: (HELD, 1, "")}, id="its own snapshot"),
        pytest.param(
            [turn(1), turn(2, 1), taken(2), run(2)],
            [2],
            {1: (HELD, 2, ""), 2: (HELD, 2, "")},
            id="the next turn's snapshot",
        ),
        pytest.param(
            [turn(1), taken(1), run(1), turn(2, 1)],
            [1],
            {1: (HELD, 1, ""), 2: (UNCHANGED, None, "")},
            id="a reading turn after the last change",
        ),
        pytest.param(
            [turn(1), failed(1), run(1, saved=False), turn(2, 1), taken(2), run(2)],
            [2],
            {1: (GONE, None, "the disk is full"), 2: (HELD, 2, "")},
            id="a call ran unsaved before the next snapshot",
        ),
        pytest.param(
            [turn(1), turn(2, 1), failed(2), run(2, saved=False), turn(3, 2), taken(3), run(3)],
            [3],
            {
                1: (GONE, None, "the disk is full, point 2"),
                2: (GONE, None, "the disk is full"),
                3: (HELD, 3, ""),
            },
            id="a call of a later turn ran unsaved",
        ),
        pytest.param(
            [turn(1), failed(1), taken(1), run(1)],
            [1],
            {1: (HELD, 1, "")},
            id="a second try of the same turn",
        ),
        pytest.param(
            [turn(1), failed(1), turn(2, 1), taken(2), run(2)],
            [2],
            {1: (HELD, 2, ""), 2: (HELD, 2, "")},
            id="failed and then denied, so nothing ran",
        ),
        pytest.param(
            [turn(1), off(1), run(1, saved=False)], [], {1: (GONE, None, "off")}, id="off"
        ),
        pytest.param(
            [turn(1), run(1, saved=False)],
            [],
            {1: (GONE, None, "a call ran without a snapshot")},
            id="unsaved for no known reason",
        ),
        pytest.param(
            [turn(1), turn(2, 1), taken(2), run(2), turn(3, 2), taken(3), PrunedEntry(0, (2,))],
            [2, 3],
            {1: (GONE, None, "pruned, point 2"), 2: (GONE, None, "pruned"), 3: (HELD, 3, "")},
            id="no later snapshot stands in for a pruned one",
        ),
        pytest.param(
            [turn(1), taken(1), run(1), turn(2, 1), taken(2)],
            [2],
            {1: (GONE, None, "its snapshot is missing"), 2: (HELD, 2, "")},
            id="a ref that vanished",
        ),
        pytest.param(
            [turn(1), DamagedEntry("torn"), turn(2, 1), taken(2)],
            [2],
            {1: (GONE, None, "a line of the archive after it is damaged"), 2: (HELD, 2, "")},
            id="a lost line may have been a change",
        ),
        pytest.param(
            [turn(1), turn(3, 1), taken(3), ErasedEntry(0, (2,), 3)],
            [3],
            {1: (GONE, None, "a turn after it was erased"), 3: (HELD, 3, "")},
            id="an erased turn may have been a change",
        ),
        pytest.param(
            [turn(1), ErasedEntry(0, (2,), 2)],
            [],
            {1: (GONE, None, "a turn after it was erased")},
            id="an erased turn was the last",
        ),
        pytest.param(
            [turn(1), CheckpointEntry(2, 0, "here"), taken(2), turn(3, 1), taken(3), run(3)],
            [2, 3],
            {1: (HELD, 2, ""), 2: (HELD, 2, ""), 3: (HELD, 3, "")},
            id="a checkpoint holds the files of the turns before it",
        ),
        pytest.param(
            [turn(1), UndoPointEntry(2, 0), failed(2), turn(3, 1), taken(3)],
            [3],
            {1: (HELD, 3, ""), 2: (GONE, None, "the disk is full"), 3: (HELD, 3, "")},
            id="an undo point has its own snapshot or none",
        ),
        pytest.param(
            [turn(1), taken(1), CaptureEntry(1, 0, taken=True), turn(2, 1)],
            [1],
            {1: (HELD, 1, ""), 2: (UNCHANGED, None, "")},
            id="an end capture holds nothing for others",
        ),
    ],
)
def test_what_holds_the_files_before_a_point(
    entries: list[Entry], kept: list[int], expected: dict[int, tuple[FilesState, int | None, str]]
) -> None:
    points = list_points(entries, frozenset(SnapshotKey(number) for number in kept))

    found = {
        point.number: (point.files, point.key.number if point.key else None, point.reason)
        for point in points
    }
    assert found == expected
    assert [point.number for point in points] == sorted(found, reverse=True)


def test_rewound_turns_and_checkpoints_can_roll_back_files_only() -> None:
    entries: list[Entry] = [
        turn(1),
        taken(1),
        CheckpointEntry(2, 0, "a"),
        taken(2),
        turn(3, 1),
        taken(3),
        UndoPointEntry(4, 0),
        taken(4),
        RewindEntry(0, 2, Mode.BOTH, 4, cut=True),
        CheckpointEntry(5, 0, "b"),
        taken(5),
    ]
    keys = frozenset(SnapshotKey(number) for number in range(1, 6))

    cut = {point.number: point.live for point in list_points(entries, keys)}
    back = {p.number: p.live for p in list_points([*entries, RedoEntry(0, 8, None)], keys)}

    assert cut == {1: True, 2: False, 3: False, 4: False, 5: True}
    assert back == {1: True, 2: True, 3: True, 4: False, 5: True}


def test_a_point_says_what_it_is() -> None:
    entries: list[Entry] = [
        turn(1),
        taken(1),
        CheckpointEntry(2, 5, "tidy"),
        UndoPointEntry(3, 6),
        taken(3),
        RewindEntry(7, 1, Mode.FILES, 3),
        UndoPointEntry(4, 8),
        taken(4),
        RedoEntry(9, 5, 4),
        UndoPointEntry(5, 10),
    ]

    points = list_points(entries, frozenset({SnapshotKey(1), SnapshotKey(3), SnapshotKey(4)}))

    assert [(point.kind, point.label, point.own_snapshot) for point in points] == [
        (PointKind.UNDO, "before a rewind that was not finished", False),
        (PointKind.UNDO, "before a redo", True),
        (PointKind.UNDO, "before the rewind to 1", True),
        (PointKind.CHECKPOINT, "tidy", False),
        (PointKind.TURN, "prompt 1", True),
    ]
