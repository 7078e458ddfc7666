"""PolySketchFormer (Kacham et al. 2024): polynomial scores by sketches, random and learned."""

from __future__ import annotations

import math
from typing import Any

from .. import builder as b
from ..builder import Argument, Spec
from ._common import build, normalized, one_of, sequences


def _attend_sketch(phi: Any, q: Any, k: Any, v: Any, p: int, local: int | None) -> Any:
    """Scores by sketches, and inside blocks of `local` positions the exact ones."""
    exact = None
    if local is not None:
        exact = (b.sym(q, p), b.sym(k, p))
    return b.attend(phi(q), phi(k), v, normalizer=b.by_bias(1.0), local=exact, block=local)


def polysketch(
    d: int = 64, dv: int | None = None, r: int = 32, p: int = 4, *, local: int | None = None,
    dtype: str = "f32", name: str = "polysketch",
) -> Spec:  # fmt: skip
    """Algorithm 1, a tree of random projections, p = 4 or 8; local: blocks with exact scores."""
    one_of("p", p, (4, 8))

    def body(q: Any, k: Any, v: Any, gamma: Any, beta: Any, **g: Any) -> Any:
        def node(x: Any, y: Any, first: str, second: str) -> Any:
            return b.hadamard(x @ g[first], y @ g[second]) * (1 / math.sqrt(r))

        def phi(x: Any) -> Any:
            below = (x, x)
            if p == 8:
                below = (node(x, x, "g11", "g12"), node(x, x, "g21", "g22"))
            return b.power(node(*below, "g1", "g2"), 2)

        query, key = (normalized(x, gamma, beta) for x in (q, k))
        return _attend_sketch(phi, query, key, v, p, local)

    weights: dict[str, Argument] = {"gamma": b.Weight[d], "beta": b.Weight[d]}
    if p == 8:
        weights |= {one: b.Weight[d, r] for one in ("g11", "g12", "g21", "g22")}
    width = d if p == 4 else r
    weights |= {"g1": b.Weight[width, r], "g2": b.Weight[width, r]}
    return build(name, dtype, sequences(d, dv) | weights, body)


def polysketch_learned(
    d: int = 64, dv: int | None = None, r: int = 32, *, hidden: int | None = None,
    local: int | None = 1024, dtype: str = "f32", name: str = "polysketch_learned",
) -> Spec:  # fmt: skip
    """Algorithm 2, p = 4: two small networks instead of Gaussians, and a tanh."""
    wide = 8 * r if hidden is None else hidden
    sizes: dict[str, tuple[int, ...]] = {
        "gamma1": (d,), "beta1": (d,), "w1": (d, wide), "b1": (wide,), "w2": (wide, r), "b2": (r,),
        "gamma2": (r,), "beta2": (r,), "w3": (r, wide), "b3": (wide,), "w4": (wide, r), "b4": (r,),
    }  # fmt: skip

    def body(q: Any, k: Any, v: Any, gamma: Any, beta: Any, **weights: Any) -> Any:
        def net(x: Any, number: int) -> Any:
            w = {one: weights[f"{one}_{number}"] for one in sizes}
            for layer in (1, 2):
                x = b.layer_norm(x, w[f"gamma{layer}"], w[f"beta{layer}"], eps=1e-6)
                x = b.project(x, w[f"w{2 * layer - 1}"], w[f"b{2 * layer - 1}"])
                x = b.project(b.gelu(x, form="tanh"), w[f"w{2 * layer}"], w[f"b{2 * layer}"])
            return x

        def phi(x: Any) -> Any:
            f = b.hadamard(net(x, 1), net(x, 2))
            return b.power(b.tanh(f * (1 / math.sqrt(r))) * math.sqrt(r), 2)

        query, key = (normalized(x, gamma, beta) for x in (q, k))
        return _attend_sketch(phi, query, key, v, 4, local)

    arguments = sequences(d, dv) | {"gamma": b.Weight[d], "beta": b.Weight[d]}
    for number in (1, 2):
        arguments |= {f"{one}_{number}": b.Weight[size] for one, size in sizes.items()}
    return build(name, dtype, arguments, body)
