"""What arguments of an attention are: `Sequence[64]`, `Weight[64, 256]`, `Decay`, ..."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Union

from ._errors import CallError

@dataclass(frozen=True)
class Argument:
    """The type of one argument. `sizes` are the tensor's, None for a size of the call."""

    kind: str
    sizes: tuple[int | None, ...]
    dtype: str | None = None

    def type_with(self, dtype: str) -> str:
        sizes = "".join(f"{'?' if size is None else size}x" for size in self.sizes)
        return f"tensor<{sizes}{self.dtype or dtype}>"


class _Kind:
    """`Weight[64, 256]`: arguments of a kind by their sizes."""

    def __init__(self, kind: str, lead: tuple[int | None, ...], dtype: str | None = None) -> None:
        self._kind, self._lead, self._dtype = kind, lead, dtype

    def __getitem__(self, sizes: Union[int, tuple[int, ...]]) -> Any:
        own = sizes if isinstance(sizes, tuple) else (sizes,)
        if any(not isinstance(size, int) or size < 1 for size in own):
            raise CallError(f"{self._kind}: expected positive sizes, got {list(own)}")
        return Argument(self._kind, (*self._lead, *own), self._dtype)


#: Queries, keys and values, [B, T, H, d]: `Sequence[64]`.
Sequence = _Kind("sequence", (None, None, None))
#: A matrix or a vector for all heads: `Weight[64, 256]`, `Weight[64]`.
Weight = _Kind("weight", ())
#: One per head.
HeadWeight = _Kind("weight", (None,))
#: A vector per position, and per position and head: tables.
Table = _Kind("sequence", (None, 1))
HeadTable = _Kind("sequence", (None, None))
#: Rotary frequencies, or other weights that are f32 beside 16-bit sequences.
Weight32 = _Kind("weight", (), "f32")
#: A state S before position 0, `State[D, dv]`, and its normalizer, `StateNormalizer[D]`.
State = _Kind("state", (None, None), "f32")
StateNormalizer = _Kind("state", (None, None), "f32")
#: log g per token and head, and per head.
Decay: Any = Argument("decay", (None, None, None), "f32")
HeadDecay: Any = Argument("decay", (None,), "f32")
#: The position of the call's first row in its sequence, [B].
FirstPosition: Any = Argument("first", (None,), "i64")
