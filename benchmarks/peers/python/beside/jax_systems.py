"""JAX's operations for systems.py, and its own forms: chunks by lax.scan, and a token."""

import jax
from jax import numpy as jnp

from .systems import Framework, by_heads, in_chunks, out_of_chunks, scores_of


def layer_norm(x, weight, bias, eps):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + eps) * weight + bias


JAX = Framework(jnp, jax.nn, layer_norm, lambda x, w: jnp.einsum("bh...d,hde->bh...e", x, w), lambda x: x)


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
    o = out_of_chunks(jnp.moveaxis(o, 0, 2))
    return o if eps is None else o[..., :-1] / (o[..., -1:] + eps)


def checkpointed(*arguments):
    """Scanned, and what gradients need of a chunk is computed again."""
    return scanned(*arguments, wrap=jax.checkpoint)


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
