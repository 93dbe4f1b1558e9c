"""Finding files by glob, and lines by regular expression; nothing makes them hang."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from keryx_py.tools import matching
from keryx_py.tools.base import Args, Outcome, ToolError
from keryx_py.tools.glob import Glob
from keryx_py.tools.paths import ProjectRoot
from keryx_py.tools.search import MOST_FOUND, FindFiles, SearchText


def quiet(text: str) -> None:
    """Let the output of a running tool go."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    for path in ("a.py", "b.txt", "src/c.py", "src/deep/d.py", "src/deep/e.js", ".hidden/f.py"):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(f"first line of {path}\nsecond Line\n")
    for path in (".git/g.py", "sub/.git/h.py", "node_modules/i.py", "src/node_modules/j.py"):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text("first line\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "k.py").write_text("first line\n")
    (project / "link").symlink_to("../outside")
    return project


def find(project: Path, pattern: str) -> list[str]:
    return FindFiles(ProjectRoot(project)).run({"pattern": pattern}, quiet).output.splitlines()


def search(project: Path, pattern: str, **more: str) -> Outcome:
    args: Args = {"pattern": pattern, **more}
    return SearchText(ProjectRoot(project)).run(args, quiet)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", ["a.py"]),
        ("**/*.py", [".hidden/f.py", "a.py", "src/c.py", "src/deep/d.py"]),
        ("src/**/*.py", ["src/c.py", "src/deep/d.py"]),
        ("src/**", ["src/c.py", "src/deep/", "src/deep/d.py", "src/deep/e.js"]),
        ("**/deep", ["src/deep/"]),
        ("**/*.{js,txt}", ["b.txt", "src/deep/e.js"]),
        ("{src/deep,.}/*.{js,txt}", ["b.txt", "src/deep/e.js"]),
        ("./a.py", ["a.py"]),
        ("[ab].*", ["a.py", "b.txt"]),
        ("[!a].*", ["b.txt"]),
        ("?.txt", ["b.txt"]),
        ("link/*", ["[nothing matches]"]),
        ("**/k.py", ["[nothing matches]"]),
        ("c.py", ["[nothing matches; `**/c.py` looks in every folder]"]),
        ("A.PY", ["[nothing matches; `**/A.PY` looks in every folder]"]),
    ],
)
def test_files_are_found_in_order(project: Path, pattern: str, found: list[str]) -> None:
    assert find(project, pattern) == found


def test_an_absolute_pattern_in_the_root_is_taken(project: Path) -> None:
    assert find(project, f"{project}/src/*.py") == ["src/c.py"]


@pytest.mark.parametrize("pattern", ["", "/", "../*", "a/../../*", "~/x", "x" * 2_000, "{a,b}" * 9])
def test_a_pattern_that_leads_out_or_is_too_much_is_refused(project: Path, pattern: str) -> None:
    with pytest.raises(ToolError):
        find(project, pattern)


def test_many_finds_are_cut_and_say_so(tmp_path: Path) -> None:
    for number in range(MOST_FOUND + 1):
        (tmp_path / f"{number:04}").touch()

    found = find(tmp_path, "*")

    assert len(found) == MOST_FOUND + 1
    assert found[-1] == f"[more than {MOST_FOUND}; narrow the pattern]"


@pytest.mark.parametrize("pattern", ["**/" * 300 + "x", "*a" * 400 + "b", "**/*a*/" * 100 + "x"])
def test_no_glob_makes_matching_hang(pattern: str) -> None:
    before = time.monotonic()

    matched = Glob(pattern).matches(b"/".join([b"a" * 200] * 20))

    assert not matched
    assert time.monotonic() - before < 3


def test_lines_are_found_with_path_and_number(project: Path) -> None:
    outcome = search(project, r"second [A-Z]\w+$", path="src")

    assert outcome.output.splitlines() == [
        "src/c.py:2: second Line",
        "src/deep/d.py:2: second Line",
        "src/deep/e.js:2: second Line",
    ]
    assert outcome.summary == "3 matches"


def test_git_node_modules_and_links_are_not_searched(project: Path) -> None:
    paths = [line.partition(":")[0] for line in search(project, "first line").output.splitlines()]

    assert paths == [
        ".hidden/f.py",
        "a.py",
        "b.txt",
        "src/c.py",
        "src/deep/d.py",
        "src/deep/e.js",
    ]


def test_one_file_may_be_searched(project: Path) -> None:
    assert search(project, "of", path="a.py").output == "a.py:1: first line of a.py"


def test_a_place_that_is_not_there_or_outside_is_refused(project: Path) -> None:
    for path in ("missing", "link", "..", ".git"):
        with pytest.raises(ToolError):
            search(project, "x", path=path)


def test_what_is_no_regular_expression_is_searched_as_text(project: Path) -> None:
    (project / "a.py").write_text("call(x[0]\n")

    lines = search(project, "call(x[").output.splitlines()

    assert lines[0] == "a.py:1: call(x[0]"
    assert "searched as plain text" in lines[1]


def test_binary_and_large_files_are_left_out(project: Path) -> None:
    (project / "binary").write_bytes(b"\0first line\n")
    (project / "large").write_bytes(b"first line\n" * 500_000)

    lines = search(project, "first line").output.splitlines()

    assert not [line for line in lines if line.startswith(("binary:", "large:"))]
    assert lines[-1] == "[not searched: 1 file over 5 MB]"


def test_many_matches_are_cut_and_long_lines_shortened(tmp_path: Path) -> None:
    (tmp_path / "many").write_text("x\n" * 1_000)
    (tmp_path / "wide").write_text("y" * 5_000 + "here" + "z" * 5_000)

    many, wide = search(tmp_path, "^x$"), search(tmp_path, "here")

    assert many.summary == "200 matches"
    assert many.output.endswith("[more than 200 matches; narrow the path or the pattern]")
    assert "here" in wide.output
    assert len(wide.output) < 400


def test_odd_names_and_crlf_are_searched(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\nx"))
    odd.write_bytes(b"one\r\ntwo\r\n")

    assert search(tmp_path, "^two$").output == '"\\udcff\\nx":2: two'


def test_a_pattern_that_takes_for_ever_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("found aaaa!\n")
    (tmp_path / "b").write_text("a" * 5_000 + "\n")
    tool = SearchText(ProjectRoot(tmp_path), seconds=0.7)
    before = time.monotonic()

    outcome = tool.run({"pattern": "(a+)+[!]"}, quiet)

    assert time.monotonic() - before < 3
    assert outcome.output.splitlines()[0] == "a:1: found aaaa!"
    assert "stopped after 0.7 s" in outcome.output


def test_an_empty_pattern_is_refused(project: Path) -> None:
    with pytest.raises(ToolError, match="empty"):
        search(project, "")


@pytest.mark.parametrize("path", [b"file", b"folder/x", b"folder/deep/x"])
def test_a_link_that_comes_after_the_listing_is_not_searched_through(
    tmp_path: Path, path: bytes
) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "x").write_text("secret\n")
    (outside / "deep" / "x").write_text("secret\n")
    root = tmp_path / "root"
    root.mkdir()
    (root / "own").write_text("secret\n")
    (root / "file").symlink_to(outside / "x")
    (root / "folder").symlink_to(outside)

    found = list(matching.search(os.fsencode(root), "secret", [path, b"own"]))

    assert found == [["match", 1, 1, "secret"]]
