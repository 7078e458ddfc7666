"""The operator polyattn::decode: positions that continue sequences whose states live in pools."""

from __future__ import annotations

from typing import Any

import torch

from .._errors import CallError
from .._kernels import Kernel
from . import _recipes
from ._call import _check_derivatives
from ._operators import (
    below_autocast, call_kernel, cast, check_device, has_stride_one, implement, is_autocast_on, library, refuse_vmap,
    storage_of_autocast,
)  # fmt: skip
from ._plain import are_plain, call_plain, is_alone

library.define("decode(int attention, Tensor[] inputs, Tensor(a!)[] pools) -> Tensor")
_decode_op = torch.ops.polyattn.decode.default


def kernel_of(attention: int, storage: str) -> Kernel:
    """Its arguments are the attention's, pools, and what says which sequences continue."""
    return _recipes.find(attention).decoding(storage)


def _decode(attention: int, inputs: list[Any], pools: list[Any]) -> Any:
    kernel = _recipes.find(attention).decoding(_recipes.storage_of(inputs))
    for one in pools:
        if not has_stride_one(one):
            raise CallError(
                "polyattn: pools of states are updated where they lie: expected the innermost stride 1, got strides "
                f"{one.stride()}"
            )
    return call_kernel(kernel, _in_order(kernel, inputs, pools))[0]


def _in_order(kernel: Kernel, inputs: list[Any], pools: list[Any]) -> list[Any]:
    others, places = iter(inputs), iter(pools)
    return [next(places if is_pool else others) for is_pool in kernel.signature.pools]


def _decode_fake(attention: int, inputs: list[Any], pools: list[Any]) -> Any:
    check_device([*inputs, *pools])
    signature = _recipes.find(attention).signature(_recipes.storage_of(inputs))
    shape, _ = _recipes.shapes_of(signature, inputs)[0]
    return inputs[0].new_empty(shape)


def _decode_autocast(attention: int, inputs: list[Any], pools: list[Any]) -> Any:
    storage = storage_of_autocast(inputs)
    signature = kernel_of(attention, storage).signature
    expected = [_recipes.DTYPES[one.dtype] for one, is_pool in zip(signature.arguments, signature.pools) if not is_pool]
    return below_autocast(lambda given: _decode_op(attention, given, pools), cast(expected, inputs))


implement("decode", _decode, _decode_autocast)
torch.library.register_fake("polyattn::decode", _decode_fake, lib=library)
torch.library.register_vmap("polyattn::decode", refuse_vmap, lib=library)


def decode(attention: int, inputs: list[Any], pools: list[Any]) -> torch.Tensor:
    """The output, and pools that have gone on. Nothing is kept for gradients, which would be lost here without a word."""
    kernel = kernel_of(attention, _recipes.storage_of(inputs))
    return decode_in_order(attention, kernel, _in_order(kernel, inputs, pools))


def decode_in_order(attention: int, kernel: Kernel, arguments: list[Any]) -> torch.Tensor:
    """The same with inputs and pools as the kernel takes them."""
    o: torch.Tensor
    pools = [one for one, is_pool in zip(arguments, kernel.signature.pools) if is_pool]
    if is_alone(arguments[0]):
        found = call_plain(kernel, arguments)
        if found is not None:
            o = found[0]
            torch.autograd.graph.increment_version(pools)
            return o
    inputs = [one for one, is_pool in zip(arguments, kernel.signature.pools) if not is_pool]
    if not torch.compiler.is_compiling():
        _check_derivatives(inputs)
    if torch.is_grad_enabled() and any(one.requires_grad for one in inputs):
        raise CallError(
            "polyattn: calls with pools of states have no gradients; expected torch.no_grad() or "
            "torch.inference_mode() around them"
        )
    if not is_autocast_on(inputs[0]) and are_plain(arguments):
        o = _decode(attention, inputs, pools)
        for one in pools:
            torch.autograd.graph.increment_version(one)
    else:
        o = _decode_op(attention, inputs, pools)
    return o
