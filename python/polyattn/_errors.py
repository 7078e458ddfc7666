"""What goes wrong because of a caller is one of two exceptions, both a ValueError."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Diagnostic:
    """What is wrong at one place of a spec."""

    file: str
    line: int
    column: int
    severity: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.severity}: {self.message}"


class SpecError(ValueError):
    """A spec that is wrong. `diagnostics` says where, and why."""

    _LOCATED = re.compile(r"^(.*?):(\d+):(\d+): (\w+): (.*)$")

    def __init__(self, message: str) -> None:
        super().__init__(message)
        found = map(self._LOCATED.match, message.splitlines())
        self.diagnostics = [
            Diagnostic(m[1], int(m[2]), int(m[3]), m[4], m[5]) for m in found if m is not None
        ]


class CallError(ValueError):
    """A call that is wrong: the argument, what was expected and what came, in one line."""
