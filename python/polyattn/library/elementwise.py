"""Feature maps that work element by element."""

from __future__ import annotations

from typing import Any, Callable, Literal

from .. import builder as b
from .._literals import GateHeads, Grouping, Mask
from ..builder import Spec
from ._common import build, one_of, sequences

_MAPS = {"elu": b.elu_plus_one, "relu": b.relu}


def linear(
    d: int = 64, dv: int | None = None, *, feature_map: Literal["elu", "relu"] = "elu", mask: Mask = "causal",
    grouping: Grouping | None = "block", decay: Literal["token", "head"] | None = None, gate_heads: GateHeads = "kv",
    states: bool = False, eps: float = 1e-6, dtype: str = "f32", name: str = "linear",
) -> Spec:  # fmt: skip
    """Linear attention (Katharopoulos et al. 2020). feature_map: elu (+ 1) or relu; decay: None, token or head."""
    one_of("feature_map", feature_map, _MAPS)
    one_of("decay", decay, (None, "token", "head"))
    phi = _MAPS[feature_map]
    arguments = sequences(d, dv)
    if decay:
        arguments["log_decay"] = b.Decay if decay == "token" else b.HeadDecay
    if states:
        arguments |= {"state": b.State[d, d if dv is None else dv], "state_z": b.StateNormalizer[d]}

    def body(
        q: Any, k: Any, v: Any, log_decay: Any = None, state: Any = None, state_z: Any = None
    ) -> Any:
        return b.attend(
            phi(q), phi(k), v, mask=mask, normalizer=b.by_sum(eps), grouping=grouping,
            decay=log_decay, gate_heads=gate_heads if decay else None,
            initial=state, initial_normalizer=state_z, final_state=states,
        )  # fmt: skip

    return build(name, dtype, arguments, body, ("o", "final", "final_z") if states else None)


def _same(x: Any) -> Any:
    return x


def _squares(x: Any) -> Any:
    return b.sym(x, 2)


_GATED_MAPS: dict[str, Callable[[Any], Any]] = {"none": _same, "elu": b.elu_plus_one, "squares": _squares}


def gla(
    d: int = 64, dv: int | None = None, *, feature_map: Literal["none", "elu", "squares"] = "none",
    score_scale: float | None = None, eps: float | None = None, grouping: Grouping | None = "block",
    gate_heads: GateHeads | None = None, states: bool = False, dtype: str = "f32", name: str = "gla",
) -> Spec:  # fmt: skip
    """Gated linear attention (Yang et al. 2024): log_decay [B, T, Hkv, D] has a number for each of D features, d or d (d + 1) / 2 of
    squares. eps: rows are divided by the sum of their scores plus eps, if it is given. The paper's score_scale is d ** -0.5."""
    one_of("feature_map", feature_map, _GATED_MAPS)
    phi = _GATED_MAPS[feature_map]
    features = d * (d + 1) // 2 if feature_map == "squares" else d
    arguments = sequences(d, dv) | {"log_decay": b.FeatureDecay[features]}
    if states:
        arguments |= {"state": b.State[features, d if dv is None else dv]}
    if states and eps is not None:
        arguments |= {"state_z": b.StateNormalizer[features]}

    def body(q: Any, k: Any, v: Any, log_decay: Any, state: Any = None, state_z: Any = None) -> Any:
        return b.attend(
            phi(q), phi(k), v, normalizer=b.none() if eps is None else b.by_sum(eps), grouping=grouping,
            decay=log_decay, gate_heads=gate_heads, score_scale=score_scale,
            initial=state, initial_normalizer=state_z, final_state=states,
        )  # fmt: skip

    results = ("o", "final", "final_z") if eps is not None else ("o", "final")
    return build(name, dtype, arguments, body, results if states else None)


def mamba2(
    n: int = 128, p: int = 64, *, shared: bool = True, steps: bool = False, skip: bool = False, states: bool = False,
    dtype: str = "f32", name: str = "mamba2",
) -> Spec:  # fmt: skip
    """Mamba-2 (Dao and Gu 2024): y from c and b [B, T, Hkv, n], x [B, T, H, p] and log_decay [B, T, H], which is dt A; x is given times dt.

    shared: H / Hkv heads share their c and b; otherwise each head has its own, [B, T, H, n]. steps: dt [B, T, H, 1] is an argument, and
    multiplies x. skip: D [H, p] is one, and D x is added to y.
    """
    side = b.SharedSequence[n] if shared else b.Sequence[n]
    arguments: dict[str, Any] = {"c": side, "b": side, "x": b.Sequence[p]}
    if steps:
        arguments["dt"] = b.Sequence[1]
    arguments["log_decay"] = b.Decay
    if skip:
        arguments["skip"] = b.HeadWeight[p]
    if states:
        arguments["state"] = b.State[n, p]

    def body(**given: Any) -> Any:
        x, state = given["x"], given.get("state")
        found = b.attend(
            given["c"], given["b"], b.hadamard(x, given["dt"]) if steps else x, normalizer=b.none(), decay=given["log_decay"],
            initial=state, final_state=states,
        )  # fmt: skip
        y, *final = found if states else (found,)
        return (y + x * given["skip"] if skip else y, *final)

    return build(name, dtype, arguments, body, ("y", "final") if states else ("y",))


def elementwise_power(
    d: int = 64, dv: int | None = None, m: int = 256, p: int = 4, *, eps: float = 1e-6,
    dtype: str = "f32", name: str = "elementwise_power",
) -> Spec:  # fmt: skip
    """(x W)^p element by element: LLoPS with all its projections equal."""

    def body(q: Any, k: Any, v: Any, w_q: Any, w_k: Any) -> Any:
        return b.attend((q @ w_q) ** p, (k @ w_k) ** p, v, normalizer=b.by_sum(eps))

    weights = {"w_q": b.Weight[d, m], "w_k": b.Weight[d, m]}
    return build(name, dtype, sequences(d, dv) | weights, body)


