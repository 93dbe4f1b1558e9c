"""Whether an object is held: the same answer from the indexes as from a set of all ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from keryx_py.snapshot.held import HeldObjects
from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.packs import PackIndex, PackWriter

MANY = 700
"""More than are looked up in the indexes one by one."""


def pack(folder: Path, contents: range) -> PackIndex:
    writer = PackWriter(folder)
    for number in contents:
        writer.add(ObjectKind.BLOB, b"%d" % number)
    finished = writer.finish()
    assert finished is not None
    return finished


def blob(number: int) -> bytes:
    return object_id(ObjectKind.BLOB, b"%d" % number)


@pytest.fixture
def held(tmp_path: Path) -> HeldObjects:
    """Two packs: the numbers to 300, and from there to 310."""
    held = HeldObjects()
    held.begin([pack(tmp_path, range(300)), pack(tmp_path, range(300, 310))])
    return held


def test_each_object_of_each_pack_is_found_and_no_other(held: HeldObjects) -> None:
    first = [blob(number) in held for number in range(MANY)]
    again = [blob(number) in held for number in range(MANY)]

    assert first == again == [number < 310 for number in range(MANY)]


@pytest.mark.parametrize("asked", [0, MANY])
def test_what_is_counted_in_or_out_is_so_whatever_the_packs_say(
    held: HeldObjects, asked: int
) -> None:
    for number in range(asked):
        assert (blob(number) in held) is (number < 310)

    held.discard(blob(5))
    held.add([blob(1000), blob(1001)])
    held.discard(blob(1001))
    held.discard(blob(6))
    held.add([blob(6)])

    found = {number for number in (4, 5, 6, 1000, 1001) if blob(number) in held}
    assert found == {4, 6, 1000}


def test_a_new_beginning_forgets_what_was_before(held: HeldObjects, tmp_path: Path) -> None:
    held.add([blob(1000)])
    held.discard(blob(5))
    (tmp_path / "other").mkdir()

    held.begin([pack(tmp_path / "other", range(5, 7))])

    assert {number for number in (4, 5, 6, 1000) if blob(number) in held} == {5, 6}


def test_no_packs_hold_nothing() -> None:
    held = HeldObjects()
    held.begin([])

    assert blob(1) not in held
    assert b"" not in held
