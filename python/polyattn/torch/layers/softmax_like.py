"""Feature maps that stand for softmax attention."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import nn

from ... import library
from .attention import begin_as, normal, open_gate
from .family import Family


class Performer(Family):
    """Performer (FAVOR+), Choromanski et al. 2020: x and y [B, T, width].

    The directions `w` [head_dim, m] are orthogonal and of a normal vector's lengths. They are a buffer: not learned, saved in
    checkpoints, and cast with the layer.

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`).
        m: features.
        form: "plain"; "stabilized", the largest exponent of a query is subtracted; "guarded", the authors' eps and denominator.
    """

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, m: int = 256,
        form: Literal["plain", "stabilized", "guarded"] = "plain", head_dim: int | None = None,
        value_dim: int | None = None, bias: bool = False, state_every: int | None = None,
    ) -> None:  # fmt: skip
        options = {"m": m, "form": form}
        super().__init__(library.performer, options, width, heads, kv_heads, head_dim, value_dim, bias, state_every)

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        """Random projections [d, m] of orthogonal blocks with the norms of normal vectors, fixed."""
        d, m = shape
        blocks = [nn.init.orthogonal_(torch.empty(d, d, dtype=torch.float32)) for _ in range(-(-m // d))]
        return torch.cat(blocks, dim=1)[:, :m] * normal([m, d]).norm(dim=-1), False


class RFF(Family):
    """Random Fourier features of the Gaussian kernel: x and y [B, T, width].

    The directions `w` [head_dim, m] are normal and a buffer, as Performer's. Features estimate exp(-|q - k|^2 / (2 sqrt head_dim)) with
    an error of about m^(-1/2) of either sign. Where the kernel is smaller than that error, the sums that divide cancel and rounding is
    amplified without bound. Queries and keys must stay short for that, so both projections begin with the gain
    2^(-1/2) head_dim^(-1/4): of inputs of variance 1 the kernel begins at about exp(-1/2). In bf16 take care that they stay short
    while they are learned, or take `Performer`, whose features are positive.

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`).
        m: directions, half as many as there are features.
        softmax: estimate exp(<q, k> / sqrt head_dim) instead.
        gated: Random Feature Attention's gate of each token and key head, g, the sigmoid of a projection `gate`: states are
            multiplied by it, and what is added to them by 1 - g. It begins nearly open.
    """

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, m: int = 256, softmax: bool = False, gated: bool = False,
        head_dim: int | None = None, value_dim: int | None = None, bias: bool = False, state_every: int | None = None,
    ) -> None:  # fmt: skip
        options = {"m": m, "softmax": softmax, "gated": gated}
        super().__init__(library.rff, options, width, heads, kv_heads, head_dim, value_dim, bias, state_every)
        if gated:
            self.gate = begin_as(open_gate, nn.Linear(width, self.kv_heads))

    def of_call(self, name: str, x: torch.Tensor, first_position: Any, count: int, rows: int) -> torch.Tensor:
        """The gates of the call from x, [B, T, width]: logarithms of decays, and what each key's value is multiplied by."""
        if name == "log_gate":
            return nn.functional.logsigmoid(self.gate(x).float())
        if name == "input_gate":
            return torch.sigmoid(-self.gate(x)).unsqueeze(-1)
        return super().of_call(name, x, first_position, count, rows)

    def gain_of(self, side: str) -> float:
        """2**-0.5 * head_dim**-0.25 for queries and keys, which have to be short, and 1 for the others."""
        head_dim = int(self.attention.signature.arguments[0].shape[-1])
        return 2**-0.5 * head_dim**-0.25 if side in "qk" else 1.0

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        """Normal random frequencies, fixed."""
        return normal(shape), False


class Hedgehog(Family):
    """Hedgehog, Zhang et al. 2024: x and y [B, T, width]. The maps `w_q` and `w_k` of each head begin as the identity.

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`).
        m: rows of each map, half as many as there are features; head_dim if None. Maps of another size begin with normal numbers.
        form: "halves", a softmax of x W and one of -x W; "joint", one softmax of both, with a bias and a factor of 2; "exp".
        eps: is added to the sum of the scores.
    """

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, m: int | None = None,
        form: Literal["halves", "joint", "exp"] = "halves", eps: float = 1e-6, head_dim: int | None = None,
        value_dim: int | None = None, bias: bool = False, state_every: int | None = None,
    ) -> None:  # fmt: skip
        options = {"m": m, "form": form, "eps": eps}
        super().__init__(library.hedgehog, options, width, heads, kv_heads, head_dim, value_dim, bias, state_every)

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        """Identities [heads, d, d], learned: the map starts with softmax of x and of -x."""
        if name.startswith("w_") and shape[-2] == shape[-1]:
            return torch.eye(shape[-1], dtype=torch.float32).repeat(shape[0], 1, 1), True
        return super().initial(name, shape)
