"""Layers that continue sequences: `new_states`, `prefill` and `step` of polyattn.torch.nn."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable

import torch
from torch import nn

from .._errors import CallError
from .._whole import whole_number
from . import _recipes
from ._decode import decode_in_order, kernel_of
from ._numbers import numbers_of_sequences
from ._operators import is_autocast_on
from ._states import States

if TYPE_CHECKING:
    from .nn import Attention


def new_states(layer: Attention, slots: int, device: Any) -> States:
    """Normal tensors in any mode, so that calls outside torch.inference_mode can change what was made inside it."""
    count = whole_number("slots", slots, 0)
    device = _device_of(layer) if device is None else device
    signature = kernel_of(layer.attention._handle, _storage_of(layer)).signature

    def zeros(*shape: Any) -> torch.Tensor:
        sizes = [layer._sizes[size] if isinstance(size, str) else size for size in shape]
        return torch.zeros([count, *sizes], dtype=torch.float32, device=device)

    with torch.inference_mode(False):
        pools = {one.name: zeros(*one.shape[1:]) for one, is_pool in zip(signature.arguments, signature.pools) if is_pool}
        return States(pools, torch.zeros(count, dtype=torch.int64, device=device))


def _device_of(layer: nn.Module) -> Any:
    """Where the layer's numbers are. Quantized layers may have none, and offloaded ones none at present."""
    tensors = [*layer.parameters(), *layer.buffers()]
    return next((one.device for one in tensors if not one.is_meta), "meta" if tensors else "cpu")


def _storage_of(layer: nn.Module) -> str:
    return next((_recipes.STORAGE[one.dtype] for one in layer.parameters() if one.dtype in _recipes.STORAGE), "f32")


def continue_sequences(
    layer: Attention, x: torch.Tensor, states: States, slots: Any, lengths: Any, begins: bool
) -> torch.Tensor:
    """`step`, or with `begins` `prefill`. Every mistake is an error before a state or a position changes."""
    layer._check_input(x)
    _check(states, x.device)
    part = _all_positions if slots is None and lengths is None else _some_positions
    numbers, advance = part(x, states, slots, lengths, begins)
    arguments: list[torch.Tensor] = [*layer.project(x)]
    _check_result_modules(layer, arguments[0])
    attention = layer.attention._handle
    kernel = kernel_of(attention, _recipes.storage_of(arguments))
    for one, is_pool in zip(kernel.signature.arguments[3:], kernel.signature.pools[3:]):
        if is_pool:
            arguments.append(_pool(states, one.name))
        elif one.name in numbers:
            arguments.append(numbers[one.name])
        else:
            own = layer.own(one.name, x.device)
            arguments.append(_of_call(layer, one, x, numbers["first_position"]) if own is None else own)
    o = decode_in_order(attention, kernel, arguments)
    advance()
    states.take_turn(x.shape[1], are_new=begins and slots is None and len(x) == len(states))
    return layer.combine(o, x)


def _check(states: Any, device: torch.device) -> None:
    if not isinstance(states, States):
        raise CallError(f"states: expected those of new_states, got {type(states).__name__}")
    positions = states.positions
    if positions.dtype is not torch.int64 or positions.dim() != 1:
        raise CallError(f"states: expected positions of torch.int64 [slots], got {positions.dtype} {list(positions.shape)}")
    if positions.device != device:
        raise CallError(
            f"states: expected them on {device}, as x, got {positions.device}; new_states has the argument device"
        )
    states.check_turn()
    states.check_writable()


def _pool(states: States, name: str) -> torch.Tensor:
    found = states.pools.get(name)
    if found is None:
        raise CallError(f"states: expected those of new_states with {name}, got {', '.join(states.pools) or 'no pools'}")
    return found


#: The arguments of the kernel that say which sequences continue, and what writes the new positions.
_Part = tuple[dict[str, torch.Tensor], Callable[[], Any]]


def _all_positions(x: torch.Tensor, states: States, slots: Any, lengths: Any, begins: bool) -> _Part:
    """Row i has slot i, and all T positions count. The numbers are known without reading any."""
    batch, length = x.shape[:2]
    if batch > len(states):
        raise CallError(f"slots: expected at most {len(states)} rows of x, one for each slot, got {batch}")
    positions = states.positions
    own = positions if batch == len(states) else positions[:batch]
    numbers = states.all_positions(batch, length)
    numbers["first_position"] = torch.zeros_like(own) if begins else own
    return numbers, functools.partial(own.fill_ if begins else own.add_, length)


def _some_positions(x: torch.Tensor, states: States, slots: Any, lengths: Any, begins: bool) -> _Part:
    batch, length = x.shape[:2]
    chosen = states.choose(range(batch) if slots is None else slots)
    if len(chosen) != batch:
        raise CallError(f"slots: expected {batch}, one for each row of x, got {len(chosen)}")
    chosen.check_distinct()
    counts = states.all_positions(batch, length)["lengths"] if lengths is None else counts_of(lengths, batch, length, x.device)
    positions, rows = states.positions, chosen.rows(x.device)
    first = positions.new_zeros(batch) if begins else chosen.gather(positions)
    after = chosen.with_slot(first + (length if lengths is None else counts))
    numbers = {"slots": chosen.for_kernel(x.device), "lengths": counts, "first_position": first}
    return numbers, lambda: positions.index_copy_(0, rows, after)


def counts_of(given: Any, batch: int, length: int, device: torch.device) -> torch.Tensor:
    """The argument `lengths` of a step, i32 [batch]: how many of the `length` positions each row has, all of them if None."""
    if given is None:
        return torch.full((batch,), length, dtype=torch.int32, device=device)
    counts = numbers_of_sequences("lengths", given, batch, device)
    outside = [] if counts.is_meta else [one for one in counts.tolist() if not 0 <= one <= length]
    if outside:
        raise CallError(f"lengths: expected numbers from 0 to T = {length}, got {outside[0]}")
    return counts.int()


def _of_call(layer: Attention, argument: Any, x: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
    """Tables of positions have rows up to the last position of the call."""
    batch, rows = x.shape[:2]
    if argument.shape[0] == "L" and batch and not first.is_meta:
        rows += int(first.max())
    return layer.of_call(argument.name, x, first, batch, rows)


def _check_result_modules(layer: Attention, q: torch.Tensor) -> None:
    """What PyTorch refuses behind the kernel would leave states that have gone on without a result."""
    if is_autocast_on(q):
        return
    for name in layer.result_modules:
        module = getattr(layer, name)
        if type(module) is nn.Linear:
            weight = module.weight
            if weight.dtype is not q.dtype or weight.device != q.device:
                raise CallError(
                    f"{name}: expected weights of {q.dtype} on {q.device}, as the queries, got {weight.dtype} on {weight.device}"
                )
