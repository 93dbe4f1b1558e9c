"""Typed paths are names below the root."""

from __future__ import annotations

from pathlib import Path

import pytest

from keryx_py.shell.line import UsageError
from keryx_py.shell.paths import typed_path, typed_paths


@pytest.mark.parametrize(
    ("word", "path"),
    [
        ("src/a.py", b"src/a.py"),
        ("docs/", b"docs"),
        ("./keep", b"keep"),
        ("src//x/../a.py", b"src/a.py"),
        ("*.py", b"*.py"),
        ("a\udcff", b"a\xff"),
        ("...", b"..."),
        ("..a/b", b"..a/b"),
        (".", b""),
    ],
)
def test_a_path_is_a_name_relative_to_the_root(tmp_path: Path, word: str, path: bytes) -> None:
    assert typed_path(word, tmp_path) == path


def test_an_absolute_path_inside_the_root_is_taken(tmp_path: Path) -> None:
    assert typed_path(str(tmp_path / "src" / "a"), tmp_path) == b"src/a"
    assert typed_path(str(tmp_path), tmp_path) == b""


def test_an_absolute_path_through_a_link_to_the_root_is_taken(tmp_path: Path) -> None:
    real = tmp_path / "real"
    (real / "d").mkdir(parents=True)
    (tmp_path / "link").symlink_to(real)

    assert typed_path(str(tmp_path / "link" / "d" / "f"), real) == b"d/f"


def test_a_link_is_named_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "d").symlink_to("/")

    assert typed_path(str(tmp_path / "d"), tmp_path) == b"d"


@pytest.mark.parametrize("word", ["..", "../x", "a/../../x", "/etc/passwd", "/", "", "a\0b"])
def test_what_is_outside_or_no_path_is_refused(tmp_path: Path, word: str) -> None:
    with pytest.raises(UsageError):
        typed_path(word, tmp_path)


def test_naming_the_root_means_everything(tmp_path: Path) -> None:
    assert typed_paths(["a", "."], tmp_path) == ()
    assert typed_paths(["a", "b/"], tmp_path) == (b"a", b"b")
