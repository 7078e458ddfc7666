"""Softmax attention, over all keys or a window of them, alone and beside linear attention."""

from __future__ import annotations

import math
from typing import Any, Literal

from .. import builder as b
from .._errors import CallError
from .._literals import Beyond, Grouping
from .._whole import whole_number
from ..builder import Spec
from ._common import build, one_of, sequences


def softmax_attention(
    d: int = 64, dv: int | None = None, *, window: int | None = None, mask: Literal["causal", "full"] = "causal",
    distances: int | None = None, beyond: Beyond = "last", per_head: bool = True, rotary: bool = False, scale: float | None = None,
    grouping: Grouping | None = "block", first_position: bool = False, dtype: str = "f32", name: str = "softmax_attention",
) -> Spec:  # fmt: skip
    """Softmax attention: o_i is the mean of values, weighted by exp(scale <q_i, k_j>).

    window: query i sees the keys j with |i - j| < window only: itself and window - 1 before it, with the mask full as many behind it.
    distances: the exponent has a bias of the distance, as in T5: a number of the table b, which is not scaled. It has so many distances
        from 0 on; with the mask full as many on either side, 2 distances - 1 numbers.
    beyond: what larger distances count as: the last number, or zero; with error longer sequences are refused. per_head: a table for each
        head.
    rotary: queries and keys are rotated by `freqs`, pairs as of half. first_position: as in retnet.
    scale: 1 / sqrt(d) if None.
    """
    one_of("mask", mask, ("causal", "full"))
    if first_position and not rotary:
        raise CallError("first_position: expected False without rotary=True")
    if distances is None and (beyond != "last" or not per_head):
        raise CallError("beyond and per_head: expected their defaults without distances")
    factor = 1 / math.sqrt(whole_number("d", d)) if scale is None else scale
    is_full = mask == "full"
    arguments = sequences(d, dv)
    if distances is not None:
        count = whole_number("distances", distances)
        numbers = 2 * count - 1 if is_full else count
        arguments["b"] = b.HeadWeight[numbers] if per_head else b.Weight[numbers]
    if rotary:
        arguments["freqs"] = b.Weight[d // 2]
    if first_position:
        arguments["first_position"] = b.FirstPosition

    def body(q: Any, k: Any, v: Any, freqs: Any = None, first_position: Any = None, **tables: Any) -> Any:
        if rotary:
            q, k = (b.rope(x, freqs, layout="half") for x in (q, k))
        if distances is not None:
            bias = b.relative(tables["b"], beyond=beyond, two_sided=is_full)
            q, k = b.concat(q * factor, bias), b.concat(k, bias)
        return b.attend(
            q, k, v, mask=mask, normalizer=b.by_softmax(), window=window, grouping=grouping,
            score_scale=factor if distances is None else None,
        )  # fmt: skip

    return build(name, dtype, arguments, body)


def based_window(
    d: int = 64, dv: int | None = None, r: int = 16, window: int = 64, *, per_head: bool = True, eps: float = 1e-12,
    dtype: str = "f32", name: str = "based_window",
) -> Spec:  # fmt: skip
    """BASED's linear attention over all keys, plus softmax attention over the nearest `window`, each with its own normalizer."""

    def taylor(x: Any, w: Any) -> Any:
        h = (x @ w) * r**-0.25
        return b.concat(1, h, b.sym(h, 2) * math.sqrt(0.5))

    def body(q: Any, k: Any, v: Any, w_q: Any, w_k: Any) -> Any:
        far = b.attend(taylor(q, w_q), taylor(k, w_k), v, normalizer=b.by_sum(eps))
        near = b.attend(q, k, v, normalizer=b.by_softmax(), window=window, score_scale=1 / math.sqrt(d))
        return b.add(far, near)

    weight = (b.HeadWeight if per_head else b.Weight)[d, r]
    return build(name, dtype, sequences(d, dv) | {"w_q": weight, "w_k": weight}, body)


def shared_window(
    d: int = 64, dv: int | None = None, *, m: int | None = None, block: int = 64, sliding: bool = False, eps: float = 1e-6,
    dtype: str = "f32", name: str = "shared_window",
) -> Spec:  # fmt: skip
    """Exponentials of scores in the query's block of positions and hedgehog's features before it, with one normalizer for both.

    With `sliding` the exponentials are those of the `block` keys up to the query's own, as in LoLCATs (Zhang et al. 2024).
    Weights are one per head, m is d if None.
    """

    def phi(x: Any, w: Any) -> Any:
        z = x @ w
        return b.softmax(b.concat(z, -z), groups=2)

    def body(q: Any, k: Any, v: Any, w_q: Any, w_k: Any) -> Any:
        exact = b.exp_score(q * (1 / math.sqrt(d))), b.exp_score(k)
        return b.attend(phi(q, w_q), phi(k, w_k), v, normalizer=b.by_sum(eps), local=exact, block=block, sliding=sliding)

    weight = b.HeadWeight[d, d if m is None else m]
    return build(name, dtype, sequences(d, dv) | {"w_q": weight, "w_k": weight}, body)
