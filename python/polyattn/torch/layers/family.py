"""What layers of the library's functions share."""

from __future__ import annotations

from typing import Any, Callable

from ..._specs import Spec
from .attention import Attention


class Family(Attention):
    """A function of polyattn.library; `options` are its own."""

    system: Callable[..., Spec]

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, head_dim: int | None = None,
        value_dim: int | None = None, bias: bool = False, state_every: int | None = None, **options: Any,
    ) -> None:  # fmt: skip
        d = head_dim or width // heads
        spec = type(self).system(d=d, dv=value_dim or width // heads, **options)
        super().__init__(spec, width, heads, kv_heads, bias=bias, state_every=state_every)
