"""Calls that nobody but the kernel wants to see, which need neither the dispatcher nor a second look at each tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .._kernels import Kernel

_PLAIN = (torch.Tensor, torch.nn.Parameter)


def are_plain(tensors: Sequence[Any]) -> bool:
    """Whether nothing but the kernel wants to see a call of an operator with them: no graph, mode, trace, profile, subclass or device
    of shapes alone."""
    if torch.compiler.is_compiling() or _is_watched():
        return False
    return all(
        type(one) in _PLAIN and (one.is_cpu or one.is_cuda) and one.layout is torch.strided and not one.is_neg()
        for one in tensors
    )


def is_alone(first: Any) -> bool:
    """Whether a call whose first tensor this is, one of the processor, is at present all that happens: what `are_plain` says
    of modes, and neither autocast, transforms nor derivatives in forward mode. Nothing is said of the other tensors."""
    c = torch._C
    return type(first) in _PLAIN and first.is_cpu and not (
        torch.compiler.is_compiling() or _is_watched() or c._is_any_autocast_enabled()
        or c._functorch.peek_interpreter_stack() is not None or torch.autograd.forward_ad._current_level >= 0
    )  # fmt: skip


def call_plain(kernel: Kernel, tensors: list[Any]) -> list[Any] | None:
    """What the kernel gives where `is_alone`, and the tensors are memory of the processor that nobody wants gradients of. None
    where they are anything else, whose errors or copies are the operators'.

    Between two calls a kernel fills the caches with its own data: what Python reads in a call, it reads from memory."""
    if torch.is_grad_enabled() and any(one.requires_grad for one in tensors):
        return None
    results: list[Any] | None = kernel._call_plain(tensors, torch.get_num_threads())
    return results


def _is_watched() -> bool:
    c = torch._C
    has_mode = c._len_torch_dispatch_stack() or c._len_torch_function_stack()
    return bool(has_mode) or c._get_tracing_state() is not None or c._autograd._profiler_enabled()