def flatten(
    d: int = 64, dv: int | None = None, p: int = 3, *, eps: float = 1e-6, dtype: str = "f32",
    name: str = "flatten",
) -> Spec:  # fmt: skip
    """FLatten (Han et al. 2023): relu, sharpened by a power and brought back to its length."""

    def focused(x: Any) -> Any:
        r = b.relu(x)
        return b.l2_rescale(r**p, r)

    def body(q: Any, k: Any, v: Any) -> Any:
        return b.attend(focused(q), focused(k), v, normalizer=b.by_sum(eps))

    return build(name, dtype, sequences(d, dv), body)


def flatten_vision(
    d: int = 64, dv: int | None = None, p: int = 3, *, eps: float = 1e-6, dtype: str = "f32",
    name: str = "flatten_vision",
) -> Spec:  # fmt: skip
    """FLatten as its authors' vision models have it: a position on keys, a learned scale, the full mask."""

    def focused(x: Any, s: Any) -> Any:
        factor = b.softplus(b.constant(x, 0.0, d) + s) ** -1.0
        r = (b.relu(x) + 1e-6) * factor
        return b.l2_rescale(r**p, r)

    def body(q: Any, k: Any, v: Any, s: Any, position: Any) -> Any:
        return b.attend(
            focused(q, s), focused(b.add(k, position), s), v, mask="full",
            normalizer=b.by_sum(eps, reduce="mean"),
        )  # fmt: skip

    more = {"s": b.Weight[d], "position": b.HeadTable[d]}
    return build(name, dtype, sequences(d, dv) | more, body)


def polaformer_half(
    d: int = 64, dv: int = 32, p: int = 3, *, same: bool = True, eps: float = 1e-6,
    dtype: str = "f32", name: str = "polaformer_half",
) -> Spec:  # fmt: skip
    """One half of PolaFormer (Meng et al. 2025): products of equal signs, or of opposite ones."""

    def polarity(x: Any, swapped: bool = False) -> Any:
        minus = -x
        parts = [b.relu(x) ** p, b.relu(minus) ** p]
        return b.concat(*(reversed(parts) if swapped else parts))

    def body(q: Any, k: Any, v: Any) -> Any:
        return b.attend(polarity(q, not same), polarity(k), v, normalizer=b.by_sum(eps))

    return build(name, dtype, sequences(d, dv), body)


def polaformer(
    d: int = 64, dv: int | None = None, *, eps: float = 1e-6, dtype: str = "f32",
    name: str = "polaformer",
) -> Spec:  # fmt: skip
    """Both halves with learned exponents and the full mask, side by side."""
    depth = d if dv is None else dv

    def body(q: Any, k: Any, v: Any, w: Any) -> Any:
        def learned(x: Any) -> Any:
            exponents = b.sigmoid(b.constant(x, 0.0, d) + w) * 4.0 + 1.0
            return b.relu(x) ** exponents

        minus_q, minus_k = -q, -k
        signs_q = [learned(q), learned(minus_q)]
        key = b.concat(learned(k), learned(minus_k))
        halves = [
            b.attend(
                b.concat(*query), key, value, mask="full",
                normalizer=b.by_sum(eps, reduce="mean"),
            )
            for query, value in ((signs_q, v[: depth // 2]), (signs_q[::-1], v[depth // 2 :]))
        ]  # fmt: skip
        return b.concat(*halves)

    return build(name, dtype, sequences(d, dv) | {"w": b.HeadWeight[d]}, body)


def dpfp(
    d: int = 64, dv: int | None = None, *, eps: float = 1e-6, dtype: str = "f32", name: str = "dpfp"
) -> Spec:
    """DPFP (Schlag et al. 2021), nu = 1: [relu(x), relu(-x)] times itself rolled by one place."""

    def phi(x: Any) -> Any:
        f = b.concat(b.relu(x), b.relu(-x))
        return b.hadamard(f, f[[2 * d - 1, *range(2 * d - 1)]])

    def body(q: Any, k: Any, v: Any) -> Any:
        return b.attend(phi(q), phi(k), v, normalizer=b.by_sum(eps))

    return build(name, dtype, sequences(d, dv), body)


def summed(
    d: int = 64, dv: int | None = None, *, bias: float = 0.5, score_scale: float = 0.125,
    floor: float = 1e-6, eps: float = 1e-4, dtype: str = "f32", name: str = "summed",
) -> Spec:  # fmt: skip
    """Features divided by their sum, with a floor under each; a bias of the denominator."""

    def phi(x: Any) -> Any:
        return b.sum_norm(b.clamp_min(b.elu_plus_one(x), floor), eps=eps)

    def body(q: Any, k: Any, v: Any) -> Any:
        return b.attend(phi(q), phi(k), v, normalizer=b.by_bias(bias), score_scale=score_scale)

    return build(name, dtype, sequences(d, dv), body)


def eps_on_sums(
    d: int = 16, dv: int = 64, *, eps: float = 1e-6, dtype: str = "f32", name: str = "eps_on_sums"
) -> Spec:
    """exp features with eps on every sum of keys, as linear attentions of vision models have it."""

    def body(q: Any, k: Any, v: Any, sum: Any) -> Any:
        query, key = b.exp(q), b.exp(k)
        over = b.attend(query, key, v, normalizer=b.none())
        under = b.attend(query, key, b.constant(q, 1.0), normalizer=b.none())
        return over * (under + (query @ sum) * eps) ** -1.0

    return build(name, dtype, sequences(d, dv) | {"sum": b.Weight[d, 1]}, body)
