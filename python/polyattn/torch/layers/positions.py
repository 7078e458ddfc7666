"""Layers with positions in their vectors."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ... import library
from .family import Family


class FastRoPE(Family):
    """Alman and Song 2025: rotary positions, a polynomial for exp."""

    system = staticmethod(library.fast_rope)

    def __init__(self, width: int, heads: int, kv_heads: int | None = None, **options: Any) -> None:
        super().__init__(width, heads, kv_heads, **{"head_dim": 8, **options})


class Lightning(Family):
    """Lightning attention: normalized and gated vectors, decays by head."""

    system = staticmethod(library.lightning)

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        if name == "log_decay":
            return -8.0 / shape[0] * torch.arange(1.0, shape[0] + 1), False
        return super().initial(name, shape)


class XPos(Family):
    """Sun et al. 2022: rotary positions whose lengths grow on one side and shrink on the other."""

    system = staticmethod(library.xpos)

    def of_call(self, name: str, x: torch.Tensor, first_position: Any, count: int, rows: int) -> torch.Tensor:
        half = self.freqs.shape[0]
        channels = torch.arange(half, device=x.device)
        base = ((channels * 2 + 0.8 * half) / (2.8 * half)).repeat(2)
        exponents = torch.arange(rows, device=x.device)[:, None, None] / 512
        return base ** (exponents if name == "size_q" else -exponents)


class RetNet(Family):
    """Sun et al. 2023: rotary positions, a decay for each head, outputs normalized by head and gated."""

    system = staticmethod(library.retnet)

    def __init__(self, width: int, heads: int, kv_heads: int | None = None, **options: Any) -> None:
        super().__init__(width, heads, kv_heads, **options)
        self.g_proj = nn.Linear(width, self.o_proj.in_features, self.o_proj.bias is not None)
        nn.init.xavier_uniform_(self.g_proj.weight, gain=2**-2.5)

    def reset_projections(self) -> None:
        super().reset_projections()
        for one, gain in ((self.q_proj, -2.5), (self.k_proj, -2.5), (self.v_proj, -2.5), (self.o_proj, -1.0)):
            nn.init.xavier_uniform_(one.weight, gain=2**gain)

    def combine(self, o: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        o = o * torch.rsqrt(o.float().square().mean(-1, keepdim=True) + 1e-6).to(o.dtype)
        y: torch.Tensor = self.o_proj(o.flatten(-2) * nn.functional.silu(self.g_proj(x)))
        return y
