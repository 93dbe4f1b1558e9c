"""Moving and deleting: as a person expects of mv and rm, and never outside the root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from keryx_py.tools.base import Args, Outcome, Risk, ShownAs, ToolError
from keryx_py.tools.move import DeleteFile, MoveFile
from keryx_py.tools.paths import ProjectRoot


def quiet(text: str) -> None:
    """Let the output of a running tool go."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "d").mkdir(parents=True)
    (project / "a").write_text("a\n")
    (project / "b").write_text("b\n")
    (project / "d" / "c").write_text("c\n")
    (project / "link").symlink_to("a")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "o").write_text("o")
    (project / "out").symlink_to("../outside")
    return project


def ends(source: str, target: str) -> Args:
    return {"source": source, "target": target}


def move(project: Path, source: str, target: str) -> Outcome:
    return MoveFile(ProjectRoot(project)).run(ends(source, target), quiet)


def tree(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): f"-> {path.readlink()}"
        if path.is_symlink()
        else ""
        if path.is_dir()
        else path.read_text()
        for path in root.rglob("*")
    }


@pytest.mark.parametrize(
    ("source", "target", "moved_to"),
    [
        ("a", "new", "new"),
        ("a", "x/y/new", "x/y/new"),
        ("a", "d", "d/a"),
        ("a", "d/", "d/a"),
        ("a", "./d/../e", "e"),
        ("d/c", ".", "c"),
    ],
)
def test_a_file_is_moved(project: Path, source: str, target: str, moved_to: str) -> None:
    content = (project / source).read_text()
    tool = MoveFile(ProjectRoot(project))

    assert tool.risk(ends(source, target)) is Risk.WRITE
    assert tool.targets(ends(source, target)) == (source.encode(), moved_to.encode())
    outcome = move(project, source, target)

    assert outcome.output == f"Moved {source} to {moved_to}."
    assert (project / moved_to).read_text() == content
    assert not (project / source).exists()


def test_moving_over_a_file_is_destructive_and_says_so(project: Path) -> None:
    tool = MoveFile(ProjectRoot(project))

    assert tool.risk(ends("a", "b")) is Risk.DESTRUCTIVE
    shown = tool.preview(ends("a", "b"))
    assert shown is not None
    assert shown.text == "a -> b (replaces what is there)"
    assert move(project, "a", "b").output == "Moved a to b, replacing what was there."
    assert (project / "b").read_text() == "a\n"


def test_moving_into_a_folder_that_holds_the_name_is_destructive(project: Path) -> None:
    (project / "d" / "a").write_text("other")

    assert MoveFile(ProjectRoot(project)).risk(ends("a", "d")) is Risk.DESTRUCTIVE


def test_a_folder_is_moved_whole(project: Path) -> None:
    move(project, "d", "e/f")

    assert (project / "e" / "f" / "c").read_text() == "c\n"
    assert not (project / "d").exists()


def test_a_link_is_moved_itself(project: Path) -> None:
    move(project, "link", "d/link2")
    move(project, "out", "out2")

    assert (project / "d" / "link2").is_symlink()
    assert (project / "out2").is_symlink()
    assert (project / "a").read_text() == "a\n"


def test_a_link_at_the_target_is_replaced_not_followed(project: Path) -> None:
    move(project, "b", "link")

    assert not (project / "link").is_symlink()
    assert (project / "link").read_text() == "b\n"
    assert (project / "a").read_text() == "a\n"


@pytest.mark.parametrize(
    ("source", "target", "says"),
    [
        ("missing", "x", "does not exist"),
        ("a", "a", "there already"),
        ("a", "./d/../a", "there already"),
        ("a", ".", "there already"),
        ("a", "new/", "does not exist"),
        ("d", "a", "exists already"),
        ("d", "d/e", "into itself"),
        ("d", "d", "into itself"),
        (".", "x", "root itself"),
        ("a", "out/x", "outside"),
        ("a", "out", "outside"),
        ("out/o", "x", "outside"),
        ("../outside/o", "x", "outside"),
        ("a", ".git/x", r"\.git"),
        ("a", ".git", r"\.git"),
        ("repo/.git", "x", r"\.git"),
        ("repo", "x", "git repository"),
        ("a", "hard", "the same file"),
        ("a", "b/x", "b"),
    ],
)
def test_a_move_that_cannot_be_changes_nothing(
    project: Path, source: str, target: str, says: str
) -> None:
    (project / "repo" / ".git").mkdir(parents=True)
    (project / "hard").hardlink_to(project / "a")
    before = tree(project.parent)
    tool = MoveFile(ProjectRoot(project))

    with pytest.raises(ToolError, match=says):
        tool.preview(ends(source, target))
    with pytest.raises(ToolError, match=says):
        tool.run(ends(source, target), quiet)

    assert tree(project.parent) == before


def test_moving_a_folder_over_one_of_that_name_is_refused(project: Path) -> None:
    (project / "e" / "d").mkdir(parents=True)

    with pytest.raises(ToolError, match="never replaced"):
        move(project, "d", "e")


def test_a_file_is_deleted_after_its_lines_were_shown(project: Path) -> None:
    tool = DeleteFile(ProjectRoot(project))
    args: Args = {"path": "a"}

    assert tool.risk(args) is Risk.DESTRUCTIVE
    assert tool.targets(args) == (b"a",)
    shown = tool.preview(args)
    assert shown is not None
    assert shown.kind is ShownAs.DIFF
    assert shown.text.endswith("-a\n")
    assert tool.run(args, quiet).output == "Deleted a."
    assert not (project / "a").exists()


def test_a_link_is_deleted_itself(project: Path) -> None:
    tool = DeleteFile(ProjectRoot(project))

    for path in ("link", "out"):
        shown = tool.preview({"path": path})
        assert shown is not None
        assert shown.text.startswith(f"{path} -> ")
        tool.run({"path": path}, quiet)

    assert (project / "a").exists()
    assert (project.parent / "outside" / "o").exists()


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("d", "a folder; delete it with shell_exec"),
        (".", "a folder"),
        ("pipe", "a pipe"),
        ("missing", "does not exist"),
        ("out/o", "outside"),
        (".git", r"\.git"),
        (".git/x", r"\.git"),
    ],
)
def test_only_a_file_inside_is_deleted(project: Path, path: str, says: str) -> None:
    os.mkfifo(project / "pipe")
    names = sorted(os.listdir(project))
    tool = DeleteFile(ProjectRoot(project))

    with pytest.raises(ToolError, match=says):
        tool.preview({"path": path})
    with pytest.raises(ToolError, match=says):
        tool.run({"path": path}, quiet)

    assert sorted(os.listdir(project)) == names
