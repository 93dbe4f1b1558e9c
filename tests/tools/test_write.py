"""Writing and editing files: exact bytes, modes and line ends kept, nothing outside touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from keryx_py.tools.base import Args, Outcome, Risk, ShownAs, ToolError
from keryx_py.tools.diff import MOST_LINES, compare
from keryx_py.tools.files import put_file
from keryx_py.tools.paths import ProjectRoot
from keryx_py.tools.write import EditFile, WriteFile


def quiet(text: str) -> None:
    """Let the output of a running tool go."""


def write(root: Path, path: str, content: str) -> Outcome:
    return WriteFile(ProjectRoot(root)).run({"path": path, "content": content}, quiet)


def edit(root: Path, path: str, old: str, new: str, replace_all: bool = False) -> Outcome:
    args: Args = {"path": path, "old": old, "new": new, "replace_all": replace_all}
    return EditFile(ProjectRoot(root)).run(args, quiet)


def names(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def test_a_new_file_is_written_with_its_folders(tmp_path: Path) -> None:
    outcome = write(tmp_path, "new/deep/f.txt", "one\ntwo")

    assert (tmp_path / "new/deep/f.txt").read_bytes() == b"one\ntwo"
    assert outcome.output == "Made new/deep/f.txt: +2 -0 lines."
    assert outcome.summary == "+2 -0 new"
    assert outcome.shown is not None
    assert outcome.shown.kind is ShownAs.DIFF
    assert names(tmp_path) == ["new", "new/deep", "new/deep/f.txt"]


def test_a_new_file_has_the_mode_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path, "f", "x")
    finally:
        os.umask(before)

    assert (tmp_path / "f").stat().st_mode & 0o7777 == 0o640


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o4750])
def test_the_mode_of_a_file_is_kept(tmp_path: Path, mode: int) -> None:
    (tmp_path / "f").write_text("old\n")
    (tmp_path / "f").chmod(mode)

    write(tmp_path, "f", "new\n")

    assert (tmp_path / "f").stat().st_mode & 0o7777 == mode


def test_the_owner_of_a_file_is_kept() -> None:
    # As root, in a folder that only it may enter; elsewhere there is nobody to give it to.
    code = """
import os, tempfile, pathlib
from keryx_py.tools.paths import ProjectRoot
from keryx_py.tools.write import WriteFile
root = pathlib.Path(tempfile.mkdtemp())
(root / "f").write_text("old")
if os.geteuid() == 0:
    os.chown(root / "f", 65534, 65534)
was = (root / "f").stat()
WriteFile(ProjectRoot(root)).run({"path": "f", "content": "new"}, lambda text: None)
now = (root / "f").stat()
assert (was.st_uid, was.st_gid) == (now.st_uid, now.st_gid)
assert (root / "f").read_text() == "new"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)

    assert done.stderr == b""
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\r\n", "x\r\ny\r\n", b"x\r\ny\r\n"),
        (b"a\r\nb\n", "x\ny\n", b"x\ny\n"),
        (b"a\nb\n", "x\ny\n", b"x\ny\n"),
        (b"a\nb\n", "x\r\ny\r\n", b"x\r\ny\r\n"),
        (b"a", "x\n", b"x\n"),
        (b"a\n", "x", b"x"),
        (b"\xef\xbb\xbfa\r\n", "x\n", b"\xef\xbb\xbfx\r\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffx\n", b"\xef\xbb\xbfx\n"),
        (b"\xff\xfe\0\0", "x\n", b"x\n"),
        (b"a\n", "", b""),
    ],
)
def test_line_ends_and_byte_order_mark_are_kept(
    tmp_path: Path, before: bytes, content: str, after: bytes
) -> None:
    (tmp_path / "f").write_bytes(before)

    write(tmp_path, "f", content)

    assert (tmp_path / "f").read_bytes() == after


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\nb\nc\n", "b", "x", b"a\nx\nc\n"),
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n"),
        (b"a\r\nb\r\n", "b", "x\ny", b"a\r\nx\r\ny\r\n"),
        (b"a\r\nb\r\n", "a\r\nb", "x\r\ny", b"x\r\ny\r\n"),
        (b"a\nb\n", "a\r\nb", "x\r\ny", b"x\ny\n"),
        (b"a\r\nb\nc\n", "a\nb", "x\ny", b"x\r\ny\nc\n"),
        (b"a\r\nb\nc\n", "b\nc", "x\ny", b"a\r\nx\ny\n"),
        (b"caf\xe9 a\n", "a\n", "b\n", b"caf\xe9 b\n"),
        (b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n"),
        (b"a b", "a b", "", b""),
        (b"no end", "end", "end\n", b"no end\n"),
    ],
)
def test_an_edit_changes_just_its_place(
    tmp_path: Path, before: bytes, old: str, new: str, after: bytes
) -> None:
    (tmp_path / "f").write_bytes(before)

    edit(tmp_path, "f", old, new)

    assert (tmp_path / "f").read_bytes() == after


