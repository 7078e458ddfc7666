"""Feature maps that stand for softmax attention: random features and hedgehog."""

from __future__ import annotations

from typing import Any, Literal

from .. import builder as b
from ..builder import Spec
from ._common import build, from_file, one_of, sequences


def performer(
    d: int = 64, dv: int | None = None, m: int = 256, *, form: Literal["plain", "stabilized", "guarded"] = "plain",
    dtype: str = "f32", name: str = "performer",
) -> Spec:  # fmt: skip
    """Performer, FAVOR+ (Choromanski et al. 2020); w holds orthogonal Gaussian directions.

    form: plain; stabilized (the largest exponent of a query is subtracted); guarded (the authors' eps and denominator).
    """
    one_of("form", form, ("plain", "stabilized", "guarded"))
    entry = "performer" if form == "plain" else f"performer_{form}"
    return from_file("performer", entry, {"d": d, "dv": d if dv is None else dv, "m": m}, dtype, name)


def rff(
    d: int = 64, dv: int | None = None, m: int = 256, *, softmax: bool = False, gated: bool = False, dtype: str = "f32",
    name: str = "rff",
) -> Spec:  # fmt: skip
    """Random Fourier features: the Gaussian kernel, or with `softmax` exp(<q, k> / sqrt d).

    gated: states forget as those of Random Feature Attention (Peng et al. 2021), g_t S + (1 - g_t) phi(k) v. `log_gate` has log g,
    `input_gate` 1 - g.
    """

    def fourier(x: Any, w: Any, gate: Any = None) -> Any:
        h = x * d**-0.25
        wx = h @ w
        waves = [b.cos(wx), b.sin(wx)]
        both = b.concat(*(waves if gate is None else [b.hadamard(one, gate) for one in waves]))
        if softmax:
            both = b.hadamard(both, b.exp(b.squared_norm(h) * 0.5))
        return both * m**-0.5

    def body(q: Any, k: Any, v: Any, w: Any, log_gate: Any = None, input_gate: Any = None) -> Any:
        normalizer = b.by_sum(1e-6, min_denom=1e-4)
        return b.attend(
            fourier(q, w), fourier(k, w, input_gate), v, normalizer=normalizer, signed_scores=True,
            decay=log_gate, gate_heads="kv" if gated else None,
        )  # fmt: skip

    gates = {"log_gate": b.Decay, "input_gate": b.Sequence[1]} if gated else {}
    return build(name, dtype, sequences(d, dv) | {"w": b.Weight[d, m]} | gates, body)


def hedgehog(
    d: int = 64, dv: int | None = None, *, m: int | None = None, form: Literal["halves", "joint", "exp"] = "halves",
    eps: float = 1e-6, dtype: str = "f32", name: str = "hedgehog",
) -> Spec:  # fmt: skip
    """Hedgehog (Zhang et al. 2024), its weights one per head, 2 m features; m is d if None.

    form: halves (a softmax of x W and one of -x W); joint (one softmax of both, with a bias and a factor of 2); exp.
    """
    one_of("form", form, ("halves", "joint", "exp"))

    def phi(x: Any, w: Any, bias: Any) -> Any:
        z = b.project(x, w, bias)
        if form == "joint":
            return b.softmax(b.concat(z * 2.0, z * -2.0), groups=1)
        both = b.concat(z, -z)
        return b.exp(both) if form == "exp" else b.softmax(both, groups=2)

    def body(
        q: Any, k: Any, v: Any, w_q: Any, w_k: Any, b_q: Any = None, b_k: Any = None
    ) -> Any:
        return b.attend(phi(q, w_q, b_q), phi(k, w_k, b_k), v, normalizer=b.by_sum(eps))

    arguments = sequences(d, dv)
    for side in "qk":
        arguments[f"w_{side}"] = b.HeadWeight[d, d if m is None else m]
        if form == "joint":
            arguments[f"b_{side}"] = b.HeadWeight[d if m is None else m]
    return build(name, dtype, arguments, body)
