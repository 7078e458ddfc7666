"""PolySketchFormer (Kacham et al. 2024): polynomial scores by sketches, random and learned."""

from __future__ import annotations

import math
from typing import Any, Callable

from .. import builder as b
from .._errors import CallError
from .._whole import whole_number
from ..builder import Argument, Spec
from ._common import build, normalized, sequences


def _degree(p: Any, least: int) -> int:
    """A power of two, as the tree needs it."""
    degree = int(whole_number("p", p, least))
    if degree & (degree - 1):
        raise CallError(f"p: expected a power of two, at least {least}, got {degree}")
    return degree


def _nodes(degree: int, path: str = "") -> list[tuple[str, int]]:
    """The projections of a tree of that degree, each with the degree of its input: below the first, then the second child, the root."""
    if degree == 1:
        return []
    children = [path + "1", path + "2"]
    below = [one for child in children for one in _nodes(degree // 2, child)]
    return below + [(child, degree // 2) for child in children]


def _tree(x: Any, degree: int, join: Callable[[Any, Any, str, str], Any], path: str = "") -> Any:
    """Algorithms 1 and 2, with negativity."""
    if degree == 1:
        return x
    first, second = path + "1", path + "2"
    return join(_tree(x, degree // 2, join, first), _tree(x, degree // 2, join, second), first, second)


def _sketched(
    phi: Callable[[Any], Any], q: Any, k: Any, v: Any, weights: dict[str, Any], p: int, local: int | None, signed: bool = False
) -> Any:  # fmt: skip
    """Scores by sketches of normalized, perhaps rotated vectors, and inside blocks of `local` positions the exact ones."""
    query, key = (normalized(x, weights["gamma"], weights["beta"]) for x in (q, k))
    if "freqs" in weights:
        query, key = (b.rope(x, weights["freqs"], layout="interleaved") for x in (query, key))
    exact = None if local is None else (b.sym(query, p), b.sym(key, p))
    normalizer = b.none() if signed else b.by_bias(1.0)
    return b.attend(phi(query), phi(key), v, normalizer=normalizer, local=exact, block=local)


def _arguments(d: int, dv: int | None, weights: dict[str, Argument], rotary: bool, first_position: bool) -> dict[str, Argument]:
    if first_position and not rotary:
        raise CallError("first_position: expected False without rotary=True")
    arguments = sequences(d, dv) | {"gamma": b.Weight[d], "beta": b.Weight[d]} | weights
    if rotary:
        arguments["freqs"] = b.Weight[d // 2]
    return arguments | ({"first_position": b.FirstPosition} if first_position else {})


def polysketch(
    d: int = 64, dv: int | None = None, r: int = 32, p: int = 4, *, local: int | None = None, signed: bool = False,
    rotary: bool = False, first_position: bool = False, dtype: str = "f32", name: str = "polysketch",
) -> Spec:  # fmt: skip
    """Algorithm 1, a tree of random projections, p = 4, 8, 16, ...; local: blocks with exact scores.

    signed: the sketch of degree p before its square, p = 2, 4, ...; r features of either sign, and no normalizer.
    rotary: normalized queries and keys are rotated by `freqs` (appendix I); first_position: an argument of that name says where in
    its sequence a call begins.
    """
    p = _degree(p, 2 if signed else 4)
    degree = p if signed else p // 2

    def body(q: Any, k: Any, v: Any, **weights: Any) -> Any:
        def join(x: Any, y: Any, first: str, second: str) -> Any:
            return b.hadamard(x @ weights["g" + first], y @ weights["g" + second]) * (1 / math.sqrt(r))

        def phi(x: Any) -> Any:
            sketch = _tree(x, degree, join)
            return sketch if signed else b.power(sketch, 2)

        return _sketched(phi, q, k, v, weights, p, local, signed)

    weights: dict[str, Argument] = {f"g{path}": b.Weight[d if below == 1 else r, r] for path, below in _nodes(degree)}
    return build(name, dtype, _arguments(d, dv, weights, rotary, first_position), body)


def polysketch_learned(
    d: int = 64, dv: int | None = None, r: int = 32, p: int = 4, *, hidden: int | None = None, local: int | None = 1024,
    rotary: bool = False, first_position: bool = False, dtype: str = "f32", name: str = "polysketch_learned",
) -> Spec:  # fmt: skip
    """Algorithm 2, p = 4, 8, 16, ...: small networks instead of Gaussians, and a tanh; options as of polysketch."""
    p = _degree(p, 4)
    wide = 8 * r if hidden is None else hidden

    def sizes(width: int) -> dict[str, tuple[int, ...]]:
        return {
            "gamma1": (width,), "beta1": (width,), "w1": (width, wide), "b1": (wide,), "w2": (wide, r), "b2": (r,),
            "gamma2": (r,), "beta2": (r,), "w3": (r, wide), "b3": (wide,), "w4": (wide, r), "b4": (r,),
        }  # fmt: skip

    def body(q: Any, k: Any, v: Any, **weights: Any) -> Any:
        def net(x: Any, path: str) -> Any:
            w = {one: weights[f"{one}_{path}"] for one in sizes(d)}
            for layer in (1, 2):
                x = b.layer_norm(x, w[f"gamma{layer}"], w[f"beta{layer}"], eps=1e-6)
                x = b.project(x, w[f"w{2 * layer - 1}"], w[f"b{2 * layer - 1}"])
                x = b.project(b.gelu(x, form="tanh"), w[f"w{2 * layer}"], w[f"b{2 * layer}"])
            return x

        def join(x: Any, y: Any, first: str, second: str) -> Any:
            f = b.hadamard(net(x, first), net(y, second))
            return b.tanh(f * (1 / math.sqrt(r))) * math.sqrt(r)

        return _sketched(lambda x: b.power(_tree(x, p // 2, join), 2), q, k, v, weights, p, local)

    weights: dict[str, Argument] = {
        f"{one}_{path}": b.Weight[size]
        for path, below in _nodes(p // 2) for one, size in sizes(d if below == 1 else r).items()
    }  # fmt: skip
    return build(name, dtype, _arguments(d, dv, weights, rotary, first_position), body)
