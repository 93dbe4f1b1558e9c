"""The words after /rewind and /diff."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keryx_py.rewind.comparing import OneTurn, Since
from keryx_py.rewind.plan import Way
from keryx_py.session.archive import Mode
from keryx_py.shell.diff_words import DiffWanted, parse_diff
from keryx_py.shell.line import UsageError
from keryx_py.shell.rewind_words import (
    ConfirmWanted,
    HunksWanted,
    ListWanted,
    PickWanted,
    PreviewWanted,
    RewindWanted,
    parse_rewind,
)
from keryx_py.shell.visible import visible

ROOT = Path("/project")
THREE = (range(1, 2), range(3, 5))


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("", ListWanted()),
        ("confirm", ConfirmWanted()),
        ("3", PreviewWanted(3)),
        ("3 both", PreviewWanted(3, Mode.BOTH)),
        ("3 history", PreviewWanted(3, Mode.HISTORY)),
        ("3 diff", PreviewWanted(3, in_full=True)),
        ("3 both diff", PreviewWanted(3, Mode.BOTH, in_full=True)),
        ("3 files a docs/", PreviewWanted(3, Mode.FILES, (b"a", b"docs"))),
        ("3 files ./keep ./diff", PreviewWanted(3, Mode.FILES, (b"keep", b"diff"))),
        ("3 files a diff", PreviewWanted(3, Mode.FILES, (b"a",), in_full=True)),
        ("3 files /project/a", PreviewWanted(3, Mode.FILES, (b"a",))),
        ("003", PreviewWanted(3)),
        ("3 keep", PreviewWanted(3, way=Way.KEEP)),
        ("3 both keep", PreviewWanted(3, Mode.BOTH, way=Way.KEEP)),
        ("3 both diff keep", PreviewWanted(3, Mode.BOTH, in_full=True, way=Way.KEEP)),
        ("3 files keep a", PreviewWanted(3, Mode.FILES, (b"a",), way=Way.KEEP)),
        ("3 files ./keep keep", PreviewWanted(3, Mode.FILES, (b"keep",), way=Way.KEEP)),
        ("3 files ./only", PreviewWanted(3, Mode.FILES, (b"only",))),
        ("3 only", PreviewWanted(3, way=Way.ONLY)),
        ("3 only diff", PreviewWanted(3, in_full=True, way=Way.ONLY)),
        ("3 only a b", PreviewWanted(3, Mode.FILES, (b"a", b"b"), way=Way.ONLY)),
        ("pick", PickWanted()),
        ("3 pick", HunksWanted(3)),
        ("3 pick a", HunksWanted(3, (b"a",), (), ("a",))),
        ("3 files pick a", HunksWanted(3, (b"a",), (), ("a",))),
        ("3 pick a b/ 1,3-4", HunksWanted(3, (b"a", b"b"), THREE, ("a", "b/"))),
        ("3 pick a 1 3-4", HunksWanted(3, (b"a",), THREE, ("a",))),
        ("3 pick ./1 1,3-4", HunksWanted(3, (b"1",), THREE, ("./1",))),
        ("3 pick 1,3-4", HunksWanted(3, (), THREE)),
        ("3 pick 1 a", HunksWanted(3, (b"1", b"a"), (), ("1", "a"))),
    ],
)
def test_what_is_wanted(line: str, wanted: RewindWanted) -> None:
    assert parse_rewind(tuple(line.split()), ROOT) == wanted


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("0", "0 is not the number of a point; /rewind lists the points"),
        ("-1", "-1 is not the number of a point"),
        ("1x", "1x is not the number of a point"),
        ("３", "３ is not the number of a point"),
        ("9" * 5000, "is not the number of a point"),
        ("1 file", "file is not a mode; did you mean files?"),
        ("1 Files", "did you mean files?"),
        ("1 src/a.py", "paths come after one: /rewind 1 files src/a.py"),
        ("1 both a", "paths go with the mode files only: /rewind 1 files a"),
        ("1 files ../x", "outside the project root"),
        ("1 diff both", "the mode comes before diff"),
        ("confirm now", "stands alone"),
        ("pick 3", "/rewind pick stands alone"),
        ("1 pick a 0", "are not the numbers of hunks"),
        ("1 pick a 4-3", "are not the numbers of hunks"),
        ("1 both pick a", "pick comes first, and moves files only"),
        ("1 files a pick", "write /rewind 1 pick PATH"),
        ("1 history keep", "keep goes with files or both"),
        ("1 keep both", "the mode comes before keep: /rewind 1 files keep"),
        ("1 only keep", "it goes without keep"),
        ("1 files only", "only stands in the mode's place: /rewind 1 only"),
        ("1 both only", "only stands in the mode's place: /rewind 1 only"),
    ],
)
def test_what_is_wrong_is_refused_and_says_how(line: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_rewind(tuple(line.split()), ROOT)

    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("3", DiffWanted(Since(3))),
        ("3 5", DiffWanted(Since(3, 5))),
        ("all", DiffWanted(Since(None))),
        ("3 only", DiffWanted(OneTurn(3))),
        ("@abc", DiffWanted(Since(3))),
        ("@ab @abc src/", DiffWanted(Since(2, 3), (b"src",))),
        ("@ab only @abc", DiffWanted(OneTurn(2), (b"@abc",))),
        ("3 src/ ./5", DiffWanted(Since(3), (b"src", b"5"))),
        ("3 5 7", DiffWanted(Since(3, 5), (b"7",))),
        ("3 only a", DiffWanted(OneTurn(3), (b"a",))),
        ("all @ab", DiffWanted(Since(None), (b"@ab",))),
        ("3 .", DiffWanted(Since(3))),
    ],
)
def test_what_diff_is_wanted(line: str, wanted: DiffWanted) -> None:
    assert parse_diff(tuple(line.split()), ROOT, len) == wanted


@pytest.mark.parametrize("line", ["", "0", "x", "3 0", "3 ../x", "all ../x", "only", "3 5 /etc"])
def test_a_wrong_diff_is_refused(line: str) -> None:
    with pytest.raises(UsageError):
        parse_diff(tuple(line.split()), ROOT, len)


TELLING = ("1", "0", "-1", "99", "1x", "file", "files", "both", "history", "diff", "keep", "only")
ODD = ("pick", "confirm", "@a", "..", "./keep", "/etc", "", "\udcff", "\0", "\x1b[2J", "a b")
WORDS = st.sampled_from(TELLING) | st.sampled_from(ODD)


@given(st.lists(st.one_of(WORDS, st.text()), max_size=5))
def test_no_words_raise_more_than_a_usage_error(words: list[str]) -> None:
    said = [
        _refusal(lambda: parse_rewind(tuple(words), ROOT)),
        _refusal(lambda: parse_diff(tuple(words), ROOT, len)),
    ]

    assert [visible(text) for text in said] == said


def _refusal(parse: Callable[[], object]) -> str:
    try:
        parse()
    except UsageError as refused:
        return str(refused)
    return ""
