"""The benchmark runs, and says what it measured; how fast anything was is not a test's matter."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.report import read_json
from benchmarks.rows import HELP, PROMPT, SIZE_ROWS
from benchmarks.trees import change_files, change_random_files, make_tree

CHECKOUT = Path(__file__).parent.parent


def run_benchmark(
    *options: str | Path, path: str | None = None
) -> subprocess.CompletedProcess[str]:
    environment = os.environ if path is None else {**os.environ, "PATH": path}
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.snapshots", *options],
        cwd=CHECKOUT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(shutil.which("git") is None, reason="git is one of the two sides")
def test_the_benchmark_measures_every_row_and_keeps_what_it_found(tmp_path: Path) -> None:
    kept = tmp_path / "out.json"

    run = run_benchmark("--files", "50", "--runs", "1", "--json", kept, "--folder", tmp_path)

    assert run.returncode == 0, run.stderr
    assert "50 files" in run.stdout
    assert list(tmp_path.iterdir()) == [kept]
    results = read_json(kept)
    assert set(results.machine) == {"system", "cores", "python", "git"}
    (size,) = results.sizes
    assert (size.files, size.runs) == (50, 1)
    assert tuple(row.what for row in size.rows) == SIZE_ROWS
    assert tuple(row.what for row in results.program) == (HELP, PROMPT)
    for row in (*size.rows, *results.program):
        assert row.what in run.stdout
        assert row.keryx.median > 0
        assert (row.met is None) == (row.goal is None)


def test_without_git_the_benchmark_says_so_in_one_sentence(tmp_path: Path) -> None:
    run = run_benchmark("--folder", tmp_path, path=str(tmp_path))

    assert run.returncode == 1
    assert run.stdout == ""
    assert run.stderr.count("\n") == 1
    assert "needs git" in run.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_tree_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    first = make_tree(tmp_path / "a", 40, seed=3)
    second = make_tree(tmp_path / "b", 40, seed=3)

    def contents(root: Path) -> dict[Path, bytes]:
        files = (path for path in root.rglob("*") if path.is_file())
        return {path.relative_to(root): path.read_bytes() for path in files}

    assert len(contents(first.root)) == 40
    assert contents(first.root) == contents(second.root)
    assert sum(map(len, contents(first.root).values())) == first.content_bytes


def test_as_many_files_change_as_were_asked_for(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "a", 40, seed=3)
    before = {path: path.read_bytes() for path in tree.files}

    change_files(tree, 10, "mark")

    changed = [path for path in tree.files if path.read_bytes() != before[path]]
    assert len(changed) == 10


def test_other_files_change_in_each_round(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "a", 400, seed=3)
    rng = random.Random(5)
    rounds = []
    for _ in range(2):
        before = {path: path.read_bytes() for path in tree.files}
        change_random_files(tree, 10, rng)
        rounds.append({path for path in tree.files if path.read_bytes() != before[path]})

    assert [len(changed) for changed in rounds] == [10, 10]
    assert rounds[0] != rounds[1]
