"""Writing to the person's files: exactly, inside the root only, never through a link."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from keryx_py.snapshot.listing import FileState, Kind
from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.worktree import RootReplacedError, WorkTree, WorkTreeError
from tests.cases.children import in_child, no_file_beyond
from tests.snapshot.ground import ODD_NAMES, picture

Act = Callable[[WorkTree, bytes], object]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make an empty root."""
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def blob(data: bytes) -> bytes:
    return object_id(ObjectKind.BLOB, data)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_file_is_written_with_its_name_bytes_and_mode(root: Path, name: bytes) -> None:
    tree = WorkTree(root)

    tree.write_file(name, b"a\r\n\0", 0o4751)

    assert picture(root) == {name: ("file", 0o4751, b"a\r\n\0")}
    assert tree.state(name) == FileState(Kind.FILE, 0o4751, blob(b"a\r\n\0"))
    assert tree.read(name) == b"a\r\n\0"


def test_a_link_is_written_as_it_is_and_never_followed(root: Path) -> None:
    tree = WorkTree(root)

    tree.write_link(b"l", b"/etc/\xff passwd")

    assert picture(root) == {b"l": ("link", 0, b"/etc/\xff passwd")}
    assert tree.state(b"l") == FileState(Kind.LINK, 0, blob(b"/etc/\xff passwd"))
    assert tree.read(b"l") == b"/etc/\xff passwd"


def test_folders_are_made_with_their_mode_whatever_the_umask(root: Path) -> None:
    tree = WorkTree(root)
    old = os.umask(0o077)
    try:
        tree.make_folder(b"d", 0o2775)
        tree.write_file(b"d/f", b"", 0o666)
    finally:
        os.umask(old)

    assert picture(root) == {b"d": ("folder", 0o2775, b""), b"d/f": ("file", 0o666, b"")}
    assert tree.state(b"d") == FileState(Kind.FOLDER, 0o2775, b"")


def test_a_file_is_replaced_by_rename_and_its_other_names_stay(root: Path) -> None:
    (root / "f").write_bytes(b"old")
    (root / "other").hardlink_to(root / "f")

    WorkTree(root).write_file(b"f", b"new", 0o644)

    assert (root / "f").read_bytes() == b"new"
    assert (root / "other").read_bytes() == b"old"


def test_a_link_at_the_path_is_replaced_not_followed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"safe")
    (root / "f").symlink_to(tmp_path / "victim")
    tree = WorkTree(root)

    tree.write_file(b"f", b"new", 0o644)

    assert (tmp_path / "victim").read_bytes() == b"safe"
    assert picture(root) == {b"f": ("file", 0o644, b"new")}


ACTS: dict[str, Act] = {
    "write_file": lambda tree, path: tree.write_file(path, b"x", 0o644),
    "write_link": lambda tree, path: tree.write_link(path, b"x"),
    "make_folder": lambda tree, path: tree.make_folder(path, 0o755),
    "set_mode": lambda tree, path: tree.set_mode(path, 0o600),
    "remove_file": lambda tree, path: tree.remove_file(path),
    "remove_folder": lambda tree, path: tree.remove_folder(path),
    "read": lambda tree, path: tree.read(path),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS.keys())
def test_nothing_is_done_through_a_link(root: Path, tmp_path: Path, act: Act) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_bytes(b"safe")
    (outside / "d").mkdir()
    (root / "way").symlink_to(outside)
    before = picture(outside)
    tree = WorkTree(root)

    for path in (b"way/f", b"way/d", b"way/new"):
        with pytest.raises(WorkTreeError, match="a link stands in the way"):
            act(tree, path)

    assert picture(outside) == before
    assert tree.state(b"way/f") is None


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS.keys())
@pytest.mark.parametrize("path", [b"../f", b"a/../../f", b"", b".", b"a//f", b"/etc/x", b"a/"])
def test_paths_that_are_not_inside_are_refused(root: Path, act: Act, path: bytes) -> None:
    (root.parent / "f").write_bytes(b"safe")
    (root / "a").mkdir()

    with pytest.raises(WorkTreeError):
        act(WorkTree(root), path)

    assert (root.parent / "f").read_bytes() == b"safe"
    assert picture(root) == {b"a": ("folder", 0o755, b"")}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS.keys())
def test_another_directory_at_the_root_is_refused(root: Path, tmp_path: Path, act: Act) -> None:
    tree = WorkTree(root)
    root.rename(tmp_path / "away")
    root.mkdir()
    (root / "f").write_bytes(b"safe")

    with pytest.raises(RootReplacedError):
        act(tree, b"f")
    with pytest.raises(RootReplacedError):
        tree.check_root()

    assert picture(root) == {b"f": ("file", 0o644, b"safe")}


