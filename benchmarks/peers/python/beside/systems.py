"""The compared systems: their feature maps, all scores at once, and chunks with states between them. Written once, over the
operations of the framework that runs them; torch_systems.py and jax_systems.py add what each framework does in ways of its own."""

import math
from dataclasses import dataclass, replace
from typing import Any, Callable

import numpy as np


@dataclass(frozen=True)
class Framework:
    """Where frameworks differ. `array` and `nn` are modules of functions with the same names and argument orders; `layer_norm` is
    of (x, weight, bias, eps), `by_head` multiplies x [B, H, ..., d] by a weight [H, d, e], `constant` takes a NumPy array."""

    array: Any
    nn: Any
    layer_norm: Callable[..., Any]
    by_head: Callable[..., Any]
    constant: Callable[[np.ndarray], Any]


def identity(x, side, w):
    return x


@dataclass(frozen=True)
class Maps:
    """A system in a framework: `features` of queries and keys, functions of (x, "q" or "k", weights); `score` of an inner product
    of `inner` vectors, where that is less work; `others`, more ways to features, for the fastest to be found."""

    framework: Framework
    features: Callable[..., Any]
    inner: Callable[..., Any] = identity
    score: Callable[[Any], Any] | None = None
    others: tuple[Callable[..., Any], ...] = ()

    def ways(self):
        return [self, *(replace(self, features=one) for one in self.others)]


def pairs(framework, d):
    """x (x) x without what is there twice."""
    rows, columns = np.triu_indices(d)
    factors = np.where(rows == columns, 1, math.sqrt(2)).astype("f4")
    rows, columns, factors = (framework.constant(one) for one in (rows, columns, factors))
    return lambda x: x[..., rows] * x[..., columns] * factors


def square(x):
    """x (x) x: more features than pairs gives, and no gathers."""
    return (x[..., :, None] * x[..., None, :]).reshape(*x.shape[:-1], -1)


def linear(framework):
    return Maps(framework, lambda x, side, w: framework.nn.elu(x) + 1)


def power(framework):
    half = pairs(framework, 64)
    return Maps(
        framework, lambda x, side, w: half(x) / 8, score=lambda s: (s / 8) ** 2, others=(lambda x, side, w: square(x) / 8,)
    )


def llops(framework):
    def features(x, side, w):
        return (x @ w[f"theta_{side}1"]) * (x @ w[f"theta_{side}2"])

    def joined(x, side, w):
        """One product for both projections."""
        both = x @ framework.array.concatenate([w[f"theta_{side}1"], w[f"theta_{side}2"]], 1)
        width = both.shape[-1] // 2
        return both[..., :width] * both[..., width:]

    return Maps(framework, features, others=(joined,))


def based(framework):
    half = pairs(framework, 16)

    def inner(x, side, w):
        return x @ w[f"w_{side}"] / 2

    def features_with(second):
        def features(x, side, w):
            h = inner(x, side, w)
            one = framework.array.ones_like(h[..., :1])
            return framework.array.concatenate([one, h, second(h) * math.sqrt(0.5)], -1)

        return features

    return Maps(framework, features_with(half), inner, lambda s: 1 + s + s * s / 2, (features_with(square),))


def polysketch(framework):
    half = pairs(framework, 32)

    def inner(x, side, w):
        x = framework.layer_norm(x, w["gamma"], w["beta"], 1e-5)
        return (x @ w["g1"]) * (x @ w["g2"]) / math.sqrt(32)

    def features_with(second):
        return lambda x, side, w: second(inner(x, side, w))

    return Maps(framework, features_with(half), inner, lambda s: s * s, (features_with(square),))


def hedgehog(framework):
    def features(x, side, w):
        z = framework.by_head(x, w[f"w_{side}"])
        return framework.array.concatenate([framework.nn.softmax(z, -1), framework.nn.softmax(-z, -1)], -1)

    return Maps(framework, features)


def performer(framework):
    def features(x, side, w):
        h = x * 64**-0.25
        return framework.array.exp(h @ w["w"] - (h * h).sum(-1, keepdims=True) / 2) / 16

    return Maps(framework, features)


# Functions of a framework.
MAPS = {
    "linear": linear, "based": based, "polysketch": polysketch, "power": power, "hedgehog": hedgehog, "llops64": llops,
    "llops128": llops, "performer": performer,
}  # fmt: skip


def scores_of(maps, q, k, query, key, w):
    """Of the lower triangle; features are None where nobody has them yet."""
    if maps.score is not None:
        scores = maps.score(maps.inner(q, "q", w) @ maps.inner(k, "k", w).mT)
    else:
        query = maps.features(q, "q", w) if query is None else query
        key = maps.features(k, "k", w) if key is None else key
        scores = query @ key.mT
    return maps.framework.array.tril(scores)


def by_heads(x):
    """[B, T, H, d] from [B, H, T, d], and back."""
    return x.swapaxes(1, 2)


def in_chunks(x, length):
    """[B, H, T / length, length, d] from [B, T, H, d]."""
    x = by_heads(x)
    return x.reshape(*x.shape[:2], -1, length, x.shape[-1])


def out_of_chunks(o):
    """[B, T, H, d] from [B, H, T / length, length, d]."""
    return by_heads(o.reshape(*o.shape[:2], -1, o.shape[-1]))


def chunked(maps, eps, length, q, k, v, w):
    """Scores inside chunks of `length` positions, states between them, all chunks at once. Tensors are [B, T, H, d]."""
    array = maps.framework.array

    def before(x):
        """Sums over all chunks before each."""
        return array.concatenate([array.zeros_like(x[:, :, :1]), x.cumsum(2)[:, :, :-1]], 2)

    q, k, v = (in_chunks(x, length) for x in (q, k, v))
    query, key = maps.features(q, "q", w), maps.features(k, "k", w)
    scores = scores_of(maps, q, k, query, key, w)
    o = scores @ v + query @ before(key.mT @ v)
    if eps is not None:
        total = scores.sum(-1, keepdims=True) + query @ before(key.sum(-2))[..., None]
        o = o / (total + eps)
    return out_of_chunks(o)


def direct(maps, eps, q, k, v, w):
    """All scores at once."""
    q, k, v = (by_heads(x) for x in (q, k, v))
    scores = scores_of(maps, q, k, None, None, w)
    o = scores @ v
    return by_heads(o if eps is None else o / (scores.sum(-1, keepdims=True) + eps))
