"""A compilation that takes longer than a second: a line on a terminal, records of the logger `polyattn` elsewhere."""

from __future__ import annotations

import logging
import sys

_logger = logging.getLogger("polyattn")


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def tell(what: str, seconds: float, is_first: bool) -> None:
    """Once a second while `what` is being compiled."""
    if _is_terminal():
        sys.stderr.write(f"\rpolyattn: compiling {what}: {int(seconds)} s")
        sys.stderr.flush()
    elif is_first:
        _logger.info("compiling %s takes longer than a second", what)


def tell_end(what: str, seconds: float) -> None:
    """At the end, if something has been told."""
    if _is_terminal():
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()
    else:
        _logger.info("compiling %s ended after %.1f s", what, seconds)
