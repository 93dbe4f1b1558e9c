"""What is unchanged is not read again, and nothing that changed is ever taken for unchanged."""

from __future__ import annotations

import os
import time
from collections import deque
from pathlib import Path

import pytest

from keryx_py.snapshot.contents import OnlyNamed, ReadingRules, read_unread
from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.reading import TICK
from keryx_py.snapshot.seen import Folder, Totals, row_to_trust
from keryx_py.snapshot.seen_file import SeenFile
from keryx_py.snapshot.sorting import Scan, Unread
from keryx_py.snapshot.statuses import NEVER, SIZE, columns_of, row_of
from keryx_py.snapshot.store import Limits, Side, SnapshotKey, WalkProgress
from tests.snapshot.ground import Project, fill_with_oddities, git

FIRST = SnapshotKey(1)
LONG_AGO = 1_600_000_000 * 10**9


def blob(data: bytes) -> bytes:
    return object_id(ObjectKind.BLOB, data)


def age() -> None:
    """Wait until what was just written is old enough to be trusted."""
    time.sleep(0.12)


def test_a_same_size_write_right_after_a_capture_is_seen(project: Project) -> None:
    file = project.write("f", b"0000")
    store = project.open()
    store.take(FIRST, 1.0)

    for number in range(300):
        data = b"%04d" % number
        with file.open("r+b") as same:
            same.write(data)
        state = store.look()
        assert state.listing[b"f"].oid == blob(data)


def test_a_same_size_write_right_after_a_capture_is_seen_on_resume(project: Project) -> None:
    file = project.write("f", b"0000")
    project.open().take(FIRST, 1.0)

    for number in range(15):
        data = b"%04d" % number
        with file.open("r+b") as same:
            same.write(data)
        state = project.open().take(SnapshotKey(number + 2), 1.0)
        assert state.listing[b"f"].oid == blob(data)


def test_a_write_that_sets_the_old_times_back_is_seen(project: Project) -> None:
    file = project.write("f", b"old")
    os.utime(file, ns=(LONG_AGO, LONG_AGO))
    age()
    store = project.open()
    store.take(FIRST, 1.0)

    file.write_bytes(b"new")
    os.utime(file, ns=(LONG_AGO, LONG_AGO))

    assert store.look().listing[b"f"].oid == blob(b"new")


def test_another_file_moved_into_place_is_seen(project: Project) -> None:
    for name, data in (("f", b"one"), ("g", b"two")):
        os.utime(project.write(name, data), ns=(LONG_AGO, LONG_AGO))
    age()
    store = project.open()
    store.take(FIRST, 1.0)

    (project.root / "g").replace(project.root / "f")

    assert store.look().listing[b"f"].oid == blob(b"two")


def test_a_mode_alone_is_seen(project: Project) -> None:
    file = project.write("f", b"x", 0o755)
    age()
    store = project.open()
    store.take(FIRST, 1.0)

    file.chmod(0o644)

    assert store.take(SnapshotKey(2), 2.0).listing[b"f"].mode == 0o644
    assert [change.path for change in store.changes(FIRST, SnapshotKey(2))] == [b"f"]


@pytest.mark.parametrize("resumed", [False, True])
def test_what_is_unchanged_is_not_read_again(project: Project, resumed: bool) -> None:
    for number in range(50):
        project.write(f"d/{number % 5}/{number}", b"x" * 100)
    (project.root / "d" / "link").symlink_to("0")
    age()
    store = project.open()
    store.take(FIRST, 1.0)
    project.write("d/3/new", b"y" * 7)
    age()
    told: list[WalkProgress] = []

    (project.open() if resumed else store).take(SnapshotKey(2), 2.0, progress=told.append)

    assert told[-1].content_bytes == 7


def test_content_seen_but_not_stored_is_stored_by_the_next_capture(project: Project) -> None:
    project.write("f", b"content")
    age()
    store = project.open()
    store.look()

    state = store.take(FIRST, 1.0)

    assert project.open().read(state.listing[b"f"].oid) == b"content"


