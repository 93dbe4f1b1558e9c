"""A fresh project for each case, and a way to sit at the shell on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cases.sitting import Sitting, Ticks

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
    now = Ticks()

    def start(at: Path | None = None, **keywords: object) -> Sitting:
        data_dir = tmp_path / "data"
        keywords.setdefault("now", now)
        sittings.append(Sitting(at or root, data_dir, **keywords))  # type: ignore[arg-type]
        return sittings[-1]

    yield start
    for sitting in sittings:
        sitting.close()
