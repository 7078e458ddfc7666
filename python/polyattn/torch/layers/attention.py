"""An attention between projections, whatever its spec."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ..._errors import CallError
from ..._specs import Spec
from .._attention import Attention as _Operator
from .._decode import decode, is_pool, signature_of
from .._sequences import check_offsets
from .._states import States


class Attention(nn.Module):
    """Any spec whose first arguments are queries, keys and values, between projections.

    Its other arguments are parameters, or buffers where the papers do not learn them. Queries have `heads` heads, keys and values
    `kv_heads`, which divides it. `forward(x, first_position=None)` wants the position of the first row of x where the spec does;
    with `cu_seqlens`, x [1, T, width] holds sequences one behind the other, and positions are those of each. With `state_every`
    gradients keep the states after so many positions each (`polyattn.torch.load`).
    """

    def __init__(
        self, spec: Spec, width: int, heads: int, kv_heads: int | None = None, *, entry: str | None = None,
        bias: bool = False, state_every: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.attention = _Operator(spec, entry, state_every)
        self.heads, self.kv_heads = heads, kv_heads or heads
        if heads < 1 or self.kv_heads < 1 or heads % self.kv_heads:
            raise CallError(f"kv_heads: expected a divisor of {heads} heads, got {kv_heads}")
        query, key, value, *others = self.attention.signature.arguments
        if query.shape[2] == key.shape[2] and self.kv_heads != heads:
            raise CallError(
                f"kv_heads: expected {heads}, as many as heads, for weights of each head that queries "
                f"and keys share in {self.attention.signature.name}; got {kv_heads}"
            )
        self.q_proj = nn.Linear(width, heads * int(query.shape[-1]), bias)
        self.k_proj = nn.Linear(width, self.kv_heads * int(key.shape[-1]), bias)
        self.v_proj = nn.Linear(width, self.kv_heads * int(value.shape[-1]), bias)
        depth = int(self.attention.signature.results[0].shape[-1])
        self.o_proj = nn.Linear(heads * depth, width, bias)
        self._others = []
        self._sizes = sizes = {"H": heads, "Hkv": self.kv_heads}
        for one in others:
            self._others.append(one.name)
            if one.name == "first_position" or "T" in one.shape:
                continue  # the call has it
            if "B" in one.shape:
                raise CallError(f"{self.attention.signature.name}: argument '{one.name}': expected a spec without states")
            shape = [sizes[size] if isinstance(size, str) else size for size in one.shape]
            numbers, is_learned = self.initial(one.name, shape)
            if is_learned:
                self.register_parameter(one.name, nn.Parameter(numbers))
            else:
                self.register_buffer(one.name, numbers)
        self.reset_projections()

    def reset_projections(self) -> None:
        for one in (self.q_proj, self.k_proj, self.v_proj, self.o_proj):
            nn.init.xavier_uniform_(one.weight)
            if one.bias is not None:
                nn.init.zeros_(one.bias)

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        """What an argument of the spec begins with, and whether it is learned."""
        if name == "freqs":
            return 10000.0 ** -(torch.arange(shape[0]) / shape[0]), False
        if name == "log_decay":
            return torch.log1p(-(2.0 ** (-5.0 - torch.arange(shape[0])))), False
        if name.startswith("columns"):
            return torch.ones(shape), False
        if name.startswith("gain") or name.startswith("gamma"):
            return torch.ones(shape), True
        if name.startswith("b"):
            return torch.zeros(shape), True
        return torch.randn(shape) * shape[-2] ** -0.5, True

    def of_call(self, name: str, x: torch.Tensor, first_position: Any, count: int, rows: int) -> torch.Tensor:
        """An argument that depends on the call: of `count` sequences, and for tables of positions, whose rows are `rows`."""
        if name != "first_position":
            raise CallError(f"{self.attention.signature.name}: argument '{name}': expected a module that makes it")
        first = torch.as_tensor(0 if first_position is None else first_position, dtype=torch.int64)
        return first.expand(count).contiguous()

    def project(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Queries, keys and values, [B, T, heads, size]."""
        q = self.q_proj(x).unflatten(-1, (self.heads, -1))
        k = self.k_proj(x).unflatten(-1, (self.kv_heads, -1))
        return q, k, self.v_proj(x).unflatten(-1, (self.kv_heads, -1))

    def attend(self, x: torch.Tensor, first_position: Any = None, cu_seqlens: Any = None) -> torch.Tensor:
        """What attention gives, [B, T, heads, value's size]."""
        q, k, v = self.project(x)
        own = (getattr(self, name, None) for name in self._others)
        count = x.shape[0] if cu_seqlens is None else check_offsets(type(self).__name__, cu_seqlens, x)
        others = [
            self.of_call(name, x, first_position, count, x.shape[1]) if one is None else one
            for name, one in zip(self._others, own)
        ]
        o: torch.Tensor = self.attention(q, k, v, *others, cu_seqlens=cu_seqlens)
        return o

    def forward(self, x: torch.Tensor, first_position: Any = None, cu_seqlens: Any = None) -> torch.Tensor:
        if first_position is not None and "first_position" not in self._others:
            raise CallError(
                f"first_position: expected none, as {self.attention.signature.name} does not ask for positions"
            )
        return self.combine(self.attend(x, first_position, cu_seqlens), x)

    def combine(self, o: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """The layer's result from that of its attention."""
        y: torch.Tensor = self.o_proj(o.flatten(-2))
        return y

    def new_states(self, slots: int) -> States:
        """Room for the states of so many sequences. Attentions without a state are refused, at a line of the spec."""
        device = self.q_proj.weight.device
        pools = {
            one.name: torch.zeros([slots, *(self._sizes[x] if isinstance(x, str) else x for x in one.shape[1:])], device=device)
            for one in signature_of(self.attention._handle).arguments if is_pool(one)
        }
        return States(pools, torch.zeros(slots, dtype=torch.int64, device=device))

    def prefill(self, x: torch.Tensor, states: States, slots: Any = None, lengths: Any = None) -> torch.Tensor:
        """`step` for sequences that begin here."""
        return self._go_on(x, states, slots, lengths, begins=True)

    def step(self, x: torch.Tensor, states: States, slots: Any = None, lengths: Any = None) -> torch.Tensor:
        """The layer for the next positions of sequences, x [B, T, width], whose states go on.

        slots: where each sequence's state is, below 0 for none; 0, 1, ... if None. lengths: how many of the T positions each has, the
        others' results are those of a zero; all if None.
        """
        return self._go_on(x, states, slots, lengths)

    def _go_on(self, x: torch.Tensor, states: States, slots: Any, lengths: Any, begins: bool = False) -> torch.Tensor:
        """Whatever is wrong is said before a state or a position changes."""
        if not isinstance(x, torch.Tensor) or x.dim() != 3:
            came = list(x.shape) if isinstance(x, torch.Tensor) else type(x).__name__
            raise CallError(f"x: expected a tensor [B, T, width], got {came}")
        if not isinstance(states, States):
            raise CallError(f"states: expected those of new_states, got {type(states).__name__}")
        batch, length = x.shape[:2]
        slots = torch.arange(batch, device=x.device) if slots is None else _whole_numbers("slots", slots)
        lengths = torch.full((batch,), length, device=x.device) if lengths is None else _whole_numbers("lengths", lengths)
        rows = slots.clamp(min=0).long()
        if batch and not 0 <= int(rows.max()) < len(states):
            raise CallError(f"slots: expected numbers below {len(states)}, got {slots.tolist()}")
        first = torch.zeros_like(rows) if begins else states.positions[rows]
        q, k, v = self.project(x)
        given = {"slots": slots.int(), "lengths": lengths.int(), "first_position": first}
        inputs = []
        for one in signature_of(self.attention._handle).arguments[3:]:
            if not is_pool(one):
                own = given.get(one.name, getattr(self, one.name, None))
                if own is None:
                    own = self.of_call(one.name, x, first, batch, length + int(first.max()))
                inputs.append(own)
        o = decode(self.attention._handle, [q, k, v, *inputs], list(states.pools.values()))
        if begins:
            states.reset(slots[slots >= 0])
        states.positions.index_add_(0, rows, torch.where(slots >= 0, lengths, 0).long())
        return self.combine(o, x)


def _whole_numbers(name: str, given: Any) -> torch.Tensor:
    """For a kernel, which takes i32: what is out of that range stays out of any."""
    if not isinstance(given, torch.Tensor) or given.dim() != 1 or given.is_floating_point() or given.is_complex():
        came = f"{given.dtype} {tuple(given.shape)}" if isinstance(given, torch.Tensor) else type(given).__name__
        raise CallError(f"{name}: expected a tensor of B whole numbers, got {came}")
    return given.clamp(-1, 2**31 - 1)
