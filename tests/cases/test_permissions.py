"""What a normal user may not read, write or list is named, and never in the way of the rest."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cases.as_user import as_user
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, edit, shell, write
from tests.cases.watching import captured, look_at, stamps


@contextmanager
def project(place: Path) -> Iterator[tuple[Path, Sitting]]:
    """Give a project with a file `other` in it, and a sitting on it."""
    root = place / "P"
    root.mkdir()
    (root / "other").write_text("old\n")
    sitting = Sitting(root, place / "data")
    yield root, sitting
    sitting.close()
    for path in root.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o700)


def mode_of(path: Path) -> int:
    """Look at the permission bits of *path*."""
    return stat.S_IMODE(path.lstat().st_mode)


def in_project(place: Path, act: Callable[[Path, Sitting], None]) -> None:
    """Do *act* on a project as a normal user."""

    def act_on_it() -> None:
        with project(place) as (root, sitting):
            act(root, sitting)

    as_user(place, act_on_it)


# ---- unreadable


def test_a_file_that_cannot_be_read_is_named_once_and_kept(place: Path) -> None:
    """PERM-01: the others are covered as ever."""

    def act(root: Path, sitting: Sitting) -> None:
        (root / "locked").write_text("mine\n")
        (root / "locked").chmod(0)
        before = stamps(root)
        sitting.play(edit("other", "old", "turn"))

        preview = sitting.play("/rewind 1")
        said = sitting.rewind(1)

        assert (root / "other").read_text() == "old\n"
        assert stamps(root)["locked"] == before["locked"]
        assert preview.count("locked") == 1
        assert "  locked (unreadable)\n" in preview
        assert "failed" not in said
        assert captured(sitting, 1).keys() == {"other"}

    in_project(place, act)


def test_another_s_file_that_cannot_be_read_is_kept(place: Path) -> None:
    """PERM-01: one that root put there with no bits at all."""
    (place / "P").mkdir()
    (place / "P" / "locked").write_text("root's\n")
    (place / "P" / "locked").chmod(0)
    (place / "P" / "other").write_text("old\n")

    def act() -> None:
        sitting = Sitting(place / "P", place / "data")
        sitting.play(write("other", "turn\n"))
        sitting.rewind(1, "both")

        assert (place / "P" / "other").read_text() == "old\n"
        assert not os.access(place / "P" / "locked", os.R_OK)

    as_user(place, act, not_owned=(place / "P" / "locked",))
    assert (place / "P" / "locked").read_text() == "root's\n"


def test_a_file_that_the_turn_made_unreadable_stays_and_is_named(place: Path) -> None:
    """PERM-01: no undo point can hold it, so nothing is done to it."""

    def act(root: Path, sitting: Sitting) -> None:
        (root / "f").write_text("old\n")
        sitting.play(shell("echo turn > f; chmod 000 f; echo x > made; chmod 000 made"))

        said = sitting.rewind(1)

        assert mode_of(root / "f") == 0
        assert (root / "made").exists()
        assert "f (unreadable)" in said
        assert "made (unreadable)" in said
        (root / "f").chmod(0o600)
        assert (root / "f").read_text() == "turn\n"
        sitting.rewind(1)
        assert (root / "f").read_text() == "old\n"
        assert mode_of(root / "f") == 0o644

    in_project(place, act)


def test_what_was_unreadable_then_is_never_removed(place: Path) -> None:
    """PERM-01: readable now, it is still not in the snapshot."""

    def act(root: Path, sitting: Sitting) -> None:
        (root / "locked").write_text("mine\n")
        (root / "locked").chmod(0)
        sitting.play(shell("chmod 644 locked; echo x > made"))

        said = sitting.rewind(1)

        assert (root / "locked").read_text() == "mine\n"
        assert not (root / "made").exists()
        assert "locked (not saved then: unreadable)" in said

    in_project(place, act)


@pytest.mark.parametrize("mode", [0o000, 0o100, 0o300])
def test_a_folder_that_cannot_be_listed_is_named_and_kept(place: Path, mode: int) -> None:
    """PERM-05: in the snapshot, in the preview and on the restore."""

    def act(root: Path, sitting: Sitting) -> None:
        (root / "d").mkdir()
        (root / "d" / "x").write_text("mine\n")
        (root / "d").chmod(mode)
        sitting.play(edit("other", "old", "turn"))

        preview = sitting.play("/rewind 1")
        sitting.rewind(1)

        assert "  d (unreadable)\n" in preview
        assert (root / "other").read_text() == "old\n"
        assert mode_of(root / "d") == mode
        (root / "d").chmod(0o700)
        assert (root / "d" / "x").read_text() == "mine\n"

    in_project(place, act)


@pytest.mark.parametrize("mode", [0o000, 0o400, 0o600])
def test_a_folder_that_the_turn_closed_is_named_and_the_preview_works(
    place: Path, mode: int
) -> None:
    """PERM-05: what is in it cannot be seen, so it stays; made readable, it comes back."""

    def act(root: Path, sitting: Sitting) -> None:
        (root / "d").mkdir()
        (root / "d" / "x").write_text("old\n")
        before = look_at(root)
        sitting.play(shell(f"echo turn > d/x; echo turn > other; chmod {mode:o} d"))

        preview = sitting.play("/rewind 1", "/rewind")
        sitting.rewind(1)

        assert "unreadable" in preview
        assert "bug" not in preview
        assert (root / "other").read_text() == "old\n"
        (root / "d").chmod(0o755)
        sitting.rewind(1)
        assert look_at(root) == before

    in_project(place, act)


# ---- read-only


def test_a_file_comes_back_into_a_read_only_folder(place: Path) -> None:
    """PERM-03: the folder is opened for the restore, and gets its mode back."""

    def act(root: Path, sitting: Sitting) -> None:
        (root / "d").mkdir()
        (root / "d" / "x").write_text("old\n")
        (root / "d").chmod(0o555)
        before = look_at(root)
        sitting.play(shell("chmod 755 d; rm d/x; echo y > d/y; chmod 555 d"))

        said = sitting.rewind(1)

        assert look_at(root) == before
        assert "failed" not in said

    in_project(place, act)


@pytest.mark.parametrize(
    "command",
    [
        "chmod -R u+w d; rm -r d",
        "chmod -R u+w d; rm -r d; echo x > d",
        "chmod -R u+w d; echo turn > d/e/x; chmod 555 d",
        "chmod u+w d/e/x; echo turn > d/e/x",
        "chmod -R u+w d; mv d moved",
        "chmod u+w d/e; mkdir -p d/e/n/m; echo x > d/e/n/m/f; chmod -R a-w d/e",
    ],
)
def test_trees_of_read_only_folders_come_back(place: Path, command: str) -> None:
    """PERM-03: removed, replaced, moved, and written in."""

    def act(root: Path, sitting: Sitting) -> None:
        (root / "d" / "e").mkdir(parents=True)
        (root / "d" / "e" / "x").write_text("old\n")
        for name in ("d/e/x", "d/e", "d"):
            (root / name).chmod(0o444 if name.endswith("x") else 0o555)
        before = look_at(root)
        sitting.play(shell(command))
        between = look_at(root)
        assert between != before

        sitting.rewind(1)
        assert look_at(root) == before
        sitting.play("/redo", "/rewind confirm")
        assert look_at(root) == between

    in_project(place, act)


def test_a_read_only_file_of_the_turn_s_goes_and_an_old_one_comes_back(place: Path) -> None:
    """PERM-03: a file's own mode does not keep it from being replaced."""

    def act(root: Path, sitting: Sitting) -> None:
        (root / "ro").write_text("old\n")
        (root / "ro").chmod(0o444)
        before = look_at(root)
        sitting.play(
            shell("chmod 644 ro; echo turn > ro; chmod 400 ro; echo x > made; chmod 400 made")
        )

        sitting.rewind(1)

        assert look_at(root) == before

    in_project(place, act)