def test_a_tree_seen_but_not_stored_is_stored_by_the_next_capture(project: Project) -> None:
    for path in ("d/a", "d/b", "e/c"):
        project.write(path)
    age()
    store = project.open()
    store.take(FIRST, 1.0)
    (project.root / "d" / "b").unlink()
    store.look()

    state = store.take(SnapshotKey(2), 2.0)

    assert dict(project.open().load(SnapshotKey(2)).listing) == dict(state.listing)
    git(project.shadow, "fsck", "--full", "--strict")


@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_what_the_store_lost_is_stored_anew_although_nothing_changed(
    project: Project, tmp_path: Path, whole: bool, resumed: bool
) -> None:
    for number in range(20):
        project.write(f"d/{number % 3}/{number}", b"%d" % number)
    age()
    store = project.open()
    store.take(FIRST, 1.0)
    store.take(SnapshotKey(2), 2.0)
    if whole:
        project.shadow.rename(tmp_path / "lost")
    else:
        for pack in (project.shadow / "objects" / "pack").iterdir():
            pack.unlink()
        refs = project.shadow / "refs" / "keryx"
        refs.rename(tmp_path / "refs")

    state = (project.open() if resumed else store).take(SnapshotKey(3), 3.0)

    fresh = project.open()
    assert dict(fresh.load(SnapshotKey(3)).listing) == dict(state.listing)
    assert all(fresh.read(entry.oid) for entry in state.listing.values() if entry.oid)
    git(project.shadow, "fsck", "--full", "--strict")


def test_what_was_stored_last_and_lost_is_stored_anew_on_resume(project: Project) -> None:
    for number in range(40):
        project.write(f"{number % 8}/{number}/f", b"x")
    age()
    store = project.open()
    store.take(FIRST, 1.0)
    packs = set((project.shadow / "objects" / "pack").iterdir())
    project.write("3/3/f", b"y")
    age()
    store.take(SnapshotKey(2), 2.0)
    assert (project.shadow / "keryx-seen-recent").exists()
    for pack in set((project.shadow / "objects" / "pack").iterdir()) - packs:
        pack.unlink()
    (project.shadow / "refs" / "keryx" / "2" / "before").unlink()

    state = project.open().take(SnapshotKey(3), 3.0)

    assert project.open().read(state.listing[b"3/3/f"].oid) == b"y"
    git(project.shadow, "fsck", "--full", "--strict")


def test_a_mode_that_changed_deep_below_is_held_on_resume(project: Project) -> None:
    for number in range(40):
        project.write(f"{number % 8}/a/b/c/{number}/f", b"x")
    age()
    store = project.open()
    store.take(FIRST, 1.0)
    (project.root / "3" / "a" / "b" / "c" / "3").chmod(0o555)
    store.take(SnapshotKey(2), 2.0)
    assert (project.shadow / "keryx-seen-recent").exists()

    state = project.open().take(SnapshotKey(3), 3.0)

    assert state.listing[b"3/a/b/c/3"].mode == 0o555
    assert project.open().load(SnapshotKey(3)).listing[b"3/a/b/c/3"].mode == 0o555
    assert project.open().look() == state


def test_what_could_not_be_read_is_not_trusted(project: Project) -> None:
    there = project.write("f", b"x")
    row = row_of(there.stat())
    folder = Folder(b"", 0o755, 1, b"gone", columns_of([row]), bytearray(20))
    scan = Scan(folder, deque([Unread(folder, b"gone", 0, 1, forced=False)]))
    root = os.open(project.root, os.O_RDONLY)
    try:
        read_unread(root, scan, OnlyNamed(), ReadingRules(100, 0), lambda _: None)
    finally:
        os.close(root)

    assert folder.columns().row(0)[SIZE] == NEVER
    assert list(folder.items()) == []


