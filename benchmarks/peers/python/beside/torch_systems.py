"""Systems in PyTorch's own functions: their feature maps, all scores at once, chunks, and a token that updates states in place."""

import math

import torch
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from .cases import Maps


def scores_of(maps, q, k, query, key, w):
    """Of the lower triangle; features are None where nobody has them yet."""
    if maps.score is not None:
        scores = maps.score(maps.inner(q, "q", w) @ maps.inner(k, "k", w).mT)
    else:
        query = maps.features(q, "q", w) if query is None else query
        key = maps.features(k, "k", w) if key is None else key
        scores = query @ key.mT
    return scores.tril()


def chunked(maps, eps, length, q, k, v, w):
    """Scores inside chunks of `length` positions, states between them. Tensors are [B, T, H, d]."""
    q, k, v = (x.transpose(1, 2).unflatten(2, (-1, length)) for x in (q, k, v))
    query, key = maps.features(q, "q", w), maps.features(k, "k", w)
    scores = scores_of(maps, q, k, query, key, w)
    o = scores @ v
    # The state before each chunk.
    before = F.pad((key.mT @ v).cumsum(2)[:, :, :-1], (0, 0, 0, 0, 1, 0))
    o = o + query @ before
    if eps is not None:
        sums = F.pad(key.sum(-2).cumsum(2)[:, :, :-1], (0, 0, 1, 0))
        total = scores.sum(-1, keepdim=True) + query @ sums.unsqueeze(-1)
        o = o / (total + eps)
    return o.flatten(2, 3).transpose(1, 2)


def one_chunk(maps, q, k, v, state, w):
    query, key = maps.features(q, "q", w), maps.features(k, "k", w)
    o = scores_of(maps, q, k, query, key, w) @ v
    added = key.mT @ v
    return (o, added) if state is None else (o + query @ state, state + added)


def looped(maps, eps, length, q, k, v, w, run=one_chunk):
    """The same with one chunk after another: states are not kept."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    if eps is not None:
        v = torch.cat([v, torch.ones_like(v[..., :1])], -1)
    state, parts = None, []
    for part in zip(*(x.split(length, 2) for x in (q, k, v))):
        o, state = run(maps, *part, state, w)
        parts.append(o)
    o = torch.cat(parts, 2)
    if eps is not None:
        o = o[..., :-1] / (o[..., -1:] + eps)
    return o.transpose(1, 2)


def checkpointed(maps, eps, length, q, k, v, w):
    """Looped, and what gradients need of a chunk is computed again: less memory, which may be faster, too."""

    def run(*arguments):
        return checkpoint(one_chunk, *arguments, use_reentrant=False, preserve_rng_state=False)

    return looped(maps, eps, length, q, k, v, w, run)


def direct(maps, eps, q, k, v, w):
    """All scores at once."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    scores = scores_of(maps, q, k, None, None, w)
    o = scores @ v
    if eps is not None:
        o = o / (scores.sum(-1, keepdim=True) + eps)
    return o.transpose(1, 2)


# A token of each sequence, [B, 1, H, d]; `state` [B, H, D, dv] and `sums` [B, H, 1, D] go on in place.


def divided(o, query, sums, eps):
    if eps is not None:
        o = o / ((query * sums).sum(-1, keepdim=True) + eps)
    return o.transpose(1, 2)


def token(maps, eps, q, k, v, w, sums):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
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


def pairs(d):
    """x (x) x without what is there twice."""
    rows, columns = torch.triu_indices(d, d)
    factors = torch.where(rows == columns, 1.0, math.sqrt(2))
    return lambda x: x[..., rows] * x[..., columns] * factors


def square(x):
    """x (x) x: more features than pairs gives, and no gathers."""
    return (x.unsqueeze(-1) * x.unsqueeze(-2)).flatten(-2)


def linear():
    return Maps(lambda x, side, w: F.elu(x) + 1)


def power():
    half = pairs(64)
    return Maps(lambda x, side, w: half(x) / 8, score=lambda s: (s / 8) ** 2, others=(lambda x, side, w: square(x) / 8,))


def llops():
    def features(x, side, w):
        return (x @ w[f"theta_{side}1"]) * (x @ w[f"theta_{side}2"])

    def joined(x, side, w):
        """One product for both projections."""
        first, second = (x @ torch.cat([w[f"theta_{side}1"], w[f"theta_{side}2"]], 1)).chunk(2, -1)
        return first * second

    return Maps(features, others=(joined,))


def based():
    half = pairs(16)

    def inner(x, side, w):
        return x @ w[f"w_{side}"] / 2

    def features_with(second):
        def features(x, side, w):
            h = inner(x, side, w)
            return torch.cat([torch.ones_like(h[..., :1]), h, second(h) * math.sqrt(0.5)], -1)

        return features

    return Maps(features_with(half), inner, lambda s: 1 + s + s * s / 2, (features_with(square),))


def polysketch():
    half = pairs(32)

    def inner(x, side, w):
        x = F.layer_norm(x, (64,), w["gamma"], w["beta"], 1e-5)
        return (x @ w["g1"]) * (x @ w["g2"]) / math.sqrt(32)

    return Maps(
        lambda x, side, w: half(inner(x, side, w)), inner, lambda s: s * s, (lambda x, side, w: square(inner(x, side, w)),)
    )


def hedgehog():
    def features(x, side, w):
        """The weight is one per head, whatever is between heads and positions."""
        z = (x.flatten(2, -2) @ w[f"w_{side}"]).unflatten(2, x.shape[2:-1])
        return torch.cat([z.softmax(-1), (-z).softmax(-1)], -1)

    return Maps(features)


def performer():
    def features(x, side, w):
        h = x * 64**-0.25
        return (h @ w["w"] - (h * h).sum(-1, keepdim=True) / 2).exp() / 16

    return Maps(features)


MAPS = {
    "linear": linear, "based": based, "polysketch": polysketch, "power": power, "hedgehog": hedgehog, "llops64": llops,
    "llops128": llops, "performer": performer,
}  # fmt: skip
