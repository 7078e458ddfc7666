"""Calls of attentions: which operator, and where nobody asks for derivatives that it would give as zeros."""

from __future__ import annotations

from typing import Any

import torch

from .._errors import CallError, NoGradientError
from ._gradients import training
from ._operators import NO_TRANSFORM, _forward, _forward_op, cast_by_roles, is_autocast_on, kernel_of
from ._plain import are_plain, call_plain, is_alone


def call(attention: int, inputs: list[Any], count: int) -> list[Any]:
    """The `count` results, with gradients where an input requires them."""
    wants_gradients = torch.is_grad_enabled() and any(one.requires_grad for one in inputs)
    if not wants_gradients and inputs and is_alone(inputs[0]):
        found = call_plain(kernel_of(attention, inputs), inputs)
        if found is not None:
            return found
    if not torch.compiler.is_compiling():
        _check_derivatives(inputs)
    if wants_gradients:
        try:
            return training(attention, inputs)[:count]
        except NoGradientError:  # what requires gradients leads to no result
            inputs = [one.detach() for one in inputs]
    if not inputs or not are_plain(inputs):
        results: list[Any] = _forward_op(attention, inputs)
        return results
    return _forward(attention, cast_by_roles(attention, inputs) if is_autocast_on(inputs[0]) else inputs)


def _check_derivatives(inputs: list[Any]) -> None:
    """PyTorch takes a tangent of zero for that of an operator without a rule, and says nothing."""
    has_tangents = torch.autograd.forward_ad._current_level >= 0
    for one in inputs:
        is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor(one)
        if is_wrapped or has_tangents and torch.autograd.forward_ad.unpack_dual(one).tangent is not None:
            raise CallError(NO_TRANSFORM)
