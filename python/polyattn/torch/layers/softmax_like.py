"""Feature maps that stand for softmax attention."""

from __future__ import annotations

import torch
from torch import nn

from ... import library
from .family import Family


class Performer(Family):
    """Choromanski et al. 2020: orthogonal directions, which are not learned."""

    system = staticmethod(library.performer)

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        d, m = shape
        blocks = [nn.init.orthogonal_(torch.empty(d, d)) for _ in range(-(-m // d))]
        lengths = torch.randn(m, d).norm(dim=-1)
        return torch.cat(blocks, dim=1)[:, :m] * lengths, False


class RFF(Family):
    """Random Fourier features, which are not learned."""

    system = staticmethod(library.rff)

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        return torch.randn(shape), False


class Hedgehog(Family):
    """Zhang et al. 2024; maps begin as the identity."""

    system = staticmethod(library.hedgehog)

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        if name.startswith("w"):
            return torch.eye(shape[-1]).repeat(shape[0], 1, 1), True
        return super().initial(name, shape)
