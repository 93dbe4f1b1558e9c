"""Keys never leave keryx's own process but to their server: not on any failure, not anywhere."""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cases.children import keryx_at
from tests.servers import Answer, ModelServer, Received, StrictChatServer, chunk, refusal, sse

OPENAI = "sk-openai-4dF7q0-never-to-be-kept"
ANTHROPIC = "sk-ant-9xW2b1-never-to-be-kept"
ECHO = "Incorrect API key provided: KEY. You sent: Bearer KEY."
"""What a server says that repeats the key it was sent, as some do."""
LOOK = (
    "env > env.txt; cat /proc/self/environ > own.txt 2>/dev/null; "
    "tr '\\0' '\\n' < /proc/self/cmdline; export -p; set"
)

Servers = Callable[[], ModelServer]


class Echoing(ModelServer):
    """Puts the key that it was sent where its answers say KEY."""

    def answer(self, received: Received) -> Answer:
        """Answer as planned, with the key in it."""
        headers = received.headers
        key = headers.get("x-api-key") or headers["authorization"].removeprefix("Bearer ")
        planned = super().answer(received)
        return replace(
            planned, pieces=tuple(one.replace(b"KEY", key.encode()) for one in planned.pieces)
        )


def broken_off() -> ModelServer:
    return Echoing(*[Answer((sse(chunk("half an answer"), done=False),), cut=True)] * 4)


def nonsense() -> ModelServer:
    return Echoing(*[Answer((b"data: {" + ECHO.encode() + b"\n\n",))] * 4)


def refusing(status: int) -> Servers:
    return lambda: Echoing(*[refusal(status, ECHO, retry_after_ms="1")] * 8)


def error_in_the_stream() -> ModelServer:
    return Echoing(*[Answer((sse({"error": {"message": ECHO, "code": ECHO}}),))] * 4)


def redirecting() -> ModelServer:
    return Echoing(*[Answer((b"",), 307, {"Location": "http://127.0.0.1:9/elsewhere"})] * 8)


def asking_for_the_environment() -> ModelServer:
    return StrictChatServer(
        [("shell_exec", {"command": LOOK})], [("read_file", {"path": "own.txt"})]
    )


SERVERS: dict[str, Servers] = {
    "broken off": broken_off,
    "nonsense": nonsense,
    "401": refusing(401),
    "403": refusing(403),
    "400": refusing(400),
    "429": refusing(429),
    "500": refusing(500),
    "error in the stream": error_in_the_stream,
    "redirecting": redirecting,
    "asking": asking_for_the_environment,
}
QUICK = {("openai", "401"), ("openai", "400"), ("openai", "asking"), ("anthropic", "401")}


def everything(*folders: Path) -> bytes:
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return b"".join(str(path).encode() + path.read_bytes() for path in files)


@pytest.mark.parametrize(
    ("provider", "kind"),
    [
        pytest.param(*pair, marks=() if pair in QUICK else pytest.mark.soak)
        for pair in itertools.product(("openai", "anthropic"), SERVERS)
        if pair not in {("anthropic", "asking"), ("anthropic", "error in the stream")}
    ],
)
def test_no_failure_of_a_server_brings_a_key_to_light(
    root: Path, tmp_path: Path, sealed: Path, kind: str, provider: str
) -> None:
    """Not on the screen, not in the archive, the history or a log, and not in a tool's process."""
    data = tmp_path / "data"
    with SERVERS[kind]() as server:
        url = server.base_url if provider == "openai" else server.url
        command, environment = keryx_at(
            root, data, "--model", f"{provider}/m", "--approve", "shell", "--approve", "destructive"
        )
        command += ["--base-url", url]
        environment |= {"OPENAI_API_KEY": OPENAI, "ANTHROPIC_API_KEY": ANTHROPIC}
        ran = subprocess.run(
            command,
            env=environment,
            input=b"go\n/status\n/rewind\n/sessions\n",
            capture_output=True,
            check=False,
            timeout=60,
        )
        sent = [value for one in server.received for value in one.headers.values()]

    assert ran.returncode == 0, ran.stderr
    assert any(OPENAI in one or ANTHROPIC in one for one in sent), "the server got no key at all"
    if kind == "asking":
        assert (root / "env.txt").exists()
        assert "KERYX_DATA_DIR" in (root / "own.txt").read_text()
    found = everything(root, data, sealed) + ran.stdout + ran.stderr
    for key in (OPENAI, ANTHROPIC):
        assert key.encode() not in found, found[max(0, found.find(key.encode()) - 300) :][:400]


def test_a_bug_s_log_holds_no_key(root: Path, tmp_path: Path) -> None:
    """A traceback shows lines of code, never what a variable held."""
    script = tmp_path / "crash.py"
    script.write_text(
        "import sys\n"
        "from keryx_py.shell.project import OpenProject\n"
        "def broken(self, *rest):\n"
        "    raise RuntimeError(f'broken {self.settings!r} {self.model!r}')\n"
        "OpenProject.take_turn = broken\n"
        "from keryx_py.cli.app import main\n"
        "main()\n"
    )
    command, environment = keryx_at(root, tmp_path / "data")
    environment |= {"OPENAI_API_KEY": OPENAI, "ANTHROPIC_API_KEY": ANTHROPIC}

    ran = subprocess.run(
        [command[0], str(script), *command[3:]],
        env=environment,
        input=b"go\n",
        capture_output=True,
        check=False,
    )

    log = (tmp_path / "data" / "bugs.log").read_bytes()
    assert b"keryx hit a bug" in ran.stdout
    assert b"broken" in log
    for key in (OPENAI.encode(), ANTHROPIC.encode()):
        assert key not in log + ran.stdout + ran.stderr


def test_a_key_in_a_wrong_place_is_not_repeated(root: Path, tmp_path: Path) -> None:
    """A password in the base URL is shown by no sentence and kept by no session."""
    command, environment = keryx_at(
        root,
        tmp_path / "data",
        "--model",
        "openai/m",
        "--base-url",
        f"http://me:{OPENAI}@127.0.0.1:9",
    )

    ran = subprocess.run(
        command,
        env={**environment, "OPENAI_API_KEY": ANTHROPIC},
        input=b"go\n/status\n",
        capture_output=True,
        check=False,
    )

    assert OPENAI.encode() not in ran.stdout + ran.stderr + everything(tmp_path / "data")
    assert os.listdir(root) == []
