"""Feature maps that work element by element."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ... import library
from .family import Family


class Linear(Family):
    """elu + 1, Katharopoulos et al. 2020."""

    system = staticmethod(library.linear)


class DPFP(Family):
    """Schlag et al. 2021."""

    system = staticmethod(library.dpfp)


class FLatten(Family):
    """Han et al. 2023."""

    system = staticmethod(library.flatten)


class PolaFormer(Family):
    """Meng et al. 2025, where every position sees all: learned exponents of each head and channel, a learned scale of queries and keys,
    and a linear gate. What is added to keys and to results by places in an image, positions and a convolution, is the caller's.
    """

    system = staticmethod(library.polaformer)

    def __init__(self, width: int, heads: int, kv_heads: int | None = None, **options: Any) -> None:
        super().__init__(width, heads, kv_heads, **options)
        self.g_proj = nn.Linear(width, self.o_proj.in_features, self.o_proj.bias is not None)
        self.scale = nn.Parameter(torch.zeros(heads, self.q_proj.out_features // heads))

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        return torch.zeros(shape), True  # every exponent is 1 + 4 sigmoid(0) = 3

    def project(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        q, k, v = super().project(x)
        # As in the paper's code, and of the sequences' dtype.
        factor = nn.functional.softplus(self.scale).reciprocal().to(q.dtype)
        return q * factor, k * factor, v

    def combine(self, o: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.o_proj(o.flatten(-2) * self.g_proj(x))
        return y


class ElementwisePower(Family):
    """(x W)^p element by element."""

    system = staticmethod(library.elementwise_power)
