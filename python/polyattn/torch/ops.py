"""Functions of flash-linear-attention 0.6 and of the package retention, under their names and with their arguments.

Queries are [B, T, H, K], keys [B, T, Hkv, K] and values [B, T, Hkv, V], of one dtype: float32, bfloat16 or float16. Hkv divides H; it
is H in those libraries. Results are [B, T, H, V] and of that dtype. States are float32, [N, Hkv, K, V] for the N = B sequences of
a batch. With `cu_seqlens`, N + 1 whole numbers that rise from 0 to T, the tensors are [1, T, ...] and hold N sequences one
behind the other. `scale` is a factor of <q, k>, 1 / sqrt K if None. What a function cannot honour is a polyattn.CallError that names the
argument, as are wrong shapes, dtypes and devices.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .._errors import CallError
from ._call import call
from ._checks import Checks, refuse, what_came
from ._sequences import OFFSETS, as_offsets, check_offsets
from ._systems import handle_of

__all__ = [
    "chunk_linear_attn", "chunk_retention", "chunk_simple_gla", "fused_chunk_based", "fused_chunk_linear_attn",
    "fused_chunk_retention", "fused_chunk_simple_gla", "fused_recurrent_linear_attn", "fused_recurrent_retention",
    "fused_recurrent_simple_gla", "parallel_based", "parallel_rebased", "parallel_retention", "parallel_simple_gla",
    "power_retention",
]  # fmt: skip


def _call(name: str, system: str, options: tuple[Any, ...], inputs: list[Any], count: int, packed: bool = False) -> list[Any]:
    """The results of a kernel, whose errors are about the function that the caller knows."""
    handle = handle_of(system, options, packed)
    if torch.compiler.is_compiling():
        return call(handle, inputs, count)
    try:
        return call(handle, inputs, count)
    except CallError as error:
        raise CallError(str(error).replace(f"{system}:", f"{name}:", 1)) from None


def _state(checks: Checks, state: Any, k: Tensor, v_first: bool) -> Tensor | None:
    """S [N, Hkv, K, V] in float32, or None."""
    if state is None:
        return None
    sizes = ("N", "Hkv", "V", "K") if v_first else ("N", "Hkv", "K", "V")
    found: Tensor = checks.tensor("initial_state", state, *sizes).float()
    return found.transpose(-1, -2) if v_first else found


def _states(checks: Checks, given: Any, k: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """S and z, which these libraries keep as [N, 1, Hkv, K]."""
    if given is None:
        return None, None
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        # A state of the values alone would be divided by sums that begin at zero.
        refuse(checks.who, "initial_state", "a tuple of S and z with normalize=True", what_came(given))
    s, z = given
    if (s is None) != (z is None):
        refuse(checks.who, "initial_state", "both S and z", "one of them")
    if z is not None:
        z = checks.tensor("initial_state", z, "N", 1, "Hkv", "K").float().squeeze(1)
    return _state(checks, s, k, False), z


def _zeros(count: Any, k: Tensor, *more: Any) -> Tensor:
    return torch.zeros((count, k.shape[2], k.shape[3], *more), dtype=torch.float32, device=k.device)


def _offsets(checks: Checks, q: Tensor, cu_seqlens: Any, cu_seqlens_cpu: Any) -> Any:
    """Where packed sequences end, as a kernel takes it; None without."""
    if cu_seqlens is None:
        if cu_seqlens_cpu is not None:
            refuse(checks.who, OFFSETS, "a tensor, of which cu_seqlens_cpu is a copy", "None")
        checks.bind("N", q.shape[0], "q")
        return None
    checks.bind("N", check_offsets(checks.who, cu_seqlens, q), OFFSETS)
    if cu_seqlens_cpu is not None:
        # A copy for launches, whose numbers are not needed here. Those in the processor's memory cost nothing to compare.
        is_copy = isinstance(cu_seqlens_cpu, torch.Tensor) and cu_seqlens_cpu.shape == cu_seqlens.shape
        if is_copy and cu_seqlens.is_cpu and cu_seqlens_cpu.is_cpu and not torch.compiler.is_compiling():
            is_copy = bool((cu_seqlens == cu_seqlens_cpu).all())
        if not is_copy:
            refuse(checks.who, "cu_seqlens_cpu", f"a copy of {OFFSETS}", what_came(cu_seqlens_cpu))
    return as_offsets(cu_seqlens)


def _decay(checks: Checks, g: Any, g_gamma: Any) -> tuple[str | None, Tensor | None]:
    """Whether decays are of a token or of a head, and their logarithms."""
    if g is not None:
        g = checks.tensor("g", g, "B", "T", "Hkv").float()
    if g_gamma is not None:
        g_gamma = checks.tensor("g_gamma", g_gamma, "Hkv").float()
    if g is None:
        return ("head", g_gamma) if g_gamma is not None else (None, None)
    return "token", g if g_gamma is None else g + g_gamma


def _reversed_offsets(who: str, ends: Any, length: Any) -> Any:
    """The ends of the same sequences in reversed tensors."""
    if ends.is_cpu and not torch.compiler.is_compiling():
        numbers = ends.tolist()
        if numbers[0] != 0 or numbers[-1] != length or sorted(numbers) != numbers:
            refuse(who, OFFSETS, f"numbers that rise from 0 to T = {length}", numbers)
    return length - ends.flip(0)


def _recurrence(
    name: str, q: Any, k: Any, v: Any, scale: Any, initial_state: Any, output_final_state: bool, *, g: Any = None,
    g_gamma: Any = None, normalize: bool = False, reverse: bool = False, state_v_first: bool = False,
    cu_seqlens: Any = None, cu_seqlens_cpu: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """S_t = exp(g_t) S_t-1 + k_t v_t, o_t = scale q_t S_t; with `reverse` from the last token to the first."""
    checks = Checks(name)
    checks.sequences(q=q, k=k, v=v)
    scale = checks.number("scale", scale)
    ends = _offsets(checks, q, cu_seqlens, cu_seqlens_cpu)
    decay, log_decay = _decay(checks, g, g_gamma)
    s, z = _states(checks, initial_state, k) if normalize else (_state(checks, initial_state, k, state_v_first), None)
    has_states = bool(output_final_state or s is not None or normalize)
    # The kernel's own reverse mask has neither states nor decays: with these it reads tensors in the other order.
    is_turned = reverse and (has_states or decay is not None)
    if is_turned:
        q, k, v = q.flip(1), k.flip(1), v.flip(1)
        log_decay = log_decay.flip(1) if decay == "token" and log_decay is not None else log_decay
        if ends is not None:
            ends = _reversed_offsets(name, ends, q.shape[1])
            s, z = (None if one is None else one.flip(0) for one in (s, z))
    inputs = [q, k, v] if log_decay is None else [q, k, v, log_decay]
    if has_states:
        count = q.shape[0] if ends is None else ends.shape[0] - 1
        inputs.append(_zeros(count, k, v.shape[3]) if s is None else s)
        if normalize:
            inputs.append(_zeros(count, k) if z is None else z)
    options = (
        ("scale", scale), ("normalize", bool(normalize)), ("states", has_states), ("decay", decay),
        ("mask", "anticausal" if reverse and not is_turned else "causal"),
    )  # fmt: skip
    packed = ends is not None
    o, *finals = _call(
        name, "inner_products", options, [*inputs, ends] if packed else inputs, 1 + (1 + bool(normalize)) * has_states, packed
    )
    if is_turned:
        o = o.flip(1)
        finals = [one.flip(0) for one in finals] if packed else finals
    final = finals[0] if output_final_state else None
    if state_v_first and final is not None:
        final = final.transpose(-1, -2)
    return (o, (final, finals[1].unsqueeze(1))) if normalize else (o, final)


def chunk_linear_attn(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, initial_state: Any = None,
    output_final_state: bool = False, normalize: bool = True, cu_seqlens: Tensor | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Linear attention of features q and k, normalized unless said otherwise: o [B, T, H, V], and the final state.

    normalize: o_t is divided by scale <q_t, z_t> + 1e-10, where z_t is the sum of the keys so far. States are then tuples of S
        [N, Hkv, K, V] and z [N, 1, Hkv, K]; z is returned always, S as None without output_final_state. A bare S is refused.
    """
    return _recurrence(
        "chunk_linear_attn", q, k, v, scale, initial_state, output_final_state, normalize=normalize, cu_seqlens=cu_seqlens
    )


