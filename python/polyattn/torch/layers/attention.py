"""An attention between projections, whatever its spec."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any, Callable

import torch
from torch import nn

from ..._errors import CallError
from ..._kernels import F32_ROLES, Tensor
from ..._specs import Spec
from ..._whole import whole_number
from .._attention import Attention as _Operator
from .._generation import continue_sequences, new_states
from .._numbers import numbers_of_sequences
from .._sequences import check_offsets
from .._states import States
from .constants import Constants, Numbers, numbers_of


def normal(shape: list[int]) -> torch.Tensor:
    """Normal numbers in f32, whatever PyTorch's default dtype is."""
    return torch.randn(shape, dtype=torch.float32)


def begin_as(begin: Callable[[nn.Linear], None], linear: nn.Linear) -> nn.Linear:
    """An nn.Linear that begins so. It is no subclass, for quantizers replace modules of exactly that type; and it has
    `reset_parameters` of its own, for FSDP and others call that of each module."""
    linear.reset_parameters = functools.partial(begin, linear)
    linear.reset_parameters()
    return linear


def xavier(linear: nn.Linear, gain: float = 1.0) -> None:
    """Xavier's uniform distribution, and a bias of zeros."""
    nn.init.xavier_uniform_(linear.weight, gain=gain)
    if linear.bias is not None:
        nn.init.zeros_(linear.bias)


def open_gate(gate: nn.Linear) -> None:
    """A gate that forgets slowly at first."""
    nn.Linear.reset_parameters(gate)
    nn.init.constant_(gate.bias, 6.0)  # sigmoid(6) is 0.9975


