"""Tensors of whole numbers as callers give them: slots, lengths, positions, offsets.

Anything else (a bool, a fraction, text) is refused. No number is rounded, and none wraps where a kernel has fewer bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .._errors import CallError
from .._whole import describe

_WHOLE = {
    getattr(torch, name)
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    if hasattr(torch, name)  # the wider unsigned ones came with PyTorch 2.3
}
_INT32_MAX, _INT64_MAX = 2**31 - 1, 2**63 - 1


def is_whole(tensor: torch.Tensor) -> bool:
    return tensor.dtype in _WHOLE


def to_int64(tensor: torch.Tensor) -> torch.Tensor:
    """64 bits with a sign. A number that does not fit becomes the largest one, which is out of every range."""
    if tensor.dtype is getattr(torch, "uint64", None):
        wrapped = tensor.view(torch.int64)
        return torch.where(wrapped < 0, _INT64_MAX, wrapped)
    return tensor.long()


def to_int32(tensor: torch.Tensor) -> torch.Tensor:
    """For a kernel that takes 32 bits. A number out of that range stays out of every range that a kernel allows."""
    if tensor.dtype is torch.int32:
        return tensor
    return to_int64(tensor).clamp(-1, _INT32_MAX).int()


def tensor_of(name: str, given: Any, expected: str) -> torch.Tensor:
    """Numbers as int64, or bools as they are, of any shape: from a number, a list, an array or a tensor."""
    tensor = given if isinstance(given, torch.Tensor) else _tensor_of_array(given)
    if tensor is not None and tensor.dtype is torch.bool:
        return tensor
    if tensor is None or not is_whole(tensor):
        raise CallError(f"{name}: expected {expected}, got {describe(given)}")
    return to_int64(tensor)


def _tensor_of_array(given: Any) -> torch.Tensor | None:
    """None where NumPy finds neither whole numbers nor bools."""
    if isinstance(given, (list, tuple)) and 0 < sum(isinstance(one, (bool, np.bool_)) for one in given) < len(given):
        return None  # NumPy takes bools beside numbers for 0 and 1
    try:
        array = np.asarray(given, dtype=np.int64 if isinstance(given, (list, tuple, range)) and not len(given) else None)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return None
    if array.dtype == np.uint64:
        array = np.minimum(array, np.uint64(_INT64_MAX))
    if array.dtype.kind not in "iub":
        return None
    return torch.from_numpy(np.array(array, dtype=bool if array.dtype.kind == "b" else np.int64))


def numbers_of_sequences(name: str, given: Any, count: int, device: torch.device) -> torch.Tensor:
    """int64 [count], from a number for each sequence, or from one number for all of them."""
    expected = f"a whole number, or {count} of them, one for each sequence"
    if type(given) is int and -_INT64_MAX <= given <= _INT64_MAX:
        return torch.full((count,), given, dtype=torch.int64, device=device)
    numbers = tensor_of(name, given, expected)
    if numbers.dtype is torch.bool or tuple(numbers.shape) not in ((), (count,)):
        raise CallError(f"{name}: expected {expected}, got {describe(given)}")
    return numbers.to(device).expand(count).contiguous()
