"""Any name that a file can have is saved, shown unmistakably, and brought back."""

from __future__ import annotations

import os
import shlex
import subprocess
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, edit, shell, write
from tests.cases.watching import captured, git, look_at, stamps

COMPOSED = unicodedata.normalize("NFC", "é.txt")
DECOMPOSED = unicodedata.normalize("NFD", "é.txt")
UNICODE = ("公.cpp", COMPOSED, DECOMPOSED, "🦉.md", 'a"b', "naïve café.txt", "\u200frtl")
SPECIAL = (
    "[id].tsx",
    "*.py",
    ":(top)x",
    "-rf",
    "--",
    "!x",
    "#y",
    "a\\b",
    "a b",
    "$HOME",
    "'",
    "%s",
)
CONTROL = (
    b"new\nline",
    b"tab\t",
    b"\x1b[31mred",
    b"\xff\xfe",
    b" lead",
    b"trail ",
    b"back\x08",
    b"~",
)
GIT_WOULD_MIND = ("git~1", ".gitmodules", ".GIT", ".git.", "git", ".gitattributes", "HEAD", "...")
KEYWORDS = ("keep", "diff", "confirm", "pick", "only", "files", "1", "@name")


def fill(root: Path, names: Iterable[str | bytes], text: str = "old\n") -> None:
    """Make a file of each name."""
    for name in names:
        Path(os.fsdecode(os.fsencode(root / os.fsdecode(name)))).write_text(text)


def quoted(names: Iterable[str]) -> str:
    """Write *names* as one would in a shell."""
    return " ".join(shlex.quote(name) for name in names)


def rewound(sitting: Sitting, command: str) -> str:
    """Play a turn of *command*, then rewind the files to before it."""
    sitting.play(shell(command))
    return sitting.rewind(1)


def test_names_in_every_script_come_back(root: Path, sit: Sit) -> None:
    """NAME-01: edited by the file tool; both forms of one letter are two files."""
    fill(root, UNICODE)
    before = look_at(root)
    sitting = sit()
    sitting.play(tuple(edit(name, "old", "turn") for name in UNICODE))
    between = {name: content for name, (_, _, content) in look_at(root).items()}

    said = sitting.rewind(1)

    assert set(between.values()) == {b"turn\n"}
    assert look_at(root) == before
    assert captured(sitting, 1).keys() == set(UNICODE)
    assert "  modified      公.cpp" in said
    assert '  modified      "a\\"b"' in said


@pytest.mark.parametrize("which", [COMPOSED, DECOMPOSED])
def test_only_the_form_that_was_asked_for_is_moved(root: Path, sit: Sit, which: str) -> None:
    """NAME-01: as a path on the line, too."""
    fill(root, (COMPOSED, DECOMPOSED))
    sitting = sit()
    sitting.play((edit(COMPOSED, "old", "turn"), edit(DECOMPOSED, "old", "turn")))

    sitting.rewind(1, "files", which)

    assert {n for n, (_, _, content) in look_at(root).items() if content == b"old\n"} == {which}


@pytest.mark.parametrize("name", SPECIAL)
def test_a_path_is_a_name_and_no_pattern(root: Path, sit: Sit, name: str) -> None:
    """NAME-03: quoted as in a shell, it means the one file of that name."""
    fill(root, (*SPECIAL, "i", "d", "a.py", "x", "ab"))
    sitting = sit()
    sitting.play(shell('for f in ./*; do echo turn > "$f"; done'))

    said = sitting.rewind(1, "files", shlex.quote(name))

    assert {n for n, (_, _, content) in look_at(root).items() if content == b"old\n"} == {name}
    assert said.count("files: 1 file (1 modified)") == 2


def test_special_names_come_back_all_at_once(root: Path, sit: Sit) -> None:
    """NAME-03: removed, and made."""
    fill(root, SPECIAL)
    before = look_at(root)
    sitting = sit()
    sitting.play(shell("rm ./*; echo x > './made [x]*'"))

    sitting.rewind(1)

    assert look_at(root) == before


@pytest.mark.parametrize("name", KEYWORDS)
def test_a_file_named_like_a_keyword_is_written_with_a_dot(root: Path, sit: Sit, name: str) -> None:
    """NAME-03: `./keep` is the file."""
    fill(root, KEYWORDS)
    sitting = sit()
    sitting.play(shell("for f in *; do echo turn > $f; done"))

    sitting.rewind(1, "files", f"./{name}")

    assert {n for n, (_, _, content) in look_at(root).items() if content == b"old\n"} == {name}


