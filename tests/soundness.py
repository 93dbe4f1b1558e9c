"""Have git judge every shadow repository that a test leaves behind."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

EXPECTED = ("notice: HEAD points to an unborn branch", "notice: No default references")
"""What git says of a sound repository without branches."""


def check_stores(folders: Iterable[Path]) -> None:
    """Assert that git finds nothing wrong with any shadow repository below *folders*."""
    for folder in folders:
        for store in _stores_in(folder):
            _check_store(store)


def _stores_in(folder: Path) -> Iterator[Path]:
    # Not rglob(): it gives up at a folder that may not be listed.
    for above, folders, _ in os.walk(folder):
        if Path(above).name == "sessions":
            # What a killed process left aside is no session, and goes at the next start.
            folders[:] = [name for name in folders if not name.startswith(".")]
        for name in sorted(folders):
            if name.startswith("shadow.git"):
                folders.remove(name)
                store = Path(above, name)
                if (store / "keryx-format").is_file() and (store / "HEAD").is_file():
                    yield store


def _check_store(store: Path) -> None:
    judged = _git(store, "fsck", "--strict", "--full", "--no-dangling", "--no-progress")
    said = [line for line in judged.stderr.splitlines() if not line.startswith(EXPECTED)]
    assert judged.returncode == 0, (store, judged.stdout, judged.stderr)
    assert not judged.stdout, (store, judged.stdout)
    assert not said, (store, said)


def _git(store: Path, *words: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        ["git", f"--git-dir={store}", *words],
        env={**kept, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
