"""Make sure that what stands at a shadow repository's place is one, or nothing."""

from __future__ import annotations

from pathlib import Path

from keryx_py.snapshot import refs, shadow
from keryx_py.snapshot.failures import DamagedSnapshotError, SnapshotError


def settle(folder: Path) -> tuple[str, ...]:
    """Clear leftovers in *folder*, or set an empty repository aside; return notices of that.

    Raises SnapshotError for anything else that is no shadow repository.
    """
    match shadow.examine(folder):
        case shadow.Standing.NOTHING | shadow.Standing.UNFINISHED:
            return ()
        case shadow.Standing.OURS:
            shadow.clear_leftovers(folder)
            return ()
        case shadow.Standing.EMPTY:
            return _set_aside(folder, "was empty")
        case shadow.Standing.OTHER_REPOSITORY if _holds_nothing(folder):
            return _set_aside(folder, "was made by another version and held no snapshots")
        case shadow.Standing.LINK:
            reason = "is a link, or holds one"
        case shadow.Standing.NOT_OWNED:
            reason = "belongs to another user"
        case _:
            reason = "is not a shadow repository of this version of keryx"
    raise SnapshotError(f"{folder} {reason}; move it away, or start a new session with /new")


def clear_after_the_dead(folder: Path) -> None:
    """Clear leftovers in *folder* if it is a sound shadow repository; its session must be held.

    Raises OSError.
    """
    if shadow.examine(folder) is shadow.Standing.OURS:
        shadow.clear_leftovers(folder)


def _holds_nothing(folder: Path) -> bool:
    """Whether no ref of the git repository at *folder* leads to a file."""
    from keryx_py.snapshot.captures import CaptureReader
    from keryx_py.snapshot.objectdb import ObjectDatabase

    reader = CaptureReader(ObjectDatabase(folder / "objects"))
    try:
        return not any(map(reader.holds_files, refs.read_refs(folder, "refs").values()))
    except DamagedSnapshotError:
        return False


def _set_aside(folder: Path, reason: str) -> tuple[str, ...]:
    aside = shadow.set_aside(folder)
    return (f"the shadow repository {reason}; it was set aside as {aside.name} and is made anew",)
