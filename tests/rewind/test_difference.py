"""What a restore changes and what it must leave, as tables over plain values."""

from __future__ import annotations

import pytest

from keryx_py.rewind.difference import Asked, Limit, count_files, named_by, work_out
from keryx_py.snapshot.listing import FileChange, FileState, Kind, Listing, Skipped, TreeState


def file(content: str = "1", mode: int = 0o644) -> FileState:
    return FileState(Kind.FILE, mode, content.encode().ljust(20, b"\0"))


LINK = FileState(Kind.LINK, 0, b"l" * 20)
FOLDER = FileState(Kind.FOLDER, 0o755, b"")


def tree(listing: Listing, **more: object) -> TreeState:
    state = TreeState(listing)
    ignored = more.get("ignored", ())
    skipped = more.get("skipped", {})
    rules = more.get("rules", {})
    assert isinstance(ignored, tuple)
    assert isinstance(skipped, dict)
    assert isinstance(rules, dict)
    return TreeState(
        state.listing,
        frozenset(ignored),
        tuple(Skipped(path, reason) for path, reason in skipped.items()),
        rules,
    )


EMPTY = tree({})


@pytest.mark.parametrize(
    ("now", "then", "going", "staying"),
    [
        pytest.param(EMPTY, EMPTY, [], {}, id="nothing"),
        pytest.param(tree({b"a": file()}), EMPTY, [b"a"], {}, id="a new file goes"),
        pytest.param(
            tree({b"a": file()}),
            tree({}, ignored=(b"a",)),
            [],
            {b"a": "ignored then"},
            id="a file that was ignored stays",
        ),
        pytest.param(
            tree({b"d": FOLDER, b"d/a": file()}),
            tree({}, ignored=(b"d",)),
            [],
            {b"d": "ignored then", b"d/a": "ignored then"},
            id="what lies in a folder that was ignored stays",
        ),
        pytest.param(
            tree({b"a": file()}, ignored=(b"a",)),
            EMPTY,
            [],
            {b"a": "ignored"},
            id="a file that is ignored now stays, though it was asked for and is held",
        ),
        pytest.param(
            tree({b"a.log": file()}),
            tree({}, rules={b"": b"*.log\n"}),
            [],
            {b"a.log": "ignored then"},
            id="a file that the old rules would ignore stays",
        ),
        pytest.param(
            tree({b"a": file()}),
            tree({}, skipped={b"a": "larger than 5 MB"}),
            [],
            {b"a": "not saved then: larger than 5 MB"},
            id="a file that was skipped stays",
        ),
        pytest.param(
            tree({b"d": FOLDER, b"d/a": file()}),
            tree({}, skipped={b"d": "unreadable"}),
            [],
            {b"d": "not saved then: unreadable", b"d/a": "not saved then: unreadable"},
            id="what lies in a folder that was unreadable stays",
        ),
        pytest.param(
            tree({}, skipped={b"a": "larger than 5 MB"}),
            EMPTY,
            [],
            {b"a": "larger than 5 MB"},
            id="a new file that no undo point holds stays",
        ),
        pytest.param(
            tree({}, skipped={b"a": "unreadable"}),
            tree({b"a": file()}),
            [],
            {b"a": "unreadable"},
            id="an unreadable file is not overwritten",
        ),
        pytest.param(
            tree({}, skipped={b"d": "unreadable"}),
            tree({b"d": FOLDER, b"d/a": file()}),
            [],
            {b"d": "unreadable", b"d/a": "d stands in the way"},
            id="nothing is written into an unreadable folder",
        ),
        pytest.param(
            tree({b"d": FOLDER, b"d/x": FOLDER}, ignored=(b"d",)),
            tree({b"d": FOLDER, b"d/x": file()}),
            [],
            {b"d/x": "ignored"},
            id="a folder in an ignored one, whose content was not looked at, stays",
        ),
        pytest.param(
            tree({}, skipped={b"d": "a pipe"}),
            tree({b"d": FOLDER, b"d/e": FOLDER, b"d/e/a": file()}),
            [],
            {b"d": "a pipe", b"d/e": "d stands in the way", b"d/e/a": "d stands in the way"},
            id="a pipe blocks all that lay below",
        ),
        pytest.param(
            tree({b"f": FOLDER, b"f/k": file()}),
            tree({b"f": file()}),
            [b"f", b"f/k"],
            {},
            id="a folder makes way with all it holds",
        ),
        pytest.param(
            tree({b"f": FOLDER, b"f/k": file(), b"f/m": file()}, ignored=(b"f/x",)),
            tree({b"f": file()}),
            [b"f/k", b"f/m"],
            {b"f": "holds f/x", b"f/x": "ignored"},
            id="a folder that holds an ignored file makes no way",
        ),
        pytest.param(
            tree({b"f": FOLDER}, ignored=(b"f",)),
            tree({b"f": LINK}),
            [],
            {b"f": "ignored"},
            id="an ignored folder makes no way",
        ),
        pytest.param(
            tree({b"f": file()}),
            tree({b"f": FOLDER, b"f/k": file()}),
            [b"f", b"f/k"],
            {},
            id="a file makes way for a folder",
        ),
        pytest.param(
            tree({b"n": FOLDER, b"n/e": FOLDER}, skipped={b"n/e/p": "a socket"}),
            EMPTY,
            [],
            {b"n": "holds n/e/p", b"n/e": "holds n/e/p", b"n/e/p": "a socket"},
            id="a new folder stays for what it holds",
        ),
        pytest.param(
            tree({b"n": FOLDER, b"n/f": file()}, ignored=(b"n/.git",)),
            EMPTY,
            [b"n/f"],
            {b"n": "holds n/.git", b"n/.git": "a repository's own folder"},
            id="a new repository keeps its own folder",
        ),
        pytest.param(
            tree({}, ignored=(b"new",)),
            EMPTY,
            [],
            {b"new": "ignored"},
            id="what is ignored only since is named",
        ),
        pytest.param(
            tree({}, ignored=(b"x.o", b"old/x", b"there")),
            tree({}, ignored=(b"old", b"there"), rules={b"": b"*.o\n"}),
            [],
            {},
            id="what the old rules ignored as well is not named",
        ),
        pytest.param(
            tree({b"d": FileState(Kind.FOLDER, 0o700, b"")}),
            tree({b"d": FOLDER}),
            [b"d"],
            {},
            id="a folder's mode is a change",
        ),
    ],
)
def test_what_goes_and_what_stays(
    now: TreeState, then: TreeState, going: list[bytes], staying: dict[bytes, str]
) -> None:
    difference = work_out(now, then)

    assert [change.path for change in difference.changes] == going
    assert {one.path: one.reason for one in difference.staying} == staying


