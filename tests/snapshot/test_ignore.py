"""Git's ignore rules, case by case; the judge of the whole is in test_ignore_against_git."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import FrozenInstanceError

import pytest

from keryx_py.snapshot.ignore import FolderRules, is_ignored

LONG_NAME = b"a" * 255
DEEP_PATH = b"a/" * 300 + b"a"


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fail when the body takes more processor time; regular expressions give way to signals."""

    def stop(signal_number: int, frame: object) -> None:
        raise AssertionError(f"still matching after {seconds} seconds")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize(
    ("text", "path", "ignored"),
    [
        # Names anywhere, and from the folder of the file
        (b"build", b"build", True),
        (b"build", b"a/b/build", True),
        (b"build", b"build/x", True),
        (b"build", b"builds", False),
        (b"/build", b"build", True),
        (b"/build", b"a/build", False),
        (b"a/build", b"a/build", True),
        (b"a/build", b"b/a/build", False),
        (b"*.log", b"a/x.log", True),
        (b"*.log", b"x.logs", False),
        (b"*", b".gitignore", True),
        # Folders only
        (b"build/", b"build/", True),
        (b"build/", b"build", False),
        (b"build/", b"a/build/", True),
        (b"/", b"a", False),
        (b"a//", b"a/", False),
        # Stars and folders
        (b"a*b", b"axxb", True),
        (b"a*b", b"ab", True),
        (b"a/*/c", b"a/b/c", True),
        (b"a/*/c", b"a/b/b/c", False),
        (b"a/*", b"a/b", True),
        (b"**/b", b"a/a/b", True),
        (b"**/b", b"b", True),
        (b"a/**", b"a/x/y", True),
        (b"a/**", b"a", False),
        (b"a/**/b", b"a/b", True),
        (b"a/**/b", b"a/x/y/b", True),
        (b"a/**/b", b"a/x/yb", False),
        (b"a/x**y", b"a/xzy", True),
        (b"a/x**y", b"a/x/y", False),
        (b"**/**/b", b"b", True),
        (b"a/**\\/b", b"a/b", False),
        (b"a/**\\/b", b"a/x/b", True),
        (b"a/**\\/b", b"a/x/y/b", True),
        # Two stars right after plain text count as if a folder began there
        (b"ab**/c", b"abc", True),
        (b"ab**/c", b"ab/c", True),
        (b"ab**/c", b"abx/y/c", True),
        (b"a?**/c", b"abc", False),
        (b"/ab**", b"abx", True),
        # One byte, and classes of bytes
        (b"a?c", b"abc", True),
        (b"a?c", b"ac", False),
        (b"a?c", b"a\xffc", True),
        (b"?", "é".encode(), False),
        (b"[a-c]", b"b", True),
        (b"[!a-c]", b"b", False),
        (b"[^a-c]", b"d", True),
        (b"[c-a]", b"b", False),
        (b"[]a]", b"]", True),
        (b"[!]]", b"]", False),
        (b"[a-]", b"-", True),
        (b"[+--]", b",", True),
        (b"[a-c-e]", b"d", False),
        (b"[a-c-e]", b"-", True),
        (b"[\\]]", b"]", True),
        (b"[\\a-\\c]", b"b", True),
        (b"a[/]b", b"a/b", False),
        (b"[[:alpha:][:digit:]]", b"7", True),
        (b"[[:alpha:]-z]", b"-", True),
        (b"[a[:digit:]-c]", b"b", False),
        (b"[[:]", b":", True),
        (b"[[::]", b":", False),
        (b"[[:nope:]a]", b"a", False),
        (b"[[:a]", b":", True),
        (b"[a", b"a", False),
        (b"[a", b"[a", False),
        (b"[]", b"[]", False),
        # What a backslash quotes
        (b"\\*", b"*", True),
        (b"\\*", b"a", False),
        (b"\\a", b"a", True),
        (b"\\\\", b"\\", True),
        (b"a\\", b"a\\", False),
        (b"\\!a", b"!a", True),
        (b"\\#a", b"#a", True),
        (b"foo\\/", b"foo/", False),
        # Blanks, line ends, comments
        (b"a  ", b"a", True),
        (b"a\\ ", b"a ", True),
        (b"a\\  ", b"a ", True),
        (b"a\\\\ ", b"a\\", True),
        (b"a\t", b"a", False),
        (b"a\t", b"a\t", True),
        (b" a", b" a", True),
        (b"a\r\nb\r\n", b"a", True),
        (b"a\r\nb\r", b"b", True),
        (b"a\r\r\n", b"a\r", True),
        (b"#a", b"#a", False),
        (b"a\0b", b"a", True),
        (b"\xef\xbb\xbfa", b"a", True),
        (b"a\n\xef\xbb\xbfb", b"b", False),
        (b"", b"a", False),
        (b"\n\n", b"a", False),
        # The last that fits decides
        (b"*\n!a", b"a", False),
        (b"!a\n*", b"a", True),
        (b"*.o\n!a*\nab*", b"abc.o", True),
        (b"*.o\n!a.o\n*.o", b"a.o", True),
        (b"[ab].o\n!a.o", b"a.o", False),
        (b"!a.o\n[ab].o", b"a.o", True),
        (b"[ab]x\n!ax\n[c]y", b"ax", False),
        (b"a/*\n!a/b", b"a/b", False),
        (b"!", b"!", False),
        (b"*\n!", b"a", True),
        (b"*\n!!a", b"!a", False),
        # What is below an ignored folder cannot come back
        (b"a\n!a/b", b"a/b", True),
        (b"a/\n!b", b"a/b", True),
        (b"a/*\n!b", b"a/c/b", True),
        # Case counts
        (b"A", b"a", False),
    ],
)
def test_a_pattern_decides_as_in_git(text: bytes, path: bytes, ignored: bool) -> None:
    is_folder = path.endswith(b"/")

    decided = is_ignored({b"": text}, path.removesuffix(b"/"), is_folder)

    assert decided is ignored


