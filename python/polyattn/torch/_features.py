"""The feature ops of the dialect in PyTorch, on vectors [B, heads, T, width].

Scores of powers, products and sums need no features: they are powers, products and sums of scores.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any, Callable

import torch
from torch.nn import functional as F


class NoForm(Exception):
    """A spec, or a form of it, that is not written in PyTorch here. One line."""


class Features:
    """Feature vectors. `dense` has their numbers; `scores` the inner products with others of the same structure."""

    def dense(self) -> torch.Tensor:
        raise NotImplementedError

    @property
    def width(self) -> int:
        raise NotImplementedError

    def scores(self, keys: Features) -> torch.Tensor:
        return self.dense() @ keys.dense().mT

    def map(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Features:
        """The same of other vectors: `change` is of batches, heads or positions, never of elements."""
        raise NotImplementedError


@dataclass
class Dense(Features):
    numbers: torch.Tensor

    def dense(self) -> torch.Tensor:
        return self.numbers

    @property
    def width(self) -> int:
        return int(self.numbers.shape[-1])

    def map(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Features:
        return Dense(change(self.numbers))


@dataclass
class Scaled(Features):
    base: Features
    factor: float

    def dense(self) -> torch.Tensor:
        return self.base.dense() * self.factor

    @property
    def width(self) -> int:
        return self.base.width

    def scores(self, keys: Features) -> torch.Tensor:
        if isinstance(keys, Scaled):
            return self.base.scores(keys.base) * (self.factor * keys.factor)
        return self.base.scores(keys) * self.factor

    def map(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Features:
        return Scaled(self.base.map(change), self.factor)


@dataclass
class Power(Features):
    """All scores to a power. Features are sorted monomials, or with `is_full` all products."""

    base: Features
    degree: int
    is_full: bool

    def dense(self) -> torch.Tensor:
        x = self.base.dense()
        if self.width > 1 << 16:
            raise NoForm(f"{self.width:,} features")
        if self.is_full:
            found = x
            for _ in range(self.degree - 1):
                found = (found[..., :, None] * x[..., None, :]).flatten(-2)
            return found
        chosen, weights = monomials(x.shape[-1], self.degree)
        parts = [x[..., one] for one in chosen.to(x.device).T]
        return math.prod(parts[1:], start=parts[0]) * weights.to(x)

    @property
    def width(self) -> int:
        n = self.base.width
        return n**self.degree if self.is_full else math.comb(n + self.degree - 1, self.degree)

    def scores(self, keys: Features) -> torch.Tensor:
        if not isinstance(keys, Power):
            return super().scores(keys)
        return self.base.scores(keys.base) ** self.degree

    def map(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Features:
        return Power(self.base.map(change), self.degree, self.is_full)


@dataclass
class Concat(Features):
    parts: list[Features]

    def dense(self) -> torch.Tensor:
        parts = [one.dense() for one in self.parts]
        sizes = torch.broadcast_shapes(*(one.shape[:-1] for one in parts))
        return torch.cat([one.expand(*sizes, -1) for one in parts], -1)

    @property
    def width(self) -> int:
        return sum(one.width for one in self.parts)

    def scores(self, keys: Features) -> torch.Tensor:
        if not isinstance(keys, Concat) or [one.width for one in self.parts] != [one.width for one in keys.parts]:
            return super().scores(keys)
        found = [a.scores(b) for a, b in zip(self.parts, keys.parts)]
        return sum(found[1:], start=found[0])

    def map(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Features:
        return Concat([one.map(change) for one in self.parts])


@dataclass
class Product(Features):
    """All products of an element of one and an element of the other."""

    a: Features
    b: Features

    def dense(self) -> torch.Tensor:
        return (self.a.dense()[..., :, None] * self.b.dense()[..., None, :]).flatten(-2)

    @property
    def width(self) -> int:
        return self.a.width * self.b.width

    def scores(self, keys: Features) -> torch.Tensor:
        if not isinstance(keys, Product) or self.a.width != keys.a.width:
            return super().scores(keys)
        return self.a.scores(keys.a) * self.b.scores(keys.b)

    def map(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Features:
        return Product(self.a.map(change), self.b.map(change))


@dataclass
class Exponential(Features):
    """The exponentials of all scores."""

    base: Features

    def dense(self) -> torch.Tensor:
        raise NoForm("the exponential of a score has no features")

    @property
    def width(self) -> int:
        return 1

    def scores(self, keys: Features) -> torch.Tensor:
        assert isinstance(keys, Exponential)
        return self.base.scores(keys.base).exp()

    def map(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Features:
        return Exponential(self.base.map(change))


@dataclass
class Relative(Features):
    """Scores by the distance of positions. `table` is [n] or [H, 1, n]; positions are [T, 1], or [B, 1, T, 1]."""

    table: torch.Tensor
    positions: torch.Tensor
    repeats_last: bool
    two_sided: bool

    def dense(self) -> torch.Tensor:
        raise NoForm("scores by distance have no features")

    @property
    def width(self) -> int:
        return 1

    def scores(self, keys: Features) -> torch.Tensor:
        assert isinstance(keys, Relative)
        count = self.table.shape[-1]
        lag = (self.positions - keys.positions.mT).long()
        if lag.dim() > 4:
            raise NoForm("scores by distance are not computed in chunks")
        lag = lag.view((1,) * (4 - lag.dim()) + lag.shape)[:, 0]  # of a batch: heads have the same positions
        place = lag + count // 2 if self.two_sided else lag.abs()
        inside = place.clamp(0, count - 1)
        found = self.table[inside][:, None] if self.table.dim() == 1 else self.table[:, 0][:, inside].transpose(0, 1)
        return found if self.repeats_last else found * (place == inside)[:, None]

    def map(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Features:
        positions = self.positions.view((1,) * (4 - self.positions.dim()) + self.positions.shape)
        return Relative(self.table, change(positions), self.repeats_last, self.two_sided)


_monomials: dict[tuple[int, int], tuple[torch.Tensor, torch.Tensor]] = {}


def monomials(width: int, degree: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Indices [n, degree] of the sorted monomials, and the roots of their multinomials."""
    found = _monomials.get((width, degree))
    if found is None:
        chosen = list(itertools.combinations_with_replacement(range(width), degree))
        counts = [math.prod(map(math.factorial, Counter(one).values())) for one in chosen]
        weights = [math.sqrt(math.factorial(degree) / one) for one in counts]
        found = _monomials[width, degree] = torch.tensor(chosen), torch.tensor(weights, dtype=torch.float64)
    return found


