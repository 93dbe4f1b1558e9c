"""Who may import whom. A new edge is a decision: write it into a table here, with its reason."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

BASE = {"errors", "messages"}
ROOMS = {
    # Room: what it may import beside itself.
    "errors": set(),
    "messages": set(),
    "snapshot": {"errors"},
    "session": BASE,
    "tools": BASE,
    "models": BASE,
    "agent": BASE | {"models", "session", "tools"},
    # Rewind counts the messages that a cut drops, and what a turn's calls were.
    "rewind": BASE | {"session", "snapshot"},
    # The shell builds a project's objects from the settings, opens its model and finds its root.
    "shell": BASE
    | {"agent", "models", "rewind", "root", "session", "settings", "snapshot", "tools"},
    "root": {"errors"},
    # The settings name the risks that are approved.
    "settings": {"errors", "tools"},
    "cli": BASE
    | {"agent", "models", "rewind", "root", "session", "settings", "shell", "snapshot", "tools"},
    "__main__": {"cli"},
    "__init__": set(),
}
LIBRARIES = {
    # Library: the rooms that may import it.
    "anthropic": {"models"},
    "filelock": {"session"},
    "httpx": {"models"},
    "isal": {"snapshot"},
    "openai": {"models"},
    "platformdirs": {"cli", "settings"},
    "prompt_toolkit": {"shell", "cli"},
    "pygit2": {"snapshot"},
    "rich": {"shell", "cli"},
    "tree_sitter": {"tools"},
    "tree_sitter_bash": {"tools"},
    "typer": {"shell", "cli"},
}
READERS_OF_THE_ENVIRONMENT = {"cli", "settings"}
ENVIRONMENT = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}
IMPORTERS_BY_TEXT = {"models"}
"""A provider's library is loaded by its name while the person types the first prompt."""
LATE = ("pygit2", "openai", "anthropic", "rich.markdown", "tree_sitter")
"""What is too slow to import before it is needed."""

CHECKOUT = Path(__file__).parent.parent
PACKAGE = CHECKOUT / "keryx_py"
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


@dataclass(frozen=True)
class Import:
    """One name that a module imports, in full."""

    name: str

    @property
    def library(self) -> str:
        return self.name.split(".")[0]

    @property
    def room(self) -> str:
        """The room of keryx that the name is in; the package itself for its own names."""
        parts = self.name.split(".")
        within = parts[1] if len(parts) > 1 else "__init__"
        return within if within in ROOMS else "__init__"


def room_of(module: Path) -> str:
    return module.parts[0].removesuffix(".py")


def parse(module: Path) -> ast.Module:
    return ast.parse((PACKAGE / module).read_text(encoding="utf-8"), str(module))


def list_imports(tree: ast.Module) -> Iterator[Import]:
    """Every import in *tree*, also inside functions and under TYPE_CHECKING."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                yield from (Import(alias.name) for alias in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield from (Import(f"{module}.{alias.name}") for alias in names)
            case ast.ImportFrom():
                raise AssertionError("a relative import hides which room it is from")


def list_environment_readers(tree: ast.Module) -> Iterator[str]:
    """Every use of the process's environment in *tree*."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name("os"), attr=name) if name in ENVIRONMENT:
                yield name
            case ast.ImportFrom(module="os", names=names):
                yield from (alias.name for alias in names if alias.name in ENVIRONMENT)


def list_imports_by_text(tree: ast.Module) -> Iterator[int]:
    """The line of every import that the table cannot see."""
    for node in ast.walk(tree):
        match node:
            case ast.Name("__import__" | "import_module") | ast.Attribute(attr="import_module"):
                yield node.lineno


def in_fresh_process(script: str, folder: Path) -> str:
    """What *script* prints, run with nothing imported and *folder* as home and current folder."""
    environment = {"PYTHONPATH": str(CHECKOUT), "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    return run.stdout


def test_every_room_is_in_the_table() -> None:
    assert {room_of(module) for module in MODULES} <= set(ROOMS)


def test_imports_between_rooms_go_one_way() -> None:
    above = {room: set(allowed) for room, allowed in ROOMS.items()}
    while bottom := {room for room, allowed in above.items() if not allowed}:
        above = {room: allowed - bottom for room, allowed in above.items() if room not in bottom}

    assert above == {}, "these rooms import each other in a circle"


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_imports_only_what_its_room_may(module: Path) -> None:
    room = room_of(module)
    allowed = ROOMS[room] | {room, "__init__"}

    for item in list_imports(parse(module)):
        if item.library == "keryx_py":
            assert item.room in allowed, f"{room} may not import {item.name}"
        elif item.library not in sys.stdlib_module_names:
            assert item.library in LIBRARIES, f"no room may import {item.name}"
            assert room in LIBRARIES[item.library], f"{room} may not import {item.name}"


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_only_settings_and_command_line_read_the_environment(module: Path) -> None:
    if room_of(module) in READERS_OF_THE_ENVIRONMENT:
        return

    assert list(list_environment_readers(parse(module))) == []


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_only_models_import_by_a_text(module: Path) -> None:
    if room_of(module) in IMPORTERS_BY_TEXT:
        return

    assert list(list_imports_by_text(parse(module))) == []


@pytest.mark.parametrize("name", LATE)
def test_the_command_line_starts_without_slow_libraries(tmp_path: Path, name: str) -> None:
    script = f"import sys, keryx_py.cli.app; print({name!r} in sys.modules)"

    assert in_fresh_process(script, tmp_path) == "False\n"


WATCHED_IMPORTS = """
import importlib, json, os, sys
seen, watching = [], True
def watch(event, args):
    if not watching:
        return
    if event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR):
        seen.append(["writes", str(args[0])])
    elif event in ("subprocess.Popen", "os.mkdir", "os.remove", "socket.connect", "os.putenv"):
        seen.append([event, str(args[0])])
sys.addaudithook(watch)
for name in json.loads(%r):
    importlib.import_module(name)
watching = False
print(json.dumps(seen))
"""


def test_importing_a_module_does_nothing(tmp_path: Path) -> None:
    names = [
        ".".join(("keryx_py", *module.with_suffix("").parts)).removesuffix(".__init__")
        for module in MODULES
        if module.name != "__main__.py"
    ]

    printed = in_fresh_process(WATCHED_IMPORTS % json.dumps(names), tmp_path)

    assert printed == "[]\n"
    assert list(tmp_path.iterdir()) == []
