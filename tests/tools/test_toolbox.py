"""All tools together: the order, the schemas, and delegation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from keryx_py.tools.arguments import parse_args
from keryx_py.tools.base import Outcome, Progress, Risk, Tool, ToolError
from keryx_py.tools.toolbox import make_tools

RISKS = {
    "list_dir": Risk.READ,
    "read_file": Risk.READ,
    "find_files": Risk.READ,
    "search_text": Risk.READ,
    "write_file": Risk.WRITE,
    "edit_file": Risk.WRITE,
    "move_file": Risk.WRITE,
    "delete_file": Risk.DESTRUCTIVE,
    "shell_exec": Risk.SHELL,
    "delegate": Risk.DELEGATE,
}
CALLS = {
    "list_dir": {"path": "a"},
    "read_file": {"path": "a", "offset": 1, "limit": 2},
    "find_files": {"pattern": "a"},
    "search_text": {"pattern": "a", "path": "b"},
    "write_file": {"path": "a", "content": "b"},
    "edit_file": {"path": "a", "old": "b", "new": "c", "replace_all": True},
    "move_file": {"source": "a", "target": "b"},
    "delete_file": {"path": "a"},
    "shell_exec": {"command": "ls", "timeout_s": 5},
    "delegate": {"task": "count the files"},
}


def report(task: str, progress: Progress) -> Outcome:
    progress("working")
    return Outcome(f"done: {task}")


@pytest.fixture
def tools(tmp_path: Path) -> Mapping[str, Tool]:
    return make_tools(tmp_path, {}, report)


def test_the_tools_stand_in_specs_order(tools: Mapping[str, Tool], tmp_path: Path) -> None:
    assert list(tools) == list(RISKS)
    assert list(make_tools(tmp_path, {}, None)) == list(RISKS)[:-1]


@pytest.mark.parametrize("name", RISKS)
def test_each_tool_takes_specs_arguments_at_specs_risk(
    tools: Mapping[str, Tool], name: str
) -> None:
    tool = tools[name]

    args = parse_args(tool.spec, json.dumps(CALLS[name]))

    assert tool.spec.name == name
    assert args == CALLS[name]
    assert tool.risk(args) is RISKS[name]
    assert tool.title(args)
    json.dumps(dict(tool.spec.parameters))


@pytest.mark.parametrize("name", ["list_dir", "read_file", "write_file", "delete_file"])
def test_risk_title_and_targets_never_raise(tools: Mapping[str, Tool], name: str) -> None:
    tool = tools[name]

    for path in ("", "\0", "../x", ".git", "~", "caf\udce9", "a" * 5_000, "a/" * 3_000):
        args = {"path": path, "content": ""}
        tool.risk(args)
        assert "\0" not in tool.title(args)
        tool.targets(args)


def test_move_judges_what_cannot_work_as_destructive(tools: Mapping[str, Tool]) -> None:
    move = tools["move_file"]

    for target in ("", "\0", "../x", "a" * 5_000):
        assert move.risk({"source": "a", "target": target}) in (Risk.DESTRUCTIVE, Risk.WRITE)
        move.targets({"source": "a", "target": target})


def test_a_task_is_handed_on_and_its_report_comes_back(tools: Mapping[str, Tool]) -> None:
    pieces: list[str] = []
    delegate = tools["delegate"]

    outcome = delegate.run({"task": "count"}, pieces.append)

    assert outcome.output == "done: count"
    assert pieces == ["working"]
    assert delegate.title({"task": "one\n two " + "x" * 500}).startswith("one two xxx")
    assert len(delegate.title({"task": "x" * 500})) <= 82
    with pytest.raises(ToolError, match="empty"):
        delegate.preview({"task": " "})
