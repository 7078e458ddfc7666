"""Attentions with positions in their vectors: RetNet, xPos, Lightning attention."""

from __future__ import annotations

from typing import Any, Literal

from .. import builder as b
from ..builder import Spec
from ._common import build, one_of, sequences


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


def xpos(
    d: int = 64, dv: int | None = None, *, sizes: Literal["table", "token"] = "table", states: bool = False,
    first_position: bool = False, dtype: str = "f32", name: str = "xpos",
) -> Spec:  # fmt: skip
    """xPos (Sun et al. 2022): rotated, and scaled by vectors, for each side one: zeta^t for queries and zeta^-t for keys at t.

    sizes: "table", a vector for each position of the call, [T, 1, d]; "token", for each token and head, [B, T, H, d]. Only
    differences of t count, so t may be counted from any position. 36,000 positions from there zeta^-t leaves f32: a longer
    sequence is computed in segments with states, which are multiplied by zeta^n when t is counted from n positions later. That is
    what `polyattn.torch.nn.XPos` does.
    first_position: as in retnet.
    """
    one_of("sizes", sizes, ("table", "token"))

    def body(
        q: Any, k: Any, v: Any, freqs: Any, size_q: Any, size_k: Any, state: Any = None, first_position: Any = None
    ) -> Any:
        def phi(x: Any, size: Any) -> Any:
            return b.hadamard(b.rope(x, freqs, layout="half"), size)

        return b.attend(
            phi(q, size_q), phi(k, size_k), v, normalizer=b.none(), initial=state, final_state=states
        )

    size = b.Table[d] if sizes == "table" else b.Sequence[d]
    more = {"freqs": b.Weight[d // 2], "size_q": size, "size_k": size}
    if states:
        more["state"] = b.State[d, dv or d]
    if first_position:
        more["first_position"] = b.FirstPosition
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
