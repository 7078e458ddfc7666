"""Functions of flash-linear-attention 0.6 and of the package retention, under their names and with their arguments.

Tensors are [B, T, H, d], states [B, H, K, V] in float32, results in the dtype of q. What is not offered is refused; keys and
values may have fewer heads than queries.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .._errors import CallError
from ._call import call
from ._sequences import as_offsets, check_offsets
from ._systems import handle_of

__all__ = [
    "chunk_linear_attn", "chunk_retention", "chunk_simple_gla", "fused_chunk_based", "fused_chunk_linear_attn",
    "fused_chunk_retention", "fused_chunk_simple_gla", "fused_recurrent_linear_attn", "fused_recurrent_retention",
    "fused_recurrent_simple_gla", "parallel_based", "parallel_rebased", "parallel_retention", "parallel_simple_gla",
    "power_retention",
]  # fmt: skip


def _refuse(name: str, argument: str, expected: str, came: Any) -> None:
    raise CallError(f"{name}: argument '{argument}': expected {expected}, got {came}")


def _check(name: str, q: Any, k: Any, v: Any, scale: Any) -> None:
    for argument, one in (("q", q), ("k", k), ("v", v)):
        if not isinstance(one, torch.Tensor) or one.dim() != 4:
            came = tuple(one.shape) if isinstance(one, torch.Tensor) else type(one).__name__
            _refuse(name, argument, "a tensor [B, T, H, d]", came)
    if scale is not None and not isinstance(scale, (int, float)):
        _refuse(name, "scale", "a number or None", type(scale).__name__)


def _state(name: str, state: Any, k: Tensor, v: Tensor, count: int) -> Tensor:
    """The states of `count` sequences."""
    shape = (count, k.shape[2], k.shape[3], v.shape[3])
    if state is None:
        return torch.zeros(shape, dtype=torch.float32, device=k.device)
    if not isinstance(state, torch.Tensor) or state.dim() != 4:
        _refuse(name, "initial_state", "a tensor [B, H, K, V]", type(state).__name__)
    if state.shape[0] != count:
        _refuse(name, "initial_state", f"{count} states, one per sequence", state.shape[0])
    s: Tensor = state.float()
    return s


def _states(name: str, given: Any, k: Tensor, v: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """S and z, which these libraries keep as [B, 1, H, K]."""
    if given is None:
        given = (None, None)
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        # A state of the values alone would be divided by sums that begin at zero.
        _refuse(name, "initial_state", "a tuple of S and z with normalize=True", type(given).__name__)
    s, z = given
    if (s is None) != (z is None):
        _refuse(name, "initial_state", "both S and z", "one of them")
    if z is None:
        z = torch.zeros((count, 1, *k.shape[2:]), dtype=torch.float32, device=k.device)
    if z.dim() != 4 or z.shape[1] != 1:
        _refuse(name, "initial_state", "z as [B, 1, H, K]", tuple(z.shape))
    return _state(name, s, k, v, count), z.float().squeeze(1)


def _linear(
    name: str, q: Any, k: Any, v: Any, g: Any, scale: Any, initial_state: Any, output_final_state: bool,
    normalize: bool, reverse: bool, cu_seqlens: Any, decay: str | None = None, state_v_first: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    _check(name, q, k, v, scale)
    if state_v_first and isinstance(initial_state, torch.Tensor) and initial_state.dim() == 4:
        initial_state = initial_state.transpose(-1, -2)
    count = q.shape[0] if cu_seqlens is None else check_offsets(name, cu_seqlens, q)
    states = output_final_state or initial_state is not None or normalize
    if reverse and states:
        _refuse(name, "reverse", "False with states or a normalizer", True)
    inputs = [q, k, v]
    if decay:
        if not isinstance(g, torch.Tensor):
            _refuse(name, "g", "a tensor", type(g).__name__)
        inputs.append(g.float())
    if states:
        inputs += (
            _states(name, initial_state, k, v, count) if normalize else [_state(name, initial_state, k, v, count)]
        )
    if cu_seqlens is not None:
        inputs.append(as_offsets(cu_seqlens))
    options = (
        ("scale", None if scale is None else float(scale)), ("normalize", bool(normalize)), ("states", bool(states)),
        ("decay", decay), ("mask", "anticausal" if reverse else "causal"),
    )  # fmt: skip
    handle = handle_of("inner_products", options, cu_seqlens is not None)
    results = call(handle, inputs, 1 + (1 + normalize) * states)
    final = results[1] if output_final_state else None
    if state_v_first and final is not None:
        final = final.transpose(-1, -2)
    if normalize:
        return results[0], (final, results[2].unsqueeze(1))
    return results[0], final


def chunk_linear_attn(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, initial_state: Any = None,
    output_final_state: bool = False, normalize: bool = True, cu_seqlens: Tensor | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Linear attention of features q and k, normalized unless said otherwise.

    With normalize states are tuples of S and z [B, 1, H, K]; z is returned always, S as None without output_final_state.
    """
    return _linear(
        "chunk_linear_attn", q, k, v, None, scale, initial_state, output_final_state, normalize, False, cu_seqlens
    )


