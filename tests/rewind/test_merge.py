"""Three versions of one path, joined; the table of what merges and what conflicts."""

from __future__ import annotations

import pytest

from keryx_py.rewind.merge import Conflict, Merging
from keryx_py.snapshot.listing import FileState, Kind
from keryx_py.snapshot.merging import merge_text
from keryx_py.snapshot.objects import ObjectKind, object_id

BASE = b"1\n2\n3\n4\n5\n6\n7\n8\n"
TOP = BASE.replace(b"1", b"one")
END = BASE.replace(b"8", b"eight")


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [
        (BASE, TOP, END, TOP.replace(b"8", b"eight")),
        (BASE, BASE, END, END),
        (BASE, TOP, BASE, TOP),
        (BASE, TOP, TOP, TOP),
        (BASE, TOP, BASE.replace(b"1", b"uno"), None),
        (BASE, TOP + b"9", END.replace(b"2", b"two"), None),
        (BASE, b"0\n" + BASE, BASE + b"9\n", b"0\n" + BASE + b"9\n"),
        (BASE, b"", BASE + b"9\n", None),
        (BASE, BASE.replace(b"4\n", b""), END, END.replace(b"4\n", b"")),
        (
            BASE.replace(b"\n", b"\r\n"),
            TOP.replace(b"\n", b"\r\n"),
            END.replace(b"\n", b"\r\n"),
            TOP.replace(b"8", b"eight").replace(b"\n", b"\r\n"),
        ),
        (BASE, BASE.replace(b"1", b"\xff\xfe"), BASE.replace(b"8", b"\xc3\xa9"), None),
        (BASE.rstrip(), TOP.rstrip(), END.rstrip(), TOP.replace(b"8", b"eight").rstrip()),
        (BASE + b"\0", TOP + b"\0", END + b"\0", None),
    ],
)
def test_texts_are_merged_by_lines(
    base: bytes, ours: bytes, theirs: bytes, merged: bytes | None
) -> None:
    if b"\xff" in ours:
        merged = ours.replace(b"8", b"\xc3\xa9")

    assert merge_text(base, ours, theirs) == merged


CONTENTS = {
    object_id(ObjectKind.BLOB, data): data
    for data in (BASE, TOP, END, b"a\0", b"b\0", b"c\0", b"t1", b"t2")
}


def file(data: bytes, mode: int = 0o644) -> FileState:
    return FileState(Kind.FILE, mode, object_id(ObjectKind.BLOB, data))


def link(target: bytes) -> FileState:
    return FileState(Kind.LINK, 0, object_id(ObjectKind.BLOB, target))


def folder(mode: int = 0o755) -> FileState:
    return FileState(Kind.FOLDER, mode, b"")


BOTH = TOP.replace(b"8", b"eight")


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "joined"),
    [
        (None, None, file(TOP), file(TOP)),
        (file(BASE), file(BASE), None, None),
        (file(BASE), None, None, None),
        (file(BASE), file(TOP), file(END), file(BOTH)),
        (file(BASE), file(BASE, 0o755), file(END), file(END, 0o755)),
        (file(BASE), file(TOP), file(BASE, 0o600), file(TOP, 0o600)),
        (file(BASE), file(TOP, 0o600), file(END), file(BOTH, 0o600)),
        (folder(), folder(0o700), folder(), folder(0o700)),
        (link(b"t1"), link(b"t1"), link(b"t2"), link(b"t2")),
        (file(b"a\0"), file(b"a\0"), file(b"b\0"), file(b"b\0")),
    ],
)
def test_changes_that_do_not_meet_are_joined(
    base: FileState | None,
    ours: FileState | None,
    theirs: FileState | None,
    joined: FileState | None,
) -> None:
    merging = Merging(lambda state: CONTENTS[state.oid])

    assert merging.join(base, ours, theirs) == joined
    assert set(merging.made.values()) <= {BOTH}


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        (file(BASE), None, file(TOP)),
        (file(BASE), file(TOP), None),
        (None, file(TOP), file(END)),
        (file(b"a\0"), file(b"b\0"), file(b"c\0")),
        (file(BASE), link(b"t1"), file(TOP)),
        (link(b"t1"), link(b"t2"), link(b"t3")),
        (file(BASE), folder(), file(TOP)),
        (file(BASE), file(BASE, 0o600), file(BASE, 0o755)),
        (file(BASE), file(TOP, 0o600), file(END, 0o755)),
        (folder(), folder(0o700), folder(0o500)),
        (None, folder(0o700), folder(0o500)),
    ],
)
def test_changes_that_meet_are_a_conflict(
    base: FileState | None, ours: FileState | None, theirs: FileState | None
) -> None:
    merging = Merging(lambda state: CONTENTS[state.oid])

    assert isinstance(merging.join(base, ours, theirs), Conflict)
    assert merging.made == {}


def test_a_version_that_cannot_be_read_is_a_conflict() -> None:
    joined = Merging(lambda _: None).join(file(BASE), file(TOP), file(END))

    assert joined == Conflict("a version that is needed cannot be read")