@pytest.mark.parametrize(
    ("content", "old", "says"),
    [
        (b"a\nb\n", "c", "not found"),
        (b"a\nb\n", "", "empty"),
        (b"a a a\n", "a", "stands 3 times"),
        (b"aaa\n", "aa", "stands 2 times"),
        (b"a\n", "same", "not found"),
        (b"\0a\n", "a", "binary"),
        (b"new\n", "new", "the same"),
    ],
)
def test_an_edit_that_is_not_certain_changes_nothing(
    tmp_path: Path, content: bytes, old: str, says: str
) -> None:
    (tmp_path / "f").write_bytes(content)

    with pytest.raises(ToolError, match=says):
        edit(tmp_path, "f", old, "new")

    assert (tmp_path / "f").read_bytes() == content


def test_replace_all_replaces_every_place(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a b a b a\n")

    outcome = edit(tmp_path, "f", "a", "x", replace_all=True)

    assert (tmp_path / "f").read_text() == "x b x b x\n"
    assert outcome.summary == "+1 -1"


def test_a_missing_file_is_not_edited(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="does not exist"):
        edit(tmp_path, "f", "a", "b")

    assert names(tmp_path) == []


def test_writing_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old\n")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("made")

    write(tmp_path, "link", "new\n")
    write(tmp_path, "dangling", "x")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new\n"
    assert (tmp_path / "made").read_text() == "x"
    assert WriteFile(ProjectRoot(tmp_path)).targets({"path": "link"}) == (b"real",)


@pytest.mark.parametrize("path", ["out/f", "out/new", "up", ".git/config", "sub/.GIT/x", "../f"])
def test_nothing_outside_or_in_git_is_written(tmp_path: Path, path: str) -> None:
    outside, project = tmp_path / "outside", tmp_path / "project"
    outside.mkdir()
    (outside / "f").write_text("o")
    (project / "sub").mkdir(parents=True)
    (project / "out").symlink_to(outside)
    (project / "up").symlink_to("../outside/f")
    before = names(tmp_path)

    with pytest.raises(ToolError):
        write(project, path, "x")

    assert names(tmp_path) == before
    assert (outside / "f").read_text() == "o"
    assert WriteFile(ProjectRoot(project)).targets({"path": path}) == ()


def test_a_folder_swapped_for_a_link_is_not_written_through(tmp_path: Path) -> None:
    outside, project = tmp_path / "outside", tmp_path / "project"
    outside.mkdir()
    (project / "d").mkdir(parents=True)
    root = ProjectRoot(project)
    location = root.resolve("d/f")
    (project / "d").rmdir()
    (project / "d").symlink_to("../outside")

    with pytest.raises(ToolError):
        put_file(root, location, b"x")

    assert names(outside) == []


@pytest.mark.parametrize(
    ("path", "says"),
    [("d", "a folder"), ("p", "a pipe"), ("f/x", "f"), ("d/", "a folder"), (".", "a folder")],
)
def test_only_a_file_is_written_over(tmp_path: Path, path: str, says: str) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "f").write_text("f")
    os.mkfifo(tmp_path / "p")
    before = names(tmp_path)

    with pytest.raises(ToolError, match=says):
        write(tmp_path, path, "x")

    assert names(tmp_path) == before


def test_a_read_only_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    (tmp_path / "f").chmod(0o444)

    with pytest.raises(ToolError, match="read-only"):
        write(tmp_path, "f", "new")

    assert (tmp_path / "f").read_text() == "old"


