"""Numbers and names as the dialect's text has them, checked before they become a part of it."""

from __future__ import annotations

import math
import numbers
import re
from typing import Any, Literal, get_args

from ._errors import CallError


def is_number(value: Any) -> bool:
    """A number of Python's or NumPy's."""
    return isinstance(value, numbers.Real)


def number(value: Any, who: str) -> str:
    """A float as MLIR reads it: with a dot, and finite."""
    if isinstance(value, bool) or not is_number(value) or not math.isfinite(value):
        raise CallError(f"{who}: expected a finite number, got {value!r}")
    mantissa, _, exponent = repr(float(value)).partition("e")
    text = mantissa if "." in mantissa else mantissa + ".0"
    return f"{text}e{exponent}" if exponent else text


def word(value: Any, who: str) -> str:
    """A name that goes into the text as it is."""
    if not isinstance(value, str) or re.fullmatch(r"[A-Za-z_]\w*", value, re.ASCII) is None:
        raise CallError(f"{who}: expected a word, got {value!r}")
    return value


Mask = Literal["causal", "anticausal", "full"]
Grouping = Literal["block", "interleaved"]
GateHeads = Literal["kv", "q"]
Precision = Literal["f32", "bf16"]
GeluForm = Literal["tanh", "erf"]
RopeLayout = Literal["half", "interleaved", "deinterleave"]
EpsPlace = Literal["inside", "outside"]
Beyond = Literal["zero", "last", "error"]
TriangleWeights = Literal["none", "sqrt2"]


def one_of(value: Any, who: str, known: Any) -> str:
    """A word among those of a Literal."""
    words: tuple[str, ...] = get_args(known)
    if not isinstance(value, str) or value not in words:
        raise CallError(f"{who}: expected one of {', '.join(words)}, got {value!r}")
    return value


def attributes_text(attributes: dict[str, Any]) -> str:
    """`{a = 1, b}`: what is true is a unit, and what is None or false is left out."""
    words = [
        name if value is True else f"{name} = {value}"
        for name, value in attributes.items()
        if value is not None and value is not False
    ]
    return f" {{{', '.join(words)}}}" if words else ""
