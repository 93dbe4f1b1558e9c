"""A fresh project for each case, and a way to sit at the shell on it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cases.sitting import Sitting

Sit = Callable[..., Sitting]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The case's project folder, empty."""
    folder = tmp_path / "P"
    folder.mkdir()
    return folder


@pytest.fixture
def sit(root: Path, tmp_path: Path) -> Iterator[Sit]:
    """Give a function that opens the shell on the project, or on the folder *at*."""
    sittings: list[Sitting] = []

    def start(at: Path | None = None, **keywords: object) -> Sitting:
        data_dir = tmp_path / "data"
        sittings.append(Sitting(at or root, data_dir, **keywords))  # type: ignore[arg-type]
        return sittings[-1]

    yield start
    for sitting in sittings:
        sitting.close()


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that any user can get to, for as_user(); `tmp_path` lies in a closed one."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