def test_rules_that_change_after_a_capture_hold_from_the_next_one(project: Project) -> None:
    project.write("a.log")
    project.write("sub/b.log")
    project.write("sub/c.txt")
    age()
    store = project.open()
    assert store.take(FIRST, 1.0).ignored == frozenset()

    project.write(".gitignore", b"*.log\n")
    ignored = store.look()
    project.write("sub/.gitignore", b"!b.log\n")
    kept = store.look()
    (project.root / ".gitignore").unlink()
    open_again = store.look()

    assert ignored.ignored == {b"a.log", b"sub/b.log"}
    assert kept.ignored == {b"a.log"}
    assert open_again.ignored == frozenset()
    assert {b"a.log", b"sub/b.log"} <= set(open_again.listing)


def test_changed_settings_hold_on_resume(project: Project) -> None:
    project.write("a.log", b"x" * 20)
    project.write("b")
    age()
    project.open().take(FIRST, 1.0)

    excluding = project.open(exclude=("*.log",)).look()
    limited = project.open(limits=Limits(max_file_bytes=10, free_floor_bytes=0)).look()

    assert set(excluding.listing) == {b"b"}
    assert [item.path for item in limited.skipped] == [b"a.log"]


def test_a_file_replaced_by_a_folder_or_link_is_judged_anew(project: Project) -> None:
    project.write(".gitignore", b"build/\n")
    project.write("build", b"a file is not matched")
    age()
    store = project.open()
    assert b"build" in store.take(FIRST, 1.0).listing
    (project.root / "build").unlink()
    project.write("build/x")

    state = store.take(SnapshotKey(2), 2.0)

    assert state.ignored == {b"build"}
    assert set(state.listing) == {b".gitignore"}


def test_a_folder_that_was_left_out_and_becomes_a_file_is_judged_anew(project: Project) -> None:
    project.write(".gitignore", b"build/\n")
    project.write("build/x")
    project.write("other")
    age()
    store = project.open()
    assert store.take(FIRST, 1.0).ignored == {b"build"}
    (project.root / "build" / "x").unlink()
    (project.root / "build").rmdir()
    project.write("build", b"a file is not matched")

    state = store.take(SnapshotKey(2), 2.0)

    assert state.ignored == frozenset()
    assert b"build" in state.listing


