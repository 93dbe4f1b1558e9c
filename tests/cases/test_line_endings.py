"""Bytes are bytes: no attribute, filter or git setting changes what is saved or brought back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.conftest import Sit
from tests.cases.sitting import edit, shell
from tests.cases.watching import git, held, look_at, make_repository

CRLF = b"a\r\nb\r\n"
LF = b"a\nb\n"


@pytest.mark.parametrize("attributes", ["* text=auto\n", "* text eol=crlf\n", "* text eol=lf\n"])
def test_line_ends_come_back_as_they_were(root: Path, sit: Sit, attributes: str) -> None:
    """EOL-01: the turn turned them round; `.gitattributes` has no say in what comes back."""
    (root / ".gitattributes").write_text(attributes)
    contents = (LF, CRLF, b"a\r\nb\n", b"a\rb\r", b"\xef\xbb\xbfa\r\n", b"")
    for number, content in enumerate(contents):
        (root / f"f{number}").write_bytes(content)
    make_repository(root)
    before = look_at(root)
    sitting = sit()
    sitting.play(
        shell("for f in f*; do tr '\\n\\r' '\\r\\n' < $f > g; cat g > $f; echo >> $f; done; rm g")
    )

    sitting.rewind(1)

    assert look_at(root) == before
    assert [held(sitting, 1, f"f{n}") for n in range(len(contents))] == list(contents)


@pytest.mark.parametrize("autocrlf", ["true", "input"])
def test_git_s_own_setting_about_line_ends_has_no_say(root: Path, sit: Sit, autocrlf: str) -> None:
    """EOL-03: six bytes go, the same six come back."""
    git(root, "config", "--global", "core.autocrlf", autocrlf)
    git(root, "config", "--global", "core.eol", "crlf")
    (root / "f").write_bytes(CRLF)
    (root / "g").write_bytes(LF)
    make_repository(root)
    before = look_at(root)
    sitting = sit()
    sitting.play(shell("rm f g"))

    sitting.rewind(1)

    assert look_at(root) == before
    assert held(sitting, 1, "f") == CRLF


@pytest.mark.parametrize("way", ["missing", "clean", "process", "required"])
def test_no_filter_is_ever_run(root: Path, tmp_path: Path, sit: Sit, way: str) -> None:
    """EOL-05: the real content comes back, with git-lfs there or not."""
    marker = tmp_path / "ran"
    match way:
        case "clean":
            git(root, "config", "--global", "filter.lfs.clean", f"touch {marker}; cat")
            git(root, "config", "--global", "filter.lfs.smudge", f"touch {marker}; cat")
        case "process":
            git(root, "config", "--global", "filter.lfs.process", f"touch {marker}; false")
        case "required":
            git(root, "config", "--global", "filter.lfs.process", "/nowhere/git-lfs")
            git(root, "config", "--global", "filter.lfs.required", "true")
        case _:
            pass
    (root / ".gitattributes").write_text("*.csv filter=lfs diff=lfs merge=lfs -text\n")
    (root / "data.csv").write_bytes(b"1,2\r\n3,4\r\n")
    git(root, "init", "-q")
    before = look_at(root)
    sitting = sit()
    sitting.play(shell(": > data.csv"))

    said = sitting.rewind(1)

    assert look_at(root) == before
    assert held(sitting, 1, "data.csv") == b"1,2\r\n3,4\r\n"
    assert not marker.exists()
    assert "+2 -0" in said


def test_ident_and_encoding_attributes_change_nothing(root: Path, sit: Sit) -> None:
    """EOL-05: neither $Id$ nor UTF-16 is converted, on the way in or out."""
    (root / ".gitattributes").write_text(
        "*.c ident\n*.txt text working-tree-encoding=UTF-16\n*.bin binary\n"
    )
    (root / "a.c").write_text("/* $Id: kept $ */\n")
    (root / "a.txt").write_bytes("ä\r\n".encode("utf-16"))
    (root / "a.bin").write_bytes(bytes(range(256)))
    before = look_at(root)
    sitting = sit()
    sitting.play(shell("rm a.*"))

    sitting.rewind(1)

    assert look_at(root) == before


@pytest.mark.parametrize("tool", ["edit", "shell"])
@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_one_edited_line_is_one_line_in_the_preview(
    root: Path, sit: Sit, tool: str, end: str
) -> None:
    """EOL-08: +1 −1, also where lines end in CRLF, and the tool kept them so."""
    (root / "f").write_bytes("".join(f"line {n}{end}" for n in range(20)).encode())
    before = look_at(root)
    sitting = sit()
    change = edit("f", "line 7", "LINE 7") if tool == "edit" else shell("sed -i 's/e 7/E 7/' f")
    sitting.play(change)

    said = sitting.rewind(1)

    assert "  modified      f  +1 -1     turn 1\n" in said
    assert look_at(root) == before


def test_a_change_of_line_ends_alone_is_shown_as_a_change(root: Path, sit: Sit) -> None:
    """EOL-08: of every line, and the full difference shows where."""
    (root / "f").write_bytes(LF)
    sitting = sit()
    sitting.play(shell(r"sed -i 's/$/\r/' f"))

    said = sitting.play("/rewind 1 files diff")

    assert "  modified      f  +2 -2     turn 1\n" in said
    assert "-a\\r\n" in said
    assert "+a\n" in said
