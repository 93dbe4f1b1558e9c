"""The words after /rewind and /diff."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keryx_py.session.archive import Mode
from keryx_py.shell.line import UsageError
from keryx_py.shell.rewind_words import (
    ConfirmWanted,
    DiffWanted,
    ListWanted,
    PreviewWanted,
    RewindWanted,
    parse_diff,
    parse_rewind,
)
from keryx_py.shell.visible import visible

ROOT = Path("/project")


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
        ("pick", "not available in this version"),
        ("1 keep", "not available in this version"),
        ("1 both keep", "not available in this version"),
        ("1 only", "not available in this version"),
        ("1 pick a", "not available in this version"),
        ("@name both", "not available in this version"),
    ],
)
def test_what_is_wrong_is_refused_and_says_how(line: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_rewind(tuple(line.split()), ROOT)

    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [("3", DiffWanted(3)), ("3 5", DiffWanted(3, 5)), ("all", DiffWanted(None))],
)
def test_what_diff_is_wanted(line: str, wanted: DiffWanted) -> None:
    assert parse_diff(tuple(line.split())) == wanted


@pytest.mark.parametrize("line", ["", "0", "x", "3 x", "3 5 7", "3 only", "all 3"])
def test_a_wrong_diff_is_refused(line: str) -> None:
    with pytest.raises(UsageError):
        parse_diff(tuple(line.split()))


TELLING = ("1", "0", "-1", "99", "1x", "file", "files", "both", "history", "diff", "keep", "only")
ODD = ("pick", "confirm", "@a", "..", "./keep", "/etc", "", "\udcff", "\0", "\x1b[2J", "a b")
WORDS = st.sampled_from(TELLING) | st.sampled_from(ODD)


@given(st.lists(st.one_of(WORDS, st.text()), max_size=5))
def test_no_words_raise_more_than_a_usage_error(words: list[str]) -> None:
    said = [
        _refusal(lambda: parse_rewind(tuple(words), ROOT)),
        _refusal(lambda: parse_diff(tuple(words))),
    ]

    assert [visible(text) for text in said] == said


def _refusal(parse: Callable[[], object]) -> str:
    try:
        parse()
    except UsageError as refused:
        return str(refused)
    return ""
