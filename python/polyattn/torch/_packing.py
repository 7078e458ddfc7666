"""Which columns of a batch [B, T] are which sequence, by any of the arguments that models have for it.

Padding and packed sequences take one way: the columns of sequences become one row with offsets. This is exact whatever an
attention's mask is. Padding behind a sequence is harmless by itself under a causal mask only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from .._errors import CallError
from ._numbers import is_whole, to_int64

#: Names of offsets [N + 1] in flash-linear-attention, transformers and flash-attention.
OFFSETS = ("cu_seqlens", "cu_seq_lens_q", "cu_seq_lens_k", "cu_seqlens_q", "cu_seqlens_k")
#: Names of the longest sequence's length, which kernels of others need beside the offsets.
LONGEST = ("max_length_q", "max_length_k", "max_seqlen", "max_seqlen_q", "max_seqlen_k")
#: All arguments that say where sequences begin, beside the mask.
ARGUMENTS = (*OFFSETS, *LONGEST, "seq_idx", "position_ids")


@dataclass(frozen=True)
class Packing:
    """Sequences in the columns of a batch. Columns of no sequence are padding."""

    shape: tuple[int, int]
    at: torch.Tensor  # [n] the columns of sequences, as numbers in the flattened batch
    starts: torch.Tensor  # [n] whether a sequence begins there

    def first(self) -> torch.Tensor:
        """[N] where in `at` each sequence begins."""
        return self.starts.nonzero().flatten()

    def offsets(self) -> torch.Tensor:
        """What the layers of polyattn.torch.nn call cu_seqlens. A batch of padding is one empty sequence."""
        first = self.first()
        return torch.cat([first, first.new_tensor([len(self.at)])]) if len(first) else first.new_zeros(2)

    def pack(self, x: torch.Tensor) -> torch.Tensor:
        """[B, T, ...] as [1, n, ...]."""
        return x.flatten(0, 1)[self.at][None]

    def unpack(self, y: torch.Tensor) -> torch.Tensor:
        """[1, n, width] as [B, T, width], where padding is zero."""
        batch, length = self.shape
        return y.new_zeros(batch * length, y.shape[-1]).index_copy(0, self.at, y[0]).unflatten(0, self.shape)


def find_packing(x: torch.Tensor, mask: torch.Tensor | None, named: dict[str, Any]) -> Packing | None:
    """The sequences in the columns of x [B, T, ...]; None where each row is one.

    mask: whole numbers [B, T], 0 for padding. Several numbers in a row are its sequences. `named` are some of ARGUMENTS, which
    must agree about where sequences begin.
    """
    is_full = mask is None or bool((mask == 1).all())
    if is_full and (not named or list(named) == ["position_ids"] and _go_up(x, named["position_ids"])):
        return None
    marks = _Marks(x, mask)
    for name in OFFSETS:
        if name in named:
            marks.add_offsets(name, named[name])
    if "seq_idx" in named:
        marks.add_numbers("seq_idx", whole_numbers("seq_idx", named["seq_idx"], x))
    if mask is not None and bool((mask > 1).any()):
        marks.add_numbers("attention_mask", mask)
    if "position_ids" in named:
        marks.add_positions(positions_of(named["position_ids"], x))
    packing = marks.packing()
    _check_longest(packing, named)
    return packing if marks.has_padding or int(packing.starts.sum()) > x.shape[0] else None


def positions_of(given: Any, x: torch.Tensor) -> torch.Tensor:
    """position_ids as [B, T], which may come as [1, T]. Those of padding mean nothing."""
    found = _of_columns("position_ids", given, x)
    if not is_whole(found):
        raise CallError(f"position_ids: expected whole numbers, got {found.dtype}")
    return to_int64(found)


def whole_numbers(name: str, given: Any, x: torch.Tensor) -> torch.Tensor:
    """Numbers from 0 on for the columns of x."""
    numbers = _of_columns(name, given, x)
    found = numbers.long()
    if bool((found < 0).any()) or numbers.is_floating_point() and not torch.equal(found.to(numbers.dtype), numbers):
        raise CallError(f"{name}: expected whole numbers from 0 on, got {numbers.min()} to {numbers.max()}")
    return found


def _of_columns(name: str, given: Any, x: torch.Tensor) -> torch.Tensor:
    shape = list(x.shape[:2])
    if not isinstance(given, torch.Tensor) or given.dim() != 2 or given.is_complex():
        came = list(given.shape) if isinstance(given, torch.Tensor) else type(given).__name__
        raise CallError(f"{name}: expected a tensor {shape} of whole numbers, got {came}")
    if given.shape[1] != shape[1] or given.shape[0] not in (1, shape[0]):
        raise CallError(f"{name}: expected a tensor {shape}, got {list(given.shape)}")
    return given.to(x.device).expand(shape)


def _go_up(x: torch.Tensor, given: Any) -> bool:
    return bool((positions_of(given, x).diff() == 1).all())


class _Marks:
    """Where each argument says that sequences begin, among the columns that are no padding."""

    def __init__(self, x: torch.Tensor, mask: torch.Tensor | None) -> None:
        batch, length = x.shape[:2]
        self.x = x
        columns = torch.arange(batch * length, device=x.device)
        self.has_padding = mask is not None and not bool(mask.all())
        self.at = columns if mask is None else columns[mask.flatten() != 0]
        self.rows = self.at // max(length, 1)
        self.said: dict[str, torch.Tensor] = {}

    def add_offsets(self, name: str, ends: Any) -> None:
        batch, length = self.x.shape[:2]
        if not isinstance(ends, torch.Tensor) or ends.dim() != 1 or not is_whole(ends) or len(ends) < 2:
            came = f"{ends.dtype} {list(ends.shape)}" if isinstance(ends, torch.Tensor) else type(ends).__name__
            raise CallError(f"{name}: expected a tensor of N + 1 whole numbers, got {came}")
        if batch != 1:
            raise CallError(f"{name}: expected a batch of 1 with it, got {batch}")
        if self.has_padding:
            raise CallError(f"attention_mask: expected no padding beside {name}, got some")
        ends = to_int64(ends.to(self.x.device))
        if ends[0] != 0 or ends[-1] != length or bool((ends.diff() < 0).any()):
            raise CallError(f"{name}: expected ascending numbers from 0 to {length}, got {ends.tolist()}")
        starts = torch.zeros(length + 1, dtype=torch.bool, device=ends.device)
        starts[ends] = True
        self.said[name] = starts[:length]

    def add_numbers(self, name: str, numbers: torch.Tensor) -> None:
        numbers = numbers.flatten()[self.at]
        starts = self._where(numbers.diff() != 0)
        if torch.unique(torch.stack([self.rows, numbers]), dim=1).shape[1] != int(starts.sum()):
            raise CallError(f"{name}: expected each sequence in one piece, got a number that comes again in its row")
        self.said[name] = starts

    def add_positions(self, positions: torch.Tensor) -> None:
        """They say where sequences begin if they begin again. A layer counts by itself, so others say nothing."""
        positions = positions.flatten()[self.at]
        jumps = (positions.diff() != 1) & (self.rows.diff() == 0)
        if bool((jumps & (positions[1:] != 0)).any()):
            raise CallError("position_ids: expected positions that go up by one or begin again at 0, got others")
        if bool(jumps.any()):
            self.said["position_ids"] = self._where(jumps)

    def packing(self) -> Packing:
        starts = self._where(torch.zeros_like(self.at[1:], dtype=torch.bool))
        for i, (name, its) in enumerate(self.said.items()):
            if i and not torch.equal(its, starts):
                raise CallError(f"{name}: expected sequences that begin where {next(iter(self.said))} has them, got others")
            starts = its
        if bool(((self.at.diff() != 1) & ~starts[1:]).any()):
            raise CallError("attention_mask: expected padding before or behind a sequence, got some inside")
        batch, length = self.x.shape[:2]
        return Packing((batch, length), self.at, starts)

    def _where(self, changes: torch.Tensor) -> torch.Tensor:
        """A sequence begins with each row and at each change."""
        first = torch.ones_like(self.at[:1], dtype=torch.bool)
        return torch.cat([first, changes | (self.rows.diff() != 0)])


def _check_longest(packing: Packing, named: dict[str, Any]) -> None:
    longest = int(packing.offsets().diff().max())
    for name in LONGEST:
        given = named.get(name, longest)
        if not isinstance(given, (int, torch.Tensor)) or isinstance(given, torch.Tensor) and given.numel() != 1:
            raise CallError(f"{name}: expected a number, got {type(given).__name__}")
        if given < longest:
            raise CallError(f"{name}: expected at least {longest}, the longest sequence's length, got {int(given)}")
