"""Time snapshots side by side with git: `python -m benchmarks.snapshots --files 3000`."""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from benchmarks.report import (
    SizeReport,
    make_heading,
    make_rows,
    make_table,
    write_json,
    write_plot,
)
from benchmarks.sides import SideTimes, time_git, time_keryx
from benchmarks.trees import WorkTreeMade, make_tree

_SEED = 20


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each size that was asked for, print a table a size, keep what is to be kept."""
    parser = _parser()
    options = parser.parse_args(arguments)
    plot: Path | None = options.plot
    if plot is not None and find_spec("matplotlib") is None:
        parser.error("--plot needs matplotlib, which is in the extra: pip install -e '.[bench]'")
    console = Console()
    reports = []
    for files in options.files:
        reports.append(measure(files, options.runs, options.folder, console))
        console.print(make_heading(reports[-1]), soft_wrap=True, highlight=False)
        console.print(make_table(reports[-1]))
    if options.json is not None:
        write_json(options.json, reports, _machine())
    if plot is not None:
        write_plot(plot, reports)


def measure(files: int, runs: int, folder: Path | None, console: Console) -> SizeReport:
    """Measure both sides *runs* times on one tree of *files* files."""
    with tempfile.TemporaryDirectory(prefix="keryx-bench-", dir=folder) as name:
        work = Path(name).resolve()
        with console.status(f"making {files:,} files"):
            tree = make_tree(work / "project", files, _SEED)
        git: list[SideTimes] = []
        keryx: list[SideTimes] = []
        for run in range(runs):
            with console.status(f"{files:,} files, run {run + 1} of {runs}"):
                _run_both(tree, work / f"run-{run}", run, git, keryx)
    peak = max(times.peak_bytes for times in keryx)
    rows = make_rows(files, git, keryx)
    return SizeReport(files, tree.folders, tree.content_bytes, runs, peak, rows)


def _run_both(
    tree: WorkTreeMade, work: Path, run: int, git: list[SideTimes], keryx: list[SideTimes]
) -> None:
    """Measure each side once, the other one first every other time."""
    work.mkdir()
    if run % 2:
        keryx.append(time_keryx(tree, work, str(run)))
        git.append(time_git(tree, work, str(run)))
    else:
        git.append(time_git(tree, work, str(run)))
        keryx.append(time_keryx(tree, work, str(run)))
    shutil.rmtree(work)


def _machine() -> dict[str, str]:
    git = subprocess.run(["git", "--version"], check=True, capture_output=True, text=True)
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "git": git.stdout.split()[2],
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.snapshots", description=__doc__)
    add = parser.add_argument
    add("--files", nargs="+", type=int, default=[3_000], metavar="N", help="sizes of the trees")
    add("--runs", type=int, default=3, metavar="N", help="how often each side is measured")
    add("--folder", type=Path, metavar="DIR", help="where to work; else the system's own place")
    add("--json", type=Path, metavar="FILE", help="keep the medians there")
    add("--plot", type=Path, metavar="FILE", help="draw the ratios there (with matplotlib)")
    return parser


if __name__ == "__main__":
    main()