def _softmax(x: torch.Tensor, groups: int = 1) -> torch.Tensor:
    return x.unflatten(-1, (groups, -1)).softmax(-1).flatten(-2)


def _layer_norm(x: torch.Tensor, gamma: Any = None, beta: Any = None, *, eps: float, eps_place: str) -> torch.Tensor:
    centered = x - x.mean(-1, keepdim=True)
    variance = centered.square().mean(-1, keepdim=True)
    y = centered / ((variance + eps).sqrt() if eps_place == "inside" else variance.sqrt() + eps)
    y = y if gamma is None else y * gamma
    return y if beta is None else y + beta


def _l2_rescale(x: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    length = x.norm(dim=-1, keepdim=True)
    return x * (reference.norm(dim=-1, keepdim=True) / length.where(length > 0, 1))


def _triu(a: torch.Tensor, b: torch.Tensor, *, weights: str = "none") -> torch.Tensor:
    rows, columns = torch.triu_indices(a.shape[-1], a.shape[-1])
    products = a[..., rows] * b[..., columns]
    return products if weights == "none" else products * torch.where(rows == columns, 1.0, math.sqrt(2)).to(products)


def rope(x: torch.Tensor, frequencies: torch.Tensor, positions: torch.Tensor, *, layout: str, dims: int, offset: float,
         scale: float) -> torch.Tensor:  # fmt: skip
    """Pairs of elements, turned by scale (position + offset) times a frequency; positions are [T], or [B, 1, T, 1]."""
    angle = scale * (positions.view(*positions.shape[:-2], -1, 1) + offset) * frequencies
    cosine, sine = angle.cos().to(x), angle.sin().to(x)
    turned, others = x[..., :dims], x[..., dims:]
    if layout == "half":
        a, b = turned.chunk(2, -1)
    else:
        a, b = turned[..., ::2], turned[..., 1::2]
    pair = a * cosine - b * sine, a * sine + b * cosine
    y = torch.stack(pair, -1).flatten(-2) if layout == "interleaved" else torch.cat(pair, -1)
    return torch.cat([y, others], -1)


#: Functions of dense numbers, by the names of their ops. A weight that is a vector of a head is [H, 1, d].
DENSE: dict[str, Callable[..., torch.Tensor]] = {
    "abs": torch.abs, "cos": torch.cos, "exp": torch.exp, "log": torch.log, "relu": torch.relu, "sigmoid": torch.sigmoid,
    "sign": torch.sign, "silu": F.silu, "sin": torch.sin, "softplus": lambda x: torch.logaddexp(x, torch.zeros_like(x)),
    "tanh": torch.tanh, "elu_plus_one": lambda x: F.elu(x) + 1,
    "add": lambda *parts: sum(parts[1:], start=parts[0]), "hadamard": lambda *parts: math.prod(parts[1:], start=parts[0]),
    "add_const": lambda x, value: x + value, "add_vec": torch.add, "mul_vec": torch.mul, "div_vec": torch.div,
    "clamp_min": lambda x, value: x.clamp(min=value), "is_above": lambda x, value: (x > value).to(x),
    "gelu": lambda x, form: F.gelu(x, approximate="tanh" if form == "tanh" else "none"),
    "l2_norm": lambda x, eps: x / x.norm(dim=-1, keepdim=True).clamp(min=eps), "l2_rescale": _l2_rescale,
    "layer_norm": _layer_norm, "max": lambda x: x.amax(-1, keepdim=True),
    "pow": lambda x, e=None, exponent=None: x ** (e if exponent is None else exponent),
    "project": lambda x, w, bias=None: x @ w if bias is None else x @ w + bias, "select": lambda x, indices: x[..., indices], "softmax": _softmax,
    "squared_norm": lambda x: x.square().sum(-1, keepdim=True), "sum": lambda x: x.sum(-1, keepdim=True),
    "sum_norm": lambda x, eps: x / (x.sum(-1, keepdim=True) + eps), "triu": _triu,
}  # fmt: skip


def features_of(op: str, operands: list[Any], attributes: dict[str, Any], all_products: bool = False) -> Features:
    """The result of an op of vectors and weights. all_products: powers have more features, by fewer gathers, and the same scores."""
    if op == "scale":
        return Scaled(operands[0], attributes["factor"])
    if op == "concat":
        return Concat(operands)
    if op == "exp_score":
        return Exponential(operands[0])
    if op == "tensor":
        found: Features = operands[0]
        for one in operands[1:]:
            found = Product(found, one)
        return found
    if op == "power":
        if "abs" in attributes and attributes["degree"] % 2:
            raise NoForm("an odd power of |score| has no features")
        return Power(operands[0], attributes["degree"], all_products or "symmetric" not in attributes)
    if op not in DENSE:
        raise NoForm(f"there is no PyTorch of the op {op} here")
    numbers = [one.dense() if isinstance(one, Features) else one for one in operands]
    return Dense(DENSE[op](*numbers, **attributes))
