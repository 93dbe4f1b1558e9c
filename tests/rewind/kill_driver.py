"""Kill a restore, and its recovery, at one step after the other; judge what the next start makes.

Run in a process of its own, as a normal user: root would never meet a read-only folder.
Arguments: the first step, how many steps lie between two kills, and "plain" or "keep". Prints one
line for each state that is neither the old nor the new one; the last line is how many kills there
were.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from keryx_py.rewind.plan import Way
from keryx_py.rewind.recovery import is_cut_short, recover
from keryx_py.session.archive import Mode, RewindEntry, live_turns
from tests.rewind.play import Look, Project

STEPS = frozenset(
    {
        "open",
        "os.rename",
        "os.mkdir",
        "os.rmdir",
        "os.remove",
        "os.symlink",
        "os.chmod",
        "os.truncate",
        "os.link",
    }
)
NOBODY = 65534
CLOSED_ROOT = 0o555
"""The root is read-only too: it is opened for the restore and must get this mode back."""


class Fuse:
    """Kills this process at the step number *at*; a very high number only counts."""

    def __init__(self) -> None:
        self.at: int | None = None
        self.steps = 0
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[object, ...]) -> None:
        if self.at is None or event not in STEPS:
            return
        if event == "open" and not (isinstance(args[2], int) and args[2] & os.O_CREAT):
            return
        self.steps += 1
        if self.steps >= self.at:
            os.kill(os.getpid(), signal.SIGKILL)


LINES = "".join(f"line {number}\n" for number in range(12))


def prepared(base: Path) -> tuple[Project, Look, Look]:
    """Make a project with one turn behind it; give the files before and after the turn."""
    project = Project(base)
    root = project.root
    project.write("kept", "old\n", 0o640)
    project.write("gone", "was here\n")
    project.write("to-folder", "file\n")
    project.write("to-file/x", "x\n")
    project.write("ro/x", "x\n")
    project.write("ro/y", "y\n")
    (root / "ro").chmod(0o555)
    (root / "link").symlink_to("kept")
    (root / "empty").mkdir(0o711)
    before = project.look()

    def work() -> None:
        project.write("kept", "new\n", 0o600)
        (root / "gone").unlink()
        (root / "to-folder").unlink()
        project.write("to-folder/in/k", "k\n")
        shutil.rmtree(root / "to-file")
        project.write("to-file", "a file\n")
        (root / "ro").chmod(0o755)
        (root / "ro" / "x").unlink()
        project.write("ro/y", "changed\n")
        (root / "ro").chmod(0o555)
        (root / "link").unlink()
        (root / "link").symlink_to("gone")
        (root / "empty").rmdir()
        project.write("made/deep/f", "f\n")

    project.turn(work)
    after = project.look()
    project.session.close()
    root.chmod(CLOSED_ROOT)
    return project, before, after


def prepared_to_keep(base: Path) -> tuple[Project, Look, Look]:
    """Make a project whose person edited what the turn did too; give what keep makes, and now."""
    project = Project(base)
    root = project.root
    for name in ("merged", "mine", "ro/merged"):
        project.write(name, LINES)
    (root / "ro").chmod(0o555)
    wanted = project.look()

    def work() -> None:
        (root / "ro").chmod(0o755)
        for name in ("merged", "ro/merged"):
            project.write(name, LINES.replace("line 2", "the turn's"))
        project.write("made/by-turn", "x\n")
        (root / "ro").chmod(0o555)

    project.turn(work)
    for name in ("merged", "mine", "ro/merged"):
        (root / name).write_text((root / name).read_text() + "mine\n")
        kind, mode, data = wanted[name.encode()]
        wanted[name.encode()] = kind, mode, data + b"mine\n"
    after = project.look()
    project.session.close()
    root.chmod(CLOSED_ROOT)
    return project, wanted, after


def killed(work: Callable[[], object], fuse: Fuse, at: int) -> bool:
    """Run *work* in a child that is killed at its step *at*; say whether it was."""
    child = os.fork()
    if child == 0:
        fuse.at = at
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit("the child failed without being killed")
    return os.WIFSIGNALED(status)


def rewind(project: Project, way: Way) -> None:
    project.resume()
    plan = project.rewinder().plan(1, Mode.BOTH, way=way)
    project.rewinder().apply(plan)


def recovered(project: Project) -> str:
    project.resume()
    return recover(project.session, project.store, project.now)


def verdict(project: Project, before: Look, after: Look, was_cut_short: bool, said: str) -> str:
    """Say what is wrong after the recovery; "" when nothing is."""
    entries = project.session.entries
    rewound = any(isinstance(entry, RewindEntry) for entry in entries)
    if was_cut_short != bool(said):
        return f"cut short: {was_cut_short}, but said {said!r}"
    if "taken back" in said:
        return f"nothing was damaged, but said {said!r}"
    if rewound != (live_turns(entries) == ()):
        return f"the history does not go with the record; said {said!r}"
    look = project.look()
    expected = before if rewound else after
    if look != expected:
        odd = {
            path for path in look.keys() | expected.keys() if look.get(path) != expected.get(path)
        }
        return f"rewound: {rewound}, but {sorted(odd)} differ; said {said!r}"
    if project.root.stat().st_mode & 0o7777 != CLOSED_ROOT:
        return f"the root's mode is {project.root.stat().st_mode:o}"
    if is_cut_short(project.session.folder):
        return "the record of the restore is still there"
    return ""


def one_kill(home: Path, fuse: Fuse, at: int, again: int | None, way: Way) -> tuple[bool, str]:
    """Kill the rewind at step *at*, and the recovery at *again*; judge what is there in the end."""
    base = home / f"{at}-{again}"
    base.mkdir()
    project, before, after = PREPARED[way](base)
    was_killed = killed(lambda: rewind(project, way), fuse, at)
    was_cut_short = is_cut_short(project.session.folder)
    if again is not None:
        killed(lambda: recovered(project), fuse, again)
        was_cut_short = is_cut_short(project.session.folder)
    said = recovered(project)
    wrong = verdict(project, before, after, was_cut_short, said)
    project.session.close()
    for folder in (project.root, *project.root.rglob("*/")):
        folder.chmod(0o755)
    shutil.rmtree(base)
    return was_killed, wrong


PREPARED = {Way.PLAIN: prepared, Way.KEEP: prepared_to_keep}


def main(first: int, stride: int, way: Way) -> None:
    fuse = Fuse()
    if os.geteuid() == 0:
        # Once, as root, so that everything that is imported late has been imported.
        with tempfile.TemporaryDirectory() as warm:
            rewind(PREPARED[way](Path(warm))[0], way)
        os.setuid(NOBODY)
    kills = 0
    with tempfile.TemporaryDirectory() as home:
        at, was_killed = first, True
        while was_killed:
            for again in (None, 1 + at % 23):
                was_killed, wrong = one_kill(Path(home), fuse, at, again, way)
                kills += was_killed
                if wrong:
                    print(f"at {at}, again {again}: {wrong}")  # noqa: T201
            at += stride
    print(kills)  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Way(sys.argv[3]))
