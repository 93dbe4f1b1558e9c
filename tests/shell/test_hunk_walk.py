"""Hunks are chosen key by key, or by number."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest

from keryx_py.rewind.hunks import HunkedPath, compose, cut_into_hunks
from keryx_py.rewind.textdiff import Version
from keryx_py.shell.hunk_walk import HunkWalk, hunks_text, take_numbered
from keryx_py.shell.line import UsageError
from keryx_py.shell.screen import Screen
from keryx_py.snapshot.listing import Kind

NUMBERS = [str(number) for number in range(40)]


def version(*marked: int) -> Version:
    lines = [f"{line}*" if int(line) in marked else line for line in NUMBERS]
    return Version(Kind.FILE, 0o644, "".join(f"{line}\n" for line in lines).encode())


def path(name: bytes, *changed: int) -> HunkedPath:
    return cut_into_hunks(name, version(*changed), version())


class Typist:
    """One who has the answers ready."""

    def __init__(self, answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    def ask(self, question: str) -> str:
        self.asked.append(question)
        if not self._answers:
            raise EOFError
        return self._answers.pop(0)


class Walk:
    """A walk through two files: of three hunks, the first of which can be split, and of one."""

    def __init__(self, *answers: str) -> None:
        self.typist = Typist(answers)
        self.out = io.StringIO()
        self.paths = [path(b"a", 2, 5, 20, 35), path(b"b", 9)]
        self.picking = HunkWalk(Screen(self.out), self.typist).through(self.paths)

    def result(self) -> list[Version | None]:
        chosen = dict.fromkeys((at.path for at in self.paths), ()) | {
            at.path: tuple(hunks) for at, hunks in self.picking
        }
        return [compose(at, chosen[at.path]) for at in self.paths]


@pytest.mark.parametrize(
    ("answers", "a", "b"),
    [
        (("y", "y", "y", "y"), (), ()),
        (("n", "n", "n", "n"), (2, 5, 20, 35), (9,)),
        (("y", "n", "y", "n"), (20,), (9,)),
        (("n", "a", "y"), (2, 5), ()),
        (("y", "d", "y"), (20, 35), ()),
        (("y", "q"), (20, 35), (9,)),
        (("s", "n", "y", "n", "n", "y"), (2, 20, 35), ()),
        (("s", "y", "d", "n"), (5, 20, 35), (9,)),
        (("?", "", "what", "y", "q"), (20, 35), (9,)),
        (("n", "s", "y", "q"), (2, 5, 35), (9,)),
        (("YES", "No", "q"), (20, 35), (9,)),
        (("y",), (20, 35), (9,)),
    ],
)
def test_each_key_does_what_it_says(
    answers: tuple[str, ...], a: tuple[int, ...], b: tuple[int, ...]
) -> None:
    assert Walk(*answers).result() == [version(*a), version(*b)]


def test_each_hunk_is_drawn_before_its_question() -> None:
    walk = Walk("n", "y", "q")

    assert walk.typist.asked == [
        "(1/3) Take this hunk back [y,n,q,a,d,s,?]? ",
        "(2/3) Take this hunk back [y,n,q,a,d,?]? ",
        "(3/3) Take this hunk back [y,n,q,a,d,?]? ",
    ]
    said = walk.out.getvalue()
    assert said.startswith("a: 3 hunks\n@@ -1,9 +1,9 @@\n 0\n 1\n-2*\n+2\n")
    assert said.index("-5*") < said.index("-20*") < said.index("-35*")
    assert "b:" not in said


def test_splitting_counts_anew_and_says_so() -> None:
    walk = Walk("s", "n", "q")

    assert "split into 2 hunks" in walk.out.getvalue()
    assert walk.typist.asked[1:] == [
        "(1/4) Take this hunk back [y,n,q,a,d,?]? ",
        "(2/4) Take this hunk back [y,n,q,a,d,?]? ",
    ]


def test_help_names_every_key() -> None:
    said = Walk("?", "q").out.getvalue()

    assert all(f"\n{key} - " in said for key in "ynqads?")


@pytest.mark.parametrize(
    ("now", "then", "question"),
    [
        (None, version(), "(1/1) Bring this back "),
        (version(), None, "(1/1) Remove this "),
        (Version(Kind.LINK, 0, b"x"), version(), "(1/1) Take this change back "),
        (Version(Kind.FILE, 0o755, b"x\n"), version(), "(1/2) Take this change of mode back "),
    ],
)
def test_the_question_says_what_a_yes_does(
    now: Version | None, then: Version | None, question: str
) -> None:
    typist = Typist(["q"])

    HunkWalk(Screen(io.StringIO()), typist).through([cut_into_hunks(b"f", now, then)])

    assert typist.asked[0].startswith(question)


def test_a_hostile_line_or_name_does_not_drive_the_terminal() -> None:
    at = cut_into_hunks(
        b"a\x1b[2J", Version(Kind.FILE, 0o644, b"\x1b]0;x\x07\r\n"), Version(Kind.FILE, 0o644, b"")
    )
    out = io.StringIO()

    HunkWalk(Screen(out), Typist(["q"])).through([at])

    assert "\x1b" not in out.getvalue()
    assert "\x1b" not in hunks_text([at]).plain


# ---- by number


def test_the_list_numbers_the_hunks_of_all_paths() -> None:
    said = hunks_text([path(b"a", 2, 20), path(b"b", 9)]).plain

    heads = [line for line in said.split("\n") if line.startswith(("hunk", "a:", "b:"))]
    assert heads == ["a: 2 hunks", "hunk 1", "hunk 2", "b: 1 hunk", "hunk 3"]


@pytest.mark.parametrize(
    ("wanted", "a", "b"),
    [
        ((range(1, 2),), (20, 35), (9,)),
        ((range(1, 2), range(3, 5)), (20,), ()),
        ((range(2, 4),), (2,), (9,)),
        ((range(1, 5),), (), ()),
    ],
)
def test_hunks_are_taken_by_their_numbers(
    wanted: tuple[range, ...], a: tuple[int, ...], b: tuple[int, ...]
) -> None:
    paths = [path(b"a", 2, 20, 35), path(b"b", 9)]

    picking = take_numbered(paths, wanted)

    assert [compose(at, hunks) for at, hunks in picking] == [version(*a), version(*b)]


def test_a_number_beyond_the_last_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no hunk 999999999; the hunks are 1 to 2"):
        take_numbered([path(b"a", 2, 20)], (range(1, 10**9),))
