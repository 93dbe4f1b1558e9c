"""Damaged stores, caches and archives, and clocks that jump: one sentence, and nothing touched."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, shell, write
from tests.cases.watching import Look, captured, held, look_at, shadow_git

MAGIC = b"keryx seen 1\n"
DIGEST = 20


def played(root: Path, sit: Sit, **keywords: object) -> Sitting:
    """A session of two turns on a project of three files."""
    (root / "f").write_bytes(b"f of the person\n" * 50)
    (root / "d").mkdir()
    (root / "d" / "x").write_bytes(random.Random(1).randbytes(2000))
    (root / "e").write_bytes(b"")
    sitting = sit(**keywords)
    sitting.play(write("f", "one\n"), shell("rm d/x; echo made > g"))
    return sitting


def damages(file: Path, count: int) -> Iterator[tuple[str, bytes | None]]:
    """Ways in which *file* may come back from a bad disk: None for not at all."""
    whole = file.read_bytes()
    chance = random.Random(2)
    yield "missing", None
    yield "empty", b""
    for at in sorted(chance.sample(range(1, len(whole)), min(count, len(whole) - 1))):
        yield f"cut at {at}", whole[:at]
        flipped = bytearray(whole)
        flipped[at] ^= 1 << chance.randrange(8)
        yield f"flipped at {at}", bytes(flipped)
        yield f"zeros from {at}", whole[:at] + bytes(len(whole) - at)


def spoil_each_file(root: Path, sit: Sit, tmp_path: Path, count: int, every: int = 1) -> int:
    """Rewind with each file of the store damaged in turn; return how many damages were tried."""
    sitting = played(root, sit)
    sitting.rewind(1)
    target = look_at(root)
    sitting.play("/redo", "/rewind confirm")
    now = look_at(root)
    sitting.close()
    store = sitting.project.session.folder / "shadow.git"
    shutil.copytree(store, tmp_path / "sound", symlinks=True)
    archive = store.parent / "archive.jsonl"
    line = archive.read_bytes()
    tried = 0
    for file in sorted(path for path in (tmp_path / "sound").rglob("*") if path.is_file()):
        name = file.relative_to(tmp_path / "sound")
        for how, data in damages(file, count):
            tried += 1
            if tried % every:
                continue
            (store / name).unlink()
            if data is not None:
                (store / name).write_bytes(data)

            said = sitting.resume().play("/rewind 1", "/rewind confirm", "/status")

            where = (str(name), how, said)
            assert look_at(root) in (now, target), where
            assert "bug" not in said, where
            if look_at(root) == now:
                assert "damaged" in said or "shadow" in said or "no snapshot" in said, where
            sitting.close()
            shutil.rmtree(store)
            shutil.copytree(tmp_path / "sound", store, symlinks=True)
            archive.write_bytes(line)
            put_back(root, now)
    return tried


def put_back(root: Path, now: Look) -> None:
    """Make the project what it was before the rewind, without keryx."""
    if look_at(root) != now:
        (root / "f").write_bytes(b"one\n")
        (root / "d" / "x").unlink()
        (root / "g").write_bytes(b"made\n")
    assert look_at(root) == now


@pytest.mark.damaged_store
def test_a_store_damaged_anywhere_restores_right_or_not_at_all(
    root: Path, sit: Sit, tmp_path: Path
) -> None:
    assert spoil_each_file(root, sit, tmp_path, 1, every=7) > 20


@pytest.mark.soak
@pytest.mark.damaged_store
def test_a_store_damaged_at_any_place_restores_right_or_not_at_all(
    root: Path, sit: Sit, tmp_path: Path
) -> None:
    print(f"damages tried: {spoil_each_file(root, sit, tmp_path, 40)}")  # noqa: T201


def _caches(folder: Path, other: Path) -> Iterator[tuple[str, bytes]]:
    """Stat caches of another world."""
    whole = (folder / "keryx-seen").read_bytes()
    body = whole[len(MAGIC) + DIGEST :]
    chance = random.Random(3)
    yield "another project's", (other / "keryx-seen").read_bytes()
    yield "an older format", whole.replace(b"seen 1", b"seen 0", 1)
    yield "a newer format", whole.replace(b"seen 1", b"seen 2", 1)
    yield "random", chance.randbytes(len(whole))
    yield "empty", b""
    yield "random with the right head", MAGIC + chance.randbytes(5000)
    for number in range(12):
        wrong = bytearray(body)
        for _ in range(number % 3 + 1):
            wrong[chance.randrange(len(wrong))] ^= 1 << chance.randrange(8)
        if number % 5 == 0:
            wrong = wrong[: chance.randrange(len(wrong))]
        digest = hashlib.blake2b(wrong, digest_size=DIGEST).digest()
        yield f"right checksum, wrong content {number}", MAGIC + digest + bytes(wrong)


def test_a_stat_cache_from_another_world_makes_no_snapshot_wrong(
    root: Path, sit: Sit, tmp_path: Path
) -> None:
    """Whatever it says, what is captured is what stands on the disk."""
    twin = tmp_path / "twin"
    shutil.copytree(root, twin)
    sitting = played(root, sit)
    other = sit(twin)
    other.play(write("f", "another world's\n"))
    os.utime(root / "f", (1, 1))
    folder = sitting.project.session.folder / "shadow.git"
    number = 2
    for how, data in list(_caches(folder, other.project.session.folder / "shadow.git")):
        sitting.close()
        (folder / "keryx-seen").write_bytes(data)
        (folder / "keryx-seen-recent").unlink(missing_ok=True)
        sitting.resume()

        said = sitting.play(write("f", f"{number}\n"))
        number += 1

        assert "done" in said, (how, said)
        assert "bug" not in said, (how, said)
        # The turn's end is what stands on the disk now.
        assert set(captured(sitting, number, "end")) == {"e", "f", "g"}, how
        for name in ("e", "f", "g"):
            assert held(sitting, number, name, "end") == (root / name).read_bytes(), how


@pytest.mark.parametrize("seed", range(12))
def test_an_archive_with_lines_torn_doubled_and_reordered_opens(
    root: Path, sit: Sit, seed: int
) -> None:
    """Nothing of the project moves by opening; what can still be rewound can be."""
    chance = random.Random(seed)
    sitting = played(root, sit)
    sitting.play(write("f", "two\n"), "/rewind 2", "/rewind confirm", write("f", "three\n"))
    before = look_at(root)
    sitting.close()
    archive = sitting.project.session.folder / "archive.jsonl"
    first, *lines = archive.read_bytes().splitlines(keepends=True)
    for _ in range(3):
        at = chance.randrange(len(lines))
        match chance.randrange(4):
            case 0:
                lines.insert(chance.randrange(len(lines)), lines[at])
            case 1:
                lines[at] = lines[at][: chance.randrange(len(lines[at]))]
            case 2:
                chance.shuffle(lines)
            case _:
                lines[at] = lines[at].replace(b"e", b"f", 1)
    archive.write_bytes(b"".join([first, *lines]))

    said = sitting.resume().play("/rewind", "/status", "/sessions")

    assert look_at(root) == before
    assert "bug" not in said
    assert "archive" in said
    sitting.play(write("f", "four\n"))
    highest = max(sitting.project.store.keys(), key=lambda key: key.number).number  # type: ignore[union-attr]
    sitting.rewind(highest)
    assert look_at(root) == before
    assert "bug" not in sitting.resume().play("/rewind")


class Falling:
    """A clock that jumps back, and now and then far ahead."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def __call__(self) -> float:
        return self._chance.choice([1.7e9, 1.6e9, 0.0, 1.0, 4e9, 1.7e9 + self._chance.random()])


