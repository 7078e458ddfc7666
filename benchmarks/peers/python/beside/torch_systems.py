"""PyTorch's operations for systems.py, and what it has forms of its own for: a loop over chunks, and a token that updates states
in place."""

import torch
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from .systems import Framework, by_heads, scores_of


def by_head(x, w):
    """One product per head, whatever is between heads and channels: an einsum would move x first."""
    return (x.flatten(2, -2) @ w).unflatten(2, x.shape[2:-1])


TORCH = Framework(
    torch, F, lambda x, weight, bias, eps: F.layer_norm(x, weight.shape, weight, bias, eps), by_head, torch.from_numpy
)


def one_chunk(maps, q, k, v, state, w):
    query, key = maps.features(q, "q", w), maps.features(k, "k", w)
    o = scores_of(maps, q, k, query, key, w) @ v
    added = key.mT @ v
    return (o, added) if state is None else (o + query @ state, state + added)


def looped(maps, eps, length, q, k, v, w, run=one_chunk):
    """The chunks of systems.chunked, one after another: states are not kept."""
    q, k, v = (by_heads(x) for x in (q, k, v))
    if eps is not None:
        v = torch.cat([v, torch.ones_like(v[..., :1])], -1)
    state, parts = None, []
    for part in zip(*(x.split(length, 2) for x in (q, k, v))):
        o, state = run(maps, *part, state, w)
        parts.append(o)
    o = torch.cat(parts, 2)
    if eps is not None:
        o = o[..., :-1] / (o[..., -1:] + eps)
    return by_heads(o)


def checkpointed(maps, eps, length, q, k, v, w):
    """Looped, and what gradients need of a chunk is computed again: less memory, which may be faster, too."""

    def run(*arguments):
        return checkpoint(one_chunk, *arguments, use_reentrant=False, preserve_rng_state=False)

    return looped(maps, eps, length, q, k, v, w, run)


# A token of each sequence, [B, 1, H, d]; `state` [B, H, D, dv] and `sums` [B, H, 1, D] go on in place.


def divided(o, query, sums, eps):
    if eps is not None:
        o = o / ((query * sums).sum(-1, keepdim=True) + eps)
    return by_heads(o)


def token(maps, eps, q, k, v, w, sums):
    q, k, v = (by_heads(x) for x in (q, k, v))
    query, key = maps.features(q, "q", w), maps.features(k, "k", w)
    if eps is not None:
        sums.add_(key)
    return query, key, v


def outer(maps, eps, q, k, v, w, state, sums):
    """An outer product is added, then a product of a row and a matrix."""
    query, key, v = token(maps, eps, q, k, v, w, sums)
    state.addcmul_(key.mT, v)
    return divided(query @ state, query, sums, eps)


def batched(maps, eps, q, k, v, w, state, sums):
    """Both by batched matrix products."""
    query, key, v = token(maps, eps, q, k, v, w, sums)
    flat = state.flatten(0, 1)
    flat.baddbmm_(key.mT.flatten(0, 1), v.flatten(0, 1))
    return divided(torch.bmm(query.flatten(0, 1), flat).view(v.shape), query, sums, eps)


def summed(maps, eps, q, k, v, w, state, sums):
    """Nothing but element-wise operations and a sum, which a compiler can make one loop of."""
    query, key, v = token(maps, eps, q, k, v, w, sums)
    state.addcmul_(key.mT, v)
    return divided((query.mT * state).sum(-2, keepdim=True), query, sums, eps)


STEPS = (outer, batched, summed)
