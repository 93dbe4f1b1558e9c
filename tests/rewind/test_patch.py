"""Patches for `git apply`: git itself applies them, forwards and back, binary files included."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keryx_py.rewind.patch import patch_file
from keryx_py.rewind.textdiff import Version
from keryx_py.snapshot.listing import Kind

Tree = dict[bytes, Version | None]


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
    if not where.is_file():
        return None
    return file(where.read_bytes(), 0o755 if where.stat().st_mode & 0o100 else 0o644)


def git_apply(folder: Path, patch: bytes, *options: str) -> None:
    for check in (("--check",), ()):
        done = subprocess.run(
            ["git", "apply", "--whitespace=nowarn", *check, *options, "-"],
            cwd=folder,
            input=patch,
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b""), patch


NOISE = bytes(range(256)) * 40


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (None, file(b"a\n")),
        (None, file(b"")),
        (file(b""), None),
        (file(b"a\nb"), file(b"a\nc\n")),
        (file(b"a\r\nb\r\n"), file(b"a\nb\r\nc")),
        (file(b"a\n"), file(b"a\n", 0o755)),
        (file(b"a\n", 0o755), file(b"b\n", 0o644)),
        (file(b"\xff\xfe\n"), file(b"\xff\n\xc3\xa9\n")),
        (link(b"x"), link(b"y")),
        (None, link(b"x")),
        (file(b"a\n"), link(b"x")),
        (link(b"x"), file(b"\0a\n")),
        (None, file(b"\0")),
        (file(b"\0"), None),
        (file(NOISE), file(NOISE + b"\0")),
        (file(NOISE), file(b"text\n")),
        (file(b""), file(NOISE, 0o755)),
        (file(NOISE), file(b"")),
        (file(b"\0a"), file(b"\0b", 0o755)),
        (file(b"\0a"), file(b"\0a", 0o755)),
        (file(b"x" * 9000 + b"\n\0 late\n"), file(b"x" * 9000 + b"\n\0 later\n")),
    ],
)
@pytest.mark.parametrize(
    "name",
    [
        b"plain",
        b"with blank ",
        b" b/x",
        b"new\nline",
        b'quo"te\\',
        "é公".encode(),
        b"d/e\t",
        b"\xff",
    ],
)
def test_git_applies_it_forwards_and_back(
    tmp_path: Path, old: Version | None, new: Version | None, name: bytes
) -> None:
    where = tmp_path / name.decode("utf-8", "surrogateescape")
    put(where, old)
    patch = patch_file(name, old, new)

    git_apply(tmp_path, patch)
    assert stands(where) == new

    git_apply(tmp_path, patch, "-R")
    assert stands(where) == old


@settings(max_examples=25, deadline=None)
@given(old=st.binary(max_size=300), new=st.binary(max_size=300))
def test_any_bytes_pass_through_a_patch(
    tmp_path_factory: pytest.TempPathFactory, old: bytes, new: bytes
) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "f").write_bytes(old)
    patch = patch_file(b"f", file(old), file(new))

    if old == new:
        assert patch == b""
    else:
        git_apply(folder, patch)
    assert (folder / "f").read_bytes() == new


def test_git_refuses_a_binary_patch_for_other_content(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\0mine")

    done = subprocess.run(
        ["git", "apply", "-"],
        cwd=tmp_path,
        input=patch_file(b"f", file(b"\0old"), file(b"\0new")),
        capture_output=True,
        check=False,
    )

    assert done.returncode != 0
    assert (tmp_path / "f").read_bytes() == b"\0mine"


def test_bits_that_git_does_not_keep_make_no_patch() -> None:
    assert patch_file(b"f", file(b"a", 0o600), file(b"a", 0o640)) == b""
    assert b"100644" in patch_file(b"f", None, file(b"a", 0o600))


def test_git_reads_the_same_patch_as_its_own(tmp_path: Path) -> None:
    """The literal block is the one that git itself would write and read back."""
    patch = patch_file(b"f", None, file(b"\0"))

    assert patch.startswith(
        b"diff --git a/f b/f\nnew file mode 100644\n"
        b"index " + b"0" * 40 + b"..f76dd238ade08917e6712764a16a22005a50573d\n"
        b"GIT binary patch\nliteral 1\n"
    )
