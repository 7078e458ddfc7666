"""Whole numbers as callers give them: sizes, degrees, counts, indices.

Anything else (a bool, a fraction, text) is refused. No number is rounded.
"""

from __future__ import annotations

import operator
from typing import Any

from ._errors import CallError

#: The largest size of a spec, FeatureType::kMaxVector of the compiler.
LARGEST = (1 << 31) - 1


def index_of(given: Any) -> int | None:
    """A whole number of Python's, NumPy's or PyTorch's: Python's own rule for an index, with bools left out."""
    if isinstance(given, bool) or str(getattr(given, "dtype", "")).endswith("bool"):
        return None
    try:
        return operator.index(given)
    except (TypeError, ValueError, RuntimeError):
        return None


def describe(given: Any) -> str:
    """An argument's value in a message."""
    if getattr(given, "shape", ()) != () or hasattr(given, "grad_fn"):  # an array or a tensor, not a number of NumPy's
        return f"{given.dtype} {tuple(given.shape)}"
    text = repr(given)
    return text if len(text) <= 60 else f"{text[:57]}..."


def whole_number(name: str, given: Any, least: int = 1, most: int | None = None) -> int:
    """One number, at least `least` and at most `most`."""
    number = given if type(given) is int else index_of(given)
    if number is None or number < least or most is not None and number > most:
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise CallError(f"{name}: expected a whole number {limits}, got {describe(given)}")
    return number
