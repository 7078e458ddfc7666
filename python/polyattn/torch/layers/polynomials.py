"""Scores that are polynomials of inner products, and sketches of them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import nn

from ... import library
from ..._errors import CallError
from ..._literals import Mask
from ..._specs import Spec
from ..._whole import whole_number
from ...library._common import one_of
from .attention import begin_as, normal, open_gate
from .constants import Constant
from .family import Family


class LLoPS(Family):
    """A learned low-rank polynomial sketch: x and y [B, T, width].

    It begins as a random sketch whose scores are (<q, k> / head_dim)^p on average, that is the power of a cosine: both sides' projections
    `theta_` begin with the same numbers, and features of an input of variance 1 with the length 1.

    Without `squared` scores have both signs and there is no denominator: a row is a sum over all positions it sees, and grows with
    their number. For float16, which ends at 65,504, take squared=True, whose scores are divided by their sum, or bfloat16.

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`).
        m: features, of each rank.
        p: the degree, projections that are multiplied.
        rank: products that are added.
        squared: square the features, so that scores are positive, and divide by their sum.
        per_head: whether each head has its own projections. All heads begin with the same numbers.
        eps: without `squared`, divide by the sum of the scores plus eps; None: do not divide.
        mask: "causal", "anticausal", or "full", which takes means and has no states.
    """

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, m: int = 256, p: int = 2, rank: int = 1,
        squared: bool = False, per_head: bool = False, eps: float | None = None, mask: Mask = "causal",
        head_dim: int | None = None, value_dim: int | None = None, bias: bool = False, state_every: int | None = None,
    ) -> None:  # fmt: skip
        options = {"m": m, "p": p, "rank": rank, "squared": squared, "per_head": per_head, "eps": eps, "mask": mask}
        super().__init__(library.llops, options, width, heads, kv_heads, head_dim, value_dim, bias, state_every)

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        """Projections [heads, d, m] or [d, m], learned. Queries and keys start with the same numbers."""
        # Names are theta_<side><factor><rank>.
        if name.startswith("theta_k"):
            begun = getattr(self, "theta_q" + name.removeprefix("theta_k")).detach().float()
            return begun[: shape[0]].clone(), True  # of each head, keys may have fewer
        d, m = shape[-2:]
        numbers = normal([d, m]) * (m * self._options["rank"]) ** (-0.5 / self._options["p"]) * d**-0.5
        return numbers.repeat(*shape[:-2], 1, 1) if len(shape) > 2 else numbers, True

    @classmethod
    @torch.no_grad()
    def from_based(cls, based: Based, *, p: int = 2, m: int | None = None) -> LLoPS:
        """A layer that begins as `based`, with the same results, and learns from there (the LLoPS paper, section 4.2).

        Queries and keys get one more channel, a constant 1 by the biases of their projections. With it products of p linear maps have
        BASED's constant and linear terms, and any p >= 2 its squares. Scores are divided by their sum, as BASED's are; while the layer
        learns they may become negative.

        Args:
            based: the layer, not changed; the result has its dtype and device.
            p: the degree, at least 2.
            m: features, at least the 1 + r + r (r + 1) / 2 of BASED; as many if None. Features beyond these begin with zeros on the
                keys' side.

        Raises:
            polyattn.CallError: names the argument, the expected value and the given one.
        """
        if not isinstance(based, Based):
            raise CallError(f"based: expected a polyattn.torch.nn.Based, got {type(based).__name__}")
        options, weight = based._options, based.q_proj.weight
        pairs = list(itertools.combinations_with_replacement(range(options["r"]), 2))
        needed = 1 + options["r"] + len(pairs)
        p, m = whole_number("p", p, 2), needed if m is None else whole_number("m", m, needed)
        layer: LLoPS = cls(
            based.width, based.heads, based.kv_heads, m=m, p=p, per_head=options["per_head"], eps=options["eps"],
            head_dim=options["head_dim"] + 1, value_dim=options["value_dim"], bias=True,
        )  # fmt: skip
        layer.to(weight.device, weight.dtype)
        for side in "qkvo":
            _begin_projection(getattr(layer, f"{side}_proj"), getattr(based, f"{side}_proj"), options["head_dim"], side in "qk")
        for side, w in (("q", based.w_q), ("k", based.w_k)):
            for i, factor in enumerate(_factors_of_based(w * options["r"] ** -0.25, pairs, p)):
                theta = getattr(layer, f"theta_{side}{i + 1}")
                theta[..., :needed].copy_(factor)
                if side == "k" and i == 0:
                    theta[..., needed:] = 0
        return layer


def _begin_projection(linear: nn.Linear, begun: nn.Linear, head_dim: int, with_constant: bool) -> None:
    """Gives a projection the numbers of another; `with_constant`, heads have one more channel, which is 1."""
    weight, bias = begun.weight, begun.weight.new_zeros(begun.out_features) if begun.bias is None else begun.bias
    if with_constant:
        weight = nn.functional.pad(weight.unflatten(0, (-1, head_dim)), (0, 0, 0, 1)).flatten(0, 1)
        bias = nn.functional.pad(bias.unflatten(0, (-1, head_dim)), (0, 1), value=1.0).flatten()
    linear.weight.copy_(weight)
    linear.bias.copy_(bias)


def _factors_of_based(w: torch.Tensor, pairs: list[tuple[int, int]], p: int) -> list[torch.Tensor]:
    """The p factors of BASED's features 1, h_i and h_i h_j of h = x w, of vectors x whose last channel is 1."""
    h = nn.functional.pad(w, (0, 0, 0, 1))
    one = torch.zeros_like(h[..., :1])
    one[..., -1, :] = 1
    first, second = ([pair[i] for pair in pairs] for i in (0, 1))
    # s^2 / 2 has h_i^2 with the factor 1 / 2 and h_i h_j with 1, of which each side has the root.
    scale = torch.tensor([2**-0.5 if i == j else 1.0 for i, j in pairs], dtype=w.dtype, device=w.device)
    count = 1 + w.shape[-1] + len(pairs)
    ones = one.expand(*one.shape[:-1], count)
    left = torch.cat([one, h, h[..., first] * scale], -1)
    right = torch.cat([ones[..., : 1 + w.shape[-1]], h[..., second]], -1)
    return [left, right, *[ones] * (p - 2)]


class Power(Family):
    """Power attention, Gelada et al. 2025: x and y [B, T, width]; scores (<q, k> / sqrt head_dim)^p.

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`).
        p: the degree; an odd one has no sum to divide by, eps=None.
        symmetric, block: which features a state has: sorted monomials, those of blocks of so many channels, or all.
        gated: a decay for each token and key head, the log-sigmoid of a projection `gate`, which begins nearly open.
        eps: is added to the sum of the scores; None: they are not divided.
    """

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, p: int = 2, symmetric: bool = True,
        block: int | None = None, gated: bool = False, eps: float | None = 1e-6, head_dim: int | None = None,
        value_dim: int | None = None, bias: bool = False, state_every: int | None = None,
    ) -> None:  # fmt: skip
        options = {"p": p, "symmetric": symmetric, "block": block, "gated": gated, "eps": eps}
        super().__init__(library.power, options, width, heads, kv_heads, head_dim, value_dim, bias, state_every)
        if gated:
            self.gate = begin_as(open_gate, nn.Linear(width, self.kv_heads))

    def of_call(self, name: str, x: torch.Tensor, first_position: Any, count: int, rows: int) -> torch.Tensor:
        """The gate's logarithms, [B, T, heads], from x, [B, T, width]."""
        if name == "log_gate":
            return nn.functional.logsigmoid(self.gate(x).float())
        return super().of_call(name, x, first_position, count, rows)


