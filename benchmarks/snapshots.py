"""Time snapshots side by side with git: `python -m benchmarks.snapshots --files 3000`."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from datetime import date
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from benchmarks.git_side import measure_git
from benchmarks.keryx_side import measure_keryx
from benchmarks.measuring import Measured, merged
from benchmarks.plot import write_plot
from benchmarks.report import make_heading, make_table, write_json
from benchmarks.rows import (
    Results,
    Row,
    SizeReport,
    make_growth_rows,
    make_program_rows,
    make_size_rows,
)
from benchmarks.starting import measure_starting
from benchmarks.trees import WorkTreeMade, make_tree
from benchmarks.upkeep import measure_disk, measure_memory

_SEED = 20
_WIDTH = 180
"""As wide as the tables are: a figure that was cut is none."""
_NO_GIT = "the benchmark needs git, which keryx is held against: it is not installed\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each size that was asked for, print a table a size, keep what is to be kept."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if shutil.which("git") is None:
        parser.exit(1, _NO_GIT)
    if options.plot is not None and find_spec("matplotlib") is None:
        parser.error("--plot needs matplotlib, which is in the extra: pip install -e '.[bench]'")
    console = Console(width=max(_WIDTH, Console().width))
    results = measure(options.files, options.runs, options.folder, console)
    if options.json is not None:
        write_json(options.json, results)
    if options.plot is not None:
        write_plot(options.plot, results)


def measure(sizes: Sequence[int], runs: int, folder: Path | None, console: Console) -> Results:
    """Measure trees of all *sizes*, and the program; print what was found at once."""
    reports = []
    for files in sizes:
        reports.append(measure_size(files, runs, folder, console))
        console.print(make_heading(reports[-1]), soft_wrap=True, highlight=False)
        _print_rows(console, reports[-1].rows)
    growth = make_growth_rows(reports)
    with _workplace(folder) as name, console.status("starting keryx"):
        program = make_program_rows(measure_starting(Path(name).resolve(), runs))
    _print_rows(console, (*growth, *program))
    return Results(date.today().isoformat(), _machine(), tuple(reports), growth, program)


def measure_size(files: int, runs: int, folder: Path | None, console: Console) -> SizeReport:
    """Measure both sides *runs* times on one tree of *files* files; disk and memory once."""
    with _workplace(folder) as name:
        work = Path(name).resolve()
        with console.status(f"making {files:,} files"):
            tree = make_tree(work / "project", files, _SEED)
        git: list[Measured] = []
        keryx: list[Measured] = []
        for run in range(runs):
            with console.status(f"{files:,} files, run {run + 1} of {runs}"):
                _run_both(tree, work / f"run-{run}", run, git, keryx)
        with console.status(f"{files:,} files, memory"):
            keryx.append(measure_memory(tree, work / "memory"))
        with console.status(f"{files:,} files, disk"):
            for side, found in zip((git, keryx), measure_disk(tree, work / "disk"), strict=True):
                side.append(found)
    rows = make_size_rows(files, merged(git), merged(keryx))
    return SizeReport(files, tree.folders, tree.content_bytes, runs, rows)


def _workplace(folder: Path | None) -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="keryx-bench-", dir=folder)


def _run_both(
    tree: WorkTreeMade, work: Path, run: int, git: list[Measured], keryx: list[Measured]
) -> None:
    """Measure each side once, the other one first every other time."""
    work.mkdir()
    if run % 2:
        keryx.append(measure_keryx(tree, work, str(run)))
        git.append(measure_git(tree, work, str(run)))
    else:
        git.append(measure_git(tree, work, str(run)))
        keryx.append(measure_keryx(tree, work, str(run)))
    shutil.rmtree(work)


def _print_rows(console: Console, rows: Sequence[Row]) -> None:
    console.print(make_table(rows))


def _machine() -> dict[str, str]:
    git = subprocess.run(["git", "--version"], check=True, capture_output=True, text=True)
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
        "git": git.stdout.split()[2],
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.snapshots", description=__doc__)
    add = parser.add_argument
    add("--files", nargs="+", type=int, default=[3_000], metavar="N", help="sizes of the trees")
    add("--runs", type=int, default=3, metavar="N", help="how often each side is measured")
    add("--folder", type=Path, metavar="DIR", help="where to work; else the system's own place")
    add("--json", type=Path, metavar="FILE", help="keep what was measured there")
    add("--plot", type=Path, metavar="FILE", help="draw time against files there (matplotlib)")
    return parser


if __name__ == "__main__":
    main()
