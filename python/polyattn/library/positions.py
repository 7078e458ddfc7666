"""Attentions with positions in their vectors: RetNet, xPos, Lightning attention."""

from __future__ import annotations

from typing import Any

from .. import builder as b
from ..builder import Spec
from ._common import build, sequences


def retnet(
    d: int = 64, dv: int | None = None, *, decay_factors: list[float] | None = None,
    first_position: bool = False, dtype: str = "f32", name: str = "retnet",
) -> Spec:  # fmt: skip
    """RetNet (Sun et al. 2023). Decays are an argument, log g per head, or `decay_factors`, one number per head.

    first_position: an argument of that name says where in its sequence a call begins.
    """

    def body(
        q: Any, k: Any, v: Any, freqs: Any, log_decay: Any = None, first_position: Any = None
    ) -> Any:
        query = b.rope(q, freqs, layout="interleaved")
        key = b.rope(k * d**-0.5, freqs, layout="interleaved")
        return b.attend(
            query, key, v, normalizer=b.none(), decay=log_decay, decay_factors=decay_factors,
            gate_heads="kv",
        )  # fmt: skip

    arguments = sequences(d, dv) | {"freqs": b.Weight[d // 2]}
    if decay_factors is None:
        arguments["log_decay"] = b.HeadDecay
    if first_position:
        arguments["first_position"] = b.FirstPosition
    return build(name, dtype, arguments, body)


def xpos(d: int = 64, dv: int | None = None, *, dtype: str = "f32", name: str = "xpos") -> Spec:
    """xPos: rotated, and scaled by a table of one vector per position, for each side one."""

    def body(q: Any, k: Any, v: Any, freqs: Any, size_q: Any, size_k: Any) -> Any:
        def phi(x: Any, size: Any) -> Any:
            return b.hadamard(b.rope(x, freqs, layout="half"), size)

        return b.attend(phi(q, size_q), phi(k, size_k), v, normalizer=b.none())

    more = {"freqs": b.Weight[d // 2], "size_q": b.Table[d], "size_k": b.Table[d]}
    return build(name, dtype, sequences(d, dv) | more, body)


def lightning(
    d: int = 64, dv: int | None = None, *, rotary: int | None = None,
    first_position: bool = False, dtype: str = "f32", name: str = "lightning",
) -> Spec:  # fmt: skip
    """Lightning attention: a root-mean-square norm with a gain, silu, rotary positions on some channels.

    first_position: as in retnet.
    """
    dims = d // 2 if rotary is None else rotary

    def body(
        q: Any, k: Any, v: Any, gain: Any, freqs: Any, log_decay: Any, first_position: Any = None
    ) -> Any:
        def phi(x: Any) -> Any:
            inverse = (b.squared_norm(x) * (1.0 / d) + 1e-6) ** -0.5
            unit = b.hadamard(x, inverse)
            return b.rope(b.silu(unit * gain), freqs, layout="half", dims=dims)

        return b.attend(
            phi(q), phi(k), v, normalizer=b.none(), decay=log_decay, gate_heads="kv"
        )

    more = {"gain": b.Weight[d], "freqs": b.Weight[dims // 2], "log_decay": b.HeadDecay}
    if first_position:
        more["first_position"] = b.FirstPosition
    return build(name, dtype, sequences(d, dv) | more, body)
