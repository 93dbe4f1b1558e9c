"""The list, the preview and the report say what is so, in as few lines as that takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from keryx_py.rewind.plan import (
    Author,
    AuthorKind,
    HistoryCut,
    NotUndone,
    PathChange,
    RestorePlan,
    RewindPlan,
)
from keryx_py.rewind.points import FilesState, PointKind, RewindPoint
from keryx_py.rewind.rewinder import ListedPoint, RewindReport
from keryx_py.session.archive import Mode
from keryx_py.shell.points_view import points_text, spans
from keryx_py.shell.report_view import report_text
from keryx_py.shell.rewind_command import WAYS
from keryx_py.shell.rewind_view import NOT_UNDONE, LineCounts, preview_text
from keryx_py.snapshot.listing import FileState, Kind, Skipped
from keryx_py.snapshot.store import SnapshotKey

OLD = FileState(Kind.FILE, 0o644, b"1" * 20)
NEW = FileState(Kind.FILE, 0o644, b"2" * 20)
FOLDER = FileState(Kind.FOLDER, 0o755, b"")
TURN3 = Author(AuthorKind.TURN, 3)
YOU = Author(AuthorKind.PERSON)
POINT = RewindPoint(
    3, PointKind.TURN, 0.0, "fix it", True, FilesState.HELD, SnapshotKey(3), own_snapshot=True
)


def modified(path: bytes, *by: Author) -> PathChange:
    return PathChange(path, NEW, OLD, by or (TURN3,))


def restore(*changes: PathChange, files_now: int = 1000) -> RestorePlan:
    return RestorePlan(SnapshotKey(3), changes, (), (), files_now)


def plan(
    files: RestorePlan | None = None,
    mode: Mode = Mode.FILES,
    history: HistoryCut | None = None,
    not_undone: tuple[NotUndone, ...] = (),
) -> RewindPlan:
    return RewindPlan("id", POINT, mode, (), files, history, not_undone, 9)


def previewed(plan: RewindPlan, counts: LineCounts | None = None, diff: str = "") -> list[str]:
    return preview_text(plan, counts or {}, WAYS, diff).plain.split("\n")


# ---- the list


def listed(
    number: int, changed: int | None = 2, since: int | None = 0, **kw: object
) -> ListedPoint:
    point = replace(POINT, number=number, at=1_800_000_000.0 + number * 60, **kw)  # type: ignore[arg-type]
    return ListedPoint(point, changed, since)


def test_each_point_is_one_line_that_starts_with_its_number_and_a_blank() -> None:
    rows = points_text((listed(12, since=3), listed(4, changed=1)), 100).plain.split("\n")

    assert [row.split(" ")[0] for row in rows] == ["12", "4"]
    assert "2027-01-15 08:12  fix it" in rows[0]
    assert rows[0].endswith("2 files, you changed 3 since")
    assert rows[1].endswith("1 file, you changed 0 since")


def test_a_prompt_stays_on_its_line_and_obeys_nothing() -> None:
    text = points_text((listed(1, label="a\n2 b\r\x1b[2J" + "c" * 500),), 100).plain

    assert "\n" not in text
    assert r"a 2 b \x1b[2Jccc" in text
    assert len(text) < 140


def test_a_turn_that_only_read_has_no_snapshot() -> None:
    text = points_text(
        (listed(1, None, None, files=FilesState.UNCHANGED, key=None, own_snapshot=False),), 100
    ).plain

    assert text.endswith("no snapshot")


def test_undo_points_and_rewound_turns_are_marked() -> None:
    undo = listed(3, None, None, kind=PointKind.UNDO, label="before the rewind to 1")
    rows = points_text((undo, listed(2, live=False), listed(1)), 100).plain.split("\n")

    assert "[undo point] before the rewind to 1" in rows[0]
    assert "[rewound] fix it" in rows[1]
    assert "[" not in rows[2]


def test_why_a_point_is_history_only_is_said() -> None:
    text = points_text((listed(1, None, None, files=FilesState.GONE, reason="off"),), 100).plain

    assert text.endswith("history only: off")


def test_pruned_turns_fold_into_one_last_line() -> None:
    gone = [
        listed(number, None, None, files=FilesState.GONE, reason="pruned, point 10", key=None)
        for number in range(10, 0, -1)
    ]
    rows = points_text((listed(11), *gone), 100).plain.split("\n")

    assert rows[1:] == ["turns 1 to 10: files pruned, history only"]
    assert points_text((gone[9],), 100).plain == "turn 1: files pruned, history only"


def test_runs_of_numbers() -> None:
    assert spans([5, 1, 2, 3, 7, 8]) == "1 to 3, 5, 7, 8"


# ---- the preview


def test_each_path_is_named_with_its_kind_lines_and_author() -> None:
    changes = (
        modified(b"a.py", TURN3, Author(AuthorKind.TURN, 4)),
        PathChange(b"b", NEW, None, (TURN3,)),
        PathChange(b"c", None, OLD, (TURN3,)),
        PathChange(b"d", FOLDER, None, (TURN3,)),
        PathChange(b"e", OLD, replace(OLD, mode=0o755), (TURN3,)),
        PathChange(b"f", NEW, replace(OLD, kind=Kind.LINK), (), being_written=True),
    )

    rows = [
        " ".join(row.split())
        for row in previewed(plan(restore(*changes)), {b"a.py": (3, 1), b"b": (0, 9)})
    ]

    assert rows == [
        "rewind files to before turn 3: fix it",
        "files: 5 files (3 modified, 1 brought back, 1 removed) and 1 folder",
        "modified a.py +3 -1 turn 3, turn 4",
        "removed b +0 -9 turn 3",
        "brought back c binary turn 3",
        "removed d/ turn 3",
        "modified e mode 0644 → 0755 turn 3",
        "modified f file → link being written",
        "/rewind confirm applies it",
    ]


def test_past_twelve_paths_the_rest_are_counted_and_yours_are_named_first() -> None:
    changes = [modified(b"%03d" % n) for n in range(30)] + [modified(b"zz", TURN3, YOU)]

    rows = previewed(plan(restore(*changes)))

    named = [row for row in rows if row.startswith("  modified")]
    assert len(named) == 12
    assert "zz" in named[0]
    assert "  … and 19 more: 19 files (19 modified); /rewind 3 files diff shows all" in rows


@pytest.mark.parametrize(
    ("changes", "files_now", "first"),
    [
        (2, 10, "rewind files to before turn 3: fix it"),
        (3, 10, "warning: this would change 3 files; the project has 10 files now"),
        (1, 0, "warning: this would change 1 file; the project has 0 files now"),
    ],
)
def test_more_than_a_fifth_of_the_files_is_the_first_line(
    changes: int, files_now: int, first: str
) -> None:
    paths = (modified(b"%d" % n) for n in range(changes))

    assert previewed(plan(restore(*paths, files_now=files_now)))[0] == first


def test_a_hundred_of_yours_is_the_first_line() -> None:
    yours = [modified(b"%03d" % n, YOU) for n in range(100)]

    first = previewed(plan(restore(*yours)))[0]

    assert "this would change 100 files" in first
    assert "this would change" not in previewed(plan(restore(*yours[:99])))[0]


@pytest.mark.parametrize("author", [YOU, Author(AuthorKind.UNKNOWN)])
def test_when_an_edit_of_yours_would_go_the_first_line_says_so(author: Author) -> None:
    rows = previewed(plan(restore(modified(b"a", TURN3, author), modified(b"b"))))

    assert rows[0].startswith("warning: an edit of yours would go, in 1 path; ")
    assert rows[0].endswith("keep leaves them")


def test_when_nothing_would_change_it_says_so() -> None:
    empty = RestorePlan(None, (), (), (), 5)

    rows = previewed(plan(empty))

    assert "this turn changed nothing" in rows[1]
    assert rows[-1] == "nothing would change, so there is nothing to confirm"


def test_history_and_what_cannot_be_undone_are_said() -> None:
    cut = HistoryCut(3, (3, 4, 6), 12, "fix it")
    undone = (NotUndone(4, "ran: npm install\x1b[2J (exit 0)"),)

    rows = previewed(plan(RestorePlan(None, (), (), (), 5), Mode.BOTH, cut, undone))

    assert "history: 3 turns (3, 4, 6) and 12 messages go" in rows
    assert rows[rows.index(f"{NOT_UNDONE}:") + 1] == r"  turn 4 ran: npm install\x1b[2J (exit 0)"
    assert rows[-1] == "/rewind confirm applies it"


def test_what_stays_and_what_is_not_covered_is_named_with_the_reason() -> None:
    files = RestorePlan(
        SnapshotKey(3),
        (modified(b"a"),),
        (Skipped(b"o\nd", "in the way of a file"),),
        (Skipped(b".env", "ignored"),),
        1000,
    )

    rows = previewed(plan(files))

    assert rows[rows.index("stays as it is:") + 1] == r'  "o\nd" (in the way of a file)'
    assert rows[rows.index("not covered by a rewind:") + 1] == "  .env (ignored)"


def test_the_difference_is_shown_up_to_2000_lines() -> None:
    diff = "".join(f"+{n}\n" for n in range(2500))

    rows = previewed(plan(restore(modified(b"a"))), diff=diff)

    assert "+1999" in rows
    assert "+2000" not in rows
    assert rows[-2:] == ["… cut after 2,000 lines", "/rewind confirm applies it"]


# ---- the report


def test_the_report_counts_as_the_preview_did_and_names_the_way_back() -> None:
    files = restore(modified(b"a"), PathChange(b"d", FOLDER, None))

    text = report_text(RewindReport(plan(files), (b"a", b"d"), (), 7, False), WAYS).plain

    assert text == ("files: 1 file (1 modified) and 1 folder\nundo point 7: /redo takes this back")


def test_after_a_redo_its_undo_point_is_the_way_back() -> None:
    redone = replace(plan(restore(modified(b"a"))), redoes=4)

    text = report_text(RewindReport(redone, (b"a",), (), 8, False), WAYS).plain

    assert text.endswith("undo point 8: /rewind 8 files takes this back")


def test_what_failed_and_why_the_history_stays_is_said() -> None:
    report = RewindReport(
        plan(restore(modified(b"a"), modified(b"b")), Mode.BOTH, HistoryCut(3, (3,), 2, "fix it")),
        (b"a",),
        (Skipped(b"b", "permission denied"),),
        7,
        False,
        "a file failed",
    )

    rows = report_text(report, WAYS).plain.split("\n")

    assert rows == [
        "files: 1 file (1 modified)",
        "1 path failed:",
        "  b (permission denied)",
        "the history stays: a file failed",
        "undo point 7: /redo takes this back",
    ]


def test_after_a_history_rewind_it_says_how_to_take_the_files_back() -> None:
    report = RewindReport(
        plan(None, Mode.HISTORY, HistoryCut(3, (3,), 2, "fix it")), (), (), None, True
    )

    assert "files left as they are; use /rewind 3 files" in report_text(report, WAYS).plain


def test_what_a_rewind_that_failed_whole_left_cannot_be_taken_back() -> None:
    failed = (Skipped(b"a", "permission denied"),)

    text = report_text(
        RewindReport(plan(restore(modified(b"a"))), (), failed, 7, False), WAYS
    ).plain

    assert "takes this back" not in text


def test_what_still_runs_is_named_where_files_move() -> None:
    running = ("make watch",)
    files = plan(restore(modified(b"a")))
    cut = plan(None, Mode.HISTORY, HistoryCut(3, (3,), 2, "fix it"))

    rows = preview_text(files, {}, WAYS, running=running).plain.split("\n")

    assert rows[-3:] == ["still running:", "  make watch", "/rewind confirm applies it"]
    assert "make watch" not in preview_text(cut, {}, WAYS, running=running).plain
    report = RewindReport(files, (b"a",), (), 7, False)
    assert "still running:\n  make watch\n" in report_text(report, WAYS, None, running).plain
