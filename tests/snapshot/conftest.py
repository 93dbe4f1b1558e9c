"""The fixtures of this room."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.snapshot.ground import Project


@pytest.fixture
def project(tmp_path: Path, sealed: Path) -> Project:
    """Make an empty project."""
    root = tmp_path / "project"
    root.mkdir()
    data = tmp_path / "data"
    return Project(root, data / "sessions" / "one" / "shadow.git", data, sealed)
