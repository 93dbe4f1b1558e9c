"""Which names a checkpoint may have, and where `@name` stands for a number."""

from __future__ import annotations

import pytest

from keryx_py.shell.line import UsageError
from keryx_py.shell.point_names import (
    KEYWORDS,
    CheckpointWanted,
    checked_name,
    parse_checkpoint,
    with_numbers,
)


@pytest.mark.parametrize(
    "name", ["a", "before-refactor", "v1.2_x", "3a", "été", "前", "_x", "a" * 60]
)
def test_a_name_is_letters_digits_and_three_signs(name: str) -> None:
    assert checked_name(name) == name
    assert checked_name(f"@{name}") == name


def test_a_name_is_the_same_however_its_letters_are_composed() -> None:
    assert checked_name("e\u0301t\u00e9") == "\u00e9t\u00e9"


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("12", "is a number"),
        ("٣", "is a number"),
        ("-x", "begins with"),
        (".x", "begins with"),
        ("..", "begins with"),
        ("a/b", "letters, digits"),
        ("a b", "letters, digits"),
        ("'a'", "letters, digits"),
        ("a\x1b[2J", "letters, digits"),
        ("\udcff", "letters, digits"),
        ("", "letters, digits"),
        ("@", "letters, digits"),
        ("a" * 61, "at most 60"),
        *((word, "is a word of /rewind") for word in KEYWORDS),
        ("BOTH", "is a word of /rewind"),
    ],
)
def test_any_other_name_is_refused_in_one_line(word: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as refused:
        checked_name(word)

    assert "\x1b" not in str(refused.value)


@pytest.mark.parametrize(
    ("rest", "wanted"),
    [
        ("", CheckpointWanted()),
        ("good", CheckpointWanted("good")),
        ("good  don't lose \"this", CheckpointWanted("good", "don't lose \"this")),
        ("-d good", CheckpointWanted("good", removes=True)),
        ("-d @good", CheckpointWanted("good", removes=True)),
    ],
)
def test_what_follows_checkpoint(rest: str, wanted: CheckpointWanted) -> None:
    assert parse_checkpoint(rest) == wanted


@pytest.mark.parametrize("rest", ["-d", "-d a b", "-x", "'a b'", "1", "files note"])
def test_a_wrong_checkpoint_is_refused(rest: str) -> None:
    with pytest.raises(UsageError):
        parse_checkpoint(rest)


def test_a_name_stands_for_a_number_only_where_a_number_may_stand() -> None:
    assert with_numbers(("@abc", "files", "@abc"), len) == ("3", "files", "@abc")
    assert with_numbers(("@abc", "@ab", "@a"), len, most=2) == ("3", "2", "@a")
