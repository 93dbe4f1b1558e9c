"""Listing a folder and reading a file, within caps and with a word on how to read on."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from keryx_py.tools.base import Args, Outcome, Risk, ToolError
from keryx_py.tools.paths import ProjectRoot
from keryx_py.tools.read import (
    MOST_CHARACTERS,
    MOST_ENTRIES,
    MOST_IN_A_LINE,
    MOST_LINES,
    ListDir,
    ReadFile,
)


def quiet(text: str) -> None:
    """Let the output of a running tool go."""


def read(root: Path, path: str, **more: int) -> Outcome:
    args: Args = {"path": path, **more}
    return ReadFile(ProjectRoot(root)).run(args, quiet)


def list_dir(root: Path, path: str = ".") -> Outcome:
    return ListDir(ProjectRoot(root)).run({"path": path}, quiet)


def test_a_folder_is_listed_by_name_with_kinds_and_sizes(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("12345")
    (tmp_path / "a").mkdir()
    (tmp_path / "c").symlink_to("b.txt")
    os.mkfifo(tmp_path / "p")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")).write_text("")

    outcome = list_dir(tmp_path)

    assert outcome.output.splitlines() == [
        "a/",
        "b.txt  5",
        "c -> b.txt",
        "p (not a file)",
        '"\\udcff"  0',
    ]
    assert outcome.summary == "5 entries"


def test_a_long_folder_is_cut_and_says_so(tmp_path: Path) -> None:
    for number in range(MOST_ENTRIES + 3):
        (tmp_path / f"{number:05}").touch()

    lines = list_dir(tmp_path).output.splitlines()

    assert len(lines) == MOST_ENTRIES + 1
    assert lines[-1].startswith("[3 more entries")


def test_an_empty_folder_says_so(tmp_path: Path) -> None:
    assert list_dir(tmp_path).output == "The folder is empty."


def test_only_a_folder_is_listed(tmp_path: Path) -> None:
    (tmp_path / "f").touch()

    for path, says in (("f", "not a folder"), ("g", "does not exist"), ("f/x", "f: ")):
        with pytest.raises(ToolError, match=says):
            list_dir(tmp_path, path)


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one\n\n  three é\n")

    outcome = read(tmp_path, "f")

    assert outcome.output == "one\n\n  three é"
    assert outcome.summary == "3 lines"


def test_offset_and_limit_choose_lines(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("".join(f"{n}\n" for n in range(1, 11)))

    assert read(tmp_path, "f", offset=9).output == "9\n10"
    assert read(tmp_path, "f", offset=3, limit=2).output == (
        "3\n4\n[lines 3 to 4 of 10; read on with offset 5]"
    )
    with pytest.raises(ToolError, match="only 10 lines"):
        read(tmp_path, "f", offset=11)


def test_reading_on_as_told_reads_every_line_once(tmp_path: Path) -> None:
    lines = [f"{n} " + "x" * 90 for n in range(1, 2_500)]
    (tmp_path / "f").write_text("\n".join(lines))

    got: list[str] = []
    offset = 1
    while offset:
        told = read(tmp_path, "f", offset=offset).output.splitlines()
        more = told[-1].startswith("[lines")
        got += told[:-1] if more else told
        offset = int(told[-1].rstrip("]").split()[-1]) if more else 0

    assert got == lines


def test_lines_and_length_are_capped(tmp_path: Path) -> None:
    (tmp_path / "many").write_text("x\n" * (MOST_LINES + 5))
    (tmp_path / "wide").write_text("é" * 1_000_000 + "\nend")

    many, wide = read(tmp_path, "many").output, read(tmp_path, "wide").output

    assert many.endswith(f"[lines 1 to {MOST_LINES} of {MOST_LINES + 5}; read on with offset 2001]")
    assert wide.startswith("é" * MOST_IN_A_LINE + " [the line is cut here; it has 2,000,000 bytes]")
    assert wide.endswith("\nend")
    (tmp_path / "both").write_text(("y" * MOST_IN_A_LINE + "\n") * 100)
    assert len(read(tmp_path, "both").output) < MOST_CHARACTERS + 200


def test_odd_bytes_are_shown_and_a_binary_file_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"caf\xe9\n")
    (tmp_path / "binary").write_bytes(b"\x7fELF\0\0")

    assert read(tmp_path, "latin").output == "caf�"
    with pytest.raises(ToolError, match="binary file of 6 bytes"):
        read(tmp_path, "binary")


def test_crlf_and_a_byte_order_mark_do_not_reach_the_model(tmp_path: Path) -> None:
    (tmp_path / "crlf").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    (tmp_path / "mixed").write_bytes(b"a\r\nb\n")

    assert read(tmp_path, "crlf").output == (
        "a\nb\n[the lines end in CRLF; write them with plain line ends]"
    )
    assert read(tmp_path, "mixed").output == "a\r\nb"


def test_an_empty_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "f").touch()

    assert read(tmp_path, "f").output == "[The file is empty.]"


def test_only_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    os.mkfifo(tmp_path / "p")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "s"))
    (tmp_path / "null").symlink_to("/dev/null")

    for path, says in (
        ("d", "a folder"),
        ("p", "a pipe"),
        ("s", "a socket"),
        ("null", "outside"),
        ("x", "does not exist"),
        ("d/x/y", "does not exist"),
    ):
        with pytest.raises(ToolError, match=says):
            read(tmp_path, path)


def test_a_huge_file_is_read_in_its_first_part(tmp_path: Path) -> None:
    with (tmp_path / "f").open("wb") as file:
        file.write(b"first\n" * 10)
        file.write(b"\n" * 17 * 2**20)

    output = read(tmp_path, "f", limit=1)

    assert output.output.startswith("first\n[lines 1 to 1 of ")
    assert "only the first 16 MB of 17,825,852 bytes" in output.output


def test_reading_is_read_and_shows_nothing(tmp_path: Path) -> None:
    for tool in (ReadFile(ProjectRoot(tmp_path)), ListDir(ProjectRoot(tmp_path))):
        args: Args = {"path": "a\nb"}
        assert tool.risk(args) is Risk.READ
        assert tool.preview(args) is None
        assert tool.targets(args) == ()
        assert tool.title(args) == '"a\\nb"'
