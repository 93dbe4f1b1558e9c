"""Play a session in a process whose disk fails at one chosen call, once for each such call.

Runs with failing_disk.so preloaded: `python -m tests.disks.fault_driver FOLDER FAULT`, where FAULT
is JSON. Each session is a fork, which has the whole keryx imported already. Prints what came of
each as a line of JSON.
"""

from __future__ import annotations

import ctypes
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.soundness import check_stores

SCRIPT = """
[[turn]]
prompt = "turn one"
[[turn.reply]]
[[turn.reply.call]]
tool = "write_file"
args.path = "f"
args.content = "f of turn one\\n"
[[turn.reply.call]]
tool = "shell_exec"
args.command = "echo made > g; rm h; mkdir -p n/m; echo x > n/m/x"
[[turn.reply]]
text = "Done."
[[turn]]
prompt = "turn two"
[[turn.reply]]
[[turn.reply.call]]
tool = "write_file"
args.path = "f"
args.content = "f of turn two\\n"
[[turn.reply.call]]
tool = "delete_file"
args.path = "d/x"
[[turn.reply]]
text = "Done."
[[turn]]
prompt = "turn three"
[[turn.reply]]
[[turn.reply.call]]
tool = "write_file"
args.path = "f"
args.content = "f of turn three\\n"
[[turn.reply]]
text = "Done."
"""
LINES = (
    *("turn one", "turn two", "/checkpoint kept", "/rewind 1 both", "/rewind confirm"),
    *("/redo", "/rewind", "/rewind 2 files", "/rewind confirm"),
)
AFTERWARDS = ("/status", "/rewind", "/rewind 1 files", "turn three", "/undo", "/rewind confirm")
ORIGINAL = {
    "f": b"the person's f\n",
    "h": b"the person's h\n",
    "d/x": os.urandom(3000),
    "e": b"",
    ".git/HEAD": b"ref: refs/heads/main\n",
    ".git/config": b"[core]\n",
}
KNOWN = {
    "f": {ORIGINAL["f"], b"f of turn one\n", b"f of turn two\n"},
    "g": {b"made\n"},
    "n/m/x": {b"x\n"},
    **{name: {content} for name, content in ORIGINAL.items() if name != "f"},
}
REASONS = ("the disk is full", "no space left", "input/output error", "quota", "read-only")
SKIPPED = "unreadable)"
"""What is said of a file that a snapshot could not read: it is skipped and named."""
BESIDE = re.compile(r"(.*/)?\.keryx-[0-9a-f]{16}(\.tmp|-[0-9a-f]{8})")
"""What a killed write leaves beside its place; a tool's stays and shows in the next preview."""
RESTORES = re.compile(r"(.*/)?\.keryx-[0-9a-f]{16}-[0-9a-f]{8}")
"""The same of a restore, which the next start clears away."""
OFFERED = ("write", "shell", "destructive")


@dataclass(frozen=True, slots=True)
class Fault:
    """Which calls fail, and as what."""

    calls: str
    number: int
    """The error's number; 0: the process is killed there, half-way through a write."""
    path: str = "/data/"
    lasts: bool = False
    every: int = 1
    """One in so many calls is tried."""

    def arm(self, at: int) -> None:
        """Have the *at*-th of the calls of this process fail."""
        os.environ.update(
            KERYX_FAULT_CALLS=self.calls,
            KERYX_FAULT_PATH=self.path,
            KERYX_FAULT_AT=str(at),
            KERYX_FAULT_ERRNO=str(self.number),
            KERYX_FAULT_LASTS=str(int(self.lasts)),
        )
        _shim().keryx_fault_arm()


@dataclass(frozen=True, slots=True)
class Came:
    """What came of one session."""

    at: int
    counted: int
    said: str
    afterwards: str
    faults: tuple[str, ...]
    """What is not as it must be, each in a few words."""


def run_all(base: Path, fault: Fault) -> Iterator[Came]:
    """Play the session without a failure, then with one at each of its calls in turn."""
    whole = play(base / "0", fault, 0)
    yield whole
    for at in range(1, whole.counted + 1, fault.every):
        yield play(base / str(at), fault, at)


def play(place: Path, fault: Fault, at: int) -> Came:
    """Play one session whose *at*-th call fails, open it again, and look for what is wrong."""
    lay_out(place)
    code, said, counted = sit(place, LINES, fault, at)
    killed = bool(at) and fault.number == 0
    faults = [*([] if killed and code == -signal.SIGKILL else _bad_exit(code, said))]
    faults += _bad_tree(place, killed=killed)
    then = _tree(place / "P")
    if at and not killed and then != _tree(place.parent / "0" / "P-then") and _untold(said):
        faults.append("the files are not as asked, and nothing says why")
    if at == 0:
        shutil.copytree(place / "P", place / "P-then")
    sit(place, (), None, 0)  # whatever was cut short is finished here
    then = _tree(place / "P")
    if any(RESTORES.fullmatch(name) for name in then):
        faults.append("what a killed restore left is still there")
    code, later, _ = sit(place, AFTERWARDS, None, 0)
    faults += [*_bad_exit(code, later, opened=True), *_bad_tree(place, killed=killed)]
    if _tree(place / "P") != then:
        faults.append("the turn afterwards is not taken back whole")
    if SKIPPED not in said:
        faults += _lost(place)
    try:
        check_stores([place])
    except AssertionError as error:
        faults.append(f"git finds the store broken: {error}")
    if not faults and at:
        shutil.rmtree(place)
    return Came(at, counted, said, later, tuple(faults))


