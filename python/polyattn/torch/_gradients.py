"""Gradients by compiled kernels: polyattn::training, the forward half of a pair, and polyattn::backward, the other half.

`wrt` has a bit for each input whose gradient is wanted: kernels are compiled for just these. What polyattn::training gives is the
results and what is kept for gradients. polyattn::backward takes, as `kept`, those of them that its kernel reads.
"""

from __future__ import annotations

from typing import Any

import torch

from .._errors import CallError
from . import _recipes
from ._operators import (
    NO_TRANSFORM, below_autocast, call_kernel, cast_by_roles, check_device, implement, is_autocast_on, library, refuse_vmap,
    refuser,
)  # fmt: skip
from ._plain import are_plain

library.define("training(int attention, int wrt, Tensor[] inputs) -> Tensor[]")
library.define(
    "backward(int attention, int wrt, Tensor[] inputs, Tensor[] kept, Tensor[] gradients) -> Tensor[]"
)
_training_op = torch.ops.polyattn.training.default
_backward_op = torch.ops.polyattn.backward.default


def _pair(attention: int, wrt: int, inputs: list[Any]) -> _recipes.Pair:
    return _recipes.find(attention).of(inputs).pair(_recipes.storage_of(inputs), wrt)


def _training(attention: int, wrt: int, inputs: list[Any]) -> list[Any]:
    return _run_training(_pair(attention, wrt, inputs), inputs)


def _run_training(pair: _recipes.Pair, inputs: list[Any]) -> list[Any]:
    pair.check_heads(inputs)
    return call_kernel(pair.training, inputs)


def _training_fake(attention: int, wrt: int, inputs: list[Any]) -> list[Any]:
    check_device(inputs)
    kept = _recipes.find(attention).kept(inputs, wrt)
    return [inputs[0].new_empty(shape, dtype=dtype) for shape, dtype in kept]


def _backward(
    attention: int, wrt: int, inputs: list[Any], kept: list[Any], gradients: list[Any]
) -> list[Any]:
    pair = _pair(attention, wrt, inputs)
    known = dict(zip([*pair.inputs, *pair.kept, *pair.gradients], [*inputs, *kept, *gradients]))
    return call_kernel(pair.backward, [known[one.name] for one in pair.backward.signature.arguments])


def _backward_fake(
    attention: int, wrt: int, inputs: list[Any], kept: list[Any], gradients: list[Any]
) -> list[Any]:
    check_device([*inputs, *kept, *gradients])
    pair = _pair(attention, wrt, inputs)
    return [
        torch.empty_like(inputs[place], dtype=_recipes.DTYPES[result.dtype], memory_format=torch.contiguous_format)
        for place, result in zip(pair.places, pair.backward.signature.results)
    ]


def _training_autocast(attention: int, wrt: int, inputs: list[Any]) -> list[Any]:
    results: list[Any] = below_autocast(lambda cast: _training_op(attention, wrt, cast), cast_by_roles(attention, inputs))
    return results


def _save(ctx: Any, inputs: Any, output: Any) -> None:
    """The inputs, and what the backward half reads of the output. An output that it does not read may be changed in place."""
    ctx.attention, ctx.wrt, tensors = inputs
    _save_read(ctx, _pair(*inputs), tensors, output)


def _save_read(ctx: Any, pair: _recipes.Pair, tensors: list[Any], output: Any) -> None:
    ctx.set_materialize_grads(False)
    ctx.count = len(tensors)
    ctx.dtypes = [one.dtype for one in tensors]
    ctx.results = [(one.shape, one.dtype, one.device) for one in output[: pair.count]]
    ctx.save_for_backward(*tensors, *(one for one, is_read in zip(output, pair.is_kept) if is_read))


def _gradients_of(ctx: Any, gradients: Any) -> list[Any]:
    """One for each input, None where none is wanted or no result depends on it."""
    if any(one is not None and torch._C._functorch.is_legacy_batchedtensor(one) for one in gradients):
        raise CallError(NO_TRANSFORM)  # is_grads_batched=True, which no operator knows of
    saved = list(ctx.saved_tensors)  # once only, for checkpoints
    inputs, kept = saved[: ctx.count], saved[ctx.count :]
    gradients = [
        torch.zeros(shape, dtype=dtype, device=device) if one is None else one
        for one, (shape, dtype, device) in zip(gradients, ctx.results)
    ]
    # Second derivatives are the operator's to refuse.
    is_direct = not torch.is_grad_enabled() and are_plain(inputs) and are_plain(gradients)
    call = _backward if is_direct else _backward_op
    found: list[Any] = [None] * ctx.count
    places = _pair(ctx.attention, ctx.wrt, inputs).places
    # Those of weights are sums in f32, whatever holds the weights.
    for place, one in zip(places, call(ctx.attention, ctx.wrt, inputs, kept, gradients)):
        found[place] = one.to(ctx.dtypes[place])
    return found


def _differentiate(ctx: Any, gradients: list[Any]) -> tuple[Any, Any, list[Any]]:
    return None, None, _gradients_of(ctx, gradients)


class _Training(torch.autograd.Function):
    """polyattn::training and its formula outside graphs, in less than half the time that the dispatcher takes.

    With `casts` it does what autocast would, whose casts have gradients of their own otherwise. Inputs that are not plain
    go by the operator, which another mode wants to see.
    """

    @staticmethod
    def forward(ctx: Any, attention: int, wrt: int, casts: bool, is_plain: bool, *inputs: Any) -> Any:
        given = cast_by_roles(attention, list(inputs)) if casts else list(inputs)
        pair = _pair(attention, wrt, given)
        output = _run_training(pair, given) if is_plain else _training_op(attention, wrt, given)
        ctx.attention, ctx.wrt = attention, wrt
        _save_read(ctx, pair, given, output)
        if casts:
            ctx.dtypes = [one.dtype for one in inputs]
        return tuple(output)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, None, None, None, *_gradients_of(ctx, gradients)


def _save_nothing(ctx: Any, inputs: Any, output: Any) -> None:
    pass


_refuse_twice = refuser("polyattn: second derivatives are not supported: gradients have none")

implement("training", _training, _training_autocast)
implement("backward", _backward)
torch.library.register_fake("polyattn::training", _training_fake, lib=library)
torch.library.register_fake("polyattn::backward", _backward_fake, lib=library)
torch.library.register_vmap("polyattn::training", refuse_vmap, lib=library)
torch.library.register_vmap("polyattn::backward", refuse_vmap, lib=library)
torch.library.register_autograd(
    "polyattn::training", _differentiate, setup_context=_save, lib=library
)
torch.library.register_autograd(
    "polyattn::backward", _refuse_twice, setup_context=_save_nothing, lib=library
)


def training(attention: int, inputs: list[Any]) -> list[Any]:
    """polyattn::training for the inputs that require gradients, and its results alone."""
    wrt = sum(1 << i for i, one in enumerate(inputs) if one.requires_grad)
    is_plain, casts = are_plain(inputs), is_autocast_on(inputs[0])
    # Autocast comes before autograd, which has to see what was cast: by the dispatcher where another mode wants to see the operator.
    if torch.compiler.is_compiling() or casts and not is_plain:
        results: list[Any] = _training_op(attention, wrt, inputs)
        return results
    return list(_Training.apply(attention, wrt, casts, is_plain, *inputs))