class Polynomial(Family):
    """Exact scores <q, k>^p of layer-normalized vectors, PolySketchFormer's section 2.1: x and y [B, T, width].

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`).
        p: the degree; even, as scores are divided by their sum plus 1.
        local: a query sees the keys of its block of so many positions only; None: all before it.
    """

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, p: int = 2, local: int | None = None,
        head_dim: int | None = None, value_dim: int | None = None, bias: bool = False, state_every: int | None = None,
    ) -> None:  # fmt: skip
        options = {"p": p, "local": local}
        super().__init__(library.polynomial, options, width, heads, kv_heads, head_dim, value_dim, bias, state_every)


class Based(Family):
    """BASED, Arora et al. 2024: x and y [B, T, width]; scores 1 + s + s^2 / 2 of projections to r dimensions.

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`).
        r: dimensions that queries and keys are projected to.
        per_head: whether each head has a projection of its own.
        symmetric: whether a state has sorted monomials only.
        eps: is added to the sum of the scores.
    """

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, r: int = 16, per_head: bool = True,
        symmetric: bool = True, eps: float = 1e-12, head_dim: int | None = None, value_dim: int | None = None,
        bias: bool = False, state_every: int | None = None,
    ) -> None:  # fmt: skip
        options = {"r": r, "per_head": per_head, "symmetric": symmetric, "eps": eps}
        super().__init__(library.based, options, width, heads, kv_heads, head_dim, value_dim, bias, state_every)


