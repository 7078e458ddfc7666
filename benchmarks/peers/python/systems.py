"""What is compared: systems of polyattn.library, and the same in PyTorch's own functions, in chunks."""

import math
from dataclasses import dataclass
from typing import Any, Callable

import torch
from torch.nn import functional as F

from polyattn import library


@dataclass
class System:
    """`features` of queries and keys; `score` of an inner product of `inner` vectors, where that is less work."""

    spec: Any
    d: int
    weights: dict[str, tuple[int, ...]]
    features: Callable[..., Any]
    inner: Callable[..., Any] = lambda x, side, w: x
    score: Callable[[Any], Any] | None = None
    eps: float | None = None
    # Other ways to the same scores, for the fastest to be found.
    others: tuple[Callable[..., Any], ...] = ()


def chunked(system, length, q, k, v, w):
    """Scores inside chunks of `length` positions, states between them. Tensors are [B, T, H, d]."""
    q, k, v = (x.transpose(1, 2).unflatten(2, (-1, length)) for x in (q, k, v))
    query, key = system.features(q, "q", w), system.features(k, "k", w)
    if system.score is None:
        scores = query @ key.mT
    else:
        scores = system.score(system.inner(q, "q", w) @ system.inner(k, "k", w).mT)
    scores = scores.tril()
    o = scores @ v
    # The state before each chunk.
    before = F.pad((key.mT @ v).cumsum(2)[:, :, :-1], (0, 0, 0, 0, 1, 0))
    o = o + query @ before
    if system.eps is not None:
        sums = F.pad(key.sum(-2).cumsum(2)[:, :, :-1], (0, 0, 1, 0))
        total = scores.sum(-1, keepdim=True) + query @ sums.unsqueeze(-1)
        o = o / (total + system.eps)
    return o.flatten(2, 3).transpose(1, 2)


def looped(system, length, q, k, v, w):
    """The same with one chunk after another: states are not kept."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    if system.eps is not None:
        v = torch.cat([v, torch.ones_like(v[..., :1])], -1)
    state, parts = 0, []
    for q_part, k_part, v_part in zip(*(x.split(length, 2) for x in (q, k, v))):
        query, key = system.features(q_part, "q", w), system.features(k_part, "k", w)
        if system.score is None:
            scores = query @ key.mT
        else:
            scores = system.score(system.inner(q_part, "q", w) @ system.inner(k_part, "k", w).mT)
        o = scores.tril() @ v_part
        if parts:
            o = torch.matmul(query, state) + o
        state = state + key.mT @ v_part
        parts.append(o)
    o = torch.cat(parts, 2)
    if system.eps is not None:
        o = o[..., :-1] / (o[..., -1:] + system.eps)
    return o.transpose(1, 2)


def direct(system, q, k, v, w):
    """All scores at once."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    if system.score is None:
        scores = system.features(q, "q", w) @ system.features(k, "k", w).mT
    else:
        scores = system.score(system.inner(q, "q", w) @ system.inner(k, "k", w).mT)
    scores = scores.tril()
    o = scores @ v
    if system.eps is not None:
        o = o / (scores.sum(-1, keepdim=True) + system.eps)
    return o.transpose(1, 2)


def pairs(d):
    """x (x) x without what is there twice."""
    rows, columns = torch.triu_indices(d, d)
    factors = torch.where(rows == columns, 1.0, math.sqrt(2))
    return lambda x: x[..., rows] * x[..., columns] * factors


def square(x):
    """x (x) x: more features than pairs gives, and no gathers."""
    return (x.unsqueeze(-1) * x.unsqueeze(-2)).flatten(-2)


def linear():
    return System(library.linear(d=64), 64, {}, lambda x, side, w: F.elu(x) + 1, eps=1e-6)


def power():
    half = pairs(64)
    return System(
        library.power(d=64, p=2), 64, {}, lambda x, side, w: half(x) / 8, score=lambda s: (s / 8) ** 2, eps=1e-6,
        others=(lambda x, side, w: square(x) / 8,),
    )  # fmt: skip


def llops(d, m):
    def features(x, side, w):
        return (x @ w[f"theta_{side}1"]) * (x @ w[f"theta_{side}2"])

    weights = {f"theta_{side}{i}": (d, m) for side in "qk" for i in (1, 2)}
    return System(library.llops(d=d, m=m, p=2), d, weights, features)


def based():
    half = pairs(16)

    def inner(x, side, w):
        return x @ w[f"w_{side}"] / 2

    def features_with(second):
        def features(x, side, w):
            h = inner(x, side, w)
            return torch.cat([torch.ones_like(h[..., :1]), h, second(h) * math.sqrt(0.5)], -1)

        return features

    weights = {f"w_{side}": (64, 16) for side in "qk"}
    return System(
        library.based(d=64, r=16, per_head=False), 64, weights, features_with(half), inner,
        lambda s: 1 + s + s * s / 2, 1e-12, (features_with(square),),
    )  # fmt: skip


def performer():
    def features(x, side, w):
        h = x * 64**-0.25
        return (h @ w["w"] - (h * h).sum(-1, keepdim=True) / 2).exp() / 16

    return System(library.performer(d=64, m=256), 64, {"w": (64, 256)}, features, eps=1e-6)


SYSTEMS = {
    "linear": linear, "power": power, "llops64": lambda: llops(64, 64), "llops128": lambda: llops(128, 256),
    "based": based, "performer": performer,
}  # fmt: skip
