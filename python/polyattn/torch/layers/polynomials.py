"""Scores that are polynomials of inner products, and sketches of them."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import nn

from ... import library
from ..._literals import Mask
from ..._specs import Spec
from ...library._common import one_of
from .attention import begin_as, normal
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
        mask: "causal", "anticausal", or "full", which takes means and has no states.
    """

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, m: int = 256, p: int = 2, rank: int = 1,
        squared: bool = False, mask: Mask = "causal", head_dim: int | None = None, value_dim: int | None = None,
        bias: bool = False, state_every: int | None = None,
    ) -> None:  # fmt: skip
        options = {"m": m, "p": p, "rank": rank, "squared": squared, "mask": mask}
        super().__init__(library.llops, options, width, heads, kv_heads, head_dim, value_dim, bias, state_every)

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        # Both sides begin with the same numbers. Names are theta_<side><factor><rank>.
        if name.startswith("theta_k"):
            return getattr(self, "theta_q" + name.removeprefix("theta_k")).detach().float().clone(), True
        d, m = shape
        return normal(shape) * (m * self._options["rank"]) ** (-0.5 / self._options["p"]) * d**-0.5, True


def _open(gate: nn.Linear) -> None:
    nn.Linear.reset_parameters(gate)
    nn.init.constant_(gate.bias, 6.0)  # sigmoid(6) is 0.9975


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
            self.gate = begin_as(_open, nn.Linear(width, self.kv_heads))

    def of_call(self, name: str, x: torch.Tensor, first_position: Any, count: int, rows: int) -> torch.Tensor:
        if name == "log_gate":
            return nn.functional.logsigmoid(self.gate(x).float())
        return super().of_call(name, x, first_position, count, rows)


class Polynomial(Family):
    """Exact scores <q, k>^p of layer-normalized vectors, PolySketchFormer's section 2.1: x and y [B, T, width].

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`).
        p: the degree; even, as scores are divided by their sum plus 1.
    """

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, p: int = 2, head_dim: int | None = None,
        value_dim: int | None = None, bias: bool = False, state_every: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(library.polynomial, {"p": p}, width, heads, kv_heads, head_dim, value_dim, bias, state_every)


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
        if name.startswith("columns"):
            return torch.ones(shape, dtype=torch.float32), False
        return super().initial(name, shape)


def _polysketch(*, learned: bool, r: int, p: int, hidden: int | None, local: Any, d: int, dv: int) -> Spec:
    """Either sketch of the library, whose options differ."""
    more = {} if local == "auto" else {"local": local}
    if learned:
        one_of("p", p, (4,))
        return library.polysketch_learned(d, dv, r, hidden=hidden, **more)
    one_of("hidden", hidden, (None,))
    return library.polysketch(d, dv, r, p, **more)


class PolySketch(Family):
    """PolySketchFormer, Kacham et al. 2024: x and y [B, T, width]; scores <q, k>^p by sketches.

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`).
        learned: two small networks in place of Gaussians, which are buffers `g1`, ... and not learned.
        r: the size of a sketch.
        p: the degree, 4 or 8; 4 where it is learned.
        hidden: the width inside of the networks; 8 r if None.
        local: scores are exact inside of blocks of so many positions; None: nowhere; "auto": 1024 where it is learned, else None.
    """

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, learned: bool = False, r: int = 32, p: int = 4,
        hidden: int | None = None, local: int | Literal["auto"] | None = "auto", head_dim: int | None = None,
        value_dim: int | None = None, bias: bool = False, state_every: int | None = None,
    ) -> None:  # fmt: skip
        options = {"learned": learned, "r": r, "p": p, "hidden": hidden, "local": local}
        super().__init__(_polysketch, options, width, heads, kv_heads, head_dim, value_dim, bias, state_every)

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        if not self._options["learned"] and name[0] == "g" and name[1:].isdigit():
            return normal(shape), False
        numbers, is_learned = super().initial(name, shape)
        return (torch.ones_like(numbers) if name.startswith("gamma") else numbers), is_learned
