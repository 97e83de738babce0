"""The commands of a shell script, with the words that they get: nothing is executed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from parsolve.solver.files.document import Place
from parsolve.solver.files.shell.values import Word

__all__ = ["Command", "Word", "commands"]


@dataclass(frozen=True, slots=True)
class Command:
    """One command.

    ``environment`` is what is exported before it, and what is assigned in front of it. What
    another shell is given to run (``srun bash -c '...'``) is a command for each of its own, with
    the words in front.
    """

    words: tuple[Word, ...]
    environment: Mapping[str, Word]
    place: Place


def commands(name: str, text: str) -> tuple[Command, ...]:
    """All commands of a script in the order in which they run, each as far as it is known.

    Variables count in the order of assignment, defaults (``${TP:-4}``) are taken, and what a
    condition decides, the caller gives or a command puts out is unknown. Lines such as ``#SBATCH
    --nodes=4`` are commands named ``#SBATCH``, statements that are not understood and start
    nothing are commands named ``#?``. Raises `FileProblem`, with line and column, where
    the text is no shell or grows beyond all bounds. ``name`` is what messages call the file.
    """
    from parsolve.solver.files.shell.run import Run  # noqa: PLC0415  (a parser that few need)

    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    run = Run(name, text)
    return tuple(Command(*command) for command in run.commands())
