"""All the tools of one project, in the order in which the model is told of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from keryx_py.tools.base import Tool
from keryx_py.tools.delegate import DelegateTool, RunTask
from keryx_py.tools.move import DeleteFile, MoveFile
from keryx_py.tools.paths import ProjectRoot
from keryx_py.tools.read import ListDir, ReadFile
from keryx_py.tools.search import FindFiles, SearchText
from keryx_py.tools.shell import ShellExec
from keryx_py.tools.write import EditFile, WriteFile


def make_tools(
    root: Path, environment: Mapping[str, str], run_task: RunTask | None
) -> Mapping[str, Tool]:
    """Make the tools for *root* by name; without `delegate` when there is no *run_task*.

    Commands run with *environment* and nothing else.
    """
    project = ProjectRoot(root)
    tools: list[Tool] = [
        ListDir(project),
        ReadFile(project),
        FindFiles(project),
        SearchText(project),
        WriteFile(project),
        EditFile(project),
        MoveFile(project),
        DeleteFile(project),
        ShellExec(project, environment),
    ]
    if run_task is not None:
        tools.append(DelegateTool(run_task))
    return {tool.spec.name: tool for tool in tools}
