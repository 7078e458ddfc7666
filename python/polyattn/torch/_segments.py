"""Which positions of which sequence a rank's states are about, where one sequence or several lie on the ranks of a process group."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch

from .._errors import CallError
from ._sequences import OFFSETS


@dataclass(frozen=True)
class Part:
    """Positions of one rank that are of the sequences `rows`: all of a batch, or one among packed ones."""

    rows: slice
    positions: slice

    def of(self, shape: tuple[Any, ...], x: Any) -> Any:
        """What these sequences have of a tensor whose sizes are named so."""
        if {"B", "N"} & set(shape[:1]) and "T" not in shape:
            return x[self.rows]
        return x[:, self.positions] if "T" in shape or "Tk" in shape else x


@dataclass(frozen=True)
class Cut:
    """One rank's positions. `first` goes on with states of the ranks `before`, `last` is gone on with by the ranks `after`."""

    first: Part
    last: Part
    before: list[int]
    after: list[int]
    #: Where packed sequences end on this rank, and how many positions of each are on ranks before it.
    ends: Any = None
    seen: Any = None

    @property
    def is_whole(self) -> bool:
        """Whether all its positions are of the same sequences."""
        return self.first == self.last


def cut_batch(rank: int, size: int) -> Cut:
    """Every rank has positions of the same sequences."""
    part = Part(slice(None), slice(None))
    return Cut(part, part, list(range(rank)), list(range(rank + 1, size)))


def cut_packed(who: str, ends: Any, lengths: list[int], rank: int) -> Cut:
    """Sequences one behind the other between `ends`, of which rank r has the next lengths[r] positions."""
    numbers: list[int] = ends.tolist()
    if numbers[0] != 0 or numbers[-1] != sum(lengths) or sorted(numbers) != numbers:
        raise CallError(
            f"{who}: argument '{OFFSETS}': expected numbers that rise from 0 to {sum(lengths)}, the positions of all "
            f"ranks, got {numbers if len(numbers) < 10 else [*numbers[:4], '...', *numbers[-4:]]}"
        )
    bounds = [0, *accumulate(lengths)]
    begin, end = bounds[rank : rank + 2]
    own = ends.clamp(begin, end) - begin
    seen = (begin - ends[:-1]).clamp(min=0)
    if begin == end:
        nothing = Part(slice(0, 1), slice(0, 0))
        return Cut(nothing, nothing, [], [], own.int(), seen)

    def sequence_at(position: int) -> int:
        return int(torch.searchsorted(ends, position, right=True)) - 1

    first, last = sequence_at(begin), sequence_at(end - 1)
    since, until = numbers[first], numbers[last + 1]
    ranks = [one for one, length in enumerate(lengths) if length]
    return Cut(
        Part(slice(first, first + 1), slice(0, min(numbers[first + 1], end) - begin)),
        Part(slice(last, last + 1), slice(max(numbers[last], begin) - begin, end - begin)),
        [one for one in ranks if one < rank and bounds[one + 1] > since],
        [one for one in ranks if one > rank and bounds[one] < until],
        own.int(),
        seen,
    )
