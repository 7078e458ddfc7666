"""Layers of long convolutions."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import torch
from torch import nn

from ... import library
from ..._errors import CallError
from ..._whole import whole_number
from .._attention import Attention as _Operator
from .attention import _spread_as, begin_as, normal, xavier


class Hyena(nn.Module):
    """Hyena (Poli et al. 2023): projections, a short convolution of each, long convolutions with gates between them, a projection.

    Filters are parameters h (h1, h2, ... from order 3 on), [heads, lags, width / heads]. They begin as random numbers under windows that
    decay exponentially, for each channel at another rate, as in section 3.3. To compute them from a network of the position, take
    `polyattn.library.hyena`, whose filters are arguments.

    Args:
        width: the size of the last dimension of x and y.
        heads: a divisor of the width. Channels do not mix in a head: kernels compute those of a head together.
        lags: positions that a filter reaches. Sequences may be longer or shorter.
        order: how many gates there are, as in the library.
        short: positions of the short convolutions.
        bias: whether the projections have biases, which start at zero.
    """

    def __init__(
        self, width: int, heads: int, lags: int = 4096, *, order: int = 2, short: int = 3, bias: bool = False
    ) -> None:
        super().__init__()
        self.width, self.heads = whole_number("width", width, 1), whole_number("heads", heads, 1)
        if self.width % self.heads:
            raise CallError(f"heads: expected a divisor of the width {self.width}, got {heads}")
        self.lags, self.order = whole_number("lags", lags, 2), whole_number("order", order, 2)
        size, channels = self.width // self.heads, (self.order + 1) * self.width
        self.attention = _Operator(library.hyena(size, lags=self.lags, order=self.order))
        self.in_proj = begin_as(xavier, nn.Linear(self.width, channels, bias))
        reach = whole_number("short", short, 1)
        self.short_conv = nn.Conv1d(channels, channels, reach, groups=channels, bias=False)
        self.o_proj = begin_as(xavier, nn.Linear(self.width, self.width, bias))
        self._filters = [one.name for one in self.attention.signature.arguments[self.order + 1 :]]
        for name in self._filters:
            self.register_parameter(name, nn.Parameter(self.initial().to(torch.get_default_dtype())))

    def initial(self) -> torch.Tensor:
        """The f32 numbers that a filter begins with. Rows are as large as the vectors that they are sums of."""
        # A window falls to a hundredth after 0.3 to 1.5 times the lags, by its channel.
        ends = torch.linspace(0.3, 1.5, self.width, dtype=torch.float32).view(self.heads, 1, -1)
        time = torch.arange(self.lags, dtype=torch.float32).view(-1, 1) / self.lags
        numbers = normal([self.heads, self.lags, self.width // self.heads]) * (math.log(0.01) * time / ends).exp()
        return numbers / numbers.norm(dim=1, keepdim=True)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Initializes projections and filters in place, after `to_empty`."""
        for one in (self.in_proj, self.short_conv, self.o_proj):
            one.reset_parameters()
        for name in self._filters:
            tensor = getattr(self, name)
            with torch.device(tensor.device):
                tensor.copy_(_spread_as(tensor, self.initial()))

    def extra_repr(self) -> str:
        """The layer's sizes, as `print` shows them."""
        return f"{self.width}, heads={self.heads}, lags={self.lags}, order={self.order}, short={self.short_conv.kernel_size[0]}"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """y from x, both [B, T, width]."""
        if not isinstance(x, torch.Tensor) or x.dim() != 3 or x.shape[-1] != self.width:
            got = f"shape {tuple(x.shape)}" if isinstance(x, torch.Tensor) else type(x).__name__
            raise CallError(f"Hyena: x: expected a tensor [B, T, {self.width}], got {got}")
        before = self.short_conv.kernel_size[0] - 1
        padded = nn.functional.pad(self.in_proj(x).transpose(1, 2), (before, 1))  # one more, as none has no convolution
        rows = self.short_conv(padded)[..., :-1].transpose(1, 2)
        sequences = rows.unflatten(-1, (self.order + 1, self.heads, -1)).unbind(2)
        o: torch.Tensor = self.attention(*sequences, *(getattr(self, name) for name in self._filters))
        y: torch.Tensor = self.o_proj(o.flatten(-2))
        return y

    def new_states(self, slots: int, device: Any = None) -> NoReturn:
        """Refused, as convolutions do not decode."""
        raise CallError(
            "Hyena does not decode: a position's row depends on all rows before it, and no state of a fixed size holds them"
        )
