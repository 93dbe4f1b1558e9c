"""What was measured becomes rows, JSON and the README's table without a loss."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import readme, rows
from benchmarks.measuring import Measured, What, merged
from benchmarks.report import make_heading, make_table, read_json, show_value, write_json
from benchmarks.rows import (
    EVERY,
    GOALS,
    ROWS_APART,
    SIZE_ROWS,
    Results,
    Row,
    SizeReport,
    Spread,
    make_growth_rows,
    make_program_rows,
    make_size_rows,
    row_of,
)

ROOT = Path(__file__).parent.parent
MACHINE = {"system": "Linux x86_64", "cores": "2", "python": "3.11.7", "git": "2.39.5"}
GIT: Measured = {
    What.FIRST: (4.0, 2.0, 3.0),
    What.UNCHANGED: (1.0,),
    What.CHANGED: (1.0,),
    What.RESTORE: (5.0,),
    What.DISK: (1000.0,),
}
KERYX: Measured = {
    What.FIRST: (0.3, 0.9, 0.6),
    What.UNCHANGED: (1.5,),
    What.CHANGED: (1.6,),
    What.RESUMED: (2.0,),
    What.SECOND: (3.0,),
    What.RESTORE: (5.0,),
    What.PREVIEW_AND_RESTORE: (6.0,),
    What.PREVIEW: (3.0,),
    What.DISK: (800.0,),
    What.PRUNED: (500.0,),
    What.ONLY_KEPT: (400.0,),
    What.KEPT_MEMORY: (60_000_000.0,),
    What.PEAK_MEMORY: (90_000_000.0,),
}


def size_of(files: int, keryx: Measured = KERYX) -> SizeReport:
    return SizeReport(files, 7, 2_000_000_000, 3, make_size_rows(files, GIT, keryx))


def results_of(*sizes: SizeReport) -> Results:
    starts = {What.HELP: (0.1, 0.2, 0.15), What.PROMPT: (0.4,)}
    growth, program = make_growth_rows(sizes), make_program_rows(starts)
    return Results("2026-03-01", MACHINE, tuple(sizes), growth, program)


def test_a_row_holds_the_medians_of_all_runs_and_their_ratio() -> None:
    row = row_of(size_of(100_000), rows.FIRST)

    assert row.other == Spread(3.0, 2.0, 4.0, 3)
    assert row.keryx == Spread(0.6, 0.3, 0.9, 3)
    assert row.ratio == 0.6 / 3.0


@pytest.mark.parametrize(
    ("files", "what", "goal", "met"),
    [
        (100_000, rows.FIRST, 0.3, True),
        (3_000, rows.FIRST, None, None),
        (100_000, rows.UNCHANGED, 1.5, True),
        (3_000, rows.UNCHANGED, 1.0, False),
        (100_000, rows.CHANGED, 1.5, False),
        (3_000, rows.CHANGED, 1.0, False),
        (30_000, rows.CHANGED, None, None),
        (100_000, rows.RESUMED, None, None),
        (30_000, rows.SECOND, 1.5, False),
        (100_000, rows.RESTORE, 1.0, True),
        (100_000, rows.PREVIEW, 1.5, False),
        (100_000, rows.DISK, 0.8, True),
        (100_000, rows.PRUNED, 1.25, True),
        (100_000, rows.KEPT_MEMORY, 600.0, True),
        (50_000, rows.KEPT_MEMORY, 600.0, False),
        (100_000, rows.PEAK_MEMORY, None, None),
    ],
)
def test_each_row_is_judged_by_the_goal_of_its_size(
    files: int, what: str, goal: float | None, met: bool | None
) -> None:
    row = row_of(size_of(files), what)

    assert (row.goal, row.met) == (goal, met)


def test_a_second_session_and_a_preview_are_held_against_keryx_itself() -> None:
    size = size_of(100_000)

    for what in (rows.SECOND, rows.PREVIEW):
        row = row_of(size, what)
        assert row.other == Spread.of(KERYX[What.UNCHANGED])
        assert row.against == rows.LATER


def test_growth_compares_the_two_largest_sizes_a_file() -> None:
    small = size_of(10_000, {**KERYX, What.FIRST: (1.0,), What.PEAK_MEMORY: (50_000_000.0,)})
    large = size_of(100_000, {**KERYX, What.FIRST: (15.0,), What.PEAK_MEMORY: (95_000_000.0,)})

    first, later, memory = make_growth_rows([large, size_of(10), small])

    assert first.ratio == pytest.approx(1.5)
    assert (first.goal, first.met) == (1.25, False)
    assert later.met is True
    assert memory.keryx.median == pytest.approx(500.0)
    assert memory.met is True


def test_one_size_alone_does_not_grow() -> None:
    assert make_growth_rows([size_of(10)]) == ()


def test_a_limit_is_met_by_the_median() -> None:
    help_row, prompt_row = results_of(size_of(10)).program

    assert (help_row.keryx, help_row.met) == (Spread(0.15, 0.1, 0.2, 3), True)
    assert (prompt_row.goal, prompt_row.met) == (0.3, False)


def test_values_of_several_runs_are_put_together_in_order() -> None:
    assert merged([{What.FIRST: (1.0,)}, {What.DISK: (9.0,)}, {What.FIRST: (2.0, 3.0)}]) == {
        What.FIRST: (1.0, 2.0, 3.0),
        What.DISK: (9.0,),
    }


def test_results_are_read_back_as_they_were_kept(tmp_path: Path) -> None:
    results = results_of(size_of(3_000), size_of(100_000))

    write_json(tmp_path / "kept.json", results)

    assert read_json(tmp_path / "kept.json") == results


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.0000123, "s", "12.3 µs"),
        (0.00123, "s", "1.23 ms"),
        (0.1504, "s", "150 ms"),
        (12.345, "s", "12.3 s"),
        (1234.5, "s", "1,234 s"),
        (600, "B", "600 B"),
        (9999, "B", "10.0 kB"),
        (60_500, "B", "60.5 kB"),
        (2_030_000_000, "B", "2.03 GB"),
        (0, "B", "0.00 B"),
        (0, "s", "0.00 µs"),
    ],
)
def test_values_are_shown_with_three_digits_that_count(value: float, unit: str, shown: str) -> None:
    assert show_value(value, unit) == shown


def test_the_table_names_each_row_its_goal_and_whether_it_is_met() -> None:
    out = StringIO()
    size = size_of(100_000)

    Console(file=out, width=180).print(make_table(size.rows))

    lines = {line.strip().split("  ")[0]: line for line in out.getvalue().split("\n")}
    assert lines.keys() > set(SIZE_ROWS)
    assert "0.20" in lines[rows.FIRST]
    assert lines[rows.FIRST].split()[-2:] == ["0.3", "yes"]
    assert lines[rows.CHANGED].split()[-2:] == ["1.5", "MISSED"]
    assert lines[rows.KEPT_MEMORY].split()[-3:] == ["600", "B", "yes"]
    assert "300 ms – 900 ms" in lines[rows.FIRST]
    assert "2.00 s – 4.00 s" in lines[rows.FIRST]
    assert make_heading(size) == "100,000 files in 7 folders, 2.00 GB; medians of 3 runs"


def cells_of(line: str) -> list[str]:
    assert line.startswith("| ")
    assert line.endswith(" |")
    return line[2:-2].split(" | ")


def table_in(text: str) -> list[list[str]]:
    return [cells_of(line) for line in text.split("\n") if line.startswith("|")]


def check_table(text: str) -> None:
    head, rule, *body = table_in(text)
    assert all(len(line) == len(head) for line in (rule, *body))
    assert head[:2] == ["what", "against"]
    assert head[-1] == "goal"
    assert len(head) > 3
    assert [line[0] for line in body] == [*SIZE_ROWS, *ROWS_APART]
    for line in body:
        assert bool(line[-1]) == (line[0] in GOALS)
        assert all(line[1:-1])


def test_the_readme_has_a_whole_table_with_every_goal() -> None:
    text = (ROOT / "README.md").read_text("utf-8")

    shown = text.split(readme.BEGIN)[1].split(readme.END)[0]

    check_table(shown)
    assert "Measured on 2" in shown


def test_every_goal_is_of_a_row() -> None:
    assert set(GOALS) <= {*SIZE_ROWS, *ROWS_APART}
    assert all(goals and min(goals) >= EVERY for goals in GOALS.values())


def test_the_readme_table_has_a_column_a_size_and_the_circumstances() -> None:
    text = readme.speeds(results_of(size_of(3_000), size_of(100_000)))

    check_table(text)
    head, _, first, *_ = table_in(text)
    assert head[2:4] == ["3,000 files, 2.00 GB", "100,000 files, 2.00 GB"]
    assert first[2:] == ["600 ms / 3.00 s = 0.20"] * 2 + ["0.3 at 100,000"]
    assert text.startswith(
        "Measured on 2026-03-01: Linux x86_64, 2 cores, Python 3.11.7, git 2.39.5; medians of 3"
    )


def test_the_readme_table_says_what_was_missed_and_what_was_not_measured() -> None:
    (size,) = results_of(size_of(100_000)).sizes

    lines = {line[0]: line for line in table_in(readme.speeds(results_of(size)))}

    assert lines[rows.CHANGED][2] == "1.60 s / 1.00 s = 1.60 (missed)"
    assert lines[rows.PROMPT][2:] == ["400 ms (missed)", "300 ms"]
    assert lines[rows.FIRST_GROWTH][2] == "–"


def test_a_row_that_a_size_lacks_is_not_made_up() -> None:
    size = size_of(100_000)
    without: tuple[Row, ...] = tuple(row for row in size.rows if row.what != rows.DISK)

    text = readme.speeds(results_of(replace(size, rows=without), size_of(200_000)))

    lines = {line[0]: line for line in table_in(text)}
    assert lines[rows.DISK][2] == "–"


def test_the_table_goes_between_its_marks_and_nothing_else_changes() -> None:
    page = f"before\n\n{readme.BEGIN}\n\nold\n\n{readme.END}\nafter\n"

    once = readme.in_readme("new", page)

    assert once == page.replace("old", "new")
    assert readme.in_readme("new", once) == once


def test_results_that_cannot_be_read_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("[1]")
    for name in ("none.json", "other.json"):
        run = subprocess.run(
            [sys.executable, "-m", "benchmarks.readme", "--print", tmp_path / name],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )

        assert run.returncode == 1
        assert run.stderr.startswith("the results cannot be read: ")
        assert run.stderr.count("\n") == 1
        assert run.stdout == ""
