"""What models, tools and file names say cannot drive a terminal."""

from __future__ import annotations

import subprocess
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keryx_py.shell.visible import on_one_line, shown_name, shown_path, visible, visible_output


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ntext\t✓ é 公 ❤\ufe0f", "plain\ntext\t✓ é 公 ❤\ufe0f"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x1b]0;title\x07", r"\x1b]0;title\a"),
        ("\x9b2J", r"\x9b2J"),
        ("50%\rdone", r"50%\rdone"),
        ("a\x7f\x00", r"a\x7f\x00"),
        ("abc\u202edef\u2066", r"abc\u202edef\u2066"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("byte \udcff", r"byte \xff"),
        ("half \ud83d", r"half \ud83d"),
        ("line\u2028sep", r"line\u2028sep"),
    ],
)
def test_what_drives_a_terminal_is_made_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(st.characters()))
def test_nothing_invisible_gets_through(text: str) -> None:
    shown = visible(text)

    assert not {
        letter for letter in shown if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")
    } - {"\n", "\t"}
    shown.encode("utf-8")


def test_a_programs_line_ends_are_not_marked_but_its_lone_returns_are() -> None:
    assert visible_output("a\r\nb\rc\r\n") == "a\nb\\rc\n"


def test_a_title_stays_on_one_line() -> None:
    assert on_one_line("fix\n\n  the\ttests \x1b[2J") == r"fix the tests \x1b[2J"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (b"src/a.py", "src/a.py"),
        ("公/é.cpp".encode(), "公/é.cpp"),
        (b"a b", "a b"),
        (b" a", '" a"'),
        (b"a ", '"a "'),
        (b"a\nb", r'"a\nb"'),
        (b'say "x"', r'"say \"x\""'),
        (b"a\\b", r'"a\\b"'),
        (b"\xff\xfe", r'"\377\376"'),
        (b"esc\x1b[2J", r'"esc\033[2J"'),
        ("r\u202etl".encode(), r'"r\342\200\256tl"'),
        (b"", '""'),
    ],
)
def test_an_odd_file_name_is_quoted_as_git_does(path: bytes, shown: str) -> None:
    assert shown_path(path) == shown
    assert shown_name(path.decode("utf-8", "surrogateescape")) == shown


@given(st.lists(st.binary(min_size=1, max_size=6), min_size=2, max_size=2, unique=True))
def test_two_names_are_never_shown_alike(paths: list[bytes]) -> None:
    first, second = paths

    assert shown_path(first) != shown_path(second)


def test_quoting_agrees_with_git(tmp_path: Path) -> None:
    names = [b"a\nb", b"t\tb", b'q"q', b"b\\s", b"\xff\xfe", b"e\x1b[2J", b"bell\x07", b"plain"]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for name in names:
        (tmp_path / name.decode("utf-8", "surrogateescape")).touch()

    listed = subprocess.run(
        ["git", "-c", "core.quotePath=false", "-C", str(tmp_path), "ls-files", "-o"],
        check=True,
        capture_output=True,
    ).stdout.decode("utf-8", "surrogateescape")

    # Without core.quotePath git prints bytes that are not UTF-8 as they are; keryx never does.
    shown = {shown_path(name) for name in names if name != b"\xff\xfe"}
    assert shown <= set(listed.split("\n"))