@pytest.mark.parametrize("seed", range(6))
def test_a_clock_that_jumps_back_moves_no_point(root: Path, sit: Sit, seed: int) -> None:
    """Numbers, not times, order the points; snapshots, lists, rewinds and resuming are right."""
    sitting = played(root, sit, now=Falling(seed))
    sitting.play(write("f", "two\n"), "/checkpoint here", write("f", "three\n"))

    listed = sitting.resume().play("/rewind")

    numbers = [int(row.split()[0]) for row in listed.splitlines() if row[:1].isdecimal()]
    assert numbers == [5, 4, 3, 2, 1]
    assert "bug" not in listed
    sitting.rewind(4)
    assert (root / "f").read_text() == "two\n"
    assert "you" not in sitting.play("/rewind 3", "/rewind confirm").split("applies")[0]
    assert (root / "f").read_text() == "one\n"
    sitting.resume().play("/redo", "/rewind confirm", "/redo", "/rewind confirm")
    assert "bug" not in sitting.play("/rewind", "/sessions", "/status")
    assert shadow_git(sitting, "fsck", "--strict", "--no-dangling") == b""
    sitting.rewind(1)
    assert (root / "d" / "x").stat().st_size == 2000


IN_A_SMALL_DISK = """
set -e
mount -t tmpfs -o size={size} none "$DATA"
one() {{ "$PYTHON" -m keryx_py --root "$ROOT" --approve write "$@"; }}
echo 'create g with "g"' | one > "$OUT/first" 2>&1
cp "$ROOT/g" "$OUT/g"
head -c 1500000 /dev/urandom > "$ROOT/big"
echo 'create h with "h"' | one -c > "$OUT/full" 2>&1
rm "$ROOT/big"
mount -o remount,ro "$DATA"
echo 'create i with "i"' | one -c > "$OUT/readonly" 2>&1 || echo "exit $?" >> "$OUT/readonly"
mount -o remount,rw "$DATA"
printf '%s\\n' 'create j with "j"' '/rewind 1' '/rewind confirm' | one -c > "$OUT/after" 2>&1
"""


