"""The tab key knows the names of checkpoints, and forgets those that were taken away."""

from __future__ import annotations

import io
import time
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from keryx_py.session.sessions import Sessions
from keryx_py.settings import Settings
from keryx_py.shell.project import OpenProject
from keryx_py.shell.repl import run_shell
from keryx_py.shell.screen import Streams
from keryx_py.shell.terminal import furnishing

LINES = b"/checkpoint before-one\n/checkpoint before-two\n/checkpoint -d before-one\n"


def test_names_are_offered_where_they_may_stand(tmp_path: Path) -> None:
    (tmp_path / "P").mkdir()
    sessions = Sessions(tmp_path / "data", now=time.time)
    project = OpenProject(
        Settings(tmp_path / "data", tmp_path / "home", free_floor_gb=0),
        sessions,
        sessions.create(tmp_path / "P"),
        now=time.time,
    )
    run_shell(project, Streams(io.TextIOWrapper(io.BytesIO(LINES)), io.StringIO(), io.StringIO()))
    completer = furnishing(project, False).completer

    def offered(line: str) -> set[str]:
        found = completer.get_completions(Document(line, len(line)), CompleteEvent())
        return {completion.text for completion in found}

    assert offered("/rewind @be") == {"@before-two"}
    assert {"@before-two", "all", "1", "2"} <= offered("/diff ")
    assert {"@before-two", "only"} <= offered("/diff 1 ")
    assert offered("/checkpoint -") == {"-d"}
    assert offered("/checkpoint -d be") == {"before-two"}
    project.close()
