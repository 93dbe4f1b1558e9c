"""Hand one task to a sub-agent with a fresh context."""

from __future__ import annotations

from collections.abc import Callable

from keryx_py.messages import ToolSpec
from keryx_py.tools.arguments import schema, text_of
from keryx_py.tools.base import Args, Outcome, Progress, Risk, Shown, ShownAs, ToolError
from keryx_py.tools.read import shown_text

RunTask = Callable[[str, Progress], Outcome]
"""Does a task with a sub-agent and returns its report."""

_MOST_IN_TITLE = 80


class DelegateTool:
    """Have a sub-agent do a task."""

    spec = ToolSpec(
        "delegate",
        "Have a sub-agent do one task with the same tools, and get its report. It knows nothing "
        "of this conversation: put all it needs into the task. It cannot delegate further.",
        schema(
            {
                "task": {
                    "type": "string",
                    "description": "What to do, where, and what to report.",
                }
            }
        ),
    )

    def __init__(self, run_task: RunTask) -> None:
        self._run_task = run_task

    def risk(self, args: Args) -> Risk:
        """Judge every call as delegating; the sub-agent's own calls are judged one by one."""
        return Risk.DELEGATE

    def title(self, args: Args) -> str:
        """Say the task's first words."""
        return first_words(text_of(args, "task"), _MOST_IN_TITLE)

    def preview(self, args: Args) -> Shown | None:
        """Show the whole task."""
        return Shown(ShownAs.TEXT, _task(args))

    def targets(self, args: Args) -> tuple[bytes, ...]:
        """Name no path: the sub-agent's calls name their own."""
        return ()

    def run(self, args: Args, progress: Progress) -> Outcome:
        """Have the task done."""
        return self._run_task(_task(args), progress)


def first_words(text: str, most: int) -> str:
    """Say *text* on one line of at most *most* characters."""
    line = " ".join(text[: 4 * most].split())
    whole = len(text) <= 4 * most and len(line) <= most
    return shown_text(line if whole else f"{line[: most - 1]}…")


def _task(args: Args) -> str:
    task = text_of(args, "task")
    if not task.strip():
        raise ToolError("the task is empty; say what the sub-agent should do")
    return task
