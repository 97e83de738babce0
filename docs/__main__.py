"""Builds the documentation as a site: ``python -m docs``, or ``python -m docs serve``.

The site is ``build/docs/site``. A warning, such as a link that leads nowhere, is an error.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from docs.staging import ROOT, stage

PLACE = ROOT / "build" / "docs"


def main(arguments: list[str], place: Path = PLACE) -> int:
    """The exit code of zensical."""
    if arguments not in ([], ["serve"]):
        sys.stderr.write("usage: python -m docs [serve]\n")
        return 2
    stage(place)
    verb = ["serve"] if arguments else ["build", "--strict"]
    zensical = [sys.executable, "-m", "zensical", *verb]
    return subprocess.run(zensical, cwd=place, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
