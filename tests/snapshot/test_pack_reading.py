"""Objects are read out of packs quickly, and never wrongly."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from keryx_py.snapshot.objectdb import MissingObjectError, ObjectDatabase
from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.pack_reading import read_in_order
from keryx_py.snapshot.packs import PackWriter, read_index
from tests.snapshot.ground import git

CONTENTS = [
    b"",
    b"x",
    b"line\n" * 9000,
    *(os.urandom(size) for size in (15, 16, 2047, 2048, 16384, 16385, 300_000)),
]
IDS = [object_id(ObjectKind.BLOB, content) for content in CONTENTS]


def pack(folder: Path, contents: list[bytes]) -> None:
    writer = PackWriter(folder)
    for content in contents:
        writer.add(ObjectKind.BLOB, content)
    writer.finish()


@pytest.fixture
def objects(tmp_path: Path) -> Path:
    """Two packs, which hold one object twice."""
    folder = tmp_path / "objects" / "pack"
    folder.mkdir(parents=True)
    pack(folder, CONTENTS[:5])
    pack(folder, CONTENTS[4:])
    return folder.parent


def read(objects: Path, oids: list[bytes]) -> list[tuple[bytes, ObjectKind, bytes]]:
    packs = [read_index(path) for path in sorted((objects / "pack").glob("*.idx"))]
    return list(read_in_order(packs, oids))


def test_each_object_is_read_once_whatever_its_size(objects: Path) -> None:
    found = read(objects, [*IDS, IDS[0]])

    assert len(found) == len(IDS)
    assert {oid: data for oid, _, data in found} == dict(zip(IDS, CONTENTS, strict=True))
    assert {kind for _, kind, _ in found} == {ObjectKind.BLOB}


def test_what_no_pack_holds_is_not_given(objects: Path) -> None:
    unknown = [bytes(20), b"\xff" * 20]

    assert read(objects, unknown) == []
    with pytest.raises(MissingObjectError):
        list(ObjectDatabase(objects).read_each([*IDS, *unknown], ObjectKind.BLOB))


@pytest.mark.parametrize("oid", IDS)
def test_damage_is_never_given_as_content(objects: Path, oid: bytes) -> None:
    for path in (objects / "pack").glob("*.idx"):
        index = read_index(path)
        if oid not in set(index.oids()):
            continue
        start, end = index.spans()[oid]
        whole = index.pack.read_bytes()
        index.pack.unlink()
        for at in (start, start + 1, start + 2, start + 3, (start + end) // 2, end - 5):
            index.pack.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
            for _, kind, data in read_in_order([index], [oid]):
                assert object_id(kind, data) == oid
        # A pack that ends in the middle of the object.
        index.pack.write_bytes(whole[: (start + end) // 2])
        for _, kind, data in read_in_order([index], [oid]):
            assert object_id(kind, data) == oid
        index.pack.write_bytes(whole)


def test_another_kind_is_missing_not_mistaken(objects: Path) -> None:
    with pytest.raises(MissingObjectError):
        list(ObjectDatabase(objects).read_each([IDS[2]], ObjectKind.TREE))


@pytest.mark.damaged_store
def test_a_sound_copy_in_another_pack_is_found(objects: Path) -> None:
    first = read_index(min((objects / "pack").glob("*.idx")))
    start, end = first.spans()[IDS[4]]
    data = bytearray(first.pack.read_bytes())
    data[(start + end) // 2] ^= 1
    first.pack.unlink()
    first.pack.write_bytes(data)

    found = list(ObjectDatabase(objects).read_each([IDS[4]], ObjectKind.BLOB))

    assert found == [(IDS[4], CONTENTS[4])]


def test_deltas_that_git_made_are_read_too(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q")
    texts = [os.urandom(4000) + bytes([number]) for number in range(1)]
    texts += [texts[0] + b"and more", texts[0] + b"and even more"]
    for number, text in enumerate(texts):
        (work / f"{number}").write_bytes(text)
    git(work, "add", "-A")
    git(work, "-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "a")
    git(work, "repack", "-adfq")
    objects = work / ".git" / "objects"
    oids = [object_id(ObjectKind.BLOB, text) for text in texts]

    assert len(read(objects, oids)) < len(oids)
    assert dict(ObjectDatabase(objects).read_each(oids, ObjectKind.BLOB)) == dict(
        zip(oids, texts, strict=True)
    )