@pytest.mark.parametrize("name", ["keryx-seen", "keryx-seen-recent"])
@pytest.mark.parametrize("how", ["cut", "flipped", "foreign", "empty", "gone"])
def test_a_damaged_file_of_what_was_seen_is_of_no_account(
    project: Project, name: str, how: str
) -> None:
    for number in range(40):
        project.write(f"{number % 8}/{number}/f", b"x")
    age()
    store = project.open()
    store.take(FIRST, 1.0)
    project.write("3/3/f", b"y")
    age()
    whole = store.take(SnapshotKey(2), 2.0)
    file = project.shadow / name
    data = file.read_bytes()

    match how:
        case "cut":
            file.write_bytes(data[: len(data) // 2])
        case "flipped":
            file.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
        case "foreign":
            file.write_bytes(b"something else entirely")
        case "empty":
            file.write_bytes(b"")
        case "gone":
            file.unlink()

    assert project.open().take(SnapshotKey(3), 3.0) == whole


def test_what_was_seen_comes_back_from_disk_through_many_changes(project: Project) -> None:
    fill_with_oddities(project)
    for number in range(60):
        project.write(f"many/{number}/f", b"x")
    store = project.open()
    for number in range(8):
        project.write(f"many/{number}/f", b"%d" % number)
        if number % 3 == 0:
            (project.root / "many" / f"{50 + number}" / "f").unlink()
            (project.root / "many" / f"{50 + number}").rmdir()
        age() if number % 4 == 0 else None
        state = store.take(SnapshotKey(number + 1), 1.0)
        resumed = project.open()
        assert resumed.look() == state
        assert resumed.take(SnapshotKey(number + 1, side=Side.END), 1.0) == state


def test_times_that_no_clock_should_show_do_no_harm(project: Project) -> None:
    for number, second in enumerate((-1, 0, 2**33, 2**34 - 1)):
        file = project.write(f"{number}", b"x")
        os.utime(file, ns=(second * 10**9 - 1, second * 10**9 - 1))
    age()
    store = project.open()
    state = store.take(FIRST, 1.0)

    assert project.open().take(SnapshotKey(2), 2.0) == state


@pytest.mark.parametrize(
    ("times", "later", "trusted"),
    [
        (LONG_AGO + 5, 1, False),
        (LONG_AGO + 5, TICK // 2, False),
        (LONG_AGO + 5, 2 * TICK, True),
        # A file system that counts whole seconds only.
        (LONG_AGO, 10**9, False),
        (LONG_AGO, 3 * 10**9, True),
    ],
)
def test_a_file_that_changed_within_a_tick_is_not_trusted(
    project: Project, times: int, later: int, trusted: bool
) -> None:
    file = project.write("f", b"1234")
    row = row_of(stopped_at(file, times))

    kept = row_to_trust(row, times + later)

    assert (kept == row) is trusted
    assert kept[SIZE] == (4 if trusted else NEVER)


def stopped_at(file: Path, times: int) -> os.stat_result:
    """Describe *file* as if it had been changed at that time, which no call can bring about."""
    status = file.stat()
    named = {"st_mtime_ns": times, "st_ctime_ns": times, "st_atime_ns": times}
    return os.stat_result(tuple(status), named)


def test_rules_that_change_during_a_capture_hold_from_the_next_one(project: Project) -> None:
    project.write(".gitignore", b"aaaa\n")
    project.write("bbbb")
    age()
    store = project.open()

    def change(progress: WalkProgress) -> None:
        # The walk has read the rules, and their file's content is read after this.
        if progress.content_bytes == 0:
            project.write(".gitignore", b"bbbb\n")
            age()

    store.take(FIRST, 1.0, progress=change)

    assert store.look().ignored == {b"bbbb"}
    assert project.open().look().ignored == {b"bbbb"}


def test_rules_that_leave_themselves_out_and_change_within_a_tick_are_seen(
    project: Project,
) -> None:
    rules = project.write(".gitignore", b".gitignore\naaa\n")
    for name in ("aaa", "bbb"):
        project.write(name)
    store = project.open()
    store.take(FIRST, 1.0)

    for number in range(40):
        one = b"aaa" if number % 2 else b"bbb"
        with rules.open("r+b") as same:
            same.write(b".gitignore\n" + one)
        assert store.look().ignored == {b".gitignore", one}


def test_a_folder_that_is_keryxs_own_no_longer_is_held(project: Project, tmp_path: Path) -> None:
    for name in ("one", "two"):
        project.write(f"{name}/f")
    way = tmp_path / "way"
    way.symlink_to(project.root / "one")
    age()
    moving = Project(project.root, project.shadow, way, project.home)
    store = moving.open()
    first = store.take(FIRST, 1.0)
    way.unlink()
    way.symlink_to(project.root / "two")

    then = store.look()

    assert first.ignored == {b"one"}
    assert b"two/f" in first.listing
    assert then.ignored == {b"two"}
    assert b"one/f" in then.listing
    assert b"two" not in then.listing


def test_a_kept_cache_that_lost_a_folder_is_of_no_account(tmp_path: Path) -> None:
    for name in ("inner", "other"):
        (tmp_path / name).mkdir()
    names = [b"inner", b"other"]
    rows = [row_of((tmp_path / os.fsdecode(name)).stat()) for name in names]
    below = {name: Folder(name, 0o755, 1, tree=b"", totals=NOTHING) for name in names}
    root = Folder(b"", 0o755, 1, b"\0".join(names), columns_of(rows), bytearray(40))
    root.folders, root.tree, root.totals = below, b"t" * 20, NOTHING
    SeenFile(tmp_path, b"about").save(root, frozenset())
    assert SeenFile(tmp_path, b"about").load() is not None

    # A block that goes missing, or whose path is another by some fault, as far as a digest goes.
    below[b"inner"].path = b"elsewhere/inner"
    (tmp_path / "keryx-seen").unlink()
    SeenFile(tmp_path, b"about").save(root, frozenset())

    assert SeenFile(tmp_path, b"about").load() is None


NOTHING = Totals({}, 0, has_bare=False, has_notes=False)
