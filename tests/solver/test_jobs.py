"""Tasks on several processes."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from parsolve.constraints.fields import Misuse
from parsolve.solver.jobs import MOST_JOBS, WorkerDied, in_order, processes
from tests.cli.run import cli


def slow_first(number: int) -> tuple[int, int]:
    time.sleep(0.3 if number == 0 else 0)
    return number, os.getpid()


def dies(number: int) -> int:
    if number == 1:
        os._exit(1)
    return number


def raises(number: int) -> int:
    if number == 1:
        message = "no"
        raise ValueError(message)
    return number


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_the_order_of_the_tasks(jobs: int) -> None:
    found = list(in_order(slow_first, range(6), jobs))
    assert [number for number, _ in found] == list(range(6))
    here = {process for _, process in found} == {os.getpid()}
    assert here == (jobs == 1)


def test_a_process_that_is_gone_is_reported() -> None:
    with pytest.raises(WorkerDied, match="was killed, perhaps for want of memory"):
        list(in_order(dies, range(3), 2))


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_a_task_raises_ends_all(jobs: int) -> None:
    with pytest.raises(ValueError, match="no"):
        list(in_order(raises, range(3), jobs))


def test_a_number_of_processes() -> None:
    assert processes(3) == 3
    assert 1 <= processes(0) <= (os.cpu_count() or 1)
    for jobs in (-1, MOST_JOBS + 1):
        with pytest.raises(Misuse, match=f"got {jobs}"):
            processes(jobs)


def without_seconds(answer: Any) -> Any:  # noqa: ANN401  (JSON has no narrower type)
    if isinstance(answer, dict):
        return {key: without_seconds(each) for key, each in answer.items() if key != "seconds"}
    if isinstance(answer, list):
        return [without_seconds(each) for each in answer]
    return answer


def test_proofs_are_the_same_on_two_processes() -> None:
    asked = ("prove", "rules", "allowlist", "--profile", "torchtitan", "--format", "json")
    alone, shared = cli(*asked), cli(*asked, "--jobs", "2")
    assert (alone.code, shared.code) == (0, 0)
    assert without_seconds(alone.data) == without_seconds(shared.data)


def test_negative_jobs_are_misuse() -> None:
    done = cli("prove", "laws", "--jobs", "-1")
    assert (done.code, done.out) == (2, "")
    assert "jobs are from 1 to 1024, or 0 for one on each core; got -1" in done.err
