"""What snapshots take on the disk is bounded, is given back, and is never keryx's own data."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from keryx_py.shell.screen import Streams
from keryx_py.shell.sessions_cli import SessionsCli, Which
from tests.cases.children import elsewhere, no_file_beyond
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, shell, write
from tests.cases.watching import captured, held, look_at, shadow_git

MEGABYTE = 10**6


def random_file(size: int, name: str = "r.bin") -> str:
    """A command that fills a file with bytes that nothing makes smaller."""
    return f"head -c {size} /dev/urandom > {name}"


def on_disk(folder: Path) -> int:
    """Bytes in blocks that *folder* takes, each hard link counted once."""
    seen = {(s.st_dev, s.st_ino): s.st_blocks * 512 for p in folder.rglob("*") if (s := p.lstat())}
    return sum(seen.values())


def refs(sitting: Sitting) -> list[str]:
    """The names of what the shadow repository pins."""
    listed = shadow_git(sitting, "for-each-ref", "--format=%(refname)").decode().split()
    return [name.removeprefix("refs/keryx/") for name in listed]


def loose_and_packed(sitting: Sitting) -> tuple[int, int]:
    """How many bytes of objects are stored, and how many of those some snapshot needs."""
    rows = shadow_git(sitting, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    stored = set(rows.decode().split())
    needed = {
        row[:40]
        for row in shadow_git(sitting, "rev-list", "--objects", "--all").decode().splitlines()
    }
    return len(stored), len(stored - needed)


# ---- the size limit


def test_a_file_rewritten_each_turn_stays_within_the_limit(root: Path, sit: Sit) -> None:
    """DISK-01: the oldest snapshots go with a note, the newest stay whole, no end is missing."""
    sitting = sit(settings={"size_limit_gb": 0.003})
    store = sitting.project.session.folder / "shadow.git"
    said, sizes = [], []
    for _ in range(12):
        said.append(sitting.play(shell(random_file(400_000))))
        sizes.append(on_disk(store))
    last = (root / "r.bin").read_bytes()

    # Indexes and names come on top of the content that the limit counts.
    assert max(sizes) <= 3.1 * MEGABYTE
    assert "the size limit is reached: the oldest snapshots went, of point" in "".join(said)
    assert "snapshot failed" not in "".join(said)
    assert {"12/before", "12/end", "11/before", "11/end"} <= set(refs(sitting))
    assert "unknown" not in sitting.play("/rewind 11")
    sitting.rewind(12)
    assert (root / "r.bin").read_bytes() == held(sitting, 12, "r.bin") != last
    assert shadow_git(sitting, "fsck", "--strict", "--no-dangling") == b""


def test_no_more_snapshots_go_than_make_room_for_the_new_one(root: Path, sit: Sit) -> None:
    """DISK-01: a store near its limit keeps nearly all that fits in it."""
    sitting = sit(settings={"size_limit_gb": 0.003})
    kept = []
    for _ in range(40):
        sitting.play(shell(random_file(100_000)))
        kept.append(len({name.partition("/")[0] for name in refs(sitting)}))

    # 29 contents of 100 kB are within the limit; each turn brings one more.
    assert min(kept[30:]) >= 24
    assert on_disk(sitting.project.session.folder / "shadow.git") <= 3.1 * MEGABYTE
    assert shadow_git(sitting, "fsck", "--strict", "--no-dangling") == b""


def test_an_undo_point_makes_room_and_leaves_the_point_of_the_rewind(root: Path, sit: Sit) -> None:
    """DISK-01: a rewind near the limit lets others go, never what it needs itself."""
    sitting = sit(settings={"size_limit_gb": 0.003})
    sitting.play(*(shell(random_file(500_000)) for _ in range(5)))
    oldest = min(int(name.partition("/")[0]) for name in refs(sitting))
    wanted = held(sitting, oldest, "r.bin") if "r.bin" in captured(sitting, oldest) else b""
    (root / "mine").write_bytes(os.urandom(900_000))

    said = sitting.rewind(oldest)

    assert "undo point 6" in said
    now = root / "r.bin"
    assert (now.read_bytes() if now.exists() else b"") == wanted
    assert {f"{oldest}/before", "6/before"} <= set(refs(sitting))
    assert not (root / "mine").exists()
    sitting.play("/redo", "/rewind confirm")
    assert (root / "mine").stat().st_size == 900_000


def test_what_does_not_fit_alone_is_refused_and_costs_no_older_snapshot(
    root: Path, sit: Sit
) -> None:
    """DISK-01: no snapshot is thrown away for one that could not be taken anyway."""
    sitting = sit(settings={"size_limit_gb": 0.002})
    sitting.play(write("a", "1"), write("a", "2"))
    (root / "big").write_bytes(os.urandom(3 * MEGABYTE))

    said = sitting.play(write("a", "3"), "/rewind")

    assert (root / "a").read_text() == "2"
    assert "the call is denied" in said
    assert "big" in said
    assert "size_limit_gb" in said
    assert {"1/before", "2/before"} <= set(refs(sitting))
    assert "the oldest snapshots went" not in said


# ---- keryx's own data inside the project


@pytest.mark.parametrize("how", ["plain", "through a link", "root through a link"])
def test_a_data_folder_inside_the_project_is_never_captured(
    root: Path, tmp_path: Path, how: str
) -> None:
    """DISK-03: it is known by device and inode, however it is reached, and no rewind removes it."""
    data, start = root / ".data", root
    data.mkdir()
    (root / "f").write_text("old\n")
    if how == "through a link":
        (tmp_path / "elsewhere").symlink_to(root)
        data = tmp_path / "elsewhere" / ".data"
    if how == "root through a link":
        (tmp_path / "L").symlink_to(root)
        start = tmp_path / "L"
    sitting = Sitting(start, data)
    sitting.play(write("a", "1"), write("f", "new\n"))

    listed = {*captured(sitting, 1), *captured(sitting, 2), *captured(sitting, 2, "end")}
    said = sitting.rewind(1)

    assert listed == {"a", "f"}
    assert ".data" not in said
    assert (root / "f").read_text() == "old\n"
    assert sitting.play("/rewind").count("\n") > 3
    sitting.play("/redo")
    assert (root / "f").read_text() == "new\n"
    assert shadow_git(sitting, "fsck", "--strict", "--no-dangling") == b""
    sitting.close()


def test_a_data_folder_that_was_moved_into_the_project_is_left_alone(
    root: Path, tmp_path: Path, sit: Sit
) -> None:
    """DISK-03: a second data folder that a link in the project leads to is not followed."""
    sitting = sit()
    (root / "link").symlink_to(tmp_path / "data")
    sitting.play(write("a", "1"))

    assert captured(sitting, 1) == {"link": "120000"}
    sitting.rewind(1)
    assert (root / "link").is_symlink()


# ---- full disks


def test_a_floor_that_is_reached_refuses_the_snapshot_and_says_what_to_do(
    root: Path, sit: Sit
) -> None:
    """DISK-05: free space is looked at before anything is stored."""
    sitting = sit(settings={"free_floor_gb": 10.0**6})

    said = sitting.play(write("a", "1"), "/rewind")

    assert look_at(root) == {}
    assert "the call is denied" in said
    assert "free_floor_gb" in said
    assert "keryx sessions delete" in said
    assert not list((sitting.project.session.folder / "shadow.git").rglob("*.pack"))


def test_a_pruning_that_finds_no_room_loses_no_snapshot(root: Path, sit: Sit) -> None:
    """DISK-05: what is kept stays whole, and the space is given back once there is room."""
    (root / "kept").write_bytes(os.urandom(300_000))
    (root / "going").write_bytes(os.urandom(300_000))
    sitting = sit(settings={"keep": 2})
    sitting.play(shell("rm going; echo 1 > a"))

    def crowded() -> None:
        with no_file_beyond(200_000):
            said = sitting.play(*(write("a", f"{n}") for n in (2, 3, 4)))
        assert "snapshot failed" not in said
        assert "bug" not in said

    elsewhere(sitting, crowded)
    crowded_size = on_disk(sitting.project.session.folder / "shadow.git")

    assert sorted(refs(sitting)) == ["3/before", "3/end", "4/before", "4/end"]
    assert shadow_git(sitting, "fsck", "--strict", "--no-dangling") == b""
    sitting.rewind(3)
    assert (root / "a").read_text() == "2"
    sitting.play(write("a", "5"), write("a", "6"))
    assert on_disk(sitting.project.session.folder / "shadow.git") < crowded_size - 250_000
    assert (root / "kept").read_bytes() == held(sitting, 7, "kept")


@pytest.mark.parametrize("room", [0, 1000, 30_000, 250_000])
def test_a_disk_that_fills_up_during_a_snapshot_leaves_nothing_behind(
    root: Path, sit: Sit, room: int
) -> None:
    """DISK-05: the person is told, the call is denied, and the next turn is saved again."""
    (root / "f").write_bytes(os.urandom(300_000))
    sitting = sit()
    archive = sitting.project.session.folder / "archive.jsonl"

    def full() -> None:
        with no_file_beyond(max(room, archive.stat().st_size + 4000)):
            said = sitting.play(shell("echo x > g"))
        assert "the call is denied" in said
        assert "bug" not in said

    elsewhere(sitting, full)

    assert look_at(root).keys() == {"f"}
    assert not list(sitting.project.session.folder.rglob("tmp_*"))
    sitting.play(write("f", "new"))
    sitting.rewind(2)
    assert (root / "f").stat().st_size == 300_000


# ---- many sessions


def test_old_sessions_of_a_project_are_measured_and_reclaimable(
    root: Path, tmp_path: Path, sit: Sit
) -> None:
    """DISK-07: each says what it takes; deleting those of the project gives all of it back."""
    (root / "r.bin").write_bytes(os.urandom(500_000))
    data = tmp_path / "data"
    for n in range(3):
        sitting = sit()
        sitting.play(write("a", f"{n}"))
        sitting.close()
    infos = sitting.sessions.list(root)
    full = on_disk(data)

    out = io.StringIO()
    cli = SessionsCli(sitting.sessions, data, Streams(io.StringIO(), out, out, color=False))
    code = cli.delete(Which(root=root), yes=True, now=sitting.now())

    assert code == 0
    assert "deleted 3 sessions" in out.getvalue()
    assert all(info.bytes_on_disk > 500_000 for info in infos)
    # The later ones began from the first one's packs, by hard links.
    assert 500_000 < full < 800_000
    assert on_disk(data) < 50_000


def test_a_fork_takes_next_to_no_room_and_outlives_the_original(
    root: Path, tmp_path: Path, sit: Sit
) -> None:
    """DISK-07: snapshots are shared by hard links, and each session is deleted alone."""
    (root / "r.bin").write_bytes(os.urandom(500_000))
    sitting = sit()
    sitting.play(shell("echo x > r.bin"))
    original = sitting.project.session.id
    alone = on_disk(tmp_path / "data")

    sitting.play("/fork")
    both = on_disk(tmp_path / "data")
    sitting.sessions.delete(original)
    sitting.rewind(1)

    assert both - alone < 100_000
    assert (root / "r.bin").stat().st_size == 500_000


# ---- retention


def test_objects_of_pruned_snapshots_really_go(root: Path, sit: Sit) -> None:
    """DISK-09: three are kept of ten, and at most a fifth of what is stored is garbage."""
    sitting = sit(settings={"keep": 3})
    sizes = []
    for _ in range(10):
        sitting.play(shell(random_file(200_000)))
        sizes.append(on_disk(sitting.project.session.folder / "shadow.git"))

    stored, garbage = loose_and_packed(sitting)

    assert sorted(refs(sitting)) == sorted(
        f"{number}/{side}" for number in (8, 9, 10) for side in ("before", "end")
    )
    assert garbage * 5 <= stored
    assert max(sizes) < 1.3 * MEGABYTE
    assert shadow_git(sitting, "fsck", "--strict", "--no-dangling") == b""


def test_sessions_whose_project_is_gone_are_listed_and_removable(
    root: Path, tmp_path: Path, sit: Sit
) -> None:
    """DISK-09: and only those."""
    (tmp_path / "other").mkdir()
    other = sit(tmp_path / "other")
    other.play(write("a", "1"))
    other.close()
    gone = sit()
    gone.play(write("a", "1"))
    gone.close()
    (root / "a").unlink()
    root.rmdir()
    out = io.StringIO()
    streams = Streams(io.StringIO(), out, out, color=False)
    cli = SessionsCli(gone.sessions, tmp_path / "data", streams)

    cli.list_all()
    cli.delete(Which(orphaned=True), yes=True, now=gone.now())

    rows = {line.split()[0]: line for line in out.getvalue().splitlines() if "turn 1" in line}
    assert "root gone" in rows[gone.project.session.id]
    assert "root gone" not in rows[other.project.session.id]
    assert [info.id for info in gone.sessions.list()] == [other.project.session.id]
    assert not gone.project.session.folder.exists()


def test_what_a_pruned_turn_alone_held_cannot_be_read_any_more(root: Path, sit: Sit) -> None:
    """DISK-09: neither through keryx nor through git."""
    (root / "secret").write_text("only in turn 1\n")
    sitting = sit(settings={"keep": 1})
    sitting.play(shell("rm secret"))
    oid = shadow_git(sitting, "rev-parse", "refs/keryx/1/before:secret").decode().strip()

    sitting.play(*(shell(random_file(50_000)) for _ in range(3)))

    stored = shadow_git(sitting, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    assert "1/before" not in refs(sitting)
    assert oid not in stored.decode().split()
