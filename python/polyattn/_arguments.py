"""What arguments of an attention are: `Sequence[64]`, `Weight[64, 256]`, `Decay`, ..."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, SupportsIndex, Union

from ._errors import CallError
from ._whole import index_of

Sizes = Union[SupportsIndex, tuple[SupportsIndex, ...]]


@dataclass(frozen=True)
class Argument:
    """The type of one argument: what it is for, its sizes (None for a size of the call), and its dtype, None for that of
    the attention. `Sequence[64]` makes one, as an annotation or in the dictionary `arguments` of `attention`."""

    kind: str
    sizes: tuple[int | None, ...]
    dtype: str | None = None
    encoding: str | None = None

    def type_with(self, dtype: str) -> str:
        """Its type in the dialect, in an attention of that dtype."""
        sizes = "".join(f"{'?' if size is None else size}x" for size in self.sizes)
        return f"tensor<{sizes}{self.dtype or dtype}{f', {self.encoding}' if self.encoding else ''}>"

    def _described(self, words: str) -> Argument:
        object.__setattr__(self, "__doc__", words)
        return self


class Kind:
    """Arguments of a kind by their sizes: `Weight[64, 256]`. Sizes are whole numbers, at least 1; others are a CallError."""

    def __init__(
        self, name: str, words: str, kind: str, lead: tuple[int | None, ...], dtype: str | None = None,
        encoding: str | None = None,
    ) -> None:  # fmt: skip
        self.__name__, self.__doc__ = name, words
        self._kind, self._lead, self._dtype, self._encoding = kind, lead, dtype, encoding

    def __getitem__(self, sizes: Sizes) -> Argument:
        own = sizes if isinstance(sizes, tuple) else (sizes,)
        return Argument(self._kind, (*self._lead, *(self._size(size, own) for size in own)), self._dtype, self._encoding)

    def _size(self, size: Any, all_sizes: tuple[Any, ...]) -> int:
        found = index_of(size) or 0
        if found < 1:
            raise CallError(f"{self.__name__}: expected positive sizes, got {list(all_sizes)}")
        return found

    def __repr__(self) -> str:
        return f"polyattn.builder.{self.__name__}"


Sequence = Kind("Sequence", "Queries, keys or values [B, T, H, d], of the attention's dtype: `Sequence[64]`.", "sequence",
                (None, None, None))  # fmt: skip
SharedSequence = Kind(
    "SharedSequence", "A sequence [B, T, Hkv, d] whose heads several heads of the attention share; all else then has H heads, and head h "
    "reads head h / (H / Hkv): `SharedSequence[128]`.", "sequence", (None, None, None), encoding="#polyattn.shared_heads",
)  # fmt: skip
Weight = Kind("Weight", "A matrix or a vector for all heads: `Weight[64, 256]`, `Weight[64]`.", "weight", ())
HeadWeight = Kind("HeadWeight", "A matrix or a vector of each head, [H, ...]: `HeadWeight[64, 256]`.", "weight", (None,))
Table = Kind("Table", "A vector of each position, the same for all heads, [T, 1, d]: `Table[64]`.", "sequence", (None, 1))
HeadTable = Kind("HeadTable", "A vector of each position and head, [T, H, d]: `HeadTable[64]`.", "sequence", (None, None))
Weight32 = Kind("Weight32", "Rotary frequencies, or other weights that are f32 beside 16-bit sequences: `Weight32[32]`.",
                "weight", (), "f32")  # fmt: skip
State = Kind("State", "A state S before the call's first position, f32 [B, Hkv, D, dv]: `State[D, dv]`.", "state", (None, None),
             "f32")  # fmt: skip
StateNormalizer = Kind("StateNormalizer", "The sum z of key features that belongs to a state, f32 [B, Hkv, D]: "
                       "`StateNormalizer[D]`.", "state", (None, None), "f32")  # fmt: skip
Decay = Argument("decay", (None, None, None), "f32")._described(
    "Natural logarithms of the decays of each token and head, f32 [B, T, Hkv]."
)
FeatureDecay = Kind("FeatureDecay", "The same of each of the key's D features, f32 [B, T, Hkv, D]: `FeatureDecay[D]`.", "decay",
                    (None, None, None), "f32")  # fmt: skip
HeadDecay = Argument("decay", (None,), "f32")._described("Natural logarithms of the decays of each head, f32 [Hkv].")
FirstPosition = Argument("first", (None,), "i64")._described(
    "The position of the call's first row in its sequence, from 0 on, i64 [B]."
)
