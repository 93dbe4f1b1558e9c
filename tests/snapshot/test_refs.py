"""A ref names a whole id or is not there, whenever somebody looks."""

from __future__ import annotations

from pathlib import Path

from keryx_py.snapshot.refs import NAMESPACE, read_ref, write_ref

OLD, NEW = b"\x11" * 20, b"\x22" * 20


def test_a_ref_is_replaced_and_never_written_over(tmp_path: Path) -> None:
    write_ref(tmp_path, "1/before", OLD)
    with (tmp_path / NAMESPACE / "1/before").open("rb") as looking:
        write_ref(tmp_path, "1/before", NEW)

        assert looking.read() == OLD.hex().encode() + b"\n"
    assert read_ref(tmp_path, "1/before") == NEW
    assert [path.name for path in (tmp_path / NAMESPACE / "1").iterdir()] == ["before"]
