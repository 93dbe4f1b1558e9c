"""Write the session that the README shows, by running it: python examples/readme_session.py

Times, the session's name and its place differ from run to run; they are replaced by fixed ones,
so that the README changes only when the program does.
"""

from __future__ import annotations

import io
import re
import shutil
import sys
import tempfile
from pathlib import Path

# The examples are a folder of scripts, not a part of the package.
sys.path.insert(0, str(Path(__file__).parent))
from sitting import sit

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- session: made by examples/readme_session.py -->", "<!-- end of session -->"
LINES = (
    'create tasks.md with "- sort the notes"',
    'replace "one a line" with "one on each line" in README.md',
    "delete docs/guide.md then run `echo temporary > scratch.txt`",
    "/rewind",
    "/rewind 2 both",
    "/rewind confirm",
    "/redo",
)


def session_text() -> str:
    """Run the session on a throwaway copy of the example project; return what one would see."""
    with tempfile.TemporaryDirectory(prefix="keryx-readme-") as place:
        root, out = Path(place, "notebook"), io.StringIO()
        shutil.copytree(Path(__file__).with_name("notebook"), root)
        sit(LINES, root, Path(place, "data"), out, go_on=False)
        return settled(out.getvalue(), root)


def settled(text: str, root: Path) -> str:
    """Replace in *text* what differs from run to run."""
    text = text.replace(str(root.resolve()), "~/notebook")
    text = re.sub(r"\d{8}-\d{6}-\w+", "20260301-101500-k3m9", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "2026-03-01 10:15", text)
    return "\n".join(line.rstrip() for line in text.strip().split("\n"))


def in_readme(session: str, readme: str) -> str:
    """Return *readme* with *session* in its place."""
    before, rest = readme.split(BEGIN)
    after = rest.split(END)[1]
    block = "\n".join(f"    {line}".rstrip() for line in session.split("\n"))
    return f"{before}{BEGIN}\n\n{block}\n\n{END}{after}"


if __name__ == "__main__":
    README.write_text(in_readme(session_text(), README.read_text("utf-8")), "utf-8")
