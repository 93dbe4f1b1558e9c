"""Each entry comes back from JSON as it went, and what is no entry is refused."""

from __future__ import annotations

import json
from typing import get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keryx_py.messages import JsonValue
from keryx_py.session.archive import DamagedEntry, Entry
from keryx_py.session.codec import DecodeError, decode, encode

KINDS: tuple[type[Entry], ...] = get_args(Entry)


def _in_one_piece(letters: str) -> str:
    """Join the halves of a letter, as every reader of JSON does."""
    return letters.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


TEXTS = st.text(st.characters(exclude_categories=())).map(_in_one_piece)
MOMENTS = st.floats(0, 1e11)
STRATEGIES = {str: TEXTS, float: MOMENTS, tuple[str, ...]: st.lists(TEXTS).map(tuple)}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not DamagedEntry])
@given(st.data())
def test_every_field_of_every_entry_comes_back(kind: type[Entry], data: st.DataObject) -> None:
    # Drawn from the class itself: a field that is added and not written fails here.
    hints = get_type_hints(kind)
    fields = {
        name: STRATEGIES[hint] if hint in STRATEGIES else st.from_type(hint)
        for name, hint in hints.items()
    }
    entry = data.draw(st.builds(kind, **fields))
    assert isinstance(entry, KINDS)

    text = json.dumps(encode(entry), ensure_ascii=True)

    assert decode(json.loads(text)) == entry


def test_what_was_lost_stays_lost() -> None:
    assert decode(encode(DamagedEntry("torn"))) == DamagedEntry("torn")


def test_fields_with_a_default_may_be_absent() -> None:
    entry = decode({"kind": "checkpoint", "number": 3, "at": 1})

    assert entry == decode({"kind": "checkpoint", "number": 3, "at": 1.0, "name": "", "note": ""})


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ([], "no JSON object"),
        ("turn", "no JSON object"),
        ({}, "'kind' is no text"),
        ({"kind": "dream"}, "kind 'dream' is unknown"),
        ({"kind": "turn", "number": "1"}, "'number' is no whole number"),
        ({"kind": "turn", "number": True}, "'number' is no whole number"),
        ({"kind": "undo point", "number": 1, "at": "now"}, "'at' is no moment"),
        ({"kind": "ran", "turn": 1, "call": "a", "ok": 1}, "'ok' is neither"),
        ({"kind": "pruned", "at": 1, "numbers": 3}, "'numbers' is no list"),
        ({"kind": "pruned", "at": 1, "numbers": [None]}, "no whole number"),
        ({"kind": "rewind", "at": 1, "to": 1, "mode": "all"}, "mode 'all' is unknown"),
        ({"kind": "item", "turn": 1, "role": "system", "text": ""}, "role 'system' is unknown"),
        ({"kind": "item", "turn": 1, "role": "user", "text": "", "calls": [1]}, "no JSON object"),
    ],
)
def test_what_is_no_entry_is_refused_with_the_reason(record: JsonValue, words: str) -> None:
    with pytest.raises(DecodeError, match=words):
        decode(record)
