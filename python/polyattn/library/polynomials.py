"""Scores that are polynomials of inner products."""

from __future__ import annotations

import math
from typing import Any, Literal

from .. import builder as b
from .._errors import CallError
from .._literals import Mask, TriangleWeights
from .._whole import whole_number
from ..builder import Spec
from ._common import build, normalized, one_of, sequences, sizes_of


def llops(
    d: int = 128, dv: int | None = None, m: int = 256, p: int = 2, rank: int = 1, *,
    squared: bool = False, per_head: bool = False, eps: float | None = None, mask: Mask = "causal",
    states: bool = False, dtype: str = "f32", name: str = "llops",
) -> Spec:  # fmt: skip
    """LLoPS, Definition 3.3: the product of p projections, `rank` of them added.

    squared: another square makes features positive, and the sum of the scores the normalizer. The full
    mask takes means. per_head: each head has its own projections.
    eps: without the square, scores are divided by their sum plus eps, although they may have either
    sign. LLoPS that begins as BASED keeps BASED's normalizer so.
    """

    p, rank = whole_number("llops: p", p), whole_number("llops: rank", rank)
    if eps is not None and (squared or mask == "full"):
        raise CallError("llops: eps is offered without the square and the full mask only")

    def names(side: str) -> list[list[str]]:
        # Ranks, each with its p projections.
        if rank == 1:
            return [[f"theta_{side}{i + 1}" for i in range(p)]]
        return [[f"theta_{side}{i + 1}{r + 1}" for i in range(p)] for r in range(rank)]

    def body(q: Any, k: Any, v: Any, state: Any = None, **theta: Any) -> Any:
        def phi(x: Any, side: str) -> Any:
            ranks = [[x @ theta[one] for one in group] for group in names(side)]
            products = [b.hadamard(*group) if p > 1 else group[0] for group in ranks]
            total = b.add(*products) if rank > 1 else products[0]
            return total**2.0 if squared else total

        normalizer = b.by_sum(1e-6) if squared else b.none()
        if mask == "full" and not squared:
            normalizer = b.none(reduce="mean")
        if eps is not None:
            normalizer = b.by_sum(eps)
        return b.attend(
            phi(q, "q"), phi(k, "k"), v, mask=mask, normalizer=normalizer,
            signed_scores=eps is not None, initial=state, final_state=states,
        )  # fmt: skip

    arguments = sequences(d, dv)
    weight = (b.HeadWeight if per_head else b.Weight)[d, m]
    for side in "qk":
        arguments |= {one: weight for group in names(side) for one in group}
    if states:
        if squared or eps is not None:
            raise CallError("llops: states are offered without a normalizer only")
        arguments["state"] = b.State[m, d if dv is None else dv]
    return build(name, dtype, arguments, body)


def power(
    d: int = 64, dv: int | None = None, p: int = 2, *, symmetric: bool = True,
    block: int | None = None, gated: bool = False, eps: float | None = 1e-6, dtype: str = "f32",
    name: str = "power",
) -> Spec:  # fmt: skip
    """Power attention (Gelada et al. 2025): scores (<q, k> / sqrt d)^p; eps None: no normalizer.

    symmetric, block: which features (SPOW, TSPOW, TPOW); gated: a decay per token and key head.
    """

    def phi(x: Any) -> Any:
        return b.power(x * d**-0.25, p, symmetric=symmetric, block=block)

    def body(q: Any, k: Any, v: Any, log_gate: Any = None) -> Any:
        return b.attend(
            phi(q), phi(k), v, normalizer=b.none() if eps is None else b.by_sum(eps),
            decay=log_gate, gate_heads="kv" if gated else None,
        )  # fmt: skip

    gate = {"log_gate": b.Decay} if gated else {}
    return build(name, dtype, sequences(d, dv) | gate, body)


def polynomial(
    d: int = 64, dv: int | None = None, p: int = 2, *, local: int | None = None, dtype: str = "f32",
    name: str = "polynomial",
) -> Spec:  # fmt: skip
    """Polynomial attention without sketches (PolySketchFormer, section 2.1), layer-normalized.

    local: a query sees the keys of its block of so many positions only (table 7, local blocks alone).
    """

    def body(q: Any, k: Any, v: Any, gamma: Any, beta: Any) -> Any:
        query, key = (b.sym(normalized(x, gamma, beta), p) for x in (q, k))
        if local is None:
            return b.attend(query, key, v, normalizer=b.by_bias(1.0))
        return b.attend(
            b.constant(q, 0.0), b.constant(k, 0.0), v, normalizer=b.by_bias(1.0), local=(query, key),
            block=local, signed_scores=True,
        )  # fmt: skip

    weights = {"gamma": b.Weight[d], "beta": b.Weight[d]}
    return build(name, dtype, sequences(d, dv) | weights, body)


def based(
    d: int = 64, dv: int | None = None, r: int = 16, *, per_head: bool = True,
    symmetric: bool = True, eps: float = 1e-12, dtype: str = "f32", name: str = "based",
) -> Spec:  # fmt: skip
    """BASED (Arora et al. 2024): 1 + s + s^2 / 2 of projections to r dimensions."""

    def phi(x: Any, w: Any) -> Any:
        h = (x @ w) * r**-0.25
        square = b.power(h, 2, symmetric=symmetric) * math.sqrt(0.5)
        return b.concat(1, h, square)

    def body(q: Any, k: Any, v: Any, w_q: Any, w_k: Any) -> Any:
        return b.attend(phi(q, w_q), phi(k, w_k), v, normalizer=b.by_sum(eps))

    weight = (b.HeadWeight if per_head else b.Weight)[d, r]
    return build(name, dtype, sequences(d, dv) | {"w_q": weight, "w_k": weight}, body)


