"""Feature maps that work element by element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import nn

from ... import library
from ..._literals import GateHeads, Grouping, Mask
from ...library._common import one_of
from .constants import Constant
from .family import Family


class Linear(Family):
    """Linear attention with elu + 1, Katharopoulos et al. 2020: x and y [B, T, width].

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`).
        feature_map: "elu" (+ 1) or "relu".
        mask: "causal"; "anticausal", the other order of time; or "full", which has no states.
        grouping: which key head serves a query head: "block", "interleaved", or None where there are as many.
        decay: None, or "head": each head forgets at a constant rate, `log_decay`, as RetNet's do.
        gate_heads: whose heads have decays, those of keys ("kv") or of queries ("q").
        eps: is added to the sum of the scores.
        constants: numbers for `log_decay` in place of log(1 - 2^(-5 - h)).
    """

    log_decay = Constant()

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, feature_map: Literal["elu", "relu"] = "elu",
        mask: Mask = "causal", grouping: Grouping | None = "block", decay: Literal["head"] | None = None,
        gate_heads: GateHeads = "kv", eps: float = 1e-6, head_dim: int | None = None, value_dim: int | None = None,
        bias: bool = False, state_every: int | None = None, constants: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        one_of("decay", decay, (None, "head"))
        options = {
            "feature_map": feature_map, "mask": mask, "grouping": grouping, "decay": decay, "gate_heads": gate_heads, "eps": eps,
        }  # fmt: skip
        super().__init__(
            library.linear, options, width, heads, kv_heads, head_dim, value_dim, bias, state_every, constants
        )


class DPFP(Family):
    """DPFP, Schlag et al. 2021: x and y [B, T, width].

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`).
        eps: is added to the sum of the scores.
    """

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, eps: float = 1e-6, head_dim: int | None = None,
        value_dim: int | None = None, bias: bool = False, state_every: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(library.dpfp, {"eps": eps}, width, heads, kv_heads, head_dim, value_dim, bias, state_every)


class FLatten(Family):
    """Focused linear attention, Han et al. 2023, causal: x and y [B, T, width].

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`).
        p: the power that sharpens relu's features.
        eps: is added to the sum of the scores.
    """

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, p: int = 3, eps: float = 1e-6,
        head_dim: int | None = None, value_dim: int | None = None, bias: bool = False, state_every: int | None = None,
    ) -> None:  # fmt: skip
        options = {"p": p, "eps": eps}
        super().__init__(library.flatten, options, width, heads, kv_heads, head_dim, value_dim, bias, state_every)


class PolaFormer(Family):
    """PolaFormer, Meng et al. 2025, where every position sees all: x and y [B, T, width].

    Exponents `w` of each head and channel are learned, as are a `scale` of queries and keys and a linear gate `g_proj`. What is
    added to keys and to results by places in an image, positions and a convolution, is the caller's. There are no states.

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`); kv_heads must be
            `heads`, whose exponents queries and keys share.
        eps: is added to the mean of the scores.
    """

    result_modules = ("o_proj", "g_proj")

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, eps: float = 1e-6, head_dim: int | None = None,
        value_dim: int | None = None, bias: bool = False, state_every: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(library.polaformer, {"eps": eps}, width, heads, kv_heads, head_dim, value_dim, bias, state_every)
        self.g_proj = nn.Linear(width, self.o_proj.in_features, bias)
        self.scale = nn.Parameter(torch.zeros(heads, self.q_proj.out_features // heads))

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        """Zeros, learned: every exponent starts at 3."""
        return torch.zeros(shape), True  # every exponent is 1 + 4 sigmoid(0) = 3

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draws all weights again, and sets the scale to zero."""
        super().reset_parameters()
        self.scale.zero_()

    def project(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Queries, keys and values, [B, T, heads, size]; queries and keys are divided by softplus of the scale."""
        q, k, v = super().project(x)
        # As in the paper's code, and of the sequences' dtype.
        factor = nn.functional.softplus(self.scale).reciprocal().to(q.dtype)
        return q * factor, k * factor, v

    def combine(self, o: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """y, [B, T, width]: the attention's result times a gate of x, projected."""
        y: torch.Tensor = self.o_proj(o.flatten(-2) * self.g_proj(x))
        return y


class ElementwisePower(Family):
    """(x W)^p element by element, W for all heads, over the sum of the scores: x and y [B, T, width].

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`).
        m: features.
        p: the power; even, so that no score is negative.
        eps: is added to the sum of the scores.
    """

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, m: int = 256, p: int = 4, eps: float = 1e-6,
        head_dim: int | None = None, value_dim: int | None = None, bias: bool = False, state_every: int | None = None,
    ) -> None:  # fmt: skip
        options = {"m": m, "p": p, "eps": eps}
        super().__init__(library.elementwise_power, options, width, heads, kv_heads, head_dim, value_dim, bias, state_every)
