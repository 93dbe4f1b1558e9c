"""Run a part of a test as a normal user: root can read everything, so root proves nothing."""

from __future__ import annotations

import codecs
import importlib
import os
import pkgutil
import tempfile
import traceback
import warnings
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path

import keryx_py
from tests.cases.sitting import Sitting, shell

NOBODY = 65534


def as_user(
    place: Path,
    act: Callable[[], None],
    *,
    not_owned: Collection[Path] = (),
    may_return: bool = False,
) -> None:
    """Do *act* as a user who is not root, and raise its failed assertions here.

    The user owns *place* and all that is in it, but for what is *not_owned*. With *may_return*
    the test, and no program that it starts, can be root again to look at what is closed.
    Root does it in a fork that gives its rights up, so what *act* needs is loaded before: the
    interpreter's own files may be closed to that user.
    """
    if os.geteuid() != 0:
        act()
        return
    load_everything()
    for path in (place, *place.rglob("*")):
        if path not in not_owned:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    read_end, write_end = os.pipe()
    with warnings.catch_warnings():
        # Threads of other tests hold nothing that the child needs.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _do_in_child(place, act, write_end, may_return)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as report:
        failure = report.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    assert not failure, failure
    assert status == 0


def _do_in_child(place: Path, act: Callable[[], None], report: int, may_return: bool) -> None:
    status = 1
    try:
        os.setgroups([])
        os.setgid(NOBODY)
        if may_return:
            os.setresuid(NOBODY, NOBODY, 0)
        else:
            os.setuid(NOBODY)
        home = place / "home"
        home.mkdir(exist_ok=True)
        os.environ["HOME"] = str(home)
        act()
        status = 0
    except BaseException:  # noqa: BLE001 - whatever it is, the parent raises it
        os.write(report, traceback.format_exc().encode("utf-8", "replace")[-60_000:])
    finally:
        os._exit(status)


@cache
def load_everything() -> None:
    """Import what a sitting imports, also what is imported only at first use."""
    for encoding in ("utf-16-le", "unicode-escape"):
        codecs.lookup(encoding)
    for module in pkgutil.walk_packages(keryx_py.__path__, "keryx_py."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "P")
        root.mkdir()
        sitting = Sitting(root, Path(folder, "data"))
        sitting.play(shell("echo x > f"), "/rewind 1 files diff", "/rewind confirm", "/rewind")
        sitting.close()
