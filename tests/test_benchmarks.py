"""The benchmark runs, and says what it measured; how fast anything was is not a test's matter."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.trees import change_files, make_tree

CHECKOUT = Path(__file__).parent.parent
TITLES = {
    "first snapshot",
    "later, nothing changed",
    "later, 10 files changed",
    "later, another process",
    "look for a preview",
    "on disk",
}


@pytest.mark.skipif(shutil.which("git") is None, reason="git is one of the two sides")
def test_the_benchmark_measures_both_sides_and_keeps_the_medians(tmp_path: Path) -> None:
    kept = tmp_path / "out.json"
    options = ["--files", "50", "--runs", "1", "--json", str(kept), "--folder", str(tmp_path)]

    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.snapshots", *options],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stderr
    assert "50 files" in run.stdout
    assert list(tmp_path.iterdir()) == [kept]
    content = json.loads(kept.read_text())
    assert set(content["machine"]) == {"system", "python", "git"}
    (size,) = content["sizes"]
    assert (size["files"], size["runs"]) == (50, 1)
    assert {row["what"] for row in size["rows"]} == TITLES
    for row in size["rows"]:
        assert row["keryx"] > 0
        assert row["ratio"] == row["keryx"] / row["other"]


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
