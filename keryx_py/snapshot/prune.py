"""Which snapshots may go. Nothing here touches a disk."""

from __future__ import annotations

from collections.abc import Collection


def list_droppable(
    kept: Collection[int], *, pinned: Collection[int] = (), protected: Collection[int] = ()
) -> tuple[int, ...]:
    """List the points whose snapshots may go at all, the oldest first.

    *kept* are the numbers of the points with a snapshot; *pinned* are the named checkpoints;
    *protected* are the point that the latest rewind used and its undo point, until the next
    turn's snapshot.
    """
    return tuple(
        number for number in sorted(set(kept)) if number not in pinned and number not in protected
    )


def list_pruned(
    kept: Collection[int],
    *,
    keep: int,
    pinned: Collection[int] = (),
    protected: Collection[int] = (),
) -> tuple[int, ...]:
    """List the points whose snapshots go so that at most *keep* stay, the oldest first.

    Named checkpoints do not count. Protected points count but stay, so more than *keep* may stay
    for as long as they are protected.
    """
    counted = len(set(kept) - set(pinned))
    droppable = list_droppable(kept, pinned=pinned, protected=protected)
    return droppable[: max(counted - keep, 0)]
