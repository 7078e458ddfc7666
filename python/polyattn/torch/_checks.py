"""Checks of tensors in the words of a function's caller: its name, its arguments, and sizes by the letters of its documents."""

from __future__ import annotations

import math
import numbers
from typing import Any, NoReturn

import torch

from .._errors import CallError
from .._whole import whole_number
from ._recipes import STORAGE


def refuse(who: str, argument: str, expected: str, came: Any) -> NoReturn:
    raise CallError(f"{who}: argument '{argument}': expected {expected}, got {came}")


def what_came(one: Any) -> str:
    """A tensor by its dtype and shape, anything else by its type."""
    if isinstance(one, torch.Tensor):
        return f"a tensor {list(one.shape)} of {str(one.dtype).removeprefix('torch.')}"
    return type(one).__name__


def _words(sizes: tuple[str | int, ...]) -> str:
    return f"[{', '.join(map(str, sizes))}]"


class Checks:
    """Those of one call. A size gets its number from the first tensor that has it, and others are compared with that tensor."""

    def __init__(self, who: str) -> None:
        self.who = who
        self._sizes: dict[str, tuple[Any, str]] = {}
        self._first: tuple[str, Any] | None = None

    def tensor(self, argument: str, one: Any, *sizes: str | int) -> Any:
        """`one`, a tensor of floating-point numbers with these sizes, on the device of the call's first one."""
        if not isinstance(one, torch.Tensor):
            refuse(self.who, argument, f"a tensor {_words(sizes)}", what_came(one))
        if not one.is_floating_point():
            refuse(self.who, argument, f"a tensor {_words(sizes)} of floating-point numbers", what_came(one))
        if one.dim() != len(sizes):
            refuse(self.who, argument, f"a tensor {_words(sizes)}", what_came(one))
        for size, actual in zip(sizes, one.shape):
            known, of = (size, None) if isinstance(size, int) else self._sizes.setdefault(size, (actual, argument))
            if actual != known:
                reason = "" if of is None else f" with {size} = {known} as in '{of}'"
                refuse(self.who, argument, f"a tensor {_words(sizes)}{reason}", what_came(one))
        if self._first is None:
            self._first = (argument, one)
        elif one.device != self._first[1].device:
            name, first = self._first
            refuse(self.who, argument, f"a tensor on {first.device}, where '{name}' is", f"one on {one.device}")
        return one

    def sequences(self, **tensors: Any) -> None:
        """Queries [B, T, H, K], keys [B, T, Hkv, K] and values [B, T, Hkv, V] of one dtype that kernels can read."""
        (query, q), (key, k), (value, v) = tensors.items()
        self.tensor(query, q, "B", "T", "H", "K")
        self.tensor(key, k, "B", "T", "Hkv", "K")
        if k.shape[2] == 0 or q.shape[2] % k.shape[2]:
            refuse(self.who, key, f"a number of heads that divides {q.shape[2]}, as '{query}' has", k.shape[2])
        self.tensor(value, v, "B", "T", "Hkv", "V")
        for argument, one in ((query, q), (value, v)):
            if one.shape[-1] == 0:
                refuse(self.who, argument, "at least one channel", what_came(one))
        if q.device.type in ("cpu", "cuda") and torch.is_autocast_enabled(q.device.type):
            return  # which casts them
        if q.dtype not in STORAGE:
            refuse(self.who, query, "float32, bfloat16 or float16", what_came(q))
        for argument, one in ((key, k), (value, v)):
            if one.dtype != q.dtype:
                refuse(self.who, argument, f"{str(q.dtype).removeprefix('torch.')}, as '{query}' has", what_came(one))

    def bind(self, size: str, number: Any, of: str) -> None:
        """Says what a size is that no tensor of the call has, and which argument says so."""
        self._sizes[size] = (number, of)

    def number(self, argument: str, value: Any, *, is_positive: bool = False) -> float | None:
        """A finite number of Python's or NumPy's, or None."""
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            refuse(self.who, argument, "a number or None", what_came(value))
        if not math.isfinite(value) or is_positive and value <= 0:
            refuse(self.who, argument, "a positive number" if is_positive else "a finite number", value)
        return float(value)

    def whole(self, argument: str, value: Any, least: int) -> int:
        """A whole number of Python's or NumPy's."""
        return whole_number(f"{self.who}: argument '{argument}'", value, least)