def _spread_as(tensor: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """Numbers over the ranks as a parameter is that FSDP has sharded; those of the first rank, where they are random."""
    placements = getattr(tensor, "placements", None)
    if placements is None or hasattr(numbers, "placements"):
        return numbers
    from torch.distributed.tensor import distribute_tensor

    spread: torch.Tensor = distribute_tensor(numbers, tensor.device_mesh, placements)
    return spread


class Attention(nn.Module):
    """Any spec whose first arguments are queries, keys and values, between projections.

        layer = polyattn.torch.nn.Attention(polyattn.library.llops(d=64, m=256), 512, heads=8)
        y = layer(x)  # x and y: [B, T, 512]

    The use of the spec's other arguments determines their initial values (`layer.attention.signature` has the roles):

    - a weight, a matrix: a parameter of normal numbers with the variance 1 / rows;
    - an added vector, a bias or a shift: a parameter of zeros;
    - a gain, a factor, divisor or exponent: a parameter of ones. Several gains of one shape start at 1 plus a tenth of normal
      numbers, because equal ones would always have equal gradients;
    - a table of scores by distance, or of their logarithms: a parameter of ones, f32 in the kernel for any dtype of the layer;
    - rotary frequencies: 10000^(-i / n) for i = 0 ... n - 1; decays: log(1 - 2^(-5 - h)) for head h. They are constants, not
      parameters: f32 for any dtype of the layer, and in no checkpoint;
    - arguments with a size T belong to the call. `first_position` is an argument of `forward`; override `of_call` for others.

    For other values, override `initial` or `formula` in a subclass.

    Args:
        spec: its text, a path, or a spec of the builder or the library. Attentions with states in their signature are refused.
        width: the size of the last dimension of x and y.
        heads: heads of queries. The spec has the head sizes.
        kv_heads: heads of keys and values, a divisor of `heads`; equal to `heads` if None.
        entry: one of the spec's attentions; needed if there are several.
        sizes: sizes of the entry by name, in place of the defaults of a text in the short form.
        bias: whether the four projections have biases, which start at zero.
        state_every: save the states after every so many positions, 1 to 1024. Gradients then take less time and more memory.
        constants: frequencies and decays by argument name, in place of the formulas above.

    Raises:
        polyattn.SpecError: of the spec, with its lines.
        polyattn.CallError: names the argument, the expected value and the given one.
    """

    #: The modules that `combine` calls.
    result_modules: tuple[str, ...] = ("o_proj",)

    def __init__(
        self, spec: Spec, width: int, heads: int, kv_heads: int | None = None, *, entry: str | None = None,
        sizes: Mapping[str, int] | None = None, bias: bool = False, state_every: int | None = None,
        constants: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        width, heads = whole_number("width", width, 1), whole_number("heads", heads, 1)
        self.attention = _Operator(spec, entry, state_every, sizes)
        self.width, self.heads = width, heads
        self.kv_heads = heads if kv_heads is None else whole_number("kv_heads", kv_heads, 1)
        if heads % self.kv_heads:
            raise CallError(f"kv_heads: expected a divisor of {heads} heads, got {kv_heads}")
        arguments = self.attention.signature.arguments
        if len(arguments) < 3 or any(len(one.shape) != 4 or one.shape[0] != "B" for one in arguments[:3]):
            raise CallError(
                f"{self.attention.signature.name}: expected queries, keys and values [B, T, heads, size] first, got arguments "
                + ", ".join(one.name for one in arguments)
            )
        query, key, value, *others = arguments
        if self.kv_heads != heads and all("Hkv" not in one.shape for one in arguments):
            raise CallError(
                f"kv_heads: expected {heads}, as many as heads, for weights of each head that queries "
                f"and keys share in {self.attention.signature.name}; got {kv_heads}"
            )
        self._sizes = {"H": heads, "Hkv": self.kv_heads}
        self._heads = [self._sizes[str(one.shape[2])] for one in (query, key, value)]
        widths = [count * int(one.shape[-1]) for count, one in zip(self._heads, (query, key, value))]
        self.q_proj, self.k_proj, self.v_proj = (
            begin_as(functools.partial(xavier, gain=self.gain_of(side)), nn.Linear(width, size, bias))
            for side, size in zip("qkv", widths)
        )
        depth = int(self.attention.signature.results[0].shape[-1])
        self.o_proj = begin_as(functools.partial(xavier, gain=self.gain_of("o")), nn.Linear(heads * depth, width, bias))
        self._others = [one.name for one in others]
        self._f32 = frozenset(one.name for one in others if one.role in F32_ROLES)
        self._constants = Constants()
        self._register(others, dict(constants or {}))

    def _register(self, others: list[Tensor], given: dict[str, Any]) -> None:
        """Parameters, buffers and constants for arguments that are no call's."""
        name = self.attention.signature.name
        for one in others:
            if one.name == "first_position" or {"T", "Tk"} & set(one.shape):
                continue  # the call has it
            if "B" in one.shape:
                raise CallError(f"{name}: argument '{one.name}': expected a spec without states")
            shape = [self._sizes[size] if isinstance(size, str) else size for size in one.shape]
            if one.role in ("frequencies", "decay"):
                numbers = numbers_of(one.name, given.pop(one.name), shape) if one.name in given else self.formula(one.name, shape)
                self._constants.add(one.name, numbers)
                continue
            numbers, is_learned = self.initial(one.name, shape)
            numbers = numbers.to(torch.get_default_dtype())
            if is_learned:
                self.register_parameter(one.name, nn.Parameter(numbers))
            else:
                self.register_buffer(one.name, numbers)
        if given:
            known = ", ".join(self._constants) or "none"
            raise CallError(f"constants: expected frequencies and decays of {name}, which are {known}; got '{next(iter(given))}'")

    def gain_of(self, side: str) -> float:
        """The gain of Xavier's uniform distribution, with which the projection q, k, v or o begins."""
        return 1.0

    def initial(self, name: str, shape: list[int]) -> tuple[torch.Tensor, bool]:
        """The f32 numbers that an argument of the spec begins with, and whether they are learned."""
        arguments = self.attention.signature.arguments
        about = next(one for one in arguments if one.name == name)
        if about.role == "gain":
            is_alone = sum(one.role == "gain" and one.shape == about.shape for one in arguments) == 1
            return torch.ones(shape, dtype=torch.float32) + (0 if is_alone else 0.1 * normal(shape)), True
        if about.role == "lags":  # every distance alike
            return torch.ones(shape, dtype=torch.float32), True
        if about.role == "vector":
            return torch.zeros(shape, dtype=torch.float32), True
        return normal(shape) * shape[-2] ** -0.5, True

    def formula(self, name: str, shape: list[int]) -> Numbers:
        """The numbers of a constant: rotary frequencies [n] or [heads, n], decays [heads]."""
        about = next(one for one in self.attention.signature.arguments if one.name == name)
        if about.role == "decay":
            return [math.log1p(-(2.0 ** (-5 - head))) for head in range(shape[0])]
        frequencies: list[Any] = [10000.0 ** (-i / shape[-1]) for i in range(shape[-1])]
        return [frequencies] * shape[0] if len(shape) == 2 else frequencies

    def constant(self, name: str) -> torch.Tensor:
        """A copy of the frequencies or decays of that name, in f32 on the layer's device."""
        if "_constants" not in self.__dict__ or name not in self._constants:
            raise AttributeError(f"'{type(self).__name__}' object has no constant '{name}'")
        first = next(self.parameters(), None)
        return self._constants.on(name, torch.device("cpu") if first is None else first.device).clone()

    def own(self, name: str, device: torch.device) -> torch.Tensor | None:
        """An argument of the spec that the layer has; None where the call has it."""
        if name in self._constants:
            return self._constants.on(name, device)
        found: torch.Tensor | None = getattr(self, name, None)
        return found.float() if found is not None and name in self._f32 else found

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Initializes parameters, buffers and projections, in place.

        For modules that were made on the device `meta` and then got memory by `to_empty`.
        """
        for one in self.children():
            one.reset_parameters()
        for name in self._others:
            if name in self._parameters or name in self._buffers:
                tensor = getattr(self, name)
                with torch.device(tensor.device):
                    tensor.copy_(_spread_as(tensor, self.initial(name, list(tensor.shape))[0]))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
        """Constants were buffers once. What a checkpoint says of them must be what the layer has, up to rounding."""
        messages = others[-1]
        for name in self._constants:
            saved = state_dict.pop(prefix + name, None)
            if saved is not None and not self._constants.has(name, saved):
                messages.append(
                    f"{prefix}{name}: the checkpoint has other numbers; make the layer with constants={{'{name}': ...}}"
                )
        super()._load_from_state_dict(state_dict, prefix, *others)

    def extra_repr(self) -> str:
        """The layer's sizes and the name of its attention, as `print` shows them."""
        return f"{self.width}, heads={self.heads}, kv_heads={self.kv_heads}, attention={self.attention.signature.name}"

    def of_call(self, name: str, x: torch.Tensor, first_position: Any, count: int, rows: int) -> torch.Tensor:
        """An argument that depends on the call: of `count` sequences, and for tables of positions, whose rows are `rows`."""
        if name != "first_position":
            raise CallError(f"{self.attention.signature.name}: argument '{name}': expected a module that makes it")
        return numbers_of_sequences(name, 0 if first_position is None else first_position, count, x.device)

    def _check_input(self, x: Any) -> None:
        if not isinstance(x, torch.Tensor) or x.dim() != 3 or x.shape[-1] != self.width:
            got = f"shape {tuple(x.shape)}" if isinstance(x, torch.Tensor) else type(x).__name__
            raise CallError(f"{type(self).__name__}: x: expected a tensor [B, T, {self.width}], got {got}")

    def project(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Queries, keys and values, [B, T, heads, size]."""
        self._check_input(x)
        projections = (self.q_proj, self.k_proj, self.v_proj)
        q, k, v = (torch.unflatten(one(x), -1, (count, -1)) for one, count in zip(projections, self._heads))
        return q, k, v

    def attend(self, x: torch.Tensor, first_position: Any = None, cu_seqlens: Any = None) -> torch.Tensor:
        """The result of the attention, [B, T, heads, value's size]."""
        q, k, v = self.project(x)
        own = (self.own(name, x.device) for name in self._others)
        count = x.shape[0] if cu_seqlens is None else check_offsets(type(self).__name__, cu_seqlens, x)
        others = [
            self.of_call(name, x, first_position, count, x.shape[1]) if one is None else one
            for name, one in zip(self._others, own)
        ]
        o: torch.Tensor = self.attention(q, k, v, *others, cu_seqlens=cu_seqlens)
        return o

    def forward(self, x: torch.Tensor, first_position: Any = None, cu_seqlens: Any = None) -> torch.Tensor:
        """y from x, both [B, T, width].

        Args:
            first_position: the position of x[:, 0], one number or [B], for attentions that use positions; 0 unless given.
            cu_seqlens: offsets of packed sequences, [sequences + 1], with B = 1.
        """
        if first_position is not None and "first_position" not in self._others:
            raise CallError(
                f"first_position: expected none, as {self.attention.signature.name} does not ask for positions"
            )
        return self.combine(self.attend(x, first_position, cu_seqlens), x)

    def combine(self, o: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """The layer's result from the attention's."""
        y: torch.Tensor = self.o_proj(o.flatten(-2))
        return y

    def new_states(self, slots: int, device: Any = None) -> States:
        """States of `slots` sequences, on the device of the layer's weights unless you give another.

        Attentions without a state are refused, at a line of the spec.
        """
        return new_states(self, slots, device)

    def prefill(self, x: torch.Tensor, states: States, slots: Any = None, lengths: Any = None) -> torch.Tensor:
        """`step` for new sequences, from their first position."""
        return self._continue(x, states, slots, lengths, begins=True)

    def step(self, x: torch.Tensor, states: States, slots: Any = None, lengths: Any = None) -> torch.Tensor:
        """The layer's result for the next positions of sequences, x [B, T, width], with their states.

        slots: the slot of each row, below 0 for none, in any form that `States` accepts; 0, 1, ... if None. No two rows may
        share a slot. lengths: how many of the T positions of each row count, all if None. Later results are those of a zero.
        A refused call changes no state.
        """
        return self._continue(x, states, slots, lengths, begins=False)

    def _continue(self, x: Any, states: Any, slots: Any, lengths: Any, begins: bool) -> torch.Tensor:
        return continue_sequences(self, x, states, slots, lengths, begins)