def lay_out(place: Path) -> None:
    """Make the project, a file outside that nothing may touch, and the script."""
    for name, content in ORIGINAL.items():
        (place / "P" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "P" / name).write_bytes(content)
    (place / "data").mkdir(mode=0o700)
    (place / "outside").write_text("outside\n")
    (place / "script.toml").write_text(SCRIPT)


def sit(place: Path, lines: Sequence[str], fault: Fault | None, at: int) -> tuple[int, str, int]:
    """Type *lines* at a keryx of its own; return its exit code, what it printed, and the count."""
    (place / "lines").write_text("".join(f"{line}\n" for line in lines))
    printed = place / "printed"
    printed.unlink(missing_ok=True)
    counts, tell = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        _be_keryx(place, fault, at, tell)
    os.close(tell)
    with os.fdopen(counts) as told:
        counted = int(told.read() or 0)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), printed.read_text(errors="replace"), counted


def _be_keryx(place: Path, fault: Fault | None, at: int, tell: int) -> None:
    code: object = 70
    try:
        os.dup2(os.open(place / "lines", os.O_RDONLY), 0)
        out = os.open(place / "printed", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(out, 1)
        os.dup2(out, 2)
        sys.stdin, sys.stdout, sys.stderr = (
            io.TextIOWrapper(io.FileIO(0), encoding="utf-8"),
            io.TextIOWrapper(io.FileIO(1, "w"), encoding="utf-8", write_through=True),
            io.TextIOWrapper(io.FileIO(2, "w"), encoding="utf-8", write_through=True),
        )
        os.chdir(place / "P")
        os.environ.pop("LD_PRELOAD", None)
        os.environ.update(KERYX_DATA_DIR=str(place / "data"), HOME=str(place))
        approved = [word for risk in OFFERED for word in ("--approve", risk)]
        words = ["--root", str(place / "P"), "--model", f"script:{place / 'script.toml'}"]
        sys.argv = ["keryx", *words, *approved, *(() if fault else ("-c",))]
        if fault is not None:
            fault.arm(at)
        from keryx_py.cli.app import main

        main()
    except SystemExit as left:
        code = left.code
    finally:
        _shim().keryx_fault_disarm()
        os.write(tell, str(_shim().keryx_fault_count() if fault else 0).encode())
        os._exit(code if isinstance(code, int) else 0 if code is None else 71)


def _bad_exit(code: int, said: str, *, opened: bool = False) -> Iterator[str]:
    if code not in ((0,) if opened else (0, 1)):
        yield f"exit code {code}"
    if code == 1 and len(said.splitlines()) != 1:
        yield "more than one line for a shell that could not open"
    if "Traceback" in said or "hit a bug" in said:
        yield "a bug or a traceback is shown"


def _bad_tree(place: Path, *, killed: bool) -> Iterator[str]:
    tree = _tree(place / "P")
    for name, content in tree.items():
        if killed and BESIDE.fullmatch(name):
            continue
        if content not in KNOWN.get(name, ()):
            yield f"{name} is torn or not of this project: {content[:60]!r}"
    for name in (".git/HEAD", ".git/config", "e"):
        if tree.get(name) != ORIGINAL[name]:
            yield f"{name} was touched"
    if (place / "outside").read_text() != "outside\n":
        yield "a file outside was touched"
    if (place / "data" / "bugs.log").exists():
        yield "there is a bugs.log"


def _untold(said: str) -> bool:
    return not any(reason in said.lower() for reason in (*REASONS, SKIPPED))


def _lost(place: Path) -> Iterator[str]:
    """Name each file of the person that is neither on the disk nor in a snapshot."""
    tree = _tree(place / "P")
    for name, content in ORIGINAL.items():
        if tree.get(name) != content and content not in set(_held(place, name)):
            yield f"{name} is lost"


def _held(place: Path, name: str) -> Iterator[bytes]:
    for store in place.glob("data/sessions/*/shadow.git"):
        git = ["git", f"--git-dir={store}"]
        listed = subprocess.run(
            [*git, "for-each-ref", "--format=%(refname)"], capture_output=True, check=True
        )
        for ref in listed.stdout.decode().split():
            shown = subprocess.run(
                [*git, "cat-file", "blob", f"{ref}:{name}"], capture_output=True, check=False
            )
            if shown.returncode == 0:
                yield shown.stdout


def _tree(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def _shim() -> ctypes.CDLL:
    return ctypes.CDLL(os.environ["KERYX_FAULT_SHIM"])


def _import_all() -> None:
    """Import what a session needs, so that no fork has to."""
    import keryx_py.cli.app
    import keryx_py.models.scripted
    import keryx_py.rewind.rewinder
    import keryx_py.shell.opening
    import keryx_py.shell.repl
    import keryx_py.snapshot.captures  # noqa: F401


if __name__ == "__main__":
    _import_all()
    for came in run_all(Path(sys.argv[1]), Fault(**json.loads(sys.argv[2]))):
        print(json.dumps(asdict(came)), flush=True)  # noqa: T201 - its answer
