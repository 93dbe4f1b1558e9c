"""Stores in which something goes wrong at a given moment."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from keryx_py.snapshot.listing import TreeState
from keryx_py.snapshot.store import DamagedSnapshotError, Progress, SnapshotKey, SnapshotStore
from tests.rewind.play import Project


class MeddledStore(SnapshotStore):
    """A store after whose captures somebody else does something to the project."""

    meddle: Callable[[SnapshotKey], object]

    def take(
        self,
        key: SnapshotKey,
        taken_at: float,
        also: Collection[bytes] = (),
        progress: Progress | None = None,
    ) -> TreeState:
        state = super().take(key, taken_at, also, progress)
        self.meddle(key)
        return state


def meddled(project: Project, meddle: Callable[[SnapshotKey], object]) -> None:
    """Have *meddle* run after each capture from now on."""
    store = MeddledStore.open(
        project.session.folder / "shadow.git",
        project.root,
        home=project.home,
        data_dir=project.data,
    )
    assert isinstance(store, MeddledStore)
    store.meddle = meddle
    project.store = store


class ForgetfulStore(SnapshotStore):
    """A store that has lost some blobs."""

    lost: frozenset[bytes]

    def read(self, oid: bytes) -> bytes:
        if oid in self.lost:
            raise DamagedSnapshotError("an object is missing")
        return super().read(oid)

    def read_each(self, oids: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
        return ((oid, self.read(oid)) for oid in oids)


def forgetful(project: Project, lost: Iterable[bytes]) -> SnapshotStore:
    """The project's store without the blobs *lost*."""
    store = ForgetfulStore.open(
        project.session.folder / "shadow.git",
        project.root,
        home=project.home,
        data_dir=project.data,
    )
    assert isinstance(store, ForgetfulStore)
    store.lost = frozenset(lost)
    return store