WIDE_NOW = tree(
    {
        b"a": file("2"),
        b"d": FOLDER,
        b"d/x": file("2"),
        b"d/n": FOLDER,
        b"d/n/y": file(),
        b"dx": file(),
    }
)
WIDE_THEN = tree({b"a": file(), b"d": FOLDER, b"d/x": file()})


@pytest.mark.parametrize(
    ("limit", "going"),
    [
        (Limit(), [b"a", b"d/n", b"d/n/y", b"d/x", b"dx"]),
        (Limit((b"a",)), [b"a"]),
        (Limit((b"d",)), [b"d/n", b"d/n/y", b"d/x"]),
        (Limit((b"d/n/y",)), [b"d/n", b"d/n/y"]),
        (Limit((b"d/x", b"dx")), [b"d/x", b"dx"]),
        (Limit(exactly=frozenset({b"d/x"})), [b"d/x"]),
        (Limit(exactly=frozenset({b"d"})), []),
        (Limit(exactly=frozenset()), []),
    ],
)
def test_a_limit_takes_the_paths_and_all_below(limit: Limit, going: list[bytes]) -> None:
    assert [change.path for change in work_out(WIDE_NOW, WIDE_THEN, limit).changes] == going


def test_a_named_path_brings_the_folders_it_needs() -> None:
    then = tree({b"d": FOLDER, b"d/e": FOLDER, b"d/e/x": file(), b"d/y": file()})

    changes = work_out(tree({b"d": LINK}), then, Limit((b"d/e/x",))).changes

    assert [change.path for change in changes] == [b"d", b"d/e", b"d/e/x"]


def test_a_folder_outside_the_limit_is_not_left_empty_when_it_holds_more() -> None:
    now = tree({b"n": FOLDER, b"n/a": file(), b"n/b": file()})

    difference = work_out(now, EMPTY, Limit((b"n/a",)))

    assert [change.path for change in difference.changes] == [b"n/a"]
    assert difference.staying == ()


def test_a_folder_within_the_limit_stays_for_a_pipe_outside_it() -> None:
    now = tree({b"d": FOLDER, b"d/x": file()}, skipped={b"d/p": "a pipe"})

    difference = work_out(now, EMPTY, Limit(exactly=frozenset({b"d", b"d/x"})))

    assert [change.path for change in difference.changes] == [b"d/x"]
    assert difference.staying == (Skipped(b"d", "holds d/p"),)


def test_what_is_known_to_have_been_absent_goes_whatever_the_rules_of_then() -> None:
    then = tree({}, ignored=(b"d",), rules={b"": b"a\n"})
    now = tree({b"a": file(), b"d": FOLDER, b"d/x": file(), b"b": file()})

    difference = work_out(now, then, asked=Asked(frozenset({b"a", b"d/x"})))

    assert [change.path for change in difference.changes] == [b"a", b"b", b"d/x"]


def test_what_is_left_out_now_stays_although_it_is_known_to_have_been_absent() -> None:
    now = tree({b"d": FOLDER, b"d/x": file(), b"big": file()}, ignored=(b"d",))
    hidden = {b"d": "ignored", b"d/x": "ignored", b"big": "larger than 5 MB"}

    difference = work_out(now, tree({}), asked=Asked(frozenset(hidden), hidden))

    assert difference.changes == ()
    assert {one.path: one.reason for one in difference.staying} == hidden


def test_what_is_left_out_now_is_in_the_way_of_the_file_that_stood_there() -> None:
    now = tree({b"d": FOLDER, b"d/x": file()}, ignored=(b"d",))
    hidden = {b"d": "ignored", b"d/x": "ignored"}

    difference = work_out(now, tree({b"d": file()}), asked=Asked(frozenset(hidden), hidden))

    assert difference.changes == ()
    assert [one.path for one in difference.staying] == [b"d", b"d/x"]


def test_folders_are_not_counted() -> None:
    changes = [
        FileChange(b"d", None, FOLDER),
        FileChange(b"f", FOLDER, file()),
        FileChange(b"g", file(), None),
        FileChange(b"l", LINK, FOLDER),
    ]

    assert count_files(changes) == 3


@pytest.mark.parametrize(
    ("path", "named"),
    [(b"d", True), (b"d/x", True), (b"i/in", True), (b"s", True), (b"x", False), (b"d/z", False)],
)
def test_a_path_names_what_is_held_ignored_or_skipped(path: bytes, named: bool) -> None:
    trees = (
        tree({b"d": FOLDER, b"d/x": file()}),
        tree({}, ignored=(b"i",), skipped={b"s": "a pipe"}),
    )

    assert named_by(path, trees) is named
