"""Sequences of any lengths one behind the other, in tensors [1, T, H, d]."""

from __future__ import annotations

from typing import Any

import torch

from .._errors import CallError
from .._kernels import Signature
from . import _recipes
from ._call import call

#: The argument that says where sequences begin and end.
OFFSETS = "cu_seqlens"


def check_offsets(who: str, ends: Any, first: Any) -> int:
    """The number of sequences that `ends` has. The kernel looks at the numbers."""
    if not isinstance(ends, torch.Tensor) or ends.dim() != 1 or ends.is_floating_point():
        came = f"{ends.dtype} {tuple(ends.shape)}" if isinstance(ends, torch.Tensor) else type(ends).__name__
        raise CallError(f"{who}: argument '{OFFSETS}': expected a tensor of N + 1 whole numbers, got {came}")
    if first.shape[0] != 1:
        raise CallError(f"{who}: argument '{OFFSETS}': expected tensors of batch 1 with it, got {first.shape[0]}")
    if ends.shape[0] < 2:
        raise CallError(f"{who}: argument '{OFFSETS}': expected at least two numbers, got {ends.shape[0]}")
    count: int = ends.shape[0] - 1
    return count


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator, unused-ignore]
def _is_compiled(handle: int, storage: str, wrt: int) -> bool:
    return _recipes.find(handle).has_gradients(storage, wrt)


def call_packed(
    plain: int, packed: int, inputs: list[Any], ends: Any, signature: Signature
) -> list[Any]:
    """The results of the attention `packed`, or of calls of `plain` where gradients have no packed kernel yet."""
    check_offsets(signature.name, ends, inputs[0])
    wrt = sum(1 << i for i, one in enumerate(inputs) if one.requires_grad)
    if torch.is_grad_enabled() and wrt and not _is_compiled(packed, _recipes.storage_of(inputs), wrt):
        return _one_by_one(plain, inputs, ends.tolist(), signature)
    if ends.dtype != torch.int32:
        ends = ends.clamp(-1, 2**31 - 1).int()  # what is out of range stays so
    return call(packed, [*inputs, ends], len(signature.results))


def _one_by_one(plain: int, inputs: list[Any], ends: list[int], signature: Signature) -> list[Any]:
    length = inputs[0].shape[1]
    if ends[0] != 0 or ends[-1] != length or sorted(ends) != ends:
        raise CallError(
            f"{signature.name}: argument '{OFFSETS}': expected ends that rise from 0 to {length}, got {ends}"
        )
    results = []
    for i, (begin, end) in enumerate(zip(ends, ends[1:])):
        parts = [_part(one.shape, x, i, begin, end) for one, x in zip(signature.arguments, inputs)]
        results.append(call(plain, parts, len(signature.results)))
    return [
        torch.cat(one, 1 if "T" in result.shape else 0)
        for result, one in zip(signature.results, zip(*results))
    ]


def _part(shape: tuple[Any, ...], x: Any, i: int, begin: int, end: int) -> Any:
    """What the sequence `i` has of an argument. Rows of tables are those of positions, which every sequence has from 0 on."""
    if "T" in shape:
        return x[: end - begin] if shape[0] == "T" else x[:, begin:end]
    return x[i : i + 1] if "B" in shape else x
