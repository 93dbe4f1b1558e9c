"""The project root: named, found upwards, or where one stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from keryx_py.root import NoRootError, find_root


def test_a_named_root_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    inner = tmp_path / "inner"
    inner.mkdir()

    assert find_root(inner, tmp_path, tmp_path / "home") == inner.resolve()


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_the_nearest_folder_upwards_with_git_is_the_root(tmp_path: Path, kind: str) -> None:
    git = tmp_path / ".git"
    git.mkdir() if kind == "folder" else git.write_text("gitdir: elsewhere\n")
    start = tmp_path / "src" / "deep"
    start.mkdir(parents=True)

    assert find_root(None, start, tmp_path / "home") == tmp_path.resolve()


def test_the_search_stops_at_home(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    start = tmp_path / "notes"
    start.mkdir()

    assert find_root(None, start, home=tmp_path) == start.resolve()


def test_without_git_the_current_folder_is_the_root(tmp_path: Path) -> None:
    start = tmp_path / "plain"
    start.mkdir()

    assert find_root(None, start, home=tmp_path) == start.resolve()


@pytest.mark.parametrize("name", ["missing", "file", "bad\0name"])
def test_a_root_that_cannot_be_one_is_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(NoRootError, match="--root"):
        find_root(tmp_path / name, tmp_path, tmp_path)