fused_chunk_linear_attn = chunk_linear_attn


def fused_recurrent_linear_attn(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, initial_state: Any = None,
    output_final_state: bool = False, reverse: bool = False, normalize: bool = False, cu_seqlens: Tensor | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """The same, not normalized unless said so. reverse: rows see later positions; without states only."""
    return _linear(
        "fused_recurrent_linear_attn", q, k, v, None, scale, initial_state, output_final_state, normalize, reverse,
        cu_seqlens,
    )  # fmt: skip


def chunk_simple_gla(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor | None = None, g_gamma: Tensor | None = None,
    scale: float | None = None, initial_state: Tensor | None = None, output_final_state: bool = False,
    state_v_first: bool = False, cu_seqlens: Tensor | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Logarithms of decays: g of a token and head [B, T, H], g_gamma of a head [H], or their sum.

    With state_v_first states are [B, H, V, K].
    """
    decay = "token" if g is not None else "head" if g_gamma is not None else None
    if g is not None and g_gamma is not None:
        g = g.float() + g_gamma.float()
    return _linear(
        "chunk_simple_gla", q, k, v, g if g is not None else g_gamma, scale, initial_state, output_final_state, False,
        False, cu_seqlens, decay, state_v_first,
    )  # fmt: skip


def fused_chunk_simple_gla(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor | None = None, g_gamma: Tensor | None = None,
    scale: float | None = None, initial_state: Tensor | None = None, output_final_state: bool = False,
    cu_seqlens: Tensor | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    return chunk_simple_gla(
        q, k, v, g, g_gamma, scale, initial_state, output_final_state, cu_seqlens=cu_seqlens
    )


def fused_recurrent_simple_gla(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor | None = None, g_gamma: Tensor | None = None,
    scale: float | None = None, initial_state: Tensor | None = None, output_final_state: bool = False,
    reverse: bool = False, state_v_first: bool = False, cu_seqlens: Tensor | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    if reverse:
        _refuse("fused_recurrent_simple_gla", "reverse", "False with decays", True)
    return chunk_simple_gla(
        q, k, v, g, g_gamma, scale, initial_state, output_final_state, state_v_first, cu_seqlens
    )


def parallel_simple_gla(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor | None = None, scale: float | None = None,
    output_attentions: bool = False, cu_seqlens: Tensor | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    if output_attentions:
        _refuse("parallel_simple_gla", "output_attentions", "False: there is no matrix of scores", True)
    return chunk_simple_gla(q, k, v, g, None, scale, cu_seqlens=cu_seqlens)


def chunk_retention(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, initial_state: Tensor | None = None,
    output_final_state: bool = False, cu_seqlens: Tensor | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Head h forgets by 1 - 2^(-5 - h)."""
    return _retention("chunk_retention", q, k, v, scale, initial_state, output_final_state, False, cu_seqlens)


def _retention(
    name: str, q: Any, k: Any, v: Any, scale: Any, initial_state: Any, output_final_state: bool, state_v_first: bool,
    cu_seqlens: Any,
) -> tuple[Any, Any]:  # fmt: skip
    _check(name, q, k, v, scale)
    heads = torch.arange(k.shape[2], dtype=torch.float32, device=q.device)
    log_decay = torch.log1p(-torch.exp2(-5.0 - heads))
    return _linear(
        name, q, k, v, log_decay, scale, initial_state, output_final_state, False, False, cu_seqlens, "head", state_v_first
    )


fused_chunk_retention = chunk_retention


def fused_recurrent_retention(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, initial_state: Tensor | None = None,
    output_final_state: bool = False, reverse: bool = False, state_v_first: bool = False,
    cu_seqlens: Tensor | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    if reverse:
        _refuse("fused_recurrent_retention", "reverse", "False", True)
    return _retention(
        "fused_recurrent_retention", q, k, v, scale, initial_state, output_final_state, state_v_first, cu_seqlens
    )


def parallel_retention(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, output_attentions: bool = False,
    cu_seqlens: Tensor | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    if output_attentions:
        _refuse("parallel_retention", "output_attentions", "False: there is no matrix of scores", True)
    return chunk_retention(q, k, v, scale, cu_seqlens=cu_seqlens)


def parallel_based(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, use_norm: bool = True
) -> Tensor:
    """1 + s + s^2 / 2 of s = scale <q, k>."""
    _check("parallel_based", q, k, v, scale)
    if scale is not None and not scale > 0:
        _refuse("parallel_based", "scale", "a positive number", scale)
    options = (("scale", None if scale is None else float(scale)), ("normalize", bool(use_norm)))
    o: Tensor = call(handle_of("taylor", options), [q, k, v], 1)[0]
    return o


fused_chunk_based = parallel_based


def parallel_rebased(
    q: Tensor, k: Tensor, v: Tensor, eps: float = 1e-5, use_scale: bool = True, use_normalize: bool = True,
    return_both: bool = False,
) -> Tensor:  # fmt: skip
    """(scale <q, k>)^2, with scale 1 / sqrt K or 1."""
    _check("parallel_rebased", q, k, v, None)
    if return_both:
        _refuse("parallel_rebased", "return_both", "False", True)
    options = (
        ("degree", 2), ("scale", None if use_scale else 1.0), ("eps", float(eps) if use_normalize else None)
    )  # fmt: skip
    o: Tensor = call(handle_of("power", options), [q, k, v], 1)[0]
    return o


def power_retention(
    Q: Tensor, K: Tensor, V: Tensor, log_G: Tensor | None = None, initial_state: Any = None, sum_of_keys: Any = None,
    return_final_state: bool = False, deg: int = 2, scale: float | None = None, chunk_size: int | None = None,
    switch_over_seq_len: int | None = None,
) -> Tensor:  # fmt: skip
    """(scale <q, k>)^deg over its sum; log_G [B, T, Hkv].

    There the sum has 1e-6 times the row's largest score on top, which is at most one part in a million of the result.
    chunk_size and switch_over_seq_len choose among forms of the same sums there; here the compiler does.
    """
    _check("power_retention", Q, K, V, scale)
    if deg < 2 or deg % 2:
        _refuse("power_retention", "deg", "an even number, at least 2", deg)
    for name, one in (("initial_state", initial_state), ("sum_of_keys", sum_of_keys)):
        if one is not None:
            _refuse("power_retention", name, "None: its states have another basis than ours", type(one).__name__)
    if return_final_state:
        _refuse("power_retention", "return_final_state", "False: its states have another basis than ours", True)
    options = (
        ("degree", int(deg)), ("scale", None if scale is None else float(scale)), ("eps", 1e-30),
        ("gated", log_G is not None),
    )  # fmt: skip
    inputs = [Q, K, V] if log_G is None else [Q, K, V, log_G.float()]
    o: Tensor = call(handle_of("power", options), inputs, 1)[0]
    return o