def fused_chunk_linear_attn(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, initial_state: Any = None,
    output_final_state: bool = False, normalize: bool = True, cu_seqlens: Tensor | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """The same as chunk_linear_attn."""
    return _recurrence(
        "fused_chunk_linear_attn", q, k, v, scale, initial_state, output_final_state, normalize=normalize, cu_seqlens=cu_seqlens
    )


def fused_recurrent_linear_attn(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, initial_state: Any = None,
    output_final_state: bool = False, reverse: bool = False, normalize: bool = False, cu_seqlens: Tensor | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """chunk_linear_attn, not normalized unless said so.

    reverse: from the last token to the first; an initial state is that behind the last one.
    """
    return _recurrence(
        "fused_recurrent_linear_attn", q, k, v, scale, initial_state, output_final_state, normalize=normalize,
        reverse=reverse, cu_seqlens=cu_seqlens,
    )  # fmt: skip


def chunk_simple_gla(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor | None = None, g_gamma: Tensor | None = None,
    scale: float | None = None, initial_state: Tensor | None = None, output_final_state: bool = False,
    state_v_first: bool = False, cu_seqlens: Tensor | None = None, cu_seqlens_cpu: Tensor | None = None, *,
    chunk_size: int | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Linear attention whose states decay: o [B, T, H, V], and the final state [N, Hkv, K, V] or None.

    g, g_gamma: natural logarithms of decays, of a token and head [B, T, Hkv] and of a head [Hkv]; with both, their sum.
    state_v_first: states are [N, Hkv, V, K].
    cu_seqlens_cpu: a copy of cu_seqlens, which is not needed here.
    chunk_size: how the other library divides its work. The compiler of this one chooses; results are the same but for rounding.
    """
    if chunk_size is not None:
        Checks("chunk_simple_gla").whole("chunk_size", chunk_size, 1)
    return _recurrence(
        "chunk_simple_gla", q, k, v, scale, initial_state, output_final_state, g=g, g_gamma=g_gamma,
        state_v_first=state_v_first, cu_seqlens=cu_seqlens, cu_seqlens_cpu=cu_seqlens_cpu,
    )  # fmt: skip


def fused_chunk_simple_gla(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor | None = None, g_gamma: Tensor | None = None,
    scale: float | None = None, initial_state: Tensor | None = None, output_final_state: bool = False,
    cu_seqlens: Tensor | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """chunk_simple_gla with states [N, Hkv, K, V]."""
    return _recurrence(
        "fused_chunk_simple_gla", q, k, v, scale, initial_state, output_final_state, g=g, g_gamma=g_gamma,
        cu_seqlens=cu_seqlens,
    )  # fmt: skip


def fused_recurrent_simple_gla(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor | None = None, g_gamma: Tensor | None = None,
    scale: float | None = None, initial_state: Tensor | None = None, output_final_state: bool = False,
    reverse: bool = False, state_v_first: bool = False, cu_seqlens: Tensor | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """chunk_simple_gla in either order.

    reverse: from the last token to the first; an initial state is that behind the last one.
    """
    return _recurrence(
        "fused_recurrent_simple_gla", q, k, v, scale, initial_state, output_final_state, g=g, g_gamma=g_gamma,
        reverse=reverse, state_v_first=state_v_first, cu_seqlens=cu_seqlens,
    )  # fmt: skip


def _refuse_scores(name: str, output_attentions: bool) -> None:
    if output_attentions:
        refuse(name, "output_attentions", "False: there is no matrix of scores", True)


def parallel_simple_gla(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor | None = None, scale: float | None = None,
    output_attentions: bool = False, cu_seqlens: Tensor | None = None, cu_seqlens_cpu: Tensor | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """chunk_simple_gla without states: o [B, T, H, V], and None. g is [B, T, Hkv]; output_attentions is refused."""
    _refuse_scores("parallel_simple_gla", output_attentions)
    return _recurrence(
        "parallel_simple_gla", q, k, v, scale, None, False, g=g, cu_seqlens=cu_seqlens, cu_seqlens_cpu=cu_seqlens_cpu
    )


def _retention(name: str, q: Any, k: Any, *others: Any, **named: Any) -> tuple[Any, Any]:
    """Head h forgets by 1 - 2^(-5 - h)."""
    g_gamma = None
    if isinstance(k, torch.Tensor) and k.dim() == 4:  # what else it may be is refused with the call
        g_gamma = torch.log1p(-torch.exp2(-5.0 - torch.arange(k.shape[2], dtype=torch.float32, device=k.device)))
    return _recurrence(name, q, k, *others, g_gamma=g_gamma, **named)


def chunk_retention(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, initial_state: Tensor | None = None,
    output_final_state: bool = False, cu_seqlens: Tensor | None = None, *, chunk_size: int | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Retention, whose head h forgets by 1 - 2^(-5 - h): o [B, T, H, V], and the final state [N, Hkv, K, V] or None.

    chunk_size: as in chunk_simple_gla.
    """
    if chunk_size is not None:
        Checks("chunk_retention").whole("chunk_size", chunk_size, 1)
    return _retention("chunk_retention", q, k, v, scale, initial_state, output_final_state, cu_seqlens=cu_seqlens)


def fused_chunk_retention(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, initial_state: Tensor | None = None,
    output_final_state: bool = False, cu_seqlens: Tensor | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """The same as chunk_retention."""
    return _retention("fused_chunk_retention", q, k, v, scale, initial_state, output_final_state, cu_seqlens=cu_seqlens)


def fused_recurrent_retention(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, initial_state: Tensor | None = None,
    output_final_state: bool = False, reverse: bool = False, state_v_first: bool = False,
    cu_seqlens: Tensor | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """chunk_retention in either order; with state_v_first states are [N, Hkv, V, K].

    reverse: from the last token to the first; an initial state is that behind the last one.
    """
    return _retention(
        "fused_recurrent_retention", q, k, v, scale, initial_state, output_final_state, reverse=reverse,
        state_v_first=state_v_first, cu_seqlens=cu_seqlens,
    )  # fmt: skip


def parallel_retention(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, output_attentions: bool = False,
    cu_seqlens: Tensor | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """chunk_retention without states: o [B, T, H, V], and None. output_attentions is refused."""
    _refuse_scores("parallel_retention", output_attentions)
    return _retention("parallel_retention", q, k, v, scale, None, False, cu_seqlens=cu_seqlens)


def _based(name: str, q: Any, k: Any, v: Any, scale: Any, use_norm: bool) -> Tensor:
    checks = Checks(name)
    checks.sequences(q=q, k=k, v=v)
    options = (("scale", checks.number("scale", scale, is_positive=True)), ("normalize", bool(use_norm)))
    o: Tensor = _call(name, "taylor", options, [q, k, v], 1)[0]
    return o


def parallel_based(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, use_norm: bool = True
) -> Tensor:
    """Scores 1 + s + s^2 / 2 of s = scale <q, k>: o [B, T, H, V]. The scale is positive.

    use_norm: o_t is divided by the sum of its scores plus 1e-6.
    """
    return _based("parallel_based", q, k, v, scale, use_norm)


def fused_chunk_based(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, use_norm: bool = True
) -> Tensor:
    """The same as parallel_based."""
    return _based("fused_chunk_based", q, k, v, scale, use_norm)


def parallel_rebased(
    q: Tensor, k: Tensor, v: Tensor, eps: float = 1e-5, use_scale: bool = True, use_normalize: bool = True,
    return_both: bool = False,
) -> Tensor:  # fmt: skip
    """Scores (scale <q, k>)^2, with scale 1 / sqrt K or 1: o [B, T, H, V]. return_both is refused.

    use_normalize: o_t is divided by the sum of its scores plus eps.
    """
    checks = Checks("parallel_rebased")
    checks.sequences(q=q, k=k, v=v)
    if return_both:
        refuse("parallel_rebased", "return_both", "False", True)
    added = checks.number("eps", eps)
    if added is None:
        refuse("parallel_rebased", "eps", "a number", None)
    options = (
        ("degree", 2), ("scale", None if use_scale else 1.0), ("eps", added if use_normalize else None)
    )  # fmt: skip
    o: Tensor = _call("parallel_rebased", "power", options, [q, k, v], 1)[0]
    return o


def power_retention(
    Q: Tensor, K: Tensor, V: Tensor, log_G: Tensor | None = None, initial_state: Any = None, sum_of_keys: Any = None,
    return_final_state: bool = False, deg: int = 2, scale: float | None = None, chunk_size: int | None = None,
    switch_over_seq_len: int | None = None,
) -> Tensor:  # fmt: skip
    """Scores (scale <q, k>)^deg over their sum: o [B, T, H, V]. States have another basis there and are refused.

    log_G: natural logarithms of decays [B, T, Hkv].
    deg: an even number, at least 2.
    chunk_size, switch_over_seq_len: choose among forms of the same sums there; here the compiler does.

    There the sum has 1e-6 times the row's largest score on top, which is at most one part in a million of the result.
    """
    name = "power_retention"
    checks = Checks(name)
    checks.sequences(Q=Q, K=K, V=V)
    degree = checks.whole("deg", deg, 2)
    if degree % 2:
        refuse(name, "deg", "an even number, at least 2", deg)
    for argument, one in (("initial_state", initial_state), ("sum_of_keys", sum_of_keys)):
        if one is not None:
            refuse(name, argument, "None: its states have another basis than ours", what_came(one))
    if return_final_state:
        refuse(name, "return_final_state", "False: its states have another basis than ours", True)
    for argument, hint in (("chunk_size", chunk_size), ("switch_over_seq_len", switch_over_seq_len)):
        if hint is not None:
            checks.whole(argument, hint, 0)
    options = (("degree", degree), ("scale", checks.number("scale", scale)), ("eps", 1e-30), ("gated", log_G is not None))
    inputs = [Q, K, V] if log_G is None else [Q, K, V, checks.tensor("log_G", log_G, "B", "T", "Hkv").float()]
    o: Tensor = _call(name, "power", options, inputs, 1)[0]
    return o
