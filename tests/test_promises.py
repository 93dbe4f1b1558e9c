"""Each promise is held by tests that exist, at places that exist: docs/reliability.md is true."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
PAGE = (HERE / "docs" / "reliability.md").read_text(encoding="utf-8")
PROMISES = tuple(f"R{number}" for number in range(1, 13))
ROW = re.compile(r"^\| (R\d+) \| `([^`]+)` `([^`]+)` \| ([^|]+) \| `([^`:]+)::([^`]+)` \|$", re.M)
ROWS = ROW.findall(PAGE)


def names_in(file: Path) -> set[str]:
    """List what *file* defines: functions, classes, their methods, and plain names."""
    names: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name, body=body):
                methods = [part for part in body if isinstance(part, ast.FunctionDef)]
                names |= {name, *(f"{name}.{method.name}" for method in methods)}
            case ast.Assign(targets=[ast.Name(id=name)]):
                names.add(name)
            case _:
                pass
    return names


def test_every_row_of_the_page_is_read() -> None:
    assert len(ROWS) == len([line for line in PAGE.splitlines() if "::" in line])


@pytest.mark.parametrize("promise", PROMISES)
def test_each_promise_is_named_and_held_by_a_test(promise: str) -> None:
    assert re.search(rf"^\| {promise} \| [A-Z`]", PAGE, re.M)
    assert [row for row in ROWS if row[0] == promise]


@pytest.mark.parametrize(
    ("promise", "file", "name", "broken", "test_file", "test"),
    ROWS,
    ids=[f"{row[0]}-{row[1]}-{row[2]}-{at}" for at, row in enumerate(ROWS)],
)
def test_what_holds_a_promise_is_there(
    promise: str, file: str, name: str, broken: str, test_file: str, test: str
) -> None:
    assert promise in PROMISES
    assert broken
    assert name in names_in(HERE / "keryx_py" / file)
    assert test in names_in(HERE / "tests" / test_file)