class ReBased(Family):
    """ReBased, Aksenov et al. 2024: x and y [B, T, width]; scores are squares of layer-normalized vectors with a learned gain and bias.

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`); head_dim is 16.
        weights: "sqrt2", the square of an inner product; "none", products off the diagonal count half.
    """

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, weights: Literal["sqrt2", "none"] = "sqrt2",
        head_dim: int | None = 16, value_dim: int | None = None, bias: bool = False, state_every: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(library.triangle, {"weights": weights}, width, heads, kv_heads, head_dim, value_dim, bias, state_every)


class FPA(Family):
    """Factorized polynomial attention: x and y [B, T, width]; scores are products of inner products in projections of their own.

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`).
        widths: the dimensions of each projection.
        per_head: whether each head has projections of its own; then kv_heads must be `heads`.
        masked: buffers `columns1`, ... of ones, in which columns may be switched off by zeros.
    """

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, widths: tuple[int, ...] = (16, 24),
        per_head: bool = True, masked: bool = False, head_dim: int | None = None, value_dim: int | None = None,
        bias: bool = False, state_every: int | None = None,
    ) -> None:  # fmt: skip
        options = {"widths": widths, "per_head": per_head, "masked": masked}
        super().__init__(library.fpa, options, width, heads, kv_heads, head_dim, value_dim, bias, state_every)

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        """Ones, fixed, for the columns of the factors; otherwise as in `Attention`."""
        if name.startswith("columns"):
            return torch.ones(shape, dtype=torch.float32), False
        return super().initial(name, shape)


def _polysketch(
    *, learned: bool, p: int, hidden: int | None, local: Any, signed: bool, d: int, dv: int, **options: Any
) -> Spec:  # fmt: skip
    """Either sketch of the library, whose options differ."""
    more = {} if local == "auto" else {"local": local}
    if learned:
        # Gradients of the six networks of p = 8 have more workspaces than a launch takes (runtime/plan.h).
        one_of("p", p, (4,))
        one_of("signed", signed, (False,))
        return library.polysketch_learned(d, dv, p=p, hidden=hidden, **options, **more)
    one_of("hidden", hidden, (None,))
    return library.polysketch(d, dv, p=p, signed=signed, **options, **more)


class PolySketch(Family):
    """PolySketchFormer, Kacham et al. 2024: x and y [B, T, width]; scores <q, k>^p by sketches.

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`).
        learned: two small networks in place of Gaussians, which are buffers `g1`, ... and not learned.
        r: the size of a sketch.
        p: the degree, a power of two, at least 4; 4 where it is learned.
        hidden: the width inside of the networks; 8 r if None.
        local: scores are exact inside of blocks of so many positions; None: nowhere; "auto": 1024 where it is learned, else None.
        signed: the sketch before its square, of degree p from 2 on: r features of either sign, and no normalizer.
        rotary: normalized queries and keys are rotated by their positions.
        first_position: `layer(x, first_position)` takes the position of x's first row in its sequence, whole numbers [B] or one.
        constants: numbers for `freqs` [head_dim / 2] in place of 10000^(-2i / head_dim).
    """

    freqs = Constant()

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, learned: bool = False, r: int = 32, p: int = 4,
        hidden: int | None = None, local: int | Literal["auto"] | None = "auto", signed: bool = False, rotary: bool = False,
        first_position: bool = False, head_dim: int | None = None, value_dim: int | None = None, bias: bool = False,
        state_every: int | None = None, constants: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        options = {
            "learned": learned, "r": r, "p": p, "hidden": hidden, "local": local, "signed": signed, "rotary": rotary,
            "first_position": first_position,
        }  # fmt: skip
        super().__init__(_polysketch, options, width, heads, kv_heads, head_dim, value_dim, bias, state_every, constants)

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        """Normal random sketches, fixed unless `learned`, and ones for the gains of the normalization."""
        if not self._options["learned"] and name[0] == "g" and name[1:].isdigit():
            return normal(shape), False
        numbers, is_learned = super().initial(name, shape)
        return (torch.ones_like(numbers) if name.startswith("gamma") else numbers), is_learned