def test_a_folder_that_may_not_be_written_gives_a_sentence() -> None:
    code = """
import os, tempfile, pathlib
from keryx_py.tools.base import ToolError
from keryx_py.tools.paths import ProjectRoot
from keryx_py.tools.write import WriteFile
root = pathlib.Path(tempfile.mkdtemp())
(root / "f").write_text("old")
(root / "f").chmod(0o666)
root.chmod(0o555)
if os.geteuid() == 0:
    os.setuid(65534)
for path in ("f", "g", "new/f"):
    try:
        WriteFile(ProjectRoot(root)).run({"path": path, "content": "new"}, lambda text: None)
    except ToolError as error:
        print(error)
print((root / "f").read_text(), os.listdir(root))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == [
        "f: permission denied",
        "g: permission denied",
        "new: permission denied",
        "old ['f']",
    ]


def test_half_a_character_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="surrogate"):
        write(tmp_path, "f", "a\udce9")

    assert names(tmp_path) == []


def test_a_write_that_changes_nothing_leaves_the_file_alone(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("same\n")
    before = (tmp_path / "f").stat()

    outcome = write(tmp_path, "f", "same\n")

    assert outcome.summary == "same"
    assert (tmp_path / "f").stat().st_ino == before.st_ino
    assert (tmp_path / "f").stat().st_mtime_ns == before.st_mtime_ns


def test_the_preview_is_the_diff_of_the_run_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\nb\nc\n")
    tool = EditFile(ProjectRoot(tmp_path))
    args: Args = {"path": "f", "old": "b", "new": "x"}

    shown = tool.preview(args)

    assert (tmp_path / "f").read_text() == "a\nb\nc\n"
    assert shown is not None
    assert shown.text == "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"
    assert tool.run(args, quiet).shown == shown
    assert tool.risk(args) is Risk.WRITE


def test_a_preview_of_what_cannot_work_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a")

    with pytest.raises(ToolError):
        EditFile(ProjectRoot(tmp_path)).preview({"path": "f", "old": "x", "new": "y"})
    with pytest.raises(ToolError):
        WriteFile(ProjectRoot(tmp_path)).preview({"path": "../f", "content": "y"})


def test_a_name_that_is_not_utf8_is_written_and_shown(tmp_path: Path) -> None:
    outcome = write(tmp_path, "caf\udce9", "x")

    assert os.listdir(os.fsencode(tmp_path)) == [b"caf\xe9"]
    assert outcome.output == 'Made "caf\\udce9": +1 -0 lines.'


def test_one_edited_line_of_a_crlf_file_counts_as_one() -> None:
    old = b"".join(b"line %d\r\n" % n for n in range(20))

    difference = compare("f", old, old.replace(b"line 7\r", b"line seven\r"))

    assert difference.summary == "+1 -1"
    assert "\r" not in difference.shown.text


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        (b"a", b"b", ["@@ -1 +1 @@", "-a", "\\ No newline at end of file", "+b"]),
        (None, b"a\n", ["@@ -0,0 +1 @@", "+a"]),
        (b"a\n", None, ["@@ -1 +0,0 @@", "-a"]),
        (b"a\x0cb\n", b"a\x0cc\n", ["@@ -1 +1 @@", "-a\x0cb", "+a\x0cc"]),
    ],
)
def test_a_diff_marks_ends_of_files(old: bytes | None, new: bytes | None, lines: list[str]) -> None:
    assert compare("f", old, new).shown.text.split("\n")[2 : 2 + len(lines)] == lines


def test_a_diff_applies_with_patch(tmp_path: Path) -> None:
    old = "".join(f"{n}\n" for n in range(200)).encode()
    new = (
        old.replace(b"\n50\n", b"\nfifty\n").replace(b"\n120\n", b"\n").replace(b"0\n", b"0!\n", 1)
    )
    (tmp_path / "f").write_bytes(old)

    subprocess.run(
        ["git", "apply", "-"],
        cwd=tmp_path,
        input=compare("f", old, new).shown.text.encode(),
        check=True,
    )

    assert (tmp_path / "f").read_bytes() == new


def test_a_large_diff_is_cut_and_counts_all(tmp_path: Path) -> None:
    new = b"".join(b"%d\n" % n for n in range(50_000))

    difference = compare("f", b"x" * 1_000_000, new)

    assert difference.summary == "+50000 -1"
    assert difference.shown.text.count("\n") == MOST_LINES + 1
    assert difference.shown.text.endswith("[cut after 800 lines; +50000 -1 in all]\n")
    assert len(difference.shown.text) < 50_000


def test_binary_content_is_not_shown() -> None:
    shown = compare("f", b"\0\1", b"abc").shown

    assert shown.kind is ShownAs.TEXT
    assert shown.text == "f: binary, 2 bytes become 3"