@pytest.mark.parametrize(
    ("texts", "path", "ignored"),
    [
        ({b"": b"*.log", b"a": b"!keep.log"}, b"a/keep.log", False),
        ({b"": b"*.log", b"a": b"!keep.log"}, b"a/b/keep.log", False),
        ({b"": b"*.log", b"a": b"!keep.log"}, b"keep.log", True),
        ({b"": b"!x", b"a": b"x"}, b"a/x", True),
        ({b"": b"a", b"a": b"!x"}, b"a/x", True),
        ({b"": b"/a/x", b"a": b"!/x"}, b"a/x", False),
        ({b"a": b"/x"}, b"a/x", True),
        ({b"a": b"/x"}, b"a/b/x", False),
        ({b"a": b"b/x"}, b"a/b/x", True),
        ({b"a": b"b/x"}, b"b/x", False),
        ({b"": b"*\n!.gitignore", b"t": b"!keep"}, b"t/keep", True),
        ({b"": b"vendor/child", b"vendor/child": b"!x"}, b"vendor/child/x", True),
        ({b"v": b"/o/**/*.json\n!/o/in/*.json"}, b"v/o/in/a.json", False),
        ({b"v": b"/o/**/*.json\n!/o/in/*.json"}, b"v/o/in/b/a.json", True),
    ],
)
def test_the_deepest_file_that_says_something_decides(
    texts: dict[bytes, bytes], path: bytes, ignored: bool
) -> None:
    decided = is_ignored(texts, path, is_folder=False)

    assert decided is ignored


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (b"*a" * 100 + b"b", LONG_NAME),
        (b"a*" * 100_000 + b"b", LONG_NAME),
        (b"*[a-z]" * 127 + b"[!a-z]", LONG_NAME),
        (b"*" * 300_000 + b"b", LONG_NAME),
        (b"?" * 300_000, LONG_NAME),
        (b"x/" + b"*a" * 100 + b"b", b"x/" + LONG_NAME),
        (b"**/" * 10_000 + b"x", DEEP_PATH),
        (b"**/a/" * 1_000 + b"x", DEEP_PATH),
        (b"**/*/" * 1_000 + b"x", DEEP_PATH),
        (b"a**/" * 1_000 + b"x", DEEP_PATH),
        (b"**/*a*a*a*a*b/" * 50 + b"x", b"/".join([LONG_NAME] * 50)),
        (b"*/" * 100_000 + b"x", DEEP_PATH),
        (b"[" * 300_000, LONG_NAME),
        (b"[" + b"[:" * 100_000, LONG_NAME),
        (b"[" + b"[:" * 400_000 + b"x]", LONG_NAME),
        (b"[" + b"[:]" * 100_000, LONG_NAME),
        (b"\\" * 300_001, LONG_NAME),
        (b"a" + b" " * 300_000 + b"\\", LONG_NAME),
        (b"\n".join(b"*a*%d" % line for line in range(2_000)), LONG_NAME),
        (b"\n".join(b"**/a*%d/x" % line for line in range(2_000)), b"a/b/c"),
    ],
    ids=lambda value: value[:12].decode() if isinstance(value, bytes) else None,
)
def test_no_pattern_makes_matching_hang(text: bytes, path: bytes) -> None:
    with at_most(seconds=5):
        decided = is_ignored({b"": text}, path, is_folder=False)

    assert decided is False


def test_a_folder_with_nothing_of_its_own_shares_its_parents_rules() -> None:
    root = FolderRules.of_root(b"*.o\n/build\ndoc/**/*.tmp\n")
    source = root.enter(b"src", None)

    assert source.enter(b"deep", None) is source
    assert source.enter(b"deep", b"# nothing\n") is source


def test_entering_a_folder_leaves_the_parents_rules_as_they_were() -> None:
    root = FolderRules.of_root(b"*.o")

    below = root.enter(b"a", b"!x.o")

    assert root.ignores(b"x.o", is_folder=False)
    assert not below.ignores(b"x.o", is_folder=False)
    with pytest.raises(FrozenInstanceError):
        root._places = ()  # type: ignore[misc]


def test_no_rules_ignore_nothing() -> None:
    rules = FolderRules.of_root(None).enter(b"a", None)

    assert not rules.ignores(b"a", is_folder=True)