def test_a_folder_of_another_s_is_named_as_failed_and_the_rest_is_done(place: Path) -> None:
    """PERM-03: what cannot be opened cannot be restored; the history stays, and all is said."""
    for name in ("P", "P/theirs"):
        (place / name).mkdir()
    (place / "P" / "theirs" / "x").write_text("old\n")
    (place / "P" / "other").write_text("old\n")
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    sitting = Sitting(place / "P", place / "data")
    sitting.play(shell("echo turn > theirs/x; echo turn > other"))
    session = sitting.project.session.id
    sitting.close()

    def act() -> None:
        again = Sitting(place / "P", place / "data")
        again.project.resume(session)
        said = again.rewind(1, "both")

        assert (place / "P" / "other").read_text() == "old\n"
        assert (place / "P" / "theirs" / "x").read_text() == "turn\n"
        assert "1 path failed:\n  theirs/x (permission denied)\n" in said
        assert "the history stays" in said

    as_user(place, act, not_owned=(place / "P" / "theirs",))


def test_a_root_that_is_read_only_is_refused_before_anything(place: Path) -> None:
    """PERM-03: another's folder that one may only read."""
    (place / "P").mkdir()
    (place / "P" / "f").write_text("old\n")
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    sitting = Sitting(place / "P", place / "data")
    sitting.play(write("f", "turn\n"))
    session = sitting.project.session.id
    sitting.close()
    (place / "P").chmod(0o755)

    def act() -> None:
        before = stamps(place / "P")
        again = Sitting(place / "P", place / "data")
        again.project.resume(session)
        said = again.rewind(1, "both")

        assert stamps(place / "P") == before
        assert "read-only" in said
        assert "turn went" not in said

    as_user(place, act, not_owned=(place / "P", place / "P" / "f"))


