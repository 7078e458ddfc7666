"""Attention layers: a module per family of polyattn.library, with projections in and out.

    layer = polyattn.torch.nn.LLoPS(512, heads=8, kv_heads=2, m=256, p=2)
    y = layer(x)  # x and y: [B, T, 512]
"""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import nn

from .. import library
from .._errors import CallError
from .._specs import Spec
from ._attention import Attention as _Operator
from ._decode import decode, is_pool, signature_of
from ._sequences import check_offsets
from ._states import StateCache, States

__all__ = [
    "Attention", "Based", "DPFP", "ElementwisePower", "FLatten", "FPA", "FastRoPE", "Hedgehog", "LLoPS",
    "Lightning", "Linear", "Performer", "PolaFormer", "PolySketch", "Polynomial", "Power", "RFF", "ReBased",
    "RetNet", "StateCache", "States", "XPos",
]  # fmt: skip


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


class _Family(Attention):
    """A function of polyattn.library; `options` are its own."""

    system: Callable[..., Spec]

    def __init__(
        self, width: int, heads: int, kv_heads: int | None = None, *, head_dim: int | None = None,
        value_dim: int | None = None, bias: bool = False, state_every: int | None = None, **options: Any,
    ) -> None:  # fmt: skip
        d = head_dim or width // heads
        spec = type(self).system(d=d, dv=value_dim or width // heads, **options)
        super().__init__(spec, width, heads, kv_heads, bias=bias, state_every=state_every)


class Linear(_Family):
    """elu + 1, Katharopoulos et al. 2020."""

    system = staticmethod(library.linear)


class DPFP(_Family):
    """Schlag et al. 2021."""

    system = staticmethod(library.dpfp)


class FLatten(_Family):
    """Han et al. 2023."""

    system = staticmethod(library.flatten)


class PolaFormer(_Family):
    """Meng et al. 2025, where every position sees all: learned exponents of each head and channel, a learned scale of queries and keys,
    and a linear gate. What is added to keys and to results by places in an image, positions and a convolution, is the caller's.
    """

    system = staticmethod(library.polaformer)

    def __init__(self, width: int, heads: int, kv_heads: int | None = None, **options: Any) -> None:
        super().__init__(width, heads, kv_heads, **options)
        self.g_proj = nn.Linear(width, self.o_proj.in_features, self.o_proj.bias is not None)
        self.scale = nn.Parameter(torch.zeros(heads, self.q_proj.out_features // heads))

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        return torch.zeros(shape), True  # every exponent is 1 + 4 sigmoid(0) = 3

    def project(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        q, k, v = super().project(x)
        # As in the paper's code, and of the sequences' dtype.
        factor = nn.functional.softplus(self.scale).reciprocal().to(q.dtype)
        return q * factor, k * factor, v

    def combine(self, o: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.o_proj(o.flatten(-2) * self.g_proj(x))
        return y


class LLoPS(_Family):
    """A learned low-rank polynomial sketch. It begins as a random one, whose scores are <q, k>^p on average."""

    system = staticmethod(library.llops)

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        # Both sides begin with the same numbers. Names are theta_<side><factor><rank>.
        if name[6] == "k":
            return getattr(self, "theta_q" + name[7:]).detach().clone(), True
        names = [x.name for x in self.attention.signature.arguments if x.name.startswith("theta_q")]
        p = max(int(x[7]) for x in names)
        return torch.randn(shape) * (shape[-1] * len(names) // p) ** (-0.5 / p), True


class Power(_Family):
    """Gelada et al. 2025; with gated=True a decay for each token and key head, of a projection."""

    system = staticmethod(library.power)

    def __init__(self, width: int, heads: int, kv_heads: int | None = None, **options: Any) -> None:
        super().__init__(width, heads, kv_heads, **options)
        if "log_gate" in self._others:
            self.gate = nn.Linear(width, self.kv_heads)
            # Nearly open: sigmoid(6) is 0.9975.
            nn.init.constant_(self.gate.bias, 6.0)

    def of_call(self, name: str, x: torch.Tensor, first_position: Any, count: int, rows: int) -> torch.Tensor:
        if name == "log_gate":
            return nn.functional.logsigmoid(self.gate(x).float())
        return super().of_call(name, x, first_position, count, rows)


class Polynomial(_Family):
    """Exact scores <q, k>^p of layer-normalized vectors, PolySketchFormer's section 2.1."""

    system = staticmethod(library.polynomial)


class Based(_Family):
    """Arora et al. 2024."""

    system = staticmethod(library.based)


class ReBased(_Family):
    """Aksenov et al. 2024: a learned gain and bias before the square."""

    system = staticmethod(library.triangle)

    def __init__(self, width: int, heads: int, kv_heads: int | None = None, **options: Any) -> None:
        super().__init__(width, heads, kv_heads, **{"weights": "sqrt2", "head_dim": 16, **options})


class FPA(_Family):
    """Factorized polynomial attention, projections of each head."""

    system = staticmethod(library.fpa)


class PolySketch(_Family):
    """Kacham et al. 2024: a random sketch, or with learned=True two small networks."""

    @staticmethod
    def system(*, learned: bool = False, **options: Any) -> Spec:
        return library.polysketch_learned(**options) if learned else library.polysketch(**options)

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        if name.startswith("g") and name[1:].isdigit():
            return torch.randn(shape), False
        return super().initial(name, shape)


class ElementwisePower(_Family):
    """(x W)^p element by element."""

    system = staticmethod(library.elementwise_power)


class Performer(_Family):
    """Choromanski et al. 2020: orthogonal directions, which are not learned."""

    system = staticmethod(library.performer)

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        d, m = shape
        blocks = [nn.init.orthogonal_(torch.empty(d, d)) for _ in range(-(-m // d))]
        lengths = torch.randn(m, d).norm(dim=-1)
        return torch.cat(blocks, dim=1)[:, :m] * lengths, False


class RFF(_Family):
    """Random Fourier features, which are not learned."""

    system = staticmethod(library.rff)

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        return torch.randn(shape), False


class Hedgehog(_Family):
    """Zhang et al. 2024; maps begin as the identity."""

    system = staticmethod(library.hedgehog)

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        if name.startswith("w"):
            return torch.eye(shape[-1]).repeat(shape[0], 1, 1), True
        return super().initial(name, shape)


class FastRoPE(_Family):
    """Alman and Song 2025: rotary positions, a polynomial for exp."""

    system = staticmethod(library.fast_rope)

    def __init__(self, width: int, heads: int, kv_heads: int | None = None, **options: Any) -> None:
        super().__init__(width, heads, kv_heads, **{"head_dim": 8, **options})


class Lightning(_Family):
    """Lightning attention: normalized and gated vectors, decays by head."""

    system = staticmethod(library.lightning)

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        if name == "log_decay":
            return -8.0 / shape[0] * torch.arange(1.0, shape[0] + 1), False
        return super().initial(name, shape)


class XPos(_Family):
    """Sun et al. 2022: rotary positions whose lengths grow on one side and shrink on the other."""

    system = staticmethod(library.xpos)

    def of_call(self, name: str, x: torch.Tensor, first_position: Any, count: int, rows: int) -> torch.Tensor:
        half = self.freqs.shape[0]
        channels = torch.arange(half, device=x.device)
        base = ((channels * 2 + 0.8 * half) / (2.8 * half)).repeat(2)
        exponents = torch.arange(rows, device=x.device)[:, None, None] / 512
        return base ** (exponents if name == "size_q" else -exponents)


class RetNet(_Family):
    """Sun et al. 2023: rotary positions, a decay for each head, outputs normalized by head and gated."""

    system = staticmethod(library.retnet)

    def __init__(self, width: int, heads: int, kv_heads: int | None = None, **options: Any) -> None:
        super().__init__(width, heads, kv_heads, **options)
        self.g_proj = nn.Linear(width, self.o_proj.in_features, self.o_proj.bias is not None)
        nn.init.xavier_uniform_(self.g_proj.weight, gain=2**-2.5)

    def reset_projections(self) -> None:
        super().reset_projections()
        for one, gain in ((self.q_proj, -2.5), (self.k_proj, -2.5), (self.v_proj, -2.5), (self.o_proj, -1.0)):
            nn.init.xavier_uniform_(one.weight, gain=2**gain)

    def combine(self, o: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        o = o * torch.rsqrt(o.float().square().mean(-1, keepdim=True) + 1e-6).to(o.dtype)
        y: torch.Tensor = self.o_proj(o.flatten(-2) * nn.functional.silu(self.g_proj(x)))
        return y
