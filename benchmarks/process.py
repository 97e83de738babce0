"""Start-up: a whole process of parsolve against one that only imports what it cannot avoid.

`check` needs no solver, and does not import Z3: it is measured against the import that it
leaves out. Help needs typer, and is measured against the import of that alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial

from benchmarks.measure import PARSOLVE, Row, Target, in_turns, process, quiet_process, same

CHECK = ("check", "--world", "8", "--ep", "4")

SEES_Z3 = """
import sys
from parsolve.cli import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    print(ended.code, any(name.split(".")[0] == "z3" for name in sys.modules), file=sys.stderr)
"""


def rows(runs: int) -> Iterator[Row]:
    seen = process(sys.executable, "-c", SEES_Z3, *CHECK)
    same("check rejects, and imports no z3", seen.stderr.split(), ["1", "False"])
    same("check", seen.stdout.split()[:3], ["rejected", "[halo]", "ep-single-domain-multi-group"])
    same("help succeeds", process(*PARSOLVE, "--help").returncode, 0)
    cases = (
        (" ".join(CHECK), CHECK, "z3", Target(4), "It imported no z3."),
        ("--help", ("--help",), "typer", Target(3), ""),
    )
    for what, arguments, module, target, note in cases:
        same(f"import {module}", quiet_process(sys.executable, "-c", f"import {module}"), 0)
        timed = in_turns(
            partial(quiet_process, *PARSOLVE, *arguments),
            partial(quiet_process, sys.executable, "-c", f"import {module}"),
            2 * runs + 1,
        )
        yield Row(
            what=f"`parsolve {what}`",
            ours=timed.ours,
            against=f'`python -c "import {module}"`',
            theirs=timed.theirs,
            ratio=timed.ratio,
            target=target,
            note=note,
        )
