"""Act as a normal user in a child process: root would be let through everywhere."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

_NOBODY = 65534
# The user may be unable to read where these are installed, so they are imported before.
_IMPORTED_LATE = ("pygit2", "isal.isal_zlib", "keryx_py.snapshot.captures")


def give_away(*folders: Path) -> None:
    """Make *folders* and all in them belong to the user that as_user acts as."""
    if os.geteuid() != 0:
        return
    for folder in folders:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, _NOBODY, _NOBODY, follow_symlinks=False)
        # The folders above are private to root: let the user pass.
        for above in folder.parents:
            if above.stat().st_uid == 0 and above != Path("/"):
                above.chmod(above.stat().st_mode | 0o011)


def as_user(act: Callable[[], object]) -> None:
    """Run *act* as a normal user; its failure fails the test."""
    for name in _IMPORTED_LATE:
        with suppress(ImportError):
            import_module(name)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(_NOBODY)
                os.setuid(_NOBODY)
            act()
            status = 0
        except BaseException:  # noqa: BLE001 - the child must not go on as a second pytest
            traceback.print_exc()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
