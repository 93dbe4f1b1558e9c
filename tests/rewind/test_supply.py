"""What a restore writes comes from the store, checked, and few contents are in memory."""

from __future__ import annotations

import pytest

from keryx_py.rewind import supply
from keryx_py.rewind.supply import Supply
from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.store import DamagedSnapshotError, SnapshotKey
from tests.rewind.play import Project

CONTENTS = [b"%d" % number * 10 for number in range(10)]
IDS = [object_id(ObjectKind.BLOB, content) for content in CONTENTS]
ELSEWHERE = object_id(ObjectKind.BLOB, b"elsewhere")


def kept(project: Project) -> None:
    for number, content in enumerate(CONTENTS):
        project.write(f"{number}", content)
    project.store.take(SnapshotKey(1), 1.0)


@pytest.mark.parametrize("room", [0, 25, 10**9])
@pytest.mark.parametrize("at_once", [1, 3, 100])
@pytest.mark.parametrize("check", [False, True])
def test_every_content_is_given_however_little_is_kept_in_memory(
    project: Project, monkeypatch: pytest.MonkeyPatch, room: int, at_once: int, check: bool
) -> None:
    kept(project)
    monkeypatch.setattr(supply, "_AT_ONCE_BYTES", room)
    monkeypatch.setattr(supply, "_AT_ONCE", at_once)
    found = Supply(project.store, [*IDS[:8], *IDS[:8]], {ELSEWHERE: b"elsewhere"})
    if check:
        found.check()

    assert [found.read(oid) for oid in [*IDS, *IDS[::-1]]] == [*CONTENTS, *CONTENTS[::-1]]
    assert found.read(ELSEWHERE) == b"elsewhere"


def test_one_that_is_missing_is_named_by_check_and_costs_the_others_nothing(
    project: Project,
) -> None:
    kept(project)
    gone = bytes(20)
    found = Supply(project.store, [*IDS[:5], gone, *IDS[5:]], {})

    with pytest.raises(DamagedSnapshotError, match=gone.hex()):
        found.check()
    assert [found.read(oid) for oid in IDS] == CONTENTS
    with pytest.raises(DamagedSnapshotError, match=gone.hex()):
        found.read(gone)
