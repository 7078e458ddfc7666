"""Calls that are timed in rounds, one after another: whatever else the machine does falls on all of them."""

from __future__ import annotations

import math
import time
from typing import Any, Callable

SHORTEST = 2e-3  # seconds of a round: shorter calls are repeated
ENOUGH = 0.5  # seconds; what takes longer is not called again to find the fastest


class Call:
    """`run` is timed and waits for its end; `results` gives arrays to be compared with others' before that."""

    def __init__(self, run: Callable[[], Any], results: Callable[[], Any] | None = None, form: str = "") -> None:
        self.run, self.form = run, form
        self.results = results or run
        self.count = 1

    def seconds(self) -> float:
        """Of one call, the mean of as many as a round takes."""
        begin = time.perf_counter()
        for _ in range(self.count):
            self.run()
        return (time.perf_counter() - begin) / self.count

    def turn(self) -> float:
        """The same in a round. A long call is called before: memory that went back to the system while others had their turns
        would be fetched again within its time, as it is not where a program calls it again and again."""
        if self.count == 1:
            self.run()
        return self.seconds()

    def ready(self) -> float:
        """Decides how often a round calls it. Returns the seconds of one call."""
        once = self.seconds()
        if once < ENOUGH:
            once = min(once, self.seconds())
        self.count = max(1, min(1000, math.ceil(SHORTEST / once)))
        return once
