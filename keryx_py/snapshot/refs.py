"""The shadow repository's refs: which captures are kept, and the commit of each."""

from __future__ import annotations

import os
import re
from pathlib import Path

from keryx_py.snapshot.packs import flush_folder, write_aside

_HEX = re.compile(rb"[0-9a-f]{40}")
NAMESPACE = "refs/keryx"
_PACKED = "packed-refs"
NO_ID = b""
"""In place of an id: the ref is there and names none."""


def read_refs(repository: Path, namespace: str = NAMESPACE) -> dict[str, bytes]:
    """List the refs below *namespace* by what follows that, with the id each names."""
    found = _read_packed(repository, namespace)
    start = repository / namespace
    for above, _, names in os.walk(start):
        for name in names:
            if not name.endswith(".lock"):
                path = Path(above, name)
                found[path.relative_to(start).as_posix()] = _parse(path.read_bytes())
    return found


def read_ref(repository: Path, name: str) -> bytes | None:
    """Read the id that refs/keryx/*name* names; None when there is no such ref."""
    try:
        return _parse((repository / NAMESPACE / name).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return _read_packed(repository, NAMESPACE).get(name)


def write_ref(repository: Path, name: str, oid: bytes) -> None:
    """Point refs/keryx/*name* at *oid*, safe against a power cut."""
    path = repository / NAMESPACE / name
    made = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for folder in made:
        flush_folder(folder.parent)
    write_aside(path, oid.hex().encode() + b"\n")


def is_there(repository: Path, name: str) -> bool:
    """Whether there is a ref refs/keryx/*name* of its own file."""
    return (repository / NAMESPACE / name).exists()


def remove_refs(repository: Path, names: list[str]) -> None:
    """Remove refs below refs/keryx; those that are not there are passed over."""
    packed = _read_packed(repository, NAMESPACE)
    if any(name in packed for name in names):
        _write_packed(repository, {name: packed[name] for name in packed if name not in names})
    for name in names:
        path = repository / NAMESPACE / name
        path.unlink(missing_ok=True)
        if path.parent.is_dir() and not any(path.parent.iterdir()):
            path.parent.rmdir()


def _parse(text: bytes) -> bytes:
    text = text.strip()
    return bytes.fromhex(text.decode()) if _HEX.fullmatch(text) else NO_ID


def _read_packed(repository: Path, namespace: str) -> dict[str, bytes]:
    # keryx packs no refs, but the person's own git may have.
    path = repository / _PACKED
    if not path.is_file():
        return {}
    found: dict[str, bytes] = {}
    for line in path.read_bytes().splitlines():
        oid, _, name = line.partition(b" ")
        if _HEX.fullmatch(oid) and name.startswith(f"{namespace}/".encode()):
            found[os.fsdecode(name[len(namespace) + 1 :])] = bytes.fromhex(oid.decode())
    return found


def _write_packed(repository: Path, refs: dict[str, bytes]) -> None:
    lines = [f"{oid.hex()} {NAMESPACE}/{name}\n" for name, oid in sorted(refs.items())]
    write_aside(repository / _PACKED, "".join(lines).encode())
