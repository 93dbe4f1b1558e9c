"""Whether a file about to be written would be held by a snapshot."""

from __future__ import annotations

from pathlib import Path

import pytest

from keryx_py.snapshot.coverage import Coverage


def coverage(root: Path, *exclude: str) -> Coverage:
    return Coverage(root, max_file_bytes=100, exclude=exclude)


def test_an_ordinary_file_is_covered(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log\n")

    assert coverage(tmp_path).why_not([b"src/a.py", b"new/deep/b"], 100) == ""


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (b"a.log", ".gitignore"),
        (b"sub/deep/a.log", ".gitignore"),
        (b"sub/secret", ".gitignore"),
        (b"build/x/y", ".gitignore"),
        (b"node_modules/x/y.js", "node_modules is never saved"),
        (b"sub/.git/config", ".git is never saved"),
        (b".metaproject/data/x", ".metaproject/data is never saved"),
        (b"notes.draft", "exclude"),
    ],
)
def test_what_is_left_out_is_named(tmp_path: Path, path: bytes, said: str) -> None:
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".gitignore").write_text("secret\n!keep.log\n")

    assert said in coverage(tmp_path, "*.draft").why_not([path], 1)


def test_a_nested_file_that_keeps_a_path_is_heard(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".gitignore").write_text("!keep.log\n")

    assert coverage(tmp_path).why_not([b"sub/keep.log"], 1) == ""


def test_a_size_over_the_limit_is_named_whether_new_or_there(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * 101)

    assert "larger than" in coverage(tmp_path).why_not([b"new"], 101)
    assert "larger than" in coverage(tmp_path).why_not([b"big"], 1)
    assert coverage(tmp_path).why_not([b"new"], 100) == ""


def test_rules_behind_a_link_count_as_none(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("*\n")
    (tmp_path / ".gitignore").symlink_to("rules")

    assert coverage(tmp_path).why_not([b"a"], 1) == ""


def test_a_folder_that_moves_is_judged_as_a_folder(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("build/\n")
    (tmp_path / "src").mkdir()

    assert coverage(tmp_path).why_not([b"src", b"build"], 0) != ""
    assert coverage(tmp_path).why_not([b"build"], 0) == ""


def test_a_folder_in_the_place_of_the_rules_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").mkdir()

    assert coverage(tmp_path).why_not([b"a"], 1) == ""
