"""The examples do what the README says of them, and the README shows what the program prints."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parent.parent


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its own module up there.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_the_readme_shows_a_session_as_it_really_runs() -> None:
    example = load("readme_session")
    readme = (ROOT / "README.md").read_text("utf-8")

    assert example.in_readme(example.session_text(), readme) == readme


def test_the_page_about_rewinding_shows_what_really_happens() -> None:
    example = load("rewind_page")

    assert example.page() == (ROOT / "docs" / "rewind.md").read_text("utf-8")


def test_the_example_script_plays_as_it_says(tmp_path: Path) -> None:
    script = ROOT / "examples" / "replies.toml"
    words = ["--model", f"script:{script}", "--approve", "write"]

    done = subprocess.run(
        [sys.executable, "-m", "keryx_py", *words],
        input="greet me\nand then?\nonce more\n",
        text=True,
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "hello.txt").read_text() == "Hello!\n"
    assert "It is in hello.txt.\n" in done.stdout
    assert "That is not in the script.\n" in done.stdout
    assert "the turn failed: the model is busy\n" in done.stdout


def test_the_demo_ends_as_it_began_and_needs_no_terminal(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "demo.py"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )

    said = done.stdout.decode()
    assert done.returncode == 0, done.stderr.decode()
    assert "› /rewind 3 both" in said
    assert "The project is as it was before the first turn." in said
    assert "\x1b" not in said