# ---- special files


def test_pipes_sockets_and_devices_are_named_and_never_opened(
    root: Path, sit: Sit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PERM-01: a snapshot does not wait for a writer, and a rewind leaves them."""
    (root / "other").write_text("old\n")
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        sitting = sit()
        sitting.play(edit("other", "old", "turn"), shell("mkfifo made"))
        before = stamps(root)

        said = sitting.rewind(1)

    after = stamps(root)
    assert (root / "other").read_text() == "old\n"
    for name, reason in (("pipe", "a pipe"), ("socket", "a socket"), ("made", "a pipe")):
        assert after[name] == before[name]
        assert f"{name} ({reason})" in said


def test_a_file_that_became_a_pipe_stays_a_pipe_and_is_named(root: Path, sit: Sit) -> None:
    """PERM-01: the undo point cannot hold a pipe, so it is not replaced."""
    (root / "f").write_text("old\n")
    (root / "d").mkdir()
    (root / "d" / "g").write_text("old\n")
    sitting = sit()
    sitting.play(shell("rm f; mkfifo f; rm -r d; mkfifo d; echo x > made"))

    said = sitting.rewind(1)

    assert (root / "f").is_fifo()
    assert (root / "d").is_fifo()
    assert not (root / "made").exists()
    assert "f (a pipe)" in said
    assert "d (a pipe)" in said
    assert "d/g (d stands in the way)" in said
    assert "failed" not in said


def test_a_pipe_that_the_turn_removed_is_named_as_not_covered(root: Path, sit: Sit) -> None:
    """PERM-01: it was never saved; a file that the turn put in its place stays as well."""
    os.mkfifo(root / "pipe")
    os.mkfifo(root / "gone")
    sitting = sit()
    sitting.play(shell("rm pipe gone; echo x > pipe"))

    said = sitting.rewind(1)

    assert (root / "pipe").read_text() == "x\n"
    assert "pipe (not saved then: a pipe)" in said
    assert "gone (a pipe)" in said
