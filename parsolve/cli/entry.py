"""The process: default command, exit codes, closed pipes and interrupts.

Exit codes: 0 yes (accepted, found, proved), 1 no (rejected, conflict), 2 misuse,
3 undecided, 130 interrupted, 141 the reader closed the pipe.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

INTERRUPTED = 130
CLOSED_PIPE = 141

OWN_OPTIONS = ("--help", "-h", "--version", "--install-completion", "--show-completion")
"""Options of parsolve itself; any other leading option belongs to `parsolve solve`."""


def with_default_command(arguments: Sequence[str]) -> list[str]:
    """``parsolve --world 64`` means ``parsolve solve --world 64``."""
    if arguments and arguments[0].startswith("-") and arguments[0] not in OWN_OPTIONS:
        return ["solve", *arguments]
    return list(arguments)


def drop_output() -> None:
    """Send what is still buffered nowhere: its reader is gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line tool and exit."""
    try:
        status = _run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
        status = CLOSED_PIPE
    except KeyboardInterrupt:
        sys.stderr.write("parsolve: interrupted\n")
        status = INTERRUPTED
    sys.exit(status)


def _run(arguments: Sequence[str]) -> int:
    from parsolve.cli.app import app  # noqa: PLC0415  (a closed pipe may precede it)

    try:
        app(with_default_command(arguments), prog_name="parsolve")
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    return 0