def test_a_data_folder_on_a_disk_that_is_full_then_read_only(root: Path, tmp_path: Path) -> None:
    """A real small disk: each says so in one sentence, touches nothing, and opens again."""
    probe = ["unshare", "-m", "mount", "-t", "tmpfs", "none", str(root)]
    if not sys.platform.startswith("linux") or shutil.which("unshare") is None:
        pytest.skip("needs Linux; the failing disk covers the rest")
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not permitted here; the failing disk covers the same")
    out, data, home = tmp_path / "out", tmp_path / "data", tmp_path / "home"
    for folder in (out, data, home / ".config" / "keryx"):
        folder.mkdir(parents=True)
    (home / ".config" / "keryx" / "settings.toml").write_text("free_floor_gb = 0\n")
    (root / "f").write_text("the person's\n")

    subprocess.run(
        ["unshare", "-m", "sh", "-c", IN_A_SMALL_DISK.format(size="900k")],
        env={
            **os.environ,
            "PYTHON": sys.executable,
            "ROOT": str(root),
            "DATA": str(data),
            "OUT": str(out),
            "KERYX_DATA_DIR": str(data),
            "HOME": str(home),
            "PYTHONPATH": str(Path(__file__).parents[2]),
        },
        cwd=root,
        check=True,
        timeout=60,
    )

    said = {path.name: path.read_text() for path in out.iterdir() if path.name != "g"}
    assert "bug" not in "".join(said.values())
    assert "Traceback" not in "".join(said.values())
    assert "the disk is full" in said["full"]
    assert "denied" in said["full"]
    assert "read-only" in said["readonly"].lower()
    assert said["readonly"].endswith("exit 1\n")
    assert len(said["readonly"].splitlines()) == 2
    assert "undo point" in said["after"]
    assert sorted(os.listdir(root)) == ["f"]
