"""Slots of states as callers name them."""

from __future__ import annotations

from typing import Any, Callable

import torch

from .._errors import CallError
from .._whole import describe
from ._numbers import tensor_of


class Slots:
    """Some of `count` slots, in an order. Row i has slot numbers[i], or none where that is below 0."""

    def __init__(self, given: Any, count: int) -> None:
        self.numbers = _numbers_of(given, count)
        self._tensors: dict[Any, torch.Tensor] = {}
        #: Whether every row has a slot.
        self.is_full = not self.numbers or min(self.numbers) >= 0
        if self.numbers and max(self.numbers) >= count:
            raise CallError(f"slots: expected numbers below {count}, the number of slots, got {max(self.numbers)}")

    def __len__(self) -> int:
        return len(self.numbers)

    def check_distinct(self) -> None:
        """For calls that write: two rows of one slot would leave either of two results."""
        chosen = [one for one in self.numbers if one >= 0]
        if len(set(chosen)) < len(chosen):
            twice = next(one for i, one in enumerate(chosen) if one in chosen[:i])
            raise CallError(f"slots: expected each slot once, got {twice} for two rows")

    def rows(self, device: Any) -> torch.Tensor:
        """The slots that there are."""
        return self._tensor("rows", device, torch.int64, lambda: [one for one in self.numbers if one >= 0])

    def for_kernel(self, device: Any) -> torch.Tensor:
        """All of them, as i32."""
        return self._tensor("kernel", device, torch.int32, lambda: [max(one, -1) for one in self.numbers])

    def with_slot(self, sequences: torch.Tensor) -> torch.Tensor:
        """Of one tensor row for each, the rows that have a slot."""
        if self.is_full:
            return sequences
        return sequences.index_select(0, self._with_slot(sequences.device))

    def gather(self, pool: torch.Tensor) -> torch.Tensor:
        """A copy of the slots' rows, with zeros where there is no slot."""
        found = pool.index_select(0, self.rows(pool.device))
        if self.is_full:
            return found
        return pool.new_zeros([len(self), *pool.shape[1:]]).index_copy_(0, self._with_slot(pool.device), found)

    def _with_slot(self, device: Any) -> torch.Tensor:
        return self._tensor("with slot", device, torch.int64, lambda: [i for i, one in enumerate(self.numbers) if one >= 0])

    def _tensor(self, name: str, device: Any, dtype: torch.dtype, numbers: Callable[[], list[int]]) -> torch.Tensor:
        """A tensor that is kept, for calls in any mode. A caller's tensor would not do: it may hold other numbers later."""
        found = self._tensors.get((name, device))
        if found is None:
            with torch.inference_mode(False):
                found = torch.tensor(numbers(), dtype=dtype, device=device)
            self._tensors[name, device] = found
        return found


def _numbers_of(given: Any, count: int) -> list[int]:
    if given is None:
        return list(range(count))
    if isinstance(given, slice):
        try:
            return list(range(count)[given])
        except (TypeError, ValueError):
            raise CallError(f"slots: expected a slice of whole numbers, got {given}") from None
    if isinstance(given, range) or type(given) in (list, tuple) and all(type(one) is int and abs(one) < 2**63 for one in given):
        return list(given)
    numbers = tensor_of("slots", given, "whole numbers, a slice, or bools, one for each slot")
    if numbers.dim() > 1 or numbers.dtype is torch.bool and tuple(numbers.shape) != (count,):
        expected = "numbers in one dimension" if numbers.dim() > 1 else f"{count} bools, one for each slot"
        raise CallError(f"slots: expected {expected}, got {describe(given)}")
    if numbers.is_meta:
        return list(range(min(numbers.numel(), count)))  # shapes alone, which no number changes
    found: list[int] = (numbers.nonzero() if numbers.dtype is torch.bool else numbers).reshape(-1).tolist()
    return found
