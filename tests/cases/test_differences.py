"""/diff, `keryx rewind diff` and `export`: between points, of one turn, and as git applies them."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from keryx_py.rewind.rewinder import RefusedError
from keryx_py.shell.line import UsageError
from keryx_py.shell.rewind_cli import Export, RewindCli
from keryx_py.shell.screen import Streams
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, read, shell, write
from tests.cases.watching import look_at, needs_git

ODD = "d/né\nw\ty"


def piped(sitting: Sitting, work: Callable[[RewindCli], int]) -> bytes:
    """What *work* prints where the output is a pipe."""
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    assert work(RewindCli(sitting.project, Streams(io.StringIO(), out, io.StringIO()))) == 0
    out.flush()
    return raw.getvalue()


def diff(sitting: Sitting, *words: str) -> bytes:
    return piped(sitting, lambda cli: cli.diff(words))


def git_apply(folder: Path, patch: bytes, *options: str) -> None:
    for check in (["--check"], []):
        done = subprocess.run(
            ["git", "apply", "--whitespace=nowarn", *check, *options, "-"],
            cwd=folder,
            input=patch,
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b""), patch


def changes_of_all_kinds(root: Path) -> None:
    (root / "d").mkdir(exist_ok=True)
    (root / ODD).write_bytes(b"new\r\nline\xff")
    (root / "gone").unlink()
    (root / "empty").write_bytes(b"")
    (root / "noise").write_bytes(bytes(range(256)) * 9)
    (root / "run").chmod(0o755)
    (root / "link").unlink()
    (root / "link").symlink_to("elsewhere")
    (root / "was file").unlink()
    (root / "was file").symlink_to("run")
    (root / "crlf").write_bytes(b"a\r\nB\r\nc")
    (root / "swap").unlink()
    (root / "swap").mkdir()
    (root / "swap" / "in").write_text("in\n")


@pytest.fixture
def changed(root: Path, sit: Sit) -> Sitting:
    """A project of files of all kinds, after a turn that only reads and one with a snapshot."""
    for name in ("gone", "run", "was file", "swap"):
        (root / name).write_text(f"{name}\n")
    (root / "crlf").write_bytes(b"a\r\nb\r\nc\r\n")
    (root / "noise").write_bytes(bytes(200))
    (root / "link").symlink_to("run")
    sitting = sit()
    sitting.play(read("run"))
    sitting.play(shell("true"))
    return sitting


def copy_of(root: Path, where: Path) -> Path:
    subprocess.run(["cp", "-a", root, where], check=True)
    return where


def test_git_applies_what_is_piped(root: Path, tmp_path: Path, changed: Sitting) -> None:
    """Odd names, line ends, modes, links, created, deleted, empty and binary files."""
    copy = copy_of(root, tmp_path / "copy")
    before = look_at(root)
    changes_of_all_kinds(root)

    patch = diff(changed, "2")
    git_apply(copy, patch)

    assert look_at(copy) == look_at(root)
    assert patch.startswith(b"diff --git ")
    git_apply(copy, patch, "-R")
    assert look_at(copy) == before


def test_an_export_since_a_point_is_applied_by_git(
    root: Path, tmp_path: Path, changed: Sitting
) -> None:
    copy = copy_of(root, tmp_path / "copy")
    changes_of_all_kinds(root)
    file = tmp_path / "p.patch"

    said = piped(changed, lambda cli: cli.export(Export(since="2", patch=True, output=file)))
    git_apply(copy, file.read_bytes())

    assert said == b""
    assert look_at(copy) == look_at(root)


def test_one_turn_is_shown_and_exported_alone(root: Path, tmp_path: Path, sit: Sit) -> None:
    (root / "f").write_text("1\n")
    sitting = sit()
    copy = copy_of(root, tmp_path / "copy")
    sitting.play(write("f", "2\n"), lambda: (root / "mine").write_text("x\n"), write("g", "3\n"))

    said = sitting.play("/diff 1 only")
    second = sitting.play("/diff 2 only")
    patch = piped(sitting, lambda cli: cli.export(Export("1", patch=True)))
    git_apply(copy, patch)

    assert "1 file changed, +1 -1" in said
    assert "mine" not in said
    assert "g" in second
    assert "mine" not in second
    assert {path.name: path.read_text() for path in copy.iterdir()} == {"f": "2\n"}


def test_the_session_a_span_and_paths(root: Path, sit: Sit) -> None:
    sitting = sit()
    sitting.play(write("a", "1\n"), write("d/b", "2\n"), write("a", "3\n"))

    assert "2 files changed, +2 -0" in sitting.play("/diff all")
    assert "1 file changed, +1 -0" in sitting.play("/diff all d/")
    assert "2 files changed, +2 -0" in sitting.play("/diff 1 3")
    assert "no file differs" in sitting.play("/diff 2 3 a")
    assert "names nothing" in sitting.play("/diff 1 nothing")
    assert "2 files changed" not in sitting.play("/diff 3 1 a")
    assert "1 file changed, +0 -1" in sitting.play("/diff 3 1 a")


def test_what_one_turn_changed_is_refused_where_it_is_not_known(root: Path, sit: Sit) -> None:
    sitting = sit(settings={"keep": 1})
    sitting.play(write("a", "1\n"), read("a"), "/checkpoint c", write("a", "2\n"))

    assert "what turn 1 changed is not known: its snapshot was pruned" in sitting.play(
        "/diff 1 only"
    )
    assert "no file differs" in sitting.play("/diff 2 only")
    assert "point 3 is no turn" in sitting.play("/diff @c only")
    assert "there is no point 9" in sitting.play("/diff 9 only")


def test_all_of_a_long_difference_is_counted_and_the_rest_is_not_shown(
    root: Path, sit: Sit
) -> None:
    sitting = sit()
    sitting.play(shell("true"))
    for name in "abc":
        (root / name).write_text("row\n" * 1500)

    said = sitting.play("/diff 1")

    assert "3 files changed, +4,500 -0" in said
    assert "… cut after 2,000 lines" in said
    assert said.count("+row") < 2000


def test_a_session_without_snapshots_has_no_difference(sit: Sit) -> None:
    assert "no snapshot of this session is kept" in sit().play("/diff all")


def test_names_and_content_never_drive_the_terminal(root: Path, sit: Sit) -> None:
    sitting = sit()
    sitting.play(shell(r"printf '\033[2Jx\n' > \"$(printf 'n\033]0;t\007')\""))
    (root / "f\x1b[1m").write_text("\x1b[31mred\n")

    said = sitting.play("/diff 1")

    assert "\x1b" not in said
    assert r"\x1b[31mred" in said


@pytest.mark.parametrize(
    "wanted",
    [
        Export("1"),
        Export(since="1"),
        Export(patch=True),
        Export("1", "1", True),
        Export("x", patch=True),
    ],
)
def test_an_export_that_does_not_say_what_is_refused(root: Path, sit: Sit, wanted: Export) -> None:
    sitting = sit()
    sitting.play(write("a", "1\n"))

    with pytest.raises(UsageError, match=r"--patch|number"):
        piped(sitting, lambda cli: cli.export(wanted))


def test_an_export_overwrites_no_file(root: Path, tmp_path: Path, sit: Sit) -> None:
    sitting = sit()
    sitting.play(write("a", "1\n"))
    file = tmp_path / "there"
    file.write_text("mine")

    with pytest.raises(UsageError, match="is there already"):
        piped(sitting, lambda cli: cli.export(Export("1", patch=True, output=file)))

    assert file.read_text() == "mine"
    with pytest.raises(RefusedError):
        piped(sitting, lambda cli: cli.export(Export("7", patch=True, output=tmp_path / "new")))
    assert not (tmp_path / "new").exists()


@needs_git
def test_commits_are_named_as_what_cannot_be_undone(root: Path, sit: Sit) -> None:
    """By what the commands did: `.git` is never opened."""
    sitting = sit()
    author = "-c user.name=a -c user.email=a@b"
    sitting.play(
        shell("git init -q ."),
        shell(f"echo 1 > f && git add f && git {author} commit -qm x"),
        shell("git push nowhere main"),
    )

    said = sitting.play("/rewind 1")

    assert "turn 1 ran: git init -q . (exit 0)" in said
    assert (
        f"turn 2 committed: echo 1 > f && git add f && git {author} commit -qm x (exit 0)" in said
    )
    assert "turn 3 may have pushed: git push nowhere main (exit " in said
