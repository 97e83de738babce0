"""Prints the README's command of a given name: the `sh` block under `<!-- command: NAME -->`."""

import re
import sys
from pathlib import Path


def command(readme: str, name: str) -> str:
    """The text of the one block of that name; exits with a message unless there is exactly one."""
    blocks: list[str] = re.findall(
        rf"^<!-- command: {re.escape(name)} -->\s*^```sh\n(.*?)^```$",
        readme,
        flags=re.DOTALL | re.MULTILINE,
    )
    if len(blocks) != 1:
        sys.exit(f"README.md holds {len(blocks)} blocks for command {name!r}, expected one")
    return blocks[0]


if __name__ == "__main__":
    path, wanted = sys.argv[1:]
    sys.stdout.write(command(Path(path).read_text(encoding="utf-8"), wanted))
