"""Fixtures of the rewind tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rewind.play import Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """An empty project with a new session."""
    made = Project(tmp_path)
    yield made
    made.session.close()
