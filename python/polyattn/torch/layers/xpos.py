"""xPos: rotary positions and lengths by position, of which only differences enter.

A query at t is zeta^t long and a key zeta^-t, with a zeta below 1 for each pair of channels. Either leaves f32 after 36,000 positions,
though their product, zeta^(t - s), never exceeds 1. So t is counted from a reference that moves along: sequences are computed in
segments, and a state is multiplied by zeta^n when the reference moves on by n positions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import torch

from ... import library
from .._attention import Attention as _Operator
from .._generation import counts_of
from .._sequences import check_offsets
from .._slots import Slots
from .._states import States
from .constants import Constant
from .family import Family

#: Positions of a segment. Lengths stay within e^5, also in float16.
_SPAN = 2048


class XPos(Family):
    """xPos, Sun et al. 2022: x and y [B, T, width]; rotary positions whose scores decay with the distance, by another factor for each
    pair of channels. There is no normalizer.

    Sequences of more than 2,048 positions are computed in segments of as many, one after the other.

    Args:
        width, heads, kv_heads, head_dim, value_dim, bias, state_every: as all families have them (`Family`).
        constants: numbers for `freqs` [head_dim / 2] in place of 10000^(-2i / head_dim).
    """

    freqs = Constant()

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, head_dim: int | None = None,
        value_dim: int | None = None, bias: bool = False, state_every: int | None = None,
        constants: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        system = functools.partial(library.xpos, sizes="token")
        super().__init__(system, {}, width, heads, kv_heads, head_dim, value_dim, bias, state_every, constants)
        d, dv = self._options["head_dim"], self._options["value_dim"]
        self._segment = _Operator(system(d, dv, states=True, first_position=True), None, state_every)
        half = d // 2
        # The paper's zeta with gamma = 0.4 and its 512 positions, the same for both channels of a pair.
        zeta = [(2 * i + 0.8 * half) / (2.8 * half) for i in range(half)]
        self._constants.add("log_zeta", [math.log(one) / 512 for one in zeta] * 2)

    def _lengths(self, positions: torch.Tensor, sign: int) -> torch.Tensor:
        """zeta^t or zeta^-t for positions [..., T] from a reference, [..., T, 1, head_dim] in f32."""
        return torch.exp(sign * positions[..., None, None].float() * self._constants.on("log_zeta", positions.device))

    def _sizes_at(self, positions: torch.Tensor, q: torch.Tensor, k: torch.Tensor) -> list[torch.Tensor]:
        """Lengths of queries and keys as the spec takes them, without memory for batch and heads."""
        return [self._lengths(positions, sign).to(x.dtype).expand_as(x) for x, sign in ((q, 1), (k, -1))]

    def attend(self, x: torch.Tensor, first_position: Any = None, cu_seqlens: Any = None) -> torch.Tensor:
        """The result of the attention, [B, T, heads, value's size].

        Long sequences are computed in segments, each with positions relative to its middle, so that no factor leaves the range of f32.
        """
        q, k, v = self.project(x)
        batch, length = x.shape[:2]
        at, lengths = torch.arange(length, device=x.device), [length] * batch
        if cu_seqlens is not None:
            check_offsets(type(self).__name__, cu_seqlens, x)
            ends = cu_seqlens.to(x.device)
            at = at - ends[torch.searchsorted(ends[1:], at, right=True).clamp(max=len(ends) - 2)]
            lengths = _lengths_between(ends, length)
        if length <= _SPAN or max(lengths, default=0) <= _SPAN:
            freqs = self._constants.on("freqs", x.device)
            o: torch.Tensor = self.attention(q, k, v, freqs, *self._sizes_at(at - _SPAN // 2, q, k), cu_seqlens=cu_seqlens)
            return o
        q, k, v = (one.flatten(0, 1).unsqueeze(0) for one in (q, k, v))
        o = self._in_segments(q, k, v, _Segments(lengths, x.device))
        return o.view(batch, length, *o.shape[2:])

    def _in_segments(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, segments: _Segments) -> torch.Tensor:
        """Sequences in one batch, [1, T, heads, size]: a segment of each, then the next one of each that goes on."""
        device = q.device
        parts = [segments.split(x) for x in (q, k, v)]
        about = next(one for one in self._segment.signature.arguments if one.role == "state")
        sizes = [self._sizes[x] if isinstance(x, str) else x for x in about.shape[1:]]
        state = torch.zeros([len(segments.rows[0]), *sizes], dtype=torch.float32, device=device)
        passed = self._lengths(torch.tensor([_SPAN], device=device), 1).reshape(-1, 1)
        results = []
        for i, qkv in enumerate(zip(*parts)):
            at, offsets, first = segments.positions(i)
            if i:
                state = (state * passed)[segments.that_go_on(i)]
            o, state = self._segment(
                *qkv, self._constants.on("freqs", device), *self._sizes_at(at - _SPAN // 2, *qkv[:2]), state, first,
                cu_seqlens=offsets,
            )  # fmt: skip
            results.append(o)
        return segments.join(results)

    def of_call(self, name: str, x: torch.Tensor, first_position: Any, count: int, rows: int) -> torch.Tensor:
        """Lengths in a call with states, by each sequence's own reference."""
        heads, sign = (self.heads, 1) if name == "size_q" else (self.kv_heads, -1)
        at = first_position[:, None] + torch.arange(x.shape[1], device=x.device) - _reference(first_position)[:, None]
        return self._lengths(at, sign).to(x.dtype).expand(-1, -1, heads, -1)

    def _continue(self, x: Any, states: Any, slots: Any, lengths: Any, begins: bool) -> torch.Tensor:
        if not isinstance(x, torch.Tensor) or x.dim() != 3 or x.shape[1] <= _SPAN:
            return self._within(x, states, slots, lengths, begins)
        batch, length = x.shape[:2]
        counts = counts_of(lengths, batch, length, x.device)
        pieces = [
            self._within(one, states, slots, (counts - i * _SPAN).clamp(0, _SPAN), begins and i == 0)
            for i, one in enumerate(x.split(_SPAN, 1))
        ]
        return torch.cat(pieces, 1)

    def _within(self, x: Any, states: Any, slots: Any, lengths: Any, begins: bool) -> torch.Tensor:
        """A step of at most _SPAN positions, and states by the reference of where they end."""
        before = states.positions.clone() if isinstance(states, States) else None
        y = super()._continue(x, states, slots, lengths, begins)
        assert before is not None
        if begins:
            before[Slots(range(len(x)) if slots is None else slots, len(states)).rows(before.device)] = 0
        if before.is_meta:
            return y
        moved = _reference(states.positions) - _reference(before)
        rows = moved.nonzero().flatten()
        if len(rows):
            passed = self._lengths(moved[rows], 1).unsqueeze(-1)  # [rows, 1, head_dim, 1]
            for pool in states.pools.values():
                pool[rows] = pool[rows] * passed
        return y


def _reference(positions: torch.Tensor) -> torch.Tensor:
    """From where a sequence that goes on at these positions counts: its next _SPAN positions are at most as far from it."""
    return positions // _SPAN * _SPAN + _SPAN


def _lengths_between(ends: torch.Tensor, total: int) -> list[int]:
    """Of packed sequences; none where they fit a segment, or where the kernel will refuse the offsets."""
    lengths: list[int] = ends.diff().tolist() if total > _SPAN else []
    is_right = lengths and int(ends[0]) == 0 and sum(lengths) == total and min(lengths) >= 0
    return lengths if is_right else []


class _Segments:
    """Where segments of several sequences lie in a batch [1, T]. `rows` has the sequences of each segment."""

    def __init__(self, lengths: list[int], device: torch.device) -> None:
        self._device, begins = device, range(0, max(lengths), _SPAN)
        self.rows = [[i for i, length in enumerate(lengths) if length > begin] for begin in begins]
        self._counts = [[min(lengths[i] - begin, _SPAN) for i in rows] for begin, rows in zip(begins, self.rows)]
        starts = [0, *accumulate(lengths)]
        pieces = [
            torch.arange(starts[i] + begin, starts[i] + begin + count, device=device)
            for begin, rows, counts in zip(begins, self.rows, self._counts)
            for i, count in zip(rows, counts)
        ]
        # One sequence is in the order of its segments already.
        self._order = None if len(self.rows[0]) == 1 else torch.cat(pieces)

    def split(self, x: torch.Tensor) -> list[torch.Tensor]:
        sizes = [sum(one) for one in self._counts]
        return list((x if self._order is None else x.index_select(1, self._order)).split(sizes, 1))

    def join(self, parts: list[torch.Tensor]) -> torch.Tensor:
        x = torch.cat(parts, 1)
        return x if self._order is None else x.index_select(1, self._order.argsort())

    def positions(self, i: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Of segment i: each row's position in it, the offsets of its sequences, and where these go on."""
        counts = self._counts[i]
        at = torch.cat([torch.arange(one, device=self._device) for one in counts])
        offsets = torch.tensor([0, *accumulate(counts)], device=self._device)
        return at, offsets, torch.full((len(counts),), i * _SPAN, device=self._device)

    def that_go_on(self, i: int) -> torch.Tensor:
        """Which of the sequences of segment i - 1 have a segment i."""
        going = set(self.rows[i])
        return torch.tensor([n for n, one in enumerate(self.rows[i - 1]) if one in going], device=self._device)
