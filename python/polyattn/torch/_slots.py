"""Slots of states as callers name them."""

from __future__ import annotations

from typing import Any

import torch

from .._errors import CallError
from .._whole import describe
from ._numbers import tensor_of


class Slots:
    """Some of `count` slots, in an order. Row i has slot numbers[i], or none where that is below 0."""

    def __init__(self, given: Any, count: int) -> None:
        self._given = given if isinstance(given, torch.Tensor) and given.dtype is torch.int64 and given.dim() == 1 else None
        self.numbers = _numbers_of(given, count)
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
        if self.is_full and self._given is not None:
            return self._given.to(device)
        return torch.tensor([one for one in self.numbers if one >= 0], dtype=torch.int64, device=device)

    def for_kernel(self, device: Any) -> torch.Tensor:
        """All of them, as i32."""
        if self.is_full:
            return self.rows(device).int()
        return torch.tensor(self.numbers, dtype=torch.int32, device=device)

    def with_slot(self, sequences: torch.Tensor) -> torch.Tensor:
        """Of one tensor row for each, the rows that have a slot."""
        if self.is_full:
            return sequences
        chosen = [i for i, one in enumerate(self.numbers) if one >= 0]
        return sequences.index_select(0, torch.tensor(chosen, dtype=torch.int64, device=sequences.device))

    def gather(self, pool: torch.Tensor) -> torch.Tensor:
        """A copy of the slots' rows, with zeros where there is no slot."""
        found = pool.index_select(0, self.rows(pool.device))
        if self.is_full:
            return found
        chosen = torch.tensor([i for i, one in enumerate(self.numbers) if one >= 0], dtype=torch.int64, device=pool.device)
        return pool.new_zeros([len(self), *pool.shape[1:]]).index_copy_(0, chosen, found)


def _numbers_of(given: Any, count: int) -> list[int]:
    if given is None:
        return list(range(count))
    if isinstance(given, slice):
        try:
            return list(range(count)[given])
        except (TypeError, ValueError):
            raise CallError(f"slots: expected a slice of whole numbers, got {given}") from None
    if isinstance(given, range):
        return list(given)
    numbers = tensor_of("slots", given, "whole numbers, a slice, or bools, one for each slot")
    if numbers.dim() > 1 or numbers.dtype is torch.bool and tuple(numbers.shape) != (count,):
        expected = "numbers in one dimension" if numbers.dim() > 1 else f"{count} bools, one for each slot"
        raise CallError(f"slots: expected {expected}, got {describe(given)}")
    if numbers.is_meta:
        return list(range(min(numbers.numel(), count)))  # shapes alone, which no number changes
    found: list[int] = (numbers.nonzero() if numbers.dtype is torch.bool else numbers).reshape(-1).tolist()
    return found
