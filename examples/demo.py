"""Play a whole session on a throwaway copy of the example project, and show what happened.

The shell is the real one, and the lines are typed as a person would. No terminal, no network and
no key is needed: the built-in model follows plain instructions.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

# The examples are a folder of scripts, not a part of the package.
sys.path.insert(0, str(Path(__file__).parent))
from sitting import sit

PROJECT = Path(__file__).with_name("notebook")
FIRST = (
    'create tasks.md with "- sort the notes"',
    'replace "one a line" with "one on each line" in README.md'
    ' then append "- search the notes" to tasks.md',
    "delete docs/guide.md then run `echo temporary > scratch.txt`",
    "/rewind",
    "/rewind 3 both",
    "/rewind confirm",
    'create docs/search.md with "how to search"',
    'create docs/sort.md with "how to sort"',
    "/compact",
)
LATER = ("/rewind", "/rewind 1 both", "/rewind confirm", "/status")


def main() -> int:
    """Play both sittings; return 1 when the copy does not end as it began."""
    with tempfile.TemporaryDirectory(prefix="keryx-demo-") as place:
        root, data_dir = Path(place, "notebook"), Path(place, "data")
        shutil.copytree(PROJECT, root)
        before = _contents(root)
        _say("=== Three turns; the third is taken back; two more, and a compaction\n")
        sit(FIRST, root, data_dir, sys.stdout, go_on=False)
        _say("\n=== The next day: keryx -c, and back across the compaction\n")
        sit(LATER, root, data_dir, sys.stdout, go_on=True)
        same = _contents(root) == before
        _say(f"\nThe project is {'' if same else 'NOT '}as it was before the first turn.")
        return 0 if same else 1


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _contents(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


if __name__ == "__main__":
    sys.exit(main())
