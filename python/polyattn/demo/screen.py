"""A line that changes on a terminal, and now and then a line elsewhere."""

from __future__ import annotations

import shutil
import sys
import time


class Screen:
    """Reports on standard output. `now` is shown while it is so; `say` stays."""

    QUIET = 10.0  # seconds between two lines of `now` in a file

    def __init__(self) -> None:
        self.is_terminal = sys.stdout.isatty()
        self._last = time.monotonic()

    def say(self, words: str = "") -> None:
        """Prints a line that stays."""
        self.clear()
        print(words, flush=True)

    def now(self, words: str, is_long: bool = False) -> None:
        """is_long: it goes on for so long that a file gets a line now and then."""
        if self.is_terminal:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\033[K{words[:width]}", end="", flush=True)
        elif is_long and time.monotonic() - self._last >= self.QUIET:
            self._last = time.monotonic()
            print(words, flush=True)

    def clear(self) -> None:
        """Removes the line of progress, on a terminal."""
        if self.is_terminal:
            print("\r\033[K", end="", flush=True)


def bar(share: float, width: int = 24) -> str:
    """[#####...................]"""
    full = round(width * min(max(share, 0.0), 1.0))
    return f"[{'#' * full}{'.' * (width - full)}]"
