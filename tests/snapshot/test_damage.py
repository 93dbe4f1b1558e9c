"""Damage is found before it is used, named, and does not spread to what is sound."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest

from keryx_py.snapshot.listing import in_memory
from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.packs import (
    DamagedPackError,
    PackIndex,
    PackWriter,
    encode_index,
    read_index,
)
from keryx_py.snapshot.record import MalformedRecordError, parse_record
from keryx_py.snapshot.store import DamagedSnapshotError, Side, SnapshotKey
from tests.snapshot.ground import Project, fill_with_oddities, git
from tests.soundness import check_stores

FIRST = SnapshotKey(1)
SECOND = SnapshotKey(2)


def packs(project: Project) -> list[PackIndex]:
    found = (project.shadow / "objects" / "pack").glob("*.idx")
    return [read_index(path) for path in sorted(found, key=lambda path: path.stat().st_mtime_ns)]


def spoil(pack: PackIndex, oid: bytes) -> None:
    """Turn a bit in the middle of one object."""
    start, end = pack.spans()[oid]
    data = bytearray(pack.pack.read_bytes())
    data[(start + end) // 2] ^= 0x10
    pack.pack.unlink()
    pack.pack.write_bytes(data)


def named(project: Project, what: str) -> bytes:
    return bytes.fromhex(git(project.shadow, "rev-parse", what).decode())


@pytest.mark.parametrize(
    "what",
    [
        "refs/keryx/1/before",
        "refs/keryx/1/before^{tree}",
        "refs/keryx/1/before:d",
        "refs/keryx/1/before^",
        "refs/keryx/1/before^^{tree}",
        "refs/keryx/1/before^:record.json",
    ],
)
@pytest.mark.damaged_store
def test_a_capture_with_a_damaged_object_is_not_read(project: Project, what: str) -> None:
    project.write("d/f", b"content")
    project.open().take(FIRST, 1.0)
    oid = named(project, what)
    spoil(packs(project)[0], oid)

    with pytest.raises(DamagedSnapshotError, match="damaged"):
        in_memory(project.open().load(FIRST).listing)


@pytest.mark.damaged_store
def test_a_damaged_blob_is_found_by_verify_and_by_read_and_named(project: Project) -> None:
    project.write("f", os.urandom(1000))
    project.write("g", b"sound")
    store = project.open()
    state = store.take(FIRST, 1.0)
    bad, good = state.listing[b"f"].oid, state.listing[b"g"].oid
    spoil(packs(project)[0], bad)
    again = project.open()

    again.verify([good])
    with pytest.raises(DamagedSnapshotError, match=bad.hex()):
        again.verify([good, bad])
    with pytest.raises(DamagedSnapshotError, match=bad.hex()):
        again.read(bad)
    assert again.read(good) == b"sound"


@pytest.mark.damaged_store
def test_an_object_that_holds_something_else_is_found(project: Project) -> None:
    project.write("f", b"content")
    state = project.open().take(FIRST, 1.0)
    pack = packs(project)[0]
    oid = state.listing[b"f"].oid
    # A well-formed entry of the same size with other content.
    start, end = pack.spans()[oid]
    data = pack.pack.read_bytes()
    other = zlib.compress(b"CONTENT", 1)
    assert len(other) == end - start - 1
    pack.pack.unlink()
    pack.pack.write_bytes(data[: start + 1] + other + data[end:])

    with pytest.raises(DamagedSnapshotError):
        project.open().verify([oid])


@pytest.mark.damaged_store
def test_a_lost_pack_spoils_its_own_captures_only(project: Project) -> None:
    project.write("f", b"one")
    store = project.open()
    store.take(FIRST, 1.0)
    project.write("g", b"two")
    second = store.take(SECOND, 2.0)
    newest = packs(project)[-1]
    newest.path.unlink()
    newest.pack.unlink()

    again = project.open()
    third = again.take(SnapshotKey(3), 3.0)

    assert set(again.load(FIRST).listing) == {b"f"}
    with pytest.raises(DamagedSnapshotError):
        again.load(SECOND)
    assert again.load(SnapshotKey(3)) == third == second
    again.verify(entry.oid for entry in third.listing.values())


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("how", ["cut", "no pack", "index"])
@pytest.mark.damaged_store
def test_new_captures_do_not_build_on_a_damaged_pack(
    project: Project, how: str, opened: bool
) -> None:
    fill_with_oddities(project)
    store = project.open()
    state = store.take(FIRST, 1.0)
    pack = packs(project)[0]
    match how:
        case "cut":
            data = pack.pack.read_bytes()
            pack.pack.unlink()
            pack.pack.write_bytes(data[: len(data) // 2])
        case "no pack":
            pack.pack.unlink()
        case "index":
            data = pack.path.read_bytes()
            pack.path.unlink()
            pack.path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))

    again = store if opened else project.open()
    again.take(SECOND, 2.0)

    assert again.load(SECOND) == state
    again.verify(entry.oid for entry in state.listing.values() if entry.oid)


@pytest.mark.damaged_store
def test_what_was_found_damaged_is_stored_again(project: Project) -> None:
    project.write("f", os.urandom(1000))
    state = project.open().take(FIRST, 1.0)
    oid = state.listing[b"f"].oid
    spoil(packs(project)[0], oid)
    again = project.open()
    with pytest.raises(DamagedSnapshotError):
        again.read(oid)

    again.take(SECOND, 2.0)

    assert object_id(ObjectKind.BLOB, again.read(oid)) == oid
    assert object_id(ObjectKind.BLOB, project.open().read(oid)) == oid


@pytest.mark.parametrize("text", ["", "nonsense\n", "0" * 39, "0" * 40])
def test_a_damaged_ref_is_a_damaged_capture_not_an_absent_one(project: Project, text: str) -> None:
    project.write("f")
    project.open().take(FIRST, 1.0)
    (project.shadow / "refs" / "keryx" / "1" / "before").write_text(text)
    store = project.open()

    assert store.keys() == {FIRST}
    assert store.taken_at() == {}
    with pytest.raises(DamagedSnapshotError):
        store.load(FIRST)
    store.take(SECOND, 2.0)
    store.drop([FIRST])
    assert store.keys() == {SECOND}


def test_other_refs_of_a_person_are_no_captures(project: Project) -> None:
    project.write("f")
    project.open().take(FIRST, 1.0)
    git(project.shadow, "update-ref", "refs/keryx/note", "refs/keryx/1/before")
    git(project.shadow, "update-ref", "refs/keryx/2/other", "refs/keryx/1/before")
    git(project.shadow, "update-ref", "refs/heads/mine", "refs/keryx/1/before")

    assert project.open().keys() == {FIRST}


def test_a_repository_that_the_person_let_git_repack_still_works(project: Project) -> None:
    text = b"".join(b"line %d\n" % number for number in range(2000))
    store = project.open()
    states = {}
    for number in range(1, 6):
        project.write("f", text + b"end %d\n" % number)
        states[SnapshotKey(number)] = store.take(SnapshotKey(number), 1.0)
    git(project.shadow, "gc", "-q", "--prune=now")
    assert b"chain length" in git(project.shadow, "verify-pack", "-v", *index_names(project))

    again = project.open()
    loaded = {key: again.load(key) for key in states}
    project.write("f", text + b"end 6\n")
    states[SnapshotKey(6)] = again.take(SnapshotKey(6), 1.0)
    again.drop([SnapshotKey(number) for number in range(1, 6) if number != 3])
    project.write("g", os.urandom(100_000))
    again.take(SnapshotKey(7), 1.0)
    again.drop([SnapshotKey(7)])

    assert loaded == {key: states[key] for key in loaded}
    assert again.keys() == {SnapshotKey(3), SnapshotKey(6)}
    for key in sorted(again.keys(), key=repr):
        assert project.open().load(key) == states[key]
        project.open().verify(entry.oid for entry in states[key].listing.values())
    git(project.shadow, "fsck", "--strict", "--full")


def index_names(project: Project) -> list[str]:
    return [str(pack.path) for pack in packs(project)]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b'{"version":2}',
        b'{"version":1,"usual":{"100644":99999},"odd":{},"bare":{},"ignored":[],"skipped":[],"rules":{}}',
        b'{"version":1,"usual":[],"odd":{},"bare":{},"ignored":[],"skipped":[],"rules":{}}',
        b'{"version":1,"usual":{},"odd":{},"bare":{},"ignored":[1],"skipped":[],"rules":{}}',
        b'{"version":1,"usual":{},"odd":{},"bare":{},"ignored":[],"skipped":[["a"]],"rules":{}}',
        b"[" * 100_000,
    ],
)
def test_a_record_that_is_none_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedRecordError):
        parse_record(data)


def test_a_pack_of_large_offsets_has_an_index_that_says_so(tmp_path: Path) -> None:
    oids = [bytes([number]) * 20 for number in (9, 200, 0, 4)]
    offsets = [12, 2**31, 2**31 - 1, 2**40]
    pack = tmp_path / "pack-x.pack"
    pack.write_bytes(b"\2" * 20)
    pack.with_suffix(".idx").write_bytes(encode_index(oids, offsets, [1, 2, 3, 4], b"\2" * 20))

    index = read_index(pack.with_suffix(".idx"))

    starts = {oid: start for oid, (start, _) in index.spans().items()}
    assert starts == dict(zip(oids, offsets, strict=True))
    assert index.crcs() == dict(zip(oids, (1, 2, 3, 4), strict=True))
    assert list(index.oids()) == sorted(oids)


def test_git_verifies_a_pack_of_every_size(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "r.git")
    folder = tmp_path / "r.git" / "objects" / "pack"
    writer = PackWriter(folder)
    contents = [os.urandom(size) for size in (0, 1, 15, 16, 17, 2047, 2048, 2**15, 2**20)]
    oids = [writer.add(ObjectKind.BLOB, data) for data in contents]

    index = writer.finish()

    assert index is not None
    assert sorted(oids) == list(index.oids())
    git(tmp_path / "r.git", "verify-pack", str(index.path))
    for oid, data in zip(oids, contents, strict=True):
        assert git(tmp_path / "r.git", "cat-file", "blob", oid.hex()) == data


def test_an_index_without_its_pack_is_damaged(tmp_path: Path) -> None:
    writer = PackWriter(tmp_path)
    writer.add(ObjectKind.BLOB, b"x")
    index = writer.finish()
    assert index is not None
    index.pack.unlink()

    with pytest.raises(DamagedPackError):
        read_index(index.path)


@pytest.mark.damaged_store
def test_an_end_capture_is_a_capture_of_its_own(project: Project) -> None:
    project.write("f", b"one")
    store = project.open()
    store.take(FIRST, 1.0)
    project.write("f", os.urandom(500))
    end = store.take(SnapshotKey(1, Side.END), 2.0)
    spoil(packs(project)[-1], end.listing[b"f"].oid)

    again = project.open()

    assert again.read(again.load(FIRST).listing[b"f"].oid) == b"one"


@pytest.mark.damaged_store
def test_the_judge_of_what_tests_leave_tells_sound_from_damaged(project: Project) -> None:
    project.write("f", os.urandom(1000))
    project.open().take(FIRST, 1.0)
    check_stores([project.data])

    [pack] = (project.shadow / "objects" / "pack").glob("*.pack")
    pack.chmod(0o600)
    pack.write_bytes(pack.read_bytes()[:-30])

    with pytest.raises(AssertionError):
        check_stores([project.data])
