"""Paths inside the project root: links are resolved before a place is judged."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from keryx_py.tools.paths import PathError, ProjectRoot, is_git_name, shown_name


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "a.py").write_text("a")
    (project / ".git").mkdir()
    (project / ".git" / "config").write_text("c")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("s")
    return project


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (".", b""),
        ("./", b""),
        ("src", b"src"),
        ("src/a.py", b"src/a.py"),
        ("./src//a.py", b"src/a.py"),
        ("src/../src/a.py", b"src/a.py"),
        ("new/deep/file", b"new/deep/file"),
        ("./~", b"~"),
        ("~x", b"~x"),
        ("caf\udce9", b"caf\xe9"),
        ("é", "é".encode()),
        (".gitignore", b".gitignore"),
        ("x.git", b"x.git"),
        ("...", b"..."),
    ],
)
def test_a_path_inside_is_found(project: Path, path: str, place: bytes) -> None:
    assert ProjectRoot(project).resolve(path).relative == place


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("", "empty"),
        ("..", "outside the project root"),
        ("../outside/secret", "outside the project root"),
        ("src/../../outside", "outside the project root"),
        ("/etc/passwd", "outside the project root"),
        ("/", "outside the project root"),
        ("a\0b", "NUL"),
        ("~", "not expanded"),
        ("~/x", "not expanded"),
        ("\ud800", "no file name"),
        (".git", ".git"),
        (".git/config", ".git"),
        ("src/.git", ".git"),
        (".GIT/config", ".git"),
        (".giT", ".git"),
        (".g\u200cit/config", ".git"),
        (".git/../src/a.py", ".git"),
    ],
)
def test_a_path_outside_or_in_git_is_refused(project: Path, path: str, says: str) -> None:
    with pytest.raises(PathError, match=says):
        ProjectRoot(project).resolve(path)


def test_an_absolute_path_inside_is_found(project: Path) -> None:
    root = ProjectRoot(project)

    assert root.resolve(str(project / "src" / "a.py")).relative == b"src/a.py"
    assert root.resolve(str(project)).relative == b""


def test_a_root_reached_through_a_link_is_the_same_root(project: Path) -> None:
    link = project.parent / "link"
    link.symlink_to(project)
    root = ProjectRoot(link)

    assert root.resolve(str(link / "src")).relative == b"src"
    assert root.resolve(str(project / "src")).relative == b"src"


def test_a_folder_whose_name_begins_like_the_root_is_outside(project: Path) -> None:
    Path(f"{project}-other").mkdir()

    with pytest.raises(PathError, match="outside"):
        ProjectRoot(project).resolve(f"{project}-other/x")


@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("out", "../outside", "out/secret"),
        ("out", "../outside", "out"),
        ("out", "../outside/secret", "out"),
        ("out", "../missing", "out"),
        ("src/up", "../..", "src/up/outside/secret"),
        ("out", "../outside", "src/../out/../secret"),
        ("git", ".git", "git/config"),
        ("git", ".git/config", "git"),
        ("git", "src/../.git", "git/config"),
        ("loop", "loop", "loop/x"),
    ],
)
def test_a_link_that_leads_away_is_refused(
    project: Path, link: str, target: str, path: str
) -> None:
    (project / link).symlink_to(target)

    with pytest.raises(PathError):
        ProjectRoot(project).resolve(path)


def test_a_git_folder_that_is_a_link_is_refused_by_its_name(project: Path) -> None:
    (project / "sub").mkdir()
    (project / "store").mkdir()
    (project / "sub" / ".git").symlink_to("../store")
    (project / "way").symlink_to("sub/.git")

    for path in ("sub/.git/config", "way/config"):
        with pytest.raises(PathError, match=r"\.git"):
            ProjectRoot(project).resolve(path)


def test_a_link_inside_leads_to_its_target(project: Path) -> None:
    (project / "link").symlink_to("src/a.py")
    (project / "folder").symlink_to(project / "src")
    root = ProjectRoot(project)

    assert root.resolve("link").relative == b"src/a.py"
    assert root.resolve("folder/a.py").relative == b"src/a.py"
    assert root.resolve("folder/../src").relative == b"src"
    assert root.resolve_entry("link").relative == b"link"
    assert root.resolve_entry("folder/a.py").relative == b"src/a.py"


def test_an_entry_that_is_a_link_out_may_be_named_itself(project: Path) -> None:
    (project / "out").symlink_to("../outside/secret")

    assert ProjectRoot(project).resolve_entry("out").relative == b"out"


def test_a_folder_swapped_for_a_link_after_the_judgement_leads_nowhere(project: Path) -> None:
    root = ProjectRoot(project)
    location = root.resolve("src/a.py")
    (project / "src").rename(project / "old")
    (project / "src").symlink_to("../outside")

    with pytest.raises(PathError), root.folder(location.parent):
        pass


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"a b.py", "a b.py"),
        ("é公".encode(), "é公"),
        (b"caf\xe9", '"caf\\udce9"'),
        (b"a\nb", '"a\\nb"'),
        (b"\x1b[31m", '"\\u001b[31m"'),
        (b'q"q', '"q\\"q"'),
        (b"a\\b", '"a\\\\b"'),
        (b" a", '" a"'),
        ("a\u202eb".encode(), '"a\\u202eb"'),
    ],
)
def test_a_name_is_shown_on_one_line_and_can_be_sent_back(name: bytes, shown: str) -> None:
    assert shown_name(name) == shown
    if shown.startswith('"'):
        assert os.fsencode(json.loads(shown)) == name


def test_git_is_known_in_every_letter_case() -> None:
    assert all(is_git_name(name) for name in (b".git", b".GIT", b".Git"))
    assert not any(is_git_name(name) for name in (b".gitignore", b"git", b".git2", b"git~1"))
