"""A listing that is read as it is asked for says what the same listing in memory says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keryx_py.snapshot.failures import DamagedSnapshotError
from keryx_py.snapshot.layered import Item, Layered, Page
from keryx_py.snapshot.listing import (
    FileState,
    Kind,
    Listing,
    compare_all,
    count_contents,
    differences,
    in_memory,
)
from keryx_py.snapshot.objects import (
    EXEC_MODE,
    FOLDER_MODE,
    LINK_MODE,
    PLAIN_MODE,
    ObjectKind,
    encode_tree,
    object_id,
)
from keryx_py.snapshot.record import Record

CONTENTS = tuple(bytes([number]) * 20 for number in range(1, 4))
NAMES = (b"a", b"b", b"a.b", b"\xff", b"a\n")
ABOVE = FileState(Kind.FOLDER, 0o755, b"")
MODES = (0o644, 0o755, 0o600, 0o711, 0o4755, 0o2775, 0o1000, 0)


@dataclass
class Store:
    """Git trees in memory, which remembers how often it was read."""

    trees: dict[bytes, dict[bytes, Item]] = field(default_factory=dict)
    reads: list[bytes] = field(default_factory=list)
    closed: bool = False

    def page(self, path: bytes, tree: bytes) -> Page:
        if self.closed:
            raise DamagedSnapshotError("read too late")
        self.reads.append(path)
        return self.trees[tree]

    def count_contents(self, tree: bytes) -> int:
        items = self.trees[tree].values()
        return sum(self.count_contents(oid) if mode == FOLDER_MODE else 1 for mode, oid in items)

    def put(self, items: dict[bytes, Item]) -> bytes:
        tree = object_id(
            ObjectKind.TREE, encode_tree((name, mode, oid) for name, (mode, oid) in items.items())
        )
        self.trees[tree] = items
        return tree


def git_mode(state: FileState) -> bytes:
    if state.kind is Kind.LINK:
        return LINK_MODE
    return EXEC_MODE if state.mode & 0o100 else PLAIN_MODE


def layered(listing: Listing, usual: dict[bytes, int], store: Store) -> Layered:
    """Lay *listing* out as a capture would that takes the modes *usual* for granted."""
    odd: dict[bytes, int] = {}
    bare: dict[bytes, int] = {}

    def note(path: bytes, mode: bytes, bits: int) -> None:
        if bits != usual[mode]:
            odd[path] = bits

    def build(folder: bytes) -> bytes:
        prefix = folder + b"/" if folder else b""
        items: dict[bytes, Item] = {}
        for path, state in listing.items():
            name = path[len(prefix) :]
            if not path.startswith(prefix) or b"/" in name:
                continue
            if state.kind is not Kind.FOLDER:
                items[name] = (git_mode(state), state.oid)
                if state.kind is Kind.FILE:
                    note(path, git_mode(state), state.mode)
            elif tree := build(path):
                items[name] = (FOLDER_MODE, tree)
                note(path, FOLDER_MODE, state.mode)
            else:
                bare[path] = state.mode
        return store.put(items) if items or not folder else b""

    tree = build(b"")
    return Layered(tree, Record(usual, odd, bare), store)


def rooted(found: dict[bytes, FileState]) -> dict[bytes, FileState]:
    """Give each path the folders above it; what stands below a file or link goes."""
    listing: dict[bytes, FileState] = {}
    for path, state in sorted(found.items()):
        above = [path[:at] for at in range(len(path)) if path[at : at + 1] == b"/"]
        if all(listing.get(folder, ABOVE).kind is Kind.FOLDER for folder in above):
            listing.update({folder: ABOVE for folder in above if folder not in listing})
            listing[path] = state
    return listing


states = st.one_of(
    st.builds(FileState, st.just(Kind.FILE), st.sampled_from(MODES), st.sampled_from(CONTENTS)),
    st.builds(FileState, st.just(Kind.LINK), st.just(0), st.sampled_from(CONTENTS)),
    st.builds(FileState, st.just(Kind.FOLDER), st.sampled_from(MODES), st.just(b"")),
)
paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(b"/".join)
listings = st.dictionaries(paths, states, max_size=12).map(rooted)
usuals = st.fixed_dictionaries(
    {mode: st.sampled_from(MODES[:3]) for mode in (PLAIN_MODE, EXEC_MODE, FOLDER_MODE)}
)


def changed(listing: Listing, edits: Iterable[tuple[bytes, FileState | None]]) -> Listing:
    found = dict(listing)
    for path, state in edits:
        if state is None:
            found.pop(path, None)
        else:
            found[path] = state
    return rooted(found)


edits = st.lists(st.tuples(paths, st.none() | states), max_size=4)


@given(listing=listings, usual=usuals)
def test_it_holds_what_the_listing_holds(listing: Listing, usual: dict[bytes, int]) -> None:
    found = layered(listing, usual, Store())

    assert in_memory(found) == listing
    assert set(found) == set(listing)
    assert len(found) == len(listing)
    assert {path: found[path] for path in listing} == listing
    assert found == listing
    assert count_contents(found) == count_contents(listing)


@given(listing=listings, path=paths)
def test_a_path_that_is_not_held_is_not_found(listing: Listing, path: bytes) -> None:
    found = layered(listing, dict.fromkeys((PLAIN_MODE, EXEC_MODE, FOLDER_MODE), 0o644), Store())

    for asked in (path, path + b"/", b"/" + path, b"", path + b"/a/b"):
        assert found.get(asked) == listing.get(asked)
        assert (asked in found) is (asked in listing)


@given(before=listings, after=listings, usual=usuals, other=usuals)
def test_what_differs_is_what_differs_path_by_path(
    before: Listing, after: Listing, usual: dict[bytes, int], other: dict[bytes, int]
) -> None:
    one, two = layered(before, usual, Store()), layered(after, other, Store())

    assert differences(one, two) == compare_all(before, after)
    assert differences(two, one) == compare_all(after, before)
    assert (one == two) is (before == after)


@given(before=listings, edits=edits, usual=usuals)
def test_a_few_edits_are_found_and_need_no_more_reading(
    before: Listing, edits: list[tuple[bytes, FileState | None]], usual: dict[bytes, int]
) -> None:
    after = changed(before, edits)
    stores = Store(), Store()
    one, two = layered(before, usual, stores[0]), layered(after, usual, stores[1])
    expected = compare_all(before, after)

    assert differences(one, two) == expected
    for store in stores:
        store.closed = True
    assert differences(one, two) == expected
    assert differences(two, one) == compare_all(after, before)
    for change in expected:
        assert one.get(change.path) == change.before
        assert two.get(change.path) == change.after


def test_folders_that_are_the_same_are_not_visited() -> None:
    same = {
        b"%d/%d/f" % (number, number): FileState(Kind.FILE, 0o644, CONTENTS[0])
        for number in range(9)
    }
    usual = {PLAIN_MODE: 0o644, EXEC_MODE: 0o755, FOLDER_MODE: 0o755}
    stores = Store(), Store()
    one = layered(rooted(same), usual, stores[0])
    two = layered(
        rooted({**same, b"4/4/f": FileState(Kind.FILE, 0o644, CONTENTS[1])}), usual, stores[1]
    )

    assert [change.path for change in differences(one, two)] == [b"4/4/f"]
    for store in stores:
        assert store.reads == [b"", b"4", b"4/4"]


def test_a_page_that_cannot_be_read_is_an_error_not_an_empty_folder() -> None:
    store = Store()
    found = layered(
        rooted({b"d/f": FileState(Kind.FILE, 0o644, CONTENTS[0])}),
        {PLAIN_MODE: 0o644, EXEC_MODE: 0o755, FOLDER_MODE: 0o755},
        store,
    )
    store.closed = True

    with pytest.raises(DamagedSnapshotError):
        found.get(b"d/f")
    with pytest.raises(DamagedSnapshotError):
        in_memory(found)
