"""Errors of a caller: two exceptions, both a ValueError."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SourceLocation:
    """A line of Python that made a line of a spec."""

    file: str
    line: int
    column: int


@dataclass(frozen=True)
class Diagnostic:
    """One message about a location of a spec."""

    file: str
    line: int
    column: int
    severity: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.severity}: {self.message}"


class SpecError(ValueError):
    """A wrong spec. `diagnostics` has the locations and messages."""

    _LOCATED = re.compile(r"^(.*?):(\d+):(\d+): (\w+): (.*)$")

    def __init__(self, message: str) -> None:
        super().__init__(message)
        found = map(self._LOCATED.match, message.splitlines())
        self.diagnostics = [
            Diagnostic(m[1], int(m[2]), int(m[3]), m[4], m[5]) for m in found if m is not None
        ]


    def at(self, name: str, locations: Sequence[SourceLocation | None]) -> SpecError:
        """The same about the lines of Python that a spec called `name` was built from."""

        def move(line: str) -> str:
            found = self._LOCATED.match(line)
            if found is None or found[1] != name or int(found[2]) > len(locations):
                return line
            location = locations[int(found[2]) - 1]
            if location is None:
                return line
            return f"{location.file}:{location.line}:{location.column}: {found[4]}: {found[5]}"

        return type(self)("\n".join(map(move, str(self).splitlines())))


class NoGradientError(SpecError):
    """No result depends on the arguments of `wrt`."""


class CallError(ValueError):
    """A wrong call. One line names the argument, the expected value and the given one."""
