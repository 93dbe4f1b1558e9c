"""The model that is built in: no key, no network, and no language model.

It does what plain instructions say and nothing else. It keeps no state: which instructions of the
last prompt are done is read from the context each time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from keryx_py.messages import Message, Role, ToolCall, ToolResult
from keryx_py.models.base import Reply, ReplyPart, Request, TextDelta
from keryx_py.models.instructions import Instruction, NotUnderstoodError, parse_instructions
from keryx_py.models.offline_summary import summarise
from keryx_py.models.pieces import call_ids, fresh_id, pieces
from keryx_py.models.prompts import calls_with_results, last_block, prompts, since_prompt

_SHOWN_LINES = 60
_SHOWN_TOOLS = frozenset({"list_dir", "read_file", "find_files", "search_text", "delegate"})

ABOUT = """\
I am the offline model that is built into keryx: not a language model, only a reader of plain \
instructions. I understand, one a line or joined by “then”:

- create FILE with TEXT (or a ``` block), append TEXT to FILE, replace OLD with NEW in FILE
- delete FILE, move FILE to FILE, read FILE, list FOLDER
- find *.py, search TEXT in FOLDER, run COMMAND, delegate TASK

For example: `create notes.txt with "Buy milk" then run cat notes.txt`. Quotes keep text together.

To talk to a real model, start keryx with `--model openai/NAME` (and OPENAI_API_KEY, or \
`--base-url` for a server of your own) or `--model anthropic/NAME` (and ANTHROPIC_API_KEY), or \
choose one here with `/model`."""


class OfflineModel:
    """Follows plain instructions, one call a step, and stops at the first that fails."""

    @property
    def name(self) -> str:
        """The name that `--model` takes."""
        return "offline"

    @property
    def context_tokens(self) -> int | None:
        """None: it has no window."""
        return None

    def stream(self, request: Request) -> Iterator[ReplyPart]:
        """Yield the next call that *request* asks for, or a report of what came of them."""
        message = answer(request)
        for piece in pieces(message.text):
            yield TextDelta(piece)
        yield Reply(message, None)


def answer(request: Request) -> Message:
    """Work out the answer to *request*."""
    if not request.tools:
        return Message(Role.ASSISTANT, summarise(request.items))
    sent = prompts(request.items)
    prompt = last_block(sent[-1]) if sent else ""
    try:
        steps = parse_instructions(prompt)
    except NotUnderstoodError as error:
        return Message(Role.ASSISTANT, _not_understood(str(error)))
    offered = {tool.name for tool in request.tools}
    if missing := [step.tool for step in steps if step.tool not in offered]:
        return Message(
            Role.ASSISTANT, f"That needs the tool {missing[0]}, which is not at hand here."
        )
    since = since_prompt(request.items)
    results = [result for _, result in calls_with_results(since)]
    if len(results) < len(steps) and all(result and result.ok for result in results):
        step = steps[len(results)]
        call = ToolCall(
            id=fresh_id(call_ids(request.items), "offline"),
            tool=step.tool,
            args=json.dumps(dict(step.args)),
        )
        return Message(Role.ASSISTANT, "", (call,))
    report = _report(steps, results)
    if prompt != sent[-1]:
        report += "\n\n(I read only the last paragraph of the prompt.)"
    return Message(Role.ASSISTANT, report)


def _not_understood(part: str) -> str:
    first = _one_line(part)
    if not first or re.match(r"(?:help|hi|hello|hey|what can you|who are you)\b", first, re.I):
        return ABOUT
    return f"I did not understand “{first}”, so I did nothing.\n\n{ABOUT}"


def _report(steps: Sequence[Instruction], results: Sequence[ToolResult | None]) -> str:
    told = [_outcome(step, result) for step, result in zip(steps, results, strict=False)]
    left = [_one_line(step.wish) for step in steps[len(results) :]]
    if left:
        told.append(f"I stopped there; not done: {'; '.join(f'“{wish}”' for wish in left)}.")
    return "\n\n".join(told)


def _outcome(step: Instruction, result: ToolResult | None) -> str:
    if result is None:
        return f"“{_one_line(step.wish)}” was interrupted."
    output = result.output.strip("\n")
    if not result.ok:
        reason = _one_line(output, 400) if step.tool != "shell_exec" else f"\n\n{_block(output)}"
        return f"“{_one_line(step.wish)}” did not work: {reason}"
    if step.tool in _SHOWN_TOOLS and output:
        return f"{step.done}:\n\n{_block(output)}"
    return f"{step.done}."


def _block(output: str) -> str:
    """Return *output* as a block that nothing in it can end, its end left out when it is long."""
    lines = output.splitlines()
    more = len(lines) - _SHOWN_LINES
    if more > 0:
        lines = [*lines[:_SHOWN_LINES], f"… ({more} more lines)"]
    ticks = max((len(run) for run in re.findall(r"`+", output)), default=0)
    fence = "`" * max(3, ticks + 1)
    return "\n".join((fence, *lines, fence))


def _one_line(text: str, most: int = 120) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
