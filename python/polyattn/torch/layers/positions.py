"""Layers with rotary positions. `XPos`, whose vectors also have lengths by position, has a file of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from ... import library
from ..._literals import Mask
from .attention import begin_as, xavier
from .constants import Constant, Numbers
from .family import Family


class FastRoPE(Family):
    """Rotary positions and a polynomial for exp, Alman and Song 2025: x and y [B, T, width].

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`); head_dim is 8.
        p: the polynomial's degree, 2 or 4. It is close to exp where scores are in [-1, 1].
        mask: "causal", "anticausal", or "full", which has no states.
        first_position: `layer(x, first_position)` takes the position of x's first row in its sequence, whole numbers [B] or one.
        constants: numbers for `freqs` [head_dim / 2] in place of 10000^(-2i / head_dim).
    """

    freqs = Constant()

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, p: int = 4, mask: Mask = "causal",
        first_position: bool = False, head_dim: int | None = 8, value_dim: int | None = None, bias: bool = False,
        state_every: int | None = None, constants: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        options = {"p": p, "mask": mask, "first_position": first_position}
        super().__init__(
            library.fast_rope, options, width, heads, kv_heads, head_dim, value_dim, bias, state_every, constants
        )


class Lightning(Family):
    """Lightning attention: x and y [B, T, width]; normalized and gated vectors, a constant decay for each head.

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`).
        rotary: channels that are rotated; half of head_dim if None.
        first_position: `layer(x, first_position)` takes the position of x's first row in its sequence, whole numbers [B] or one.
        constants: numbers for `freqs` [rotary / 2] in place of 10000^(-2i / rotary), and for `log_decay` [kv_heads] in place of
            -8 (h + 1) / kv_heads, natural logarithms.
    """

    freqs = Constant()
    log_decay = Constant()

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, rotary: int | None = None, first_position: bool = False,
        head_dim: int | None = None, value_dim: int | None = None, bias: bool = False, state_every: int | None = None,
        constants: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        options = {"rotary": rotary, "first_position": first_position}
        super().__init__(
            library.lightning, options, width, heads, kv_heads, head_dim, value_dim, bias, state_every, constants
        )

    def formula(self, name: str, shape: list[int]) -> Numbers:
        """Logarithms of decays, [heads]: -8 (head + 1) / heads."""
        if name == "log_decay":
            return [-8.0 / shape[0] * (head + 1) for head in range(shape[0])]
        return super().formula(name, shape)


class RetNet(Family):
    """RetNet, Sun et al. 2023: x and y [B, T, width]; rotary positions, a constant decay for each head, outputs normalized by head
    and gated. Projections begin small, with the gain 2^-2.5.

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`).
        decay_factors: what each key head keeps from position to position, above 0 and at most 1; the constant `log_decay` if None.
        first_position: `layer(x, first_position)` takes the position of x's first row in its sequence, whole numbers [B] or one.
        constants: numbers for `freqs` [head_dim / 2] in place of 10000^(-2i / head_dim), and for `log_decay` [kv_heads] in
            place of log(1 - 2^(-5 - h)), natural logarithms.
    """

    result_modules = ("o_proj", "g_proj")
    freqs = Constant()
    log_decay = Constant()

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, decay_factors: list[float] | None = None,
        first_position: bool = False, head_dim: int | None = None, value_dim: int | None = None, bias: bool = False,
        state_every: int | None = None, constants: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        options = {"decay_factors": decay_factors, "first_position": first_position}
        super().__init__(
            library.retnet, options, width, heads, kv_heads, head_dim, value_dim, bias, state_every, constants
        )
        self.g_proj = begin_as(_small, nn.Linear(width, self.o_proj.in_features, bias))

    def gain_of(self, side: str) -> float:
        """0.5 for the output's projection, and 2**-2.5 for the others, as in the paper's code."""
        return 0.5 if side == "o" else 2**-2.5

    def combine(self, o: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """y, [B, T, width]: each head's result divided by its root mean square, times silu of a gate of x, projected."""
        o = o * torch.rsqrt(o.float().square().mean(-1, keepdim=True) + 1e-6).to(o.dtype)
        y: torch.Tensor = self.o_proj(o.flatten(-2) * nn.functional.silu(self.g_proj(x)))
        return y


def _small(linear: nn.Linear) -> None:
    xavier(linear, 2**-2.5)