@pytest.mark.parametrize(
    ("act", "path", "words"),
    [
        ("write_file", b"d", "a folder stands there"),
        ("write_link", b"d", "a folder stands there"),
        ("make_folder", b"f", "something stands there"),
        ("write_file", b"f/x", "a file stands in the way"),
        ("write_file", b"no/x", "its folder is missing"),
        ("remove_file", b"no", "it is gone"),
        ("set_mode", b"l", "a link stands in the way"),
        ("read", b"pipe", "a pipe"),
        ("write_file", b"n" * 256, "the name is too long"),
    ],
)
def test_a_refusal_says_why_in_a_few_words_and_changes_nothing(
    root: Path, act: str, path: bytes, words: str
) -> None:
    (root / "d" / "full").mkdir(parents=True)
    (root / "f").write_bytes(b"")
    (root / "l").symlink_to("f")
    os.mkfifo(root / "pipe")
    before = picture(root)

    with pytest.raises(WorkTreeError, match=f"^{words}$"):
        ACTS[act](WorkTree(root), path)

    assert picture(root) == before


def test_what_is_not_there_has_no_state_also_below_a_file(root: Path) -> None:
    (root / "f").write_bytes(b"")
    tree = WorkTree(root)

    assert tree.state(b"no") is None
    assert tree.state(b"no/x") is None
    assert tree.state(b"f/x") is None


def test_a_pipe_has_no_state_and_is_not_waited_for(root: Path) -> None:
    os.mkfifo(root / "pipe")

    with pytest.raises(WorkTreeError, match="a pipe"):
        WorkTree(root).state(b"pipe")


def test_an_empty_folder_goes_and_a_full_one_stays(root: Path) -> None:
    (root / "a" / "b").mkdir(parents=True)
    tree = WorkTree(root)

    assert not tree.remove_folder(b"a")
    assert tree.remove_folder(b"a/b")
    assert tree.remove_folder(b"a")
    assert picture(root) == {}


def test_modes_are_set_on_files_and_folders(root: Path) -> None:
    (root / "d").mkdir()
    (root / "d" / "f").write_bytes(b"")
    tree = WorkTree(root)

    tree.set_mode(b"d/f", 0o4711)
    tree.set_mode(b"d", 0o1750)

    assert stat.S_IMODE((root / "d" / "f").stat().st_mode) == 0o4711
    assert stat.S_IMODE((root / "d").stat().st_mode) == 0o1750


def test_what_a_killed_write_left_is_removed_and_nothing_else(root: Path) -> None:
    """Only what bears the mark goes: a person may name files as another restore would."""
    mine = [".keryx-notes", ".keryx-" + "0a" * 8, ".keryx-" + "0a" * 8 + ".tmp"]
    mine += [".keryx-" + "0b" * 8 + "-00000000", "x.keryx-" + "0a" * 8 + "-00000000"]
    (root / "d").mkdir()
    for name in mine:
        (root / "d" / name).write_bytes(b"mine")
    (root / "d" / (".keryx-" + "0a" * 8 + "-00000000")).write_bytes(b"half")

    left = WorkTree(root, "0a" * 8).remove_leftovers(b"d")

    assert left == ()
    assert sorted(os.listdir(root / "d")) == sorted(mine)


def test_a_leftover_that_cannot_be_removed_is_named(root: Path) -> None:
    (root / ".keryx-m-1").mkdir()

    left = WorkTree(root, "m").remove_leftovers(b"")

    assert [one.path for one in left] == [b".keryx-m-1"]
    assert left[0].reason.startswith("half written; ")


def test_a_root_that_was_left_open_gets_its_mode_back_and_no_other_does(root: Path) -> None:
    for now, then in ((0o755, 0o555), (0o750, 0o750), (0o711, 0o711)):
        root.chmod(now)

        WorkTree(root).close_root(0o555)

        assert stat.S_IMODE(root.stat().st_mode) == then


def test_a_file_system_flush_does_no_harm(root: Path) -> None:
    tree = WorkTree(root)
    tree.write_file(b"f", b"x", 0o600, flush=False)

    tree.flush()

    assert (root / "f").read_bytes() == b"x"


def test_a_write_that_finds_no_room_leaves_nothing_beside(root: Path) -> None:
    (root / "f").write_bytes(b"old")

    def write() -> None:
        with no_file_beyond(1000), pytest.raises(WorkTreeError):
            WorkTree(root).write_file(b"f", b"x" * 2000, 0o644)

    in_child(write)

    assert picture(root) == {b"f": ("file", (root / "f").stat().st_mode & 0o7777, b"old")}


def test_a_file_is_flushed_before_it_has_its_name(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "f").write_bytes(b"old")
    flushed: list[tuple[int, bytes]] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        fsync(descriptor)
        flushed.append((os.fstat(descriptor).st_ino, (root / "f").read_bytes()))

    monkeypatch.setattr(os, "fsync", noted)
    WorkTree(root).write_file(b"f", b"new", 0o644)

    assert flushed == [((root / "f").stat().st_ino, b"old")]


def test_no_descriptor_stays_open(root: Path) -> None:
    (root / "a" / "b").mkdir(parents=True)
    tree = WorkTree(root)
    before = os.dup(0)
    os.close(before)

    for _ in range(20):
        tree.write_file(b"a/b/f", b"x", 0o644)
        tree.state(b"a/b/f")
        with pytest.raises(WorkTreeError):
            tree.write_file(b"a/b", b"x", 0o644)
        with pytest.raises(WorkTreeError):
            tree.read(b"a/no/f")

    after = os.dup(0)
    os.close(after)
    assert after == before
