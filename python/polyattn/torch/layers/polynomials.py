"""Scores that are polynomials of inner products, and sketches of them."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ... import library
from ..._specs import Spec
from .family import Family


class LLoPS(Family):
    """A learned low-rank polynomial sketch. It begins as a random one, whose scores are <q, k>^p on average."""

    system = staticmethod(library.llops)

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        # Both sides begin with the same numbers. Names are theta_<side><factor><rank>.
        if name[6] == "k":
            return getattr(self, "theta_q" + name[7:]).detach().clone(), True
        names = [x.name for x in self.attention.signature.arguments if x.name.startswith("theta_q")]
        p = max(int(x[7]) for x in names)
        return torch.randn(shape) * (shape[-1] * len(names) // p) ** (-0.5 / p), True


class Power(Family):
    """Gelada et al. 2025; with gated=True a decay for each token and key head, of a projection."""

    system = staticmethod(library.power)

    def __init__(self, width: int, heads: int, kv_heads: int | None = None, **options: Any) -> None:
        super().__init__(width, heads, kv_heads, **options)
        if "log_gate" in self._others:
            self.gate = nn.Linear(width, self.kv_heads)
            # Nearly open: sigmoid(6) is 0.9975.
            nn.init.constant_(self.gate.bias, 6.0)

    def of_call(self, name: str, x: torch.Tensor, first_position: Any, count: int, rows: int) -> torch.Tensor:
        if name == "log_gate":
            return nn.functional.logsigmoid(self.gate(x).float())
        return super().of_call(name, x, first_position, count, rows)


class Polynomial(Family):
    """Exact scores <q, k>^p of layer-normalized vectors, PolySketchFormer's section 2.1."""

    system = staticmethod(library.polynomial)


class Based(Family):
    """Arora et al. 2024."""

    system = staticmethod(library.based)


class ReBased(Family):
    """Aksenov et al. 2024: a learned gain and bias before the square."""

    system = staticmethod(library.triangle)

    def __init__(self, width: int, heads: int, kv_heads: int | None = None, **options: Any) -> None:
        super().__init__(width, heads, kv_heads, **{"weights": "sqrt2", "head_dim": 16, **options})


class FPA(Family):
    """Factorized polynomial attention, projections of each head."""

    system = staticmethod(library.fpa)


class PolySketch(Family):
    """Kacham et al. 2024: a random sketch, or with learned=True two small networks."""

    @staticmethod
    def system(*, learned: bool = False, **options: Any) -> Spec:
        return library.polysketch_learned(**options) if learned else library.polysketch(**options)

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        if name.startswith("g") and name[1:].isdigit():
            return torch.randn(shape), False
        return super().initial(name, shape)
