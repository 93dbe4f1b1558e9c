"""Results as a picture: time against files, on which a straight line of slope one is linear."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from benchmarks.rows import CHANGED, FIRST, GIT, PREVIEW, RESTORE, Results, Row, row_of

_DRAWN = (FIRST, CHANGED, RESTORE, PREVIEW)


def write_plot(path: Path, results: Results) -> None:
    """Draw seconds over the sizes into *path*. Raises ImportError without matplotlib."""
    matplotlib = import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot = import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(figsize=(9, 7), layout="constrained")
    sizes = sorted(results.sizes, key=lambda size: size.files)
    files = [size.files for size in sizes]
    for number, what in enumerate(_DRAWN):
        rows = [row_of(size, what) for size in sizes]
        keryx = [row.keryx.median for row in rows]
        color = f"C{number}"
        axes.plot(files, keryx, marker="o", color=color, label=f"keryx: {what}")
        if all(row.against == GIT for row in rows):
            label = f"git: {what}"
            axes.plot(files, _others(rows), marker="x", linestyle="--", color=color, label=label)
        linear = [keryx[-1] * count / files[-1] for count in files]
        axes.plot(files, linear, linestyle=":", color="grey", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="files", ylabel="seconds (dotted: linear)")
    axes.set_xticks(files, [f"{count:,}" for count in files])
    axes.minorticks_off()
    figure.legend(loc="outside lower center", ncols=2, fontsize="small")
    figure.savefig(path)


def _others(rows: list[Row]) -> list[float]:
    return [row.other.median for row in rows if row.other is not None]
