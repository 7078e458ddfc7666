"""`polyattn.compare`: an attention beside PyTorch on the machine of the caller."""

from __future__ import annotations

import importlib.util
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ._errors import CallError
from ._specs import Spec, as_read, flag, storage_of
from ._whole import whole_number

#: Columns of a table by their names.
COLUMNS = {"polyattn": "polyattn", "eager": "PyTorch, eager", "compiled": "torch.compile"}
DIRECTIONS = ("forward", "both", "decode")


@dataclass(frozen=True)
class Sizes:
    """Sizes of the arguments. `dtype` is a torch.dtype."""

    batch: int
    length: int
    heads: int
    kv_heads: int
    dtype: Any
    seed: int


@dataclass(frozen=True)
class Row:
    """One direction: the median seconds of a call by column, the forms of PyTorch that were the fastest, and why columns are absent."""

    direction: str
    seconds: dict[str, float]
    forms: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """What `polyattn.compare` measured. As text it is a table; `rows` has the numbers."""

    name: str
    about: str
    rows: tuple[Row, ...]

    def __str__(self) -> str:
        lines = [f"@{self.name}: {self.about}", f"{'milliseconds':20}" + "".join(f"{name:>24}" for name in COLUMNS.values())]
        notes = []
        for row in self.rows:
            lines.append(f"{row.direction:20}" + "".join(f"{self._cell(row, column):>24}" for column in COLUMNS))
            notes += [f"{row.direction}, {COLUMNS[column]}: {form}" for column, form in row.forms.items()]
            notes += [f"{row.direction}, {COLUMNS[column]}: not compared, {reason}" for column, reason in row.absent.items()]
        return "\n".join([*lines, *notes])

    @staticmethod
    def _cell(row: Row, column: str) -> str:
        if column not in row.seconds:
            return "-"
        seconds, ours = row.seconds[column], row.seconds["polyattn"]
        times = "" if column == "polyattn" else f" ({seconds / ours:.2f}x)"
        return f"{seconds * 1e3:.4g}{times}"


def _machine() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def _tell(words: str) -> None:
    """On a terminal, where waiting is watched."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"\r\033[Kcomparing: {words}" if words else "\r\033[K")
        sys.stderr.flush()


def compare(
    spec: Spec, entry: str | None = None, *, sizes: Mapping[str, int] | None = None, batch: int = 1, length: int = 2048,
    heads: int = 4, kv_heads: int | None = None,
    dtype: Any = "f32", directions: Sequence[str] = DIRECTIONS, seconds: float = 2.0, threads: int | None = None,
    compiled: bool = True, seed: int = 0,
) -> Comparison:  # fmt: skip
    """Measures an attention beside PyTorch on this machine's CPU, prints a table and returns it.

    PyTorch's columns compute the same attention from its spec, with PyTorch's operations: all scores at once, or chunks with
    states between them. The fastest form counts, and `torch.compile` gets the fastest that is no loop of Python. A form whose
    results differ from polyattn's is not timed. Calls are timed in turns, and medians count.

    spec, entry, sizes: as `compile` has them, without states in the signature.
    batch, length, heads, kv_heads: sizes of the arguments, which are random. decode continues `batch` sequences by a token.
    dtype: of the sequences and weights: f32, bf16 or f16.
    directions: some of forward, both (results and gradients) and decode.
    seconds: of the rounds of each direction, at least three.
    threads: of polyattn and PyTorch; PyTorch's if None.
    compiled: whether torch.compile is tried, which takes a C++ compiler and some time.
    """
    for name in directions:
        if name not in DIRECTIONS:
            raise CallError(f"directions: expected some of {', '.join(DIRECTIONS)}, got {name!r}")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds < float("inf"):
        raise CallError(f"seconds: expected a number from 0 on, got {seconds!r}")
    compiled = flag("compiled", compiled)
    storage = storage_of(dtype) or "f32"
    numbers = [whole_number(name, value, 1) for name, value in (("batch", batch), ("length", length), ("heads", heads))]
    kv = numbers[2] if kv_heads is None else whole_number("kv_heads", kv_heads, 1)
    if numbers[2] % kv:
        raise CallError(f"kv_heads: expected a divisor of {numbers[2]} heads, got {kv}")
    if importlib.util.find_spec("torch") is None:
        raise CallError("compare: PyTorch is not installed; pip install torch")
    import torch

    from .torch._compare import measure
    from .torch._recipes import DTYPES

    before = torch.get_num_threads()
    count = before if threads is None else whole_number("threads", threads, 1)
    call = Sizes(numbers[0], numbers[1], numbers[2], kv, DTYPES[storage], whole_number("seed", seed, 0))
    try:
        torch.set_num_threads(count)
        name, rows = measure(as_read(spec, sizes), entry, call, directions, seconds, compiled, _tell)
    finally:
        _tell("")
        torch.set_num_threads(before)
    shape = f"B={call.batch} T={call.length} H={call.heads}" + f" Hkv={kv}" * (kv != call.heads)
    about = f"{shape}, {storage}, {count} thread{'s' * (count > 1)} of {_machine()}, PyTorch {torch.__version__}"
    found = Comparison(name, about, tuple(rows))
    print(found)
    return found
