"""What comes of a rewind: refused, stale, or carried out with what was done and what was not."""

from __future__ import annotations

from dataclasses import dataclass

from keryx_py.errors import KeryxError
from keryx_py.rewind.plan import RewindPlan
from keryx_py.snapshot.listing import Skipped


class RefusedError(KeryxError):
    """The rewind is refused; the text names the cause and the way on. Nothing was changed."""


class StalePlanError(KeryxError):
    """The disk or the archive has changed since the plan was made and shown."""

    def __init__(self, fresh: RewindPlan) -> None:
        super().__init__("the project has changed since the preview was made")
        self.fresh = fresh
        """The plan as it would be now."""


@dataclass(frozen=True, slots=True)
class RewindReport:
    """What came of a rewind."""

    plan: RewindPlan
    done: tuple[bytes, ...]
    """The paths that are now as planned."""
    failed: tuple[Skipped, ...]
    """The paths that are not, each with its reason."""
    undo: int | None
    """The undo point's number; None when no file was to change."""
    history_cut: bool
    history_error: str = ""
    """Why the history stays although a cut was asked for; empty when it does not."""
    files_put_back: bool = False
    """Whether the cut failed and the files were put back."""
    interrupted: bool = False
    """Whether Ctrl-C came after the first write, and was held until the end."""
