"""One line → a command, a prompt, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keryx_py.shell.line import (
    Command,
    Prompt,
    UsageError,
    parse_line,
    quote_word,
    split_words,
    whole_text,
)


@pytest.mark.parametrize("line", ["", "   ", "\t", "\n", "\r\n", "\u00a0"])
def test_a_blank_line_is_nothing(line: str) -> None:
    assert parse_line(line) is None


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("/help", Command("help")),
        ("/rewind 3 both\r\n", Command("rewind", "3 both")),
        ("/rewind\t3", Command("rewind", "3")),
        ("/rewind  confirm  ", Command("rewind", "confirm")),
        ("/", Command("")),
        ("/ help", Command("", "help")),
        ("/compact it's the user's wish", Command("compact", "it's the user's wish")),
    ],
)
def test_a_line_that_starts_with_a_slash_is_a_command(line: str, command: Command) -> None:
    assert parse_line(line) == command


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("//usr/bin is full", "/usr/bin is full"),
        ("//", "/"),
        ("///x", "//x"),
        ("look at /etc", "look at /etc"),
        ("  two blanks", "  two blanks"),
        ("two\nlines\n", "two\nlines"),
        ("bad \udcff byte", "bad \ufffd byte"),
    ],
)
def test_every_other_line_is_a_prompt(line: str, text: str) -> None:
    assert parse_line(line) == Prompt(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ()),
        ("3 files src/a.py docs/", ("3", "files", "src/a.py", "docs/")),
        ("'a b' \"c d\" e\\ f", ("a b", "c d", "e f")),
        (r'"a\"b" "a\b" "a\\b"', ('a"b', r"a\b", r"a\b")),
        ("a'b'c", ("abc",)),
        ("''", ("",)),
        (r"$'a\nb\t\'\377\xfe'", ("a\nb\t'\udcff\udcfe",)),
        (r"$'\303\251'", ("é",)),
        ("a$b $", ("a$b", "$")),
        ("x\\", ("x\\",)),
        ("*.py [id].tsx -rf -- !x #y", ("*.py", "[id].tsx", "-rf", "--", "!x", "#y")),
        ("a\u00a0b", ("a\u00a0b",)),
    ],
)
def test_words_are_quoted_as_in_a_shell(text: str, words: tuple[str, ...]) -> None:
    assert split_words(text) == words


@pytest.mark.parametrize("text", ["'a", '"a', 'a "b\\"', "$'a", "$'a\\'", "it's"])
def test_an_open_quote_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(UsageError, match="is not closed"):
        split_words(text)


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_a_quoted_word_is_read_back(word: str) -> None:
    assert split_words(quote_word(word)) == (word,)


@given(st.binary(min_size=1).filter(lambda raw: b"\0" not in raw))
def test_a_quoted_name_of_any_bytes_is_read_back(raw: bytes) -> None:
    word = raw.decode("utf-8", "surrogateescape")

    assert split_words(quote_word(word)) == (word,)


@given(st.text(st.characters()))
def test_any_text_can_be_made_whole(text: str) -> None:
    whole_text(text).encode("utf-8")


@given(st.one_of(st.text(), st.text("/'\"\\$ \n\trewindconfirm0123456789-@.")))
def test_no_line_raises_more_than_a_usage_error(line: str) -> None:
    parsed = parse_line(line)

    if isinstance(parsed, Command):
        try:
            words = parsed.args
        except UsageError:
            return
        assert all(isinstance(word, str) for word in words)
