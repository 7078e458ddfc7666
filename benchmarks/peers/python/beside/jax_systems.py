"""The same systems and forms in jax.numpy; torch_systems.py says what each is."""

import math

import jax
import numpy as np
from jax import numpy as jnp

from .cases import Maps


def scores_of(maps, q, k, query, key, w):
    if maps.score is not None:
        scores = maps.score(maps.inner(q, "q", w) @ maps.inner(k, "k", w).mT)
    else:
        query = maps.features(q, "q", w) if query is None else query
        key = maps.features(k, "k", w) if key is None else key
        scores = query @ key.mT
    return jnp.tril(scores)


def before(x):
    """Sums over all chunks before each."""
    return jnp.concatenate([jnp.zeros_like(x[:, :, :1]), jnp.cumsum(x, 2)[:, :, :-1]], 2)


def by_heads(x):
    return jnp.swapaxes(x, 1, 2)


def in_chunks(x, length):
    x = by_heads(x)
    return x.reshape(*x.shape[:2], -1, length, x.shape[-1])


def chunked(maps, eps, length, q, k, v, w):
    q, k, v = (in_chunks(x, length) for x in (q, k, v))
    query, key = maps.features(q, "q", w), maps.features(k, "k", w)
    scores = scores_of(maps, q, k, query, key, w)
    o = scores @ v + query @ before(key.mT @ v)
    if eps is not None:
        total = scores.sum(-1, keepdims=True) + query @ before(key.sum(-2))[..., None]
        o = o / (total + eps)
    return by_heads(o.reshape(*o.shape[:2], -1, o.shape[-1]))


def scanned(maps, eps, length, q, k, v, w, wrap=lambda chunk: chunk):
    """One chunk after another, by lax.scan."""
    if eps is not None:
        v = jnp.concatenate([v, jnp.ones_like(v[..., :1])], -1)
    parts = [jnp.moveaxis(in_chunks(x, length), 2, 0) for x in (q, k, v)]

    def chunk(state, part):
        q, k, v = part
        query, key = maps.features(q, "q", w), maps.features(k, "k", w)
        return state + key.mT @ v, scores_of(maps, q, k, query, key, w) @ v + query @ state

    width = jax.eval_shape(lambda x: maps.features(x, "k", w), parts[1][0]).shape[-1]
    state = jnp.zeros((*parts[0].shape[1:3], width, v.shape[-1]), v.dtype)
    _, o = jax.lax.scan(wrap(chunk), state, tuple(parts))
    o = jnp.moveaxis(o, 0, 2)
    o = by_heads(o.reshape(*o.shape[:2], -1, o.shape[-1]))
    return o if eps is None else o[..., :-1] / (o[..., -1:] + eps)


def checkpointed(*arguments):
    """Scanned, and what gradients need of a chunk is computed again."""
    return scanned(*arguments, wrap=jax.checkpoint)


def direct(maps, eps, q, k, v, w):
    q, k, v = (by_heads(x) for x in (q, k, v))
    scores = scores_of(maps, q, k, None, None, w)
    o = scores @ v
    return by_heads(o if eps is None else o / (scores.sum(-1, keepdims=True) + eps))


def token(maps, eps, q, k, v, w, state, sums, read):
    """The output and new states, whose memory is that of the old ones if they are donated."""
    q, k, v = (by_heads(x) for x in (q, k, v))
    query, key = maps.features(q, "q", w), maps.features(k, "k", w)
    state, sums = state + key.mT * v, sums + key
    o = read(query, state)
    if eps is not None:
        o = o / ((query * sums).sum(-1, keepdims=True) + eps)
    return by_heads(o), state, sums


def multiplied(*arguments):
    return token(*arguments, lambda query, state: query @ state)


def summed(*arguments):
    return token(*arguments, lambda query, state: (query.mT * state).sum(-2, keepdims=True))


STEPS = (multiplied, summed)


def pairs(d):
    rows, columns = np.triu_indices(d)
    factors = np.where(rows == columns, 1, math.sqrt(2)).astype("f4")
    return lambda x: x[..., rows] * x[..., columns] * factors


def square(x):
    return (x[..., :, None] * x[..., None, :]).reshape(*x.shape[:-1], -1)


def linear():
    return Maps(lambda x, side, w: jax.nn.elu(x) + 1)


def power():
    half = pairs(64)
    return Maps(lambda x, side, w: half(x) / 8, score=lambda s: (s / 8) ** 2, others=(lambda x, side, w: square(x) / 8,))


def llops():
    def features(x, side, w):
        return (x @ w[f"theta_{side}1"]) * (x @ w[f"theta_{side}2"])

    def joined(x, side, w):
        first, second = jnp.split(x @ jnp.concatenate([w[f"theta_{side}1"], w[f"theta_{side}2"]], 1), 2, -1)
        return first * second

    return Maps(features, others=(joined,))


def based():
    half = pairs(16)

    def inner(x, side, w):
        return x @ w[f"w_{side}"] / 2

    def features_with(second):
        def features(x, side, w):
            h = inner(x, side, w)
            return jnp.concatenate([jnp.ones_like(h[..., :1]), h, second(h) * math.sqrt(0.5)], -1)

        return features

    return Maps(features_with(half), inner, lambda s: 1 + s + s * s / 2, (features_with(square),))


def polysketch():
    half = pairs(32)

    def inner(x, side, w):
        x = x - x.mean(-1, keepdims=True)
        x = x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w["gamma"] + w["beta"]
        return (x @ w["g1"]) * (x @ w["g2"]) / math.sqrt(32)

    return Maps(
        lambda x, side, w: half(inner(x, side, w)), inner, lambda s: s * s, (lambda x, side, w: square(inner(x, side, w)),)
    )


def hedgehog():
    def features(x, side, w):
        z = jnp.einsum("bh...d,hde->bh...e", x, w[f"w_{side}"])
        return jnp.concatenate([jax.nn.softmax(z, -1), jax.nn.softmax(-z, -1)], -1)

    return Maps(features)


def performer():
    def features(x, side, w):
        h = x * 64**-0.25
        return jnp.exp(h @ w["w"] - (h * h).sum(-1, keepdims=True) / 2) / 16

    return Maps(features)


MAPS = {
    "linear": linear, "based": based, "polysketch": polysketch, "power": power, "hedgehog": hedgehog, "llops64": llops,
    "llops128": llops, "performer": performer,
}  # fmt: skip
