"""When each piece of a pipeline's work starts and ends.

A rank does its work in order. A piece starts as soon as the rank is free and what it needs is
done: the same micro-batch's forward in the part of the model before, or its backward in the part
after; in the last part, its own forward. Transfers between ranks take no time.
"""

from __future__ import annotations

from collections.abc import Sequence

from parsolve.solver.answer import Item
from parsolve.solver.pipeline.order import Shape, Work

Durations = Sequence[Sequence[int]]
"""Ticks that a piece of work takes, by rank and chunk; at least one."""


class Simulation:
    """The state of one step. Every piece of work has a number, see `_numbers`."""

    def __init__(self, shape: Shape, orders: Sequence[Sequence[Work]]) -> None:
        self.shape, self.orders = shape, orders
        self.parts = shape.pp * shape.virtual_stages
        self.ends = [0] * (2 * self.parts * shape.microbatches)
        """When each piece ends; 0 where it has not run."""
        self.waiting: dict[int, int] = {}
        """Which rank waits for a piece; a piece is needed by one rank."""
        self.items: list[list[Item]] = [[] for _ in orders]

    def run(self, forward: Durations, backward: Durations) -> list[list[Item]]:
        """The items of each rank with their times."""
        ready = list(range(self.shape.pp))
        while ready:
            rank = ready.pop()
            ready += self._advance(rank, {"F": forward[rank], "B": backward[rank]})
        return self.items

    def _advance(self, rank: int, took: dict[str, Sequence[int]]) -> list[int]:
        """Do what can be done on a rank; the ranks that waited for it."""
        woken, done, ends = [], self.items[rank], self.ends
        now = done[-1].end if done else 0
        order = self.orders[rank]
        while len(done) < len(order):
            work = order[len(done)]
            kind, microbatch, chunk = work
            number, needed = self._numbers(rank, work)
            if needed >= 0:
                if not ends[needed]:
                    self.waiting[needed] = rank
                    break
                now = max(now, ends[needed])
            end = now + took[kind][chunk]
            done.append(Item(kind=kind, microbatch=microbatch, chunk=chunk, start=now, end=end))
            now = ends[number] = end
            if number in self.waiting:
                woken.append(self.waiting.pop(number))
        return woken

    def _numbers(self, rank: int, work: Work) -> tuple[int, int]:
        """The number of this work and of what it needs; -1 for nothing.

        Forwards by part of the model and micro-batch, then backwards by the same.
        """
        kind, microbatch, chunk = work
        part = chunk * self.shape.pp + rank
        each = self.shape.microbatches
        forward = part * each + microbatch
        if kind == "F":
            return forward, forward - each if part else -1
        backward = self.parts * each + forward
        return backward, backward + each if part < self.parts - 1 else forward
