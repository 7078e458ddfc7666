"""Sequences of any lengths one behind the other, in tensors [1, T, H, d]."""

from __future__ import annotations

from typing import Any

import torch

from .._errors import CallError
from .._kernels import Signature
from .._whole import describe
from ._call import call
from ._numbers import is_whole, to_int32

#: The argument that says where sequences begin and end.
OFFSETS = "cu_seqlens"


def check_offsets(who: str, ends: Any, first: Any) -> int:
    """The number of sequences that `ends` has. The kernel looks at the numbers."""
    if not isinstance(ends, torch.Tensor) or ends.dim() != 1 or not is_whole(ends):
        came = describe(ends) if isinstance(ends, torch.Tensor) else type(ends).__name__
        raise CallError(f"{who}: argument '{OFFSETS}': expected a tensor of N + 1 whole numbers, got {came}")
    if first.shape[0] != 1:
        raise CallError(f"{who}: argument '{OFFSETS}': expected tensors of batch 1 with it, got {first.shape[0]}")
    if ends.shape[0] < 2:
        raise CallError(f"{who}: argument '{OFFSETS}': expected at least two numbers, got {ends.shape[0]}")
    count: int = ends.shape[0] - 1
    return count


def as_offsets(ends: Any) -> Any:
    """Offsets as kernels take them."""
    return to_int32(ends)


def call_packed(packed: int, inputs: list[Any], ends: Any, signature: Signature) -> list[Any]:
    """The results of the attention `packed`."""
    check_offsets(signature.name, ends, inputs[0])
    return call(packed, [*inputs, as_offsets(ends)], len(signature.results))