def test_names_that_are_no_text_or_would_drive_a_terminal(root: Path, sit: Sit) -> None:
    """NAME-03: newlines, escapes, bytes that are not UTF-8: shown visibly, and all come back."""
    fill(root, CONTROL)
    before = look_at(root)
    sitting = sit()

    said = rewound(sitting, "rm ./*")
    listed = [line for line in said.splitlines() if line.startswith("  brought back")]

    assert look_at(root) == before
    assert len(listed) == len(CONTROL)
    assert not {"\x1b", "\x08", "\t"} & set(said)
    assert r'"\033[31mred"' in said
    assert r'"new\nline"' in said
    assert r'"\377\376"' in said
    assert '"trail "' in said


def test_a_name_is_told_from_one_that_looks_like_its_quoting(root: Path, sit: Sit) -> None:
    """NAME-03: two names never look alike in a preview."""
    fill(root, ("a\nb", "a\\nb", '"a\\nb"', "a\\012b"))
    sitting = sit()

    said = rewound(sitting, "rm ./*")

    listed = [line for line in said.splitlines() if line.startswith("  brought back")]
    assert len(set(listed)) == 4


def test_names_that_git_itself_minds_are_kept(root: Path, sit: Sit) -> None:
    """NAME-03: and git finds the shadow repository sound all the same."""
    fill(root, GIT_WOULD_MIND)
    before = look_at(root)
    sitting = sit()

    rewound(sitting, f"rm {quoted(GIT_WOULD_MIND)}; mkdir .GIT; echo x > .GIT/config")

    assert look_at(root) == before
    shadow = sitting.project.session.folder / "shadow.git"
    git(root, f"--git-dir={shadow}", "fsck", "--strict")


def test_the_longest_name_and_a_very_deep_path_come_back(root: Path, sit: Sit) -> None:
    """NAME-03: beyond what one system call takes for a path."""
    make_deep(root, 60)
    fill(root, ("n" * 255,))
    before = deep_look(root)
    sitting = sit()

    said = rewound(sitting, "rm -rf ./*; echo x > made")

    assert deep_look(root) == before
    assert "failed" not in said
    assert "files: 3 files (2 brought back, 1 removed) and 60 folders" in said


def make_deep(root: Path, depth: int) -> None:
    """Make a file under *depth* folders with long names, which no path can name at once."""
    folder = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d" * 100, dir_fd=folder)
        below = os.open("d" * 100, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    with os.fdopen(os.open("f", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=folder), "w") as file:
        file.write("old\n")
    os.close(folder)


def deep_look(root: Path) -> bytes:
    """List every path, and what the files named `f` hold."""
    command = "find . | sort; find . -name f -execdir cat {} +"
    return subprocess.run(
        ["/bin/sh", "-c", command], cwd=root, capture_output=True, check=True
    ).stdout


@pytest.mark.parametrize(
    ("names", "command"),
    [
        (("Foo",), "mv Foo foo"),
        (("Foo", "foo"), "rm Foo; mv foo Foo"),
        (("Foo", "foo"), "echo turn > foo"),
        (("D/x", "d/x"), "rm -r D"),
        (("D/x",), "mv D d; echo y > d/y"),
    ],
)
def test_the_case_of_letters_counts(
    root: Path, sit: Sit, names: tuple[str, ...], command: str
) -> None:
    """NAME-06: whatever git's setting says."""
    git(root, "config", "--global", "core.ignoreCase", "true")
    git(root, "config", "--global", "core.precomposeUnicode", "true")
    for name in names:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(f"{name}\n")
    before = look_at(root)
    sitting = sit()

    rewound(sitting, command)

    assert look_at(root) == before
    assert captured(sitting, 1).keys() == set(names)


def test_a_path_outside_or_of_nothing_is_refused_in_a_sentence(root: Path, sit: Sit) -> None:
    """NAME-03: and no file is touched."""
    sitting = sit()
    sitting.play(write("f", "turn\n"))
    before = stamps(root)

    for path, said in (
        ("../x", "outside the project"),
        ("/etc/passwd", "outside the project"),
        ("*", "names nothing"),
        ("f/", ""),
        ("nothing", "names nothing"),
        ("'unclosed", ""),
    ):
        answer = sitting.play(f"/rewind 1 files {path}")
        assert said in answer
        assert "bug" not in answer

    assert stamps(root) == before
