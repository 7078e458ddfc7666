"""The operator polyattn::forward, and what operators share.

Their bodies are in Python. A dispatched call costs 5 us more than a call of the kernel with tensors does.
"""

from __future__ import annotations

from typing import Any, Callable

import torch

from .._errors import CallError
from .._kernels import Kernel
from . import _recipes

library = torch.library.Library("polyattn", "DEF")
library.define("forward(int attention, Tensor[] inputs) -> Tensor[]")
_forward_op = torch.ops.polyattn.forward.default

NO_TRANSFORM = (
    "polyattn: torch.func's transforms (vmap, grad, jvp, ...), batched gradients (is_grads_batched, jacobian(vectorize=True)) and "
    "forward-mode derivatives are not supported; a mapped dimension can be part of the batch, and gradients be taken one by one"
)


def refuser(words: str) -> Callable[..., Any]:
    def refuse(*arguments: Any, **named: Any) -> Any:
        raise CallError(words)

    return refuse


refuse_vmap = refuser(NO_TRANSFORM)


def has_stride_one(tensor: Any) -> bool:
    """Whether the innermost dimension is as kernels want it."""
    return tensor.is_contiguous() or tensor.stride()[-1:] in ((1,), ())


def readable(tensor: Any) -> Any:
    """What a kernel can read: no gradients, and an innermost stride of 1. A copy, where it is not so."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    return tensor if has_stride_one(tensor) else tensor.contiguous()


def check_device(tensors: list[Any]) -> None:
    """For the shapes alone, which PyTorch asks for if any tensor is on the device meta: results would hold no numbers."""
    devices = sorted({one.device.type for one in tensors})
    if len(devices) > 1:
        raise CallError(f"polyattn: expected tensors on one device, got some on each of {' and '.join(devices)}")


def call_kernel(kernel: Any, inputs: list[Any]) -> list[Any]:
    first = inputs[0]
    if first.is_cuda:
        results = kernel._on_gpu(first.device.index)(*map(readable, inputs))
    else:
        threads = torch.get_num_threads()
        found: list[Any] | None = kernel._call_plain(inputs, threads)
        if found is not None:
            return found
        results = kernel(*map(readable, inputs), threads=threads)
    return list(results) if isinstance(results, tuple) else [results]


_AUTOCAST = {"cpu": torch._C.DispatchKey.AutocastCPU, "cuda": torch._C.DispatchKey.AutocastCUDA}


def is_autocast_on(tensor: Any) -> bool:
    """Whether autocast casts on the tensor's device. PyTorch has no answer for a device without autocast, as meta."""
    device = tensor.device.type
    return device in _AUTOCAST and torch.is_autocast_enabled(device)


def storage_of_autocast(inputs: list[Any]) -> str:
    return _recipes.STORAGE[torch.get_autocast_dtype(inputs[0].device.type)]


def implement(name: str, body: Callable[..., Any], autocast: Callable[..., Any] | None = None) -> None:
    """One body for all devices: its tensors choose the kernel."""
    for device in ("CPU", "CUDA"):
        library.impl(name, body, device)
        if autocast is not None:
            library.impl(name, autocast, f"Autocast{device}")


def cast(expected: list[Any], inputs: list[Any]) -> list[Any]:
    """Inputs of the dtypes that a kernel expects. What autocast leaves alone, whole numbers, stays as it is."""
    return [one.to(wanted) if one.is_floating_point() else one for one, wanted in zip(inputs, expected)]


def cast_by_roles(attention: int, inputs: list[Any]) -> list[Any]:
    """Sequences and weights are cast as those of PyTorch's own layers are. Decays, rotary frequencies and states, which
    kernels keep in f32, are not."""
    recipe = _recipes.find(attention).of(inputs)
    return cast(recipe.dtypes(inputs, storage_of_autocast(inputs)), inputs)


def below_autocast(call: Callable[[list[Any]], Any], inputs: list[Any]) -> Any:
    """A call of an operator with inputs that have been cast."""
    key = _AUTOCAST[inputs[0].device.type]
    with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(key)):
        return call(inputs)


def kernel_of(attention: int, inputs: list[Any]) -> Kernel:
    recipe = _recipes.find(attention)
    storage = _recipes.storage_of(inputs)
    return recipe.of(inputs).kernel(storage)


def _forward(attention: int, inputs: list[Any]) -> list[Any]:
    return call_kernel(kernel_of(attention, inputs), inputs)


def _forward_fake(attention: int, inputs: list[Any]) -> list[Any]:
    check_device(inputs)
    recipe = _recipes.find(attention)
    _recipes.storage_of(inputs)
    return [inputs[0].new_empty(shape, dtype=dtype) for shape, dtype in recipe.results(inputs)]


def _forward_autocast(attention: int, inputs: list[Any]) -> list[Any]:
    results: list[Any] = below_autocast(lambda cast: _forward_op(attention, cast), cast_by_roles(attention, inputs))
    return results


_refuse_gradients = refuser(
    "polyattn: polyattn::forward keeps nothing for gradients; call polyattn.torch's functions, which "
    "choose polyattn::training where gradients are wanted"
)

implement("forward", _forward, _forward_autocast)
torch.library.register_fake("polyattn::forward", _forward_fake, lib=library)
torch.library.register_vmap("polyattn::forward", refuse_vmap, lib=library)
torch.library.register_autograd(
    "polyattn::forward", _refuse_gradients, setup_context=_refuse_gradients, lib=library
)
