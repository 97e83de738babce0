"""A time limit shared by the steps of one answer."""

from __future__ import annotations

import math
import time


class TimedOut(Exception):  # noqa: N818  (an outcome, not an error)
    """The time limit has passed."""


class Deadline:
    """``seconds`` from now; None never passes. `ValueError` for what is no number of seconds."""

    def __init__(self, seconds: float | None = None) -> None:
        given: object = seconds
        if given is not None and not (
            isinstance(given, (int, float)) and math.isfinite(given) and given >= 0
        ):
            message = f"a time limit is a number of seconds, got {seconds!r}"
            raise ValueError(message)
        self.seconds = seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def left(self) -> float | None:
        """Seconds that are left, 0 at the end; None without a limit."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """Raise `TimedOut` once the time has passed."""
        if self._end is not None and time.monotonic() >= self._end:
            raise TimedOut

    def sooner(self, seconds: float) -> Deadline:
        """A time limit of so many seconds from now, or what is left of this one if that is less.

        Raises `TimedOut` at the end.
        """
        left = self.milliseconds()
        return Deadline(seconds if left is None else min(seconds, left / 1000))

    def milliseconds(self) -> int | None:
        """What is left, at least 1; None without a limit. Raises `TimedOut` at the end."""
        if self._end is None:
            return None
        self.check()
        return max(1, int((self._end - time.monotonic()) * 1000))
