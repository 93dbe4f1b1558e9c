"""Hunks put together: all of them are the restore, none are what stands there now."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keryx_py.rewind.hunks import (
    Hunk,
    HunkKind,
    compose,
    cut_into_hunks,
    hunk_text,
    split_hunk,
)
from keryx_py.rewind.textdiff import Version
from keryx_py.snapshot.listing import Kind

TWENTY = [b"line %d\n" % number for number in range(20)]
LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"b\r\n", b"\n", b"\xff\n", b"c\r\r\n"]))
ENDS = st.sampled_from([b"", b"a", b"b\r", b"\xff\xfe"])
CONTENTS = st.builds(lambda lines, end: b"".join(lines) + end, LINES, ENDS)
MODES = st.sampled_from([0o644, 0o755, 0o4755])


def file(data: bytes, mode: int = 0o644) -> Version:
    return Version(Kind.FILE, mode, data)


def edited(*changes: tuple[int, bytes]) -> Version:
    lines = list(TWENTY)
    for at, line in changes:
        lines[at] = line
    return file(b"".join(lines))


VERSIONS = st.one_of(
    st.none(),
    st.builds(file, CONTENTS, MODES),
    st.builds(file, st.just(b"\0\1")),
    st.builds(lambda target: Version(Kind.LINK, 0, target), st.sampled_from([b"x", b"y"])),
)


@given(VERSIONS, VERSIONS)
def test_all_hunks_are_the_restore_and_none_are_now(
    now: Version | None, then: Version | None
) -> None:
    at = cut_into_hunks(b"f", now, then)

    assert compose(at, at.hunks) == then
    assert compose(at, ()) == now
    assert (at.hunks == ()) == (now == then)


@given(CONTENTS, CONTENTS)
def test_all_pieces_of_a_hunk_are_the_hunk(now: bytes, then: bytes) -> None:
    at = cut_into_hunks(b"f", file(now), file(then))

    pieces = [piece for hunk in at.hunks for piece in split_hunk(hunk)]

    assert compose(at, pieces) == file(then)


@given(CONTENTS, CONTENTS, st.data())
def test_taking_some_back_and_then_the_others_is_taking_all(
    now: bytes, then: bytes, data: st.DataObject
) -> None:
    at = cut_into_hunks(b"f", file(now), file(then))
    pieces = [piece for hunk in at.hunks for piece in split_hunk(hunk)]
    some = [piece for piece in pieces if data.draw(st.booleans())]

    half = compose(at, some)
    rest = cut_into_hunks(b"f", half, file(then))

    assert compose(rest, rest.hunks) == file(then)
    # No line is lost or torn: every one comes from one of the two versions.
    assert half is not None
    assert set(half.data.split(b"\n")) <= set(now.split(b"\n")) | set(then.split(b"\n"))


@given(CONTENTS, CONTENTS, MODES, MODES)
def test_every_hunk_can_be_shown(now: bytes, then: bytes, mode: int, old: int) -> None:
    at = cut_into_hunks(b"f", file(now, mode), file(then, old))

    assert all(hunk_text(at, hunk) for hunk in at.hunks)


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ((0,), edited((15, b"now\r\n"))),
        ((1,), edited((2, b"now\n"))),
        ((0, 1), edited()),
        ((), edited((2, b"now\n"), (15, b"now\r\n"))),
    ],
)
def test_each_hunk_goes_back_alone(taken: tuple[int, ...], expected: Version) -> None:
    at = cut_into_hunks(b"f", edited((2, b"now\n"), (15, b"now\r\n")), edited())

    assert compose(at, [at.hunks[number] for number in taken]) == expected


def test_a_hunk_is_split_at_the_lines_that_did_not_change() -> None:
    at = cut_into_hunks(b"f", edited((2, b"now\n"), (5, b"now\n"), (8, b"now\n")), edited())

    pieces = split_hunk(at.hunks[0])

    assert len(at.hunks) == 1
    assert len(pieces) == 3
    assert compose(at, pieces[1:2]) == edited((2, b"now\n"), (8, b"now\n"))
    assert hunk_text(at, pieces[1]) == (
        "@@ -4,5 +4,5 @@\n line 3\n line 4\n-now\n+line 5\n line 6\n line 7\n"
    )
    assert split_hunk(pieces[0]) == (pieces[0],)


@pytest.mark.parametrize(
    ("now", "then"),
    [
        (None, file(b"a\nb\n")),
        (file(b"a\n"), None),
        (file(b"a\n\0"), file(b"a\n")),
        (file(b"a\n"), Version(Kind.LINK, 0, b"a\n")),
        (Version(Kind.LINK, 0, b"a"), Version(Kind.LINK, 0, b"b")),
        (file(b"a\n", 0o755), file(b"a\n")),
    ],
    ids=["brought back", "removed", "binary", "became a link", "link", "mode alone"],
)
def test_what_has_no_lines_to_choose_among_is_one_hunk(
    now: Version | None, then: Version | None
) -> None:
    at = cut_into_hunks(b"f", now, then)

    assert [hunk.kind for hunk in at.hunks] == [HunkKind.WHOLE]
    assert split_hunk(at.hunks[0]) == at.hunks


def test_the_mode_of_a_file_is_a_hunk_of_its_own() -> None:
    at = cut_into_hunks(b"f", file(b"a\nb\n", 0o755), file(b"a\n", 0o644))

    mode, lines = at.hunks

    assert hunk_text(at, mode) == "old mode 100755\nnew mode 100644\n"
    assert compose(at, [mode]) == file(b"a\nb\n", 0o644)
    assert compose(at, [lines]) == file(b"a\n", 0o755)


def test_a_missing_newline_at_the_end_is_shown_and_kept() -> None:
    rest = b"".join(TWENTY[1:])
    at = cut_into_hunks(b"f", file(b"x\n" + rest + b"end"), file(b"y\n" + rest + b"end\n"))

    first, last = at.hunks

    assert compose(at, [first]) == file(b"y\n" + rest + b"end")
    assert compose(at, [last]) == file(b"x\n" + rest + b"end\n")
    assert "\\ No newline at end of file" in hunk_text(at, last)


def test_a_hunk_that_is_taken_twice_goes_back_once() -> None:
    at = cut_into_hunks(b"f", edited((2, b"now\n")), edited())
    hunk: Hunk = at.hunks[0]

    assert compose(at, [hunk, hunk, *split_hunk(hunk)]) == edited()
