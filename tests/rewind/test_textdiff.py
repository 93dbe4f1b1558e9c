"""Differences as text: git itself applies them, and counts agree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keryx_py.rewind.textdiff import Version, count_lines, diff_file, quote_name
from keryx_py.snapshot.listing import Kind


def file(data: bytes, mode: int = 0o644) -> Version:
    return Version(Kind.FILE, mode, data)


def link(target: bytes) -> Version:
    return Version(Kind.LINK, 0, target)


def put(where: Path, version: Version | None) -> None:
    if version is None:
        return
    where.parent.mkdir(parents=True, exist_ok=True)
    if version.kind is Kind.LINK:
        where.symlink_to(version.data.decode())
    else:
        where.write_bytes(version.data)
        where.chmod(version.mode)


def stands(where: Path) -> Version | None:
    if where.is_symlink():
        return link(str(where.readlink()).encode())
    if not where.exists():
        return None
    return file(where.read_bytes(), 0o755 if where.stat().st_mode & 0o100 else 0o644)


def git_apply(folder: Path, patch: str) -> None:
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        cwd=folder,
        input=patch.encode("utf-8", "surrogateescape"),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, (patch, done.stderr)


TWENTY = b"".join(b"line %d\n" % number for number in range(20))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (None, file(b"a\n")),
        (None, file(b"")),
        (file(b""), None),
        (file(b"a\nb\n"), None),
        (file(b"a"), file(b"a\n")),
        (file(b"a\n"), file(b"a")),
        (file(b"a\nb"), file(b"a\nc")),
        (file(TWENTY), file(TWENTY.replace(b"line 3\n", b"").replace(b"line 15", b"other"))),
        (file(TWENTY), file(b"first\n" + TWENTY + b"last")),
        (file(b"a\r\nb\r\n"), file(b"a\nb\r\n")),
        (file(b"\xff\xfe\n"), file(b"\xff\n\xc3\xa9\n")),
        (file(b"a\n"), file(b"a\n", 0o755)),
        (file(b"a\n"), file(b"b\n", 0o755)),
        (link(b"x"), link(b"y")),
        (None, link(b"x")),
        (file(b"a\n"), link(b"x")),
        (link(b"x"), file(b"a\n")),
        (file(b"a\x0cb\x1c\n\x85\n"), file(b"a\x0cb\n")),
    ],
)
@pytest.mark.parametrize(
    "name", ["plain", "with blank", "new\nline", 'quo"te', "é公", "tab\tx", "d/e"]
)
def test_git_applies_it(
    tmp_path: Path, old: Version | None, new: Version | None, name: str
) -> None:
    put(tmp_path / name, old)

    git_apply(tmp_path, diff_file(name.encode(), old, new))

    assert stands(tmp_path / name) == new


lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\n", b"d"]), max_size=25).map(
    b"".join
)


@settings(max_examples=40)
@given(old=lines, new=lines)
def test_git_applies_any_difference(tmp_path: Path, old: bytes, new: bytes) -> None:
    if old == new:
        assert diff_file(b"f", file(old), file(new)) == ""
        return
    where = tmp_path / "f"
    where.write_bytes(old)

    patch = diff_file(b"f", file(old), file(new))
    git_apply(tmp_path, patch)

    assert where.read_bytes() == new
    body = patch.split("\n")
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in body)
    removed = sum(line.startswith("-") and not line.startswith("--- ") for line in body)
    assert count_lines(file(old), file(new)) == (added, removed)


def test_binary_content_is_said_and_not_counted() -> None:
    old, new = file(b"\0a"), file(b"\0b")

    assert diff_file(b"f", old, new) == ("diff --git a/f b/f\nBinary files a/f and b/f differ\n")
    assert count_lines(old, new) is None


def test_a_name_with_a_blank_ends_with_a_tab() -> None:
    diff = diff_file(b"a b", file(b"1\n"), file(b"2\n"))

    assert diff.startswith("diff --git a/a b b/a b\n--- a/a b\t\n+++ b/a b\t\n@@ -1 +1 @@\n")


def test_other_permission_bits_are_shown() -> None:
    diff = diff_file(b"f", file(b"a\n", 0o600), file(b"a\n", 0o640))

    assert diff == "diff --git a/f b/f\nold mode 100600\nnew mode 100640\n"


def test_a_long_difference_is_one_block_and_still_right(tmp_path: Path) -> None:
    old = b"".join(b"old %d\n" % number for number in range(6000))
    new = b"".join(b"new %d\n" % number for number in range(6000))
    (tmp_path / "f").write_bytes(old)

    git_apply(tmp_path, diff_file(b"f", file(old), file(new)))

    assert (tmp_path / "f").read_bytes() == new
    assert count_lines(file(old), file(new)) == (6000, 6000)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"a/f", "a/f"),
        ("a/é".encode(), "a/é"),
        (b"a/\xff", '"a/\\377"'),
        (b"a/\n\x01", '"a/\\n\\001"'),
        (b'a/"\\', '"a/\\"\\\\"'),
    ],
)
def test_names_are_quoted_as_git_does(name: bytes, shown: str) -> None:
    assert quote_name(name) == shown
