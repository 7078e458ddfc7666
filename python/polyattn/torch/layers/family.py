"""The base of the layers around functions of the library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

from ..._errors import CallError
from ..._specs import Spec
from ..._whole import whole_number
from .attention import Attention


class Family(Attention):
    """A layer around a function of polyattn.library.

    Arguments of all families, and of those above `Attention`'s:
        width: the size of the last dimension of x and y.
        heads: heads of queries.
        kv_heads: heads of keys and values, a divisor of `heads`; as many if None.
        head_dim: the size of a head's queries and keys; width / heads if None.
        value_dim: the size of a head's values; width / heads if None.
        bias: whether projections have biases.
        state_every: with gradients, keep the states after so many positions each: less time for more memory.
    """

    def __init__(
        self, system: Callable[..., Spec], options: dict[str, Any], width: int, heads: int, kv_heads: int | None,
        head_dim: int | None, value_dim: int | None, bias: bool, state_every: int | None,
        constants: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        sizes = {"head_dim": head_dim, "value_dim": value_dim}
        for name, size in sizes.items():
            sizes[name] = _share(width, heads, name) if size is None else whole_number(name, size, 1)
        # The representation has what the layer was made with, in the library's words.
        self._options = sizes | options
        spec = system(d=sizes["head_dim"], dv=sizes["value_dim"], **options)
        super().__init__(spec, width, heads, kv_heads, bias=bias, state_every=state_every, constants=constants)

    def extra_repr(self) -> str:
        """The options of the layer in the library's words, as `print` shows them."""
        options = {"heads": self.heads, "kv_heads": self.kv_heads, **self._options}
        return ", ".join([str(self.width), *(f"{name}={value!r}" for name, value in options.items())])


def _share(width: Any, heads: Any, name: str) -> int:
    """The share of the width that a head has."""
    width, heads = whole_number("width", width, 1), whole_number("heads", heads, 1)
    if width % heads:
        raise CallError(f"heads: expected a divisor of the width {width}, or {name} given, got {heads} heads")
    share: int = width // heads
    return share
