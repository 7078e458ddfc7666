from typing import Any

def api_version() -> int: ...

class Source:
    def __init__(
        self,
        text: str,
        name: str,
        entry: str | None,
        target: str | None,
        cache: str | None,
        storage: str | None,
        invariant: bool,
        direction: str | None = None,
        wrt: str | None = None,
        packed: bool = False,
        accumulate: bool = False,
        state_every: int = 0,
    ) -> None: ...
    @property
    def text(self) -> str: ...
    @property
    def name(self) -> str: ...
    def for_target(self, target: str) -> Source: ...

class Team:
    @staticmethod
    def of_library(path: str) -> Team | None: ...

class Program:
    threads: int
    _team: Team | None
    @property
    def entry(self) -> str: ...
    def __call__(
        self, *arrays: Any, out: Any = None, threads: int | None = None, **named: Any
    ) -> Any: ...
    def _tensors(self) -> list[tuple[str, bool, str, tuple[int | str, ...]]]: ...

class Kernel(Program):
    def __init__(self, source: Source) -> None: ...
    def _json(self) -> str: ...

class Reference(Program):
    def __init__(self, source: Source) -> None: ...

def explain(source: Source) -> str: ...
def print_ir(source: Source, level: str) -> str: ...
def save(source: Source, directory: str, library: str) -> None: ...
