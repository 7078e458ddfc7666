"""The operators of PyTorch, defined once: polyattn::forward, and what PyTorch asks of it.

Their bodies are in Python. A dispatched call costs 5 us more than a call of the kernel with tensors does.
"""

from __future__ import annotations

from typing import Any

import torch

from .._errors import CallError
from . import _recipes

_library = torch.library.Library("polyattn", "DEF")
_library.define("forward(int attention, Tensor[] inputs) -> Tensor[]")
_forward_op = torch.ops.polyattn.forward.default


def _plain(tensor: Any) -> Any:
    """What a kernel can read: no gradients, and an innermost stride of 1."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    return tensor if tensor.stride()[-1:] in ((1,), ()) else tensor.contiguous()


def _forward(attention: int, inputs: list[Any]) -> list[Any]:
    recipe = _recipes.find(attention)
    storage = _recipes.storage_of(inputs)
    kernel = recipe.of(inputs).kernel(storage)
    results = kernel(*map(_plain, inputs), threads=torch.get_num_threads())
    return list(results) if isinstance(results, tuple) else [results]


def _forward_fake(attention: int, inputs: list[Any]) -> list[Any]:
    recipe = _recipes.find(attention)
    _recipes.storage_of(inputs)
    return [inputs[0].new_empty(shape, dtype=dtype) for shape, dtype in recipe.results(inputs)]


def _forward_autocast(attention: int, inputs: list[Any]) -> list[Any]:
    """Sequences and weights are cast as those of PyTorch's own layers are. Decays, rotary frequencies and states, which
    kernels keep in f32, are not."""
    dtype = torch.get_autocast_dtype("cpu")
    recipe = _recipes.find(attention).of(inputs)
    expected = recipe.dtypes(inputs, _recipes.STORAGE[dtype])
    cast = [
        one.to(wanted) if one.is_floating_point() else one for one, wanted in zip(inputs, expected)
    ]
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
    with torch._C._ExcludeDispatchKeyGuard(keys):
        results: list[Any] = _forward_op(attention, cast + inputs[len(cast) :])
        return results


def _no_vmap(info: Any, in_dims: Any, attention: int, inputs: list[Any]) -> Any:
    raise CallError(NO_TRANSFORM)


def _no_gradients(ctx: Any, inputs: Any = None, output: Any = None) -> Any:
    raise CallError(NO_GRADIENTS)


def _no_gpu(attention: int, inputs: list[Any]) -> Any:
    raise CallError("polyattn: expected tensors in the processor's memory, got some on a GPU")


NO_GRADIENTS = (
    "polyattn: kernels have no gradients yet; call them under torch.no_grad(), or with tensors "
    "that are .detach()ed"
)
NO_TRANSFORM = (
    "polyattn: torch.func's transforms (vmap, grad, jvp, ...) and forward-mode derivatives are not "
    "supported; a mapped dimension can be part of the batch"
)

_library.impl("forward", _forward, "CPU")
_library.impl("forward", _forward_autocast, "AutocastCPU")
_library.impl("forward", _no_gpu, "CUDA")
torch.library.register_fake("polyattn::forward", _forward_fake, lib=_library)
torch.library.register_vmap("polyattn::forward", _no_vmap, lib=_library)
torch.library.register_autograd(
    "polyattn::forward", _no_gradients, setup_context=_no_gradients, lib=_library
)


def forward(attention: int, inputs: list[Any]) -> list[Any]:
    """polyattn::forward, where nobody asks for derivatives that it would give as zeros."""
    if not torch.compiler.is_compiling():
        _check_derivatives(inputs)
    results: list[Any] = _forward_op(attention, inputs)
    return results


def _check_derivatives(inputs: list[Any]) -> None:
    """PyTorch takes a tangent of zero for that of an operator without a rule, and says nothing."""
    has_tangents = torch.autograd.forward_ad._current_level >= 0
    for one in inputs:
        is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor(one)
        if is_wrapped or has_tangents and torch.autograd.forward_ad.unpack_dual(one).tangent is not None:
            raise CallError(NO_TRANSFORM)