def fpa(
    d: int = 64, dv: int | None = None, widths: tuple[int, ...] = (16, 24), *,
    per_head: bool = True, masked: bool = False, dtype: str = "f32", name: str = "fpa",
) -> Spec:  # fmt: skip
    """Factorized polynomial attention: a product of inner products in projections of their own.

    masked: columns of each head may be switched off by rows of ones and zeros.
    """
    widths = sizes_of("fpa: widths", widths)
    kind = b.HeadWeight if per_head else b.Weight

    def body(q: Any, k: Any, v: Any, **weights: Any) -> Any:
        def phi(x: Any) -> Any:
            factors = []
            for i in range(len(widths)):
                factor = x @ weights[f"w{i + 1}"]
                factors.append(factor * weights[f"columns{i + 1}"] if masked else factor)
            return b.tensor(*factors)

        return b.attend(phi(q), phi(k), v, normalizer=b.none())

    arguments = sequences(d, dv)
    for i, width in enumerate(widths):
        arguments[f"w{i + 1}"] = kind[d, width]
        if masked:
            arguments[f"columns{i + 1}"] = kind[width]
    return build(name, dtype, arguments, body)


def fpa_coordinates(
    d: int = 64, dv: int | None = None, widths: tuple[int, ...] = (16, 24), *, dtype: str = "f32",
    name: str = "fpa_coordinates",
) -> Spec:  # fmt: skip
    """FPA, Table 1: factors are disjoint coordinates, `widths` of them one behind the other; no weights."""
    widths = sizes_of("fpa_coordinates: widths", widths)

    def phi(x: Any) -> Any:
        ends = [sum(widths[: i + 1]) for i in range(len(widths))]
        return b.tensor(*(x[end - width : end] for end, width in zip(ends, widths)))

    def body(q: Any, k: Any, v: Any) -> Any:
        return b.attend(phi(q), phi(k), v, normalizer=b.none())

    return build(name, dtype, sequences(d, dv), body)


def fpa_diagonal(
    d: int = 64, dv: int | None = None, n: int = 2, *, dtype: str = "f32", name: str = "fpa_diagonal"
) -> Spec:
    """FPA, Table 1: n diagonal factors."""
    n = whole_number("fpa_diagonal: n", n)

    def body(q: Any, k: Any, v: Any, **gains: Any) -> Any:
        query, key = (b.tensor(*(x * gain for gain in gains.values())) for x in (q, k))
        return b.attend(query, key, v, normalizer=b.none())

    gains = {f"g{i + 1}": b.HeadWeight[d] for i in range(n)}
    return build(name, dtype, sequences(d, dv) | gains, body)


def fpa_rank1(
    d: int = 64, dv: int | None = None, n: int = 3, *, dtype: str = "f32", name: str = "fpa_rank1"
) -> Spec:
    """FPA, Table 1: n learned directions, one feature."""
    n = whole_number("fpa_rank1: n", n)

    def body(q: Any, k: Any, v: Any, **directions: Any) -> Any:
        query, key = (b.hadamard(*(x @ one for one in directions.values())) for x in (q, k))
        return b.attend(query, key, v, normalizer=b.none())

    directions = {f"a{i + 1}": b.HeadWeight[d, 1] for i in range(n)}
    return build(name, dtype, sequences(d, dv) | directions, body)


def triangle(
    d: int = 16, dv: int = 64, *, weights: TriangleWeights = "none", dtype: str = "f32", name: str = "triangle"
) -> Spec:
    """A learned gain and bias, then the upper triangle of x (x) x; weights: none or sqrt2 (ReBased)."""
    one_of("weights", weights, ("none", "sqrt2"))

    def body(q: Any, k: Any, v: Any, gamma: Any, beta: Any) -> Any:
        def phi(x: Any) -> Any:
            y = normalized(x, gamma, beta)
            return b.triu(y, y, weights=weights)

        return b.attend(phi(q), phi(k), v, normalizer=b.none())

    affine = {"gamma": b.Weight[d], "beta": b.Weight[d]}
    return build(name, dtype, sequences(d, dv) | affine, body)


# Roots of the coefficients of scripts/exp-polynomial, from degree 0 on.
_EXP = {
    2: (1.0134232833691079, 1.0554046585996855, 0.68509215015205138),
    4: (
        0.99981393065800361, 0.99896883274586223, 0.7091534742413127, 0.4201026459666049,
        0.19990726681145576,
    ),
}  # fmt: skip


def fast_rope(
    d: int = 8, dv: int = 64, p: int = 4, *, mask: Mask = "causal",
    first_position: bool = False, dtype: str = "f32", name: str = "fast_rope",
) -> Spec:  # fmt: skip
    """Rotary positions with a polynomial for exp (Alman and Song 2025), of degree 2 or 4.

    first_position: an argument of that name says where in its sequence a call begins.
    """
    one_of("p", p, _EXP)

    def phi(x: Any, freqs: Any) -> Any:
        h = b.rope(x, freqs, layout="interleaved") * d**-0.25
        first, second, *others = _EXP[p]
        parts = [b.constant(x, first), h * second]
        parts += [b.sym(h, i + 2) * root for i, root in enumerate(others)]
        return b.concat(*parts)

    def body(q: Any, k: Any, v: Any, freqs: Any, first_position: Any = None) -> Any:
        return b.attend(phi(q, freqs), phi(k, freqs), v, mask=mask, normalizer=b.by_sum(0.0))

    more = {"first_position": b.FirstPosition} if first_position else {}
    return build(name, dtype, sequences(d, dv) | {"freqs": b.Weight[d // 2]} | more, body)
