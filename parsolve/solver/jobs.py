"""Independent tasks on several processes, with their results in the order of the tasks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from parsolve.constraints.fields import Misuse

Task = TypeVar("Task")
Result = TypeVar("Result")

MOST_JOBS = 1_024
"""Processes that one command starts."""


class WorkerDied(Misuse):
    """A process that was killed from outside, such as for want of memory."""


def processes(jobs: int) -> int:
    """How many processes so many jobs are; 0 is one for each core. Raises `Misuse`."""
    if not 0 <= jobs <= MOST_JOBS:
        message = f"jobs are from 1 to {MOST_JOBS}, or 0 for one on each core; got {jobs}"
        raise Misuse(message)
    if jobs:
        return jobs
    # cores that this process may use, where the system tells
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(
    run: Callable[[Task], Result], tasks: Iterable[Task], jobs: int = 1
) -> Iterator[Result]:
    """``run`` of every task, in their order, on so many processes (one: this one).

    Tasks, results and ``run`` itself must be picklable. A task that raises ends all; raises
    `WorkerDied` where a process is gone.
    """
    if jobs == 1:
        yield from map(run, tasks)
        return
    from joblib import Parallel, delayed  # noqa: PLC0415  (few commands need it)
    from joblib.externals.loky.process_executor import (  # noqa: PLC0415
        TerminatedWorkerError,
    )

    parallel = Parallel(n_jobs=jobs, return_as="generator", batch_size=1)
    try:
        yield from parallel(delayed(run)(task) for task in tasks)
    except TerminatedWorkerError as error:
        message = "a process of this job was killed, perhaps for want of memory; use fewer --jobs"
        raise WorkerDied(message) from error
