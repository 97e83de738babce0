"""The process: default command, exit codes, closed pipes and interrupts.

Exit codes: 0 yes (accepted, found, proved), 1 no (rejected, conflict), 2 misuse,
3 undecided, 130 interrupted, 141 the reader closed the pipe.
"""

from __future__ import annotations

import codecs
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

MISUSE = 2
INTERRUPTED = 130
CLOSED_PIPE = 141

OWN_OPTIONS = ("--help", "-h", "--version", "--install-completion", "--show-completion")
"""Options of parsolve itself; any other leading option belongs to `parsolve solve`."""

COMPLETE = "_PARSOLVE_COMPLETE"
"""What a shell sets to have a line completed."""

ESCAPED = "parsolve-escaped"
RETRY = 0.001
"""Seconds after which an interrupt is tried again."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C. After a bare KeyboardInterrupt inside exec, Python exits by the signal, not 130."""


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
    _prepare_streams()
    with _interrupts_heard():
        try:
            status = _run(sys.argv[1:] if arguments is None else arguments)
            sys.stdout.flush()
        except BrokenPipeError:
            drop_output()
            status = CLOSED_PIPE
        except OSError as error:
            drop_output()
            sys.stderr.write(f"parsolve: cannot write the output: {error.strerror or error}\n")
            status = MISUSE
        except KeyboardInterrupt:
            status = INTERRUPTED
        if status == INTERRUPTED:
            sys.stderr.write("parsolve: interrupted\n")
    sys.exit(status)


def _run(arguments: Sequence[str]) -> int:
    from parsolve.cli.app import app  # noqa: PLC0415  (a closed pipe may precede it)

    if COMPLETE in os.environ:
        from parsolve.cli import completion  # noqa: PLC0415  (it imports this module)

        completion.with_default_command()
    try:
        app(with_default_command(arguments), prog_name="parsolve")
    except SystemExit as exit_:
        if isinstance(exit_.__context__, BrokenPipeError):  # typer would call it a failure
            drop_output()
            return CLOSED_PIPE
        return exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    return 0


def _prepare_streams() -> None:
    """Replace streams that the caller closed, and escape what has no encoding as JSON does."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    codecs.register_error(ESCAPED, _escaped)
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors=ESCAPED)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """JSON's own escapes, so that JSON stays JSON."""
    import json  # noqa: PLC0415  (rarely needed)

    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


@contextmanager
def _interrupts_heard() -> Iterator[None]:
    """Have Ctrl-C raise `Interrupted`, also where Python would drop it."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise, or try again soon where that would be dropped or do harm.

    Python ignores what a finaliser raises, and an interrupt inside Z3's Python leaves half-built
    objects or comes out as another error.
    """
    while frame is not None:
        package, _, _ = str(frame.f_globals.get("__name__")).partition(".")
        if frame.f_code.co_name == "__del__" or package == "z3":
            import threading  # noqa: PLC0415  (rarely needed)

            again = threading.Timer(RETRY, signal.raise_signal, (number,))
            again.daemon = True
            again.start()
            return
        frame = frame.f_back
    raise Interrupted
