"""States of sequences for generation."""

from __future__ import annotations

import weakref
from typing import Any, Callable, Iterator

import torch
from torch import nn

from .._errors import CallError
from ._numbers import is_whole
from ._slots import Slots


class _Turns:
    """The place of a cache whose states went on last, and the columns that they have seen since they were new."""

    def __init__(self) -> None:
        self.place, self.seen = "", 0


class States:
    """The states of one layer's sequences: pools with a row for each slot, and the number of positions of each sequence.

    A slot without positions is a new sequence. Its rows need not be zero.

    Every method and `step` and `prefill` take slots in the same forms: an integer, a list, an array or a tensor of integers, a
    slice, or bools, one for each slot, which select the slots where they are True. An integer below 0 is no slot. An integer
    beyond the slots is refused.
    """

    def __init__(self, pools: dict[str, torch.Tensor], positions: torch.Tensor) -> None:
        self.pools, self.positions = pools, positions
        self._last: tuple[tuple[int, int], dict[str, torch.Tensor]] | None = None
        self._chosen: Slots | None = None
        self._turns, self._place, self._seen = _Turns(), "", 0  # those of its cache, where it is in one

    def __len__(self) -> int:
        """The number of slots."""
        return len(self.positions)

    def reset(self, slots: Any = None) -> None:
        """Starts new sequences in some slots, or in all."""
        chosen = Slots(slots, len(self))
        self.check_writable()
        self.positions.index_fill_(0, chosen.rows(self.positions.device), 0)
        self._seen = 0 if slots is None else self._seen

    def gather(self, slots: Any) -> States:
        """A copy of some slots, in this order. An integer below 0 gives a new sequence."""
        chosen = Slots(slots, len(self))
        with torch.inference_mode(False):  # the copy can be written in any mode
            copy = States({name: chosen.gather(one) for name, one in self.pools.items()}, chosen.gather(self.positions))
        copy._seen = self._seen
        return copy

    def scatter(self, slots: Any, states: States) -> None:
        """Writes each sequence of `states`, a result of `gather` here or elsewhere, to a slot. Below 0 it is skipped."""
        self._writer(slots, states)()

    def reorder(self, slots: Any) -> None:
        """For beam search: slot i continues the sequence of slot slots[i]."""
        chosen = Slots(slots, len(self))
        if len(chosen) != len(self):
            raise CallError(f"slots: expected {len(self)}, one for each slot, got {len(chosen)}")
        self.scatter(None, self.gather(slots))

    def state_dict(self) -> dict[str, torch.Tensor]:
        """The states and positions by name, for torch.save."""
        return {"positions": self.positions, **self.pools}

    def load_state_dict(self, saved: dict[str, torch.Tensor]) -> None:
        """Takes the values of a `state_dict` with the same names and shapes. If one does not fit, nothing is written."""
        self._loader(saved)()

    def _loader(self, saved: dict[str, torch.Tensor]) -> Callable[[], None]:
        """Checks what a file has, and returns the function that loads it."""
        for name in ("positions", *self.pools):
            if not isinstance(saved.get(name), torch.Tensor):
                raise CallError(f"states: expected a tensor '{name}', got {', '.join(saved) or 'nothing'}")
        if len(saved["positions"]) != len(self):
            raise CallError(f"states: expected {len(self)} slots, got {len(saved['positions'])}")
        return self._writer(None, States({name: one for name, one in saved.items() if name != "positions"}, saved["positions"]))

    def _writer(self, slots: Any, states: States) -> Callable[[], None]:
        """Checks and converts everything that `scatter` writes, and returns the function that writes it."""
        chosen = Slots(slots, len(self))
        chosen.check_distinct()
        self._check(states, len(chosen))
        self.check_writable()
        rows = chosen.rows(self.positions.device)
        pairs = [(self.positions, states.positions), *((one, states.pools[name]) for name, one in self.pools.items())]
        pairs = [(own, _apart(own, chosen.with_slot(other).to(own.device, own.dtype))) for own, other in pairs]

        def write() -> None:
            for own, other in pairs:
                own.index_copy_(0, rows, other)
            self._seen = states._seen if slots is None else self._seen

        return write

    def _check(self, states: States, count: int) -> None:
        if not isinstance(states, States):
            raise CallError(f"states: expected States, as gather gives them, got {type(states).__name__}")
        shapes, own = ({name: one.shape[1:] for name, one in x.pools.items()} for x in (states, self))
        if shapes != own:
            words = [", ".join(f"{name} {list(size)}" for name, size in one.items()) for one in (own, shapes)]
            raise CallError(f"states: expected those of the same attention, {words[0]}, got {words[1]}")
        if any(len(one) != count for one in (states.positions, *states.pools.values())):
            raise CallError(f"states: expected {count} sequences, one for each slot given, got {len(states)}")
        if not is_whole(states.positions) or any(not one.is_floating_point() for one in states.pools.values()):
            raise CallError("states: expected positions of whole numbers and pools of floating-point numbers")

    def all_positions(self, batch: int, length: int) -> dict[str, torch.Tensor]:
        """What a kernel is told of rows that have the first slots, with all of `length` positions each. Calls of one size, as for
        token after token, share the tensors."""
        device = self.positions.device
        if self._last is None or self._last[0] != (batch, length) or self._last[1]["slots"].device != device:
            with torch.inference_mode(False):
                slots = torch.arange(batch, dtype=torch.int32, device=device)
                self._last = (batch, length), {"slots": slots, "lengths": torch.full_like(slots, length)}
        return dict(self._last[1])

    def choose(self, slots: Any) -> Slots:
        """The slots that a call names. Calls that name the same ones, as for token after token, share the tensors."""
        chosen, last = Slots(slots, len(self)), self._chosen
        if last is not None and last.numbers == chosen.numbers:
            return last
        if not torch.compiler.is_compiling():
            self._chosen = chosen
        return chosen

    def join(self, turns: _Turns, place: str) -> None:
        """Makes them the states of one place of a cache, whose places take turns."""
        self._turns, self._place = turns, place

    def check_turn(self) -> None:
        """Refuses a call of a layer that its model calls several times in a pass, as soon as the layer before it in a pass has
        seen fewer columns. A prompt in parts may go through one layer after another."""
        turns = self._turns
        if turns.place == self._place or self._seen <= turns.seen or torch.compiler.is_compiling():
            return
        raise CallError(
            f"states: expected each layer once in a pass of the model, got {self._place} after {self._seen} columns and "
            f"{turns.place} after {turns.seen}; where a model calls a layer several times in one place, give each call its own "
            "layer.new_states(slots)"
        )

    def take_turn(self, columns: int, are_new: bool) -> None:
        """Notes a call with so many columns, which begins new sequences in all slots or not."""
        if not torch.compiler.is_compiling():
            self._seen = columns if are_new else self._seen + columns
            self._turns.place, self._turns.seen = self._place, self._seen

    def check_writable(self) -> None:
        """Refuses states that PyTorch would not let this call change, before it changes any of them."""
        if torch.compiler.is_compiling():
            return  # torch.compile cannot trace the question
        tensors = (self.positions, *self.pools.values())
        if not torch.is_inference_mode_enabled() and any(one.is_inference() for one in tensors):
            raise CallError(
                "states: expected tensors made outside torch.inference_mode(), or a call inside it; new_states and gather make "
                "tensors that any mode can change"
            )


def _apart(own: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """What is written into `own`, in other memory than it."""
    is_shared = own.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
    return other.clone() if is_shared else other


class _Names(weakref.WeakKeyDictionary[nn.Module, "list[str]"]):
    """The names of a model's layers. A copy has the same layers, and a file has none."""

    def __reduce__(self) -> Any:
        return _Names, ()


def _names_of(model: nn.Module) -> _Names:
    names = _Names()
    for name, one in model.named_modules(remove_duplicate=False):
        if hasattr(type(one), "new_states"):  # asked of the type, as wrappers have the attributes of what they wrap
            names.setdefault(one, []).append(name)
    return names


class StateCache:
    """The states of all attentions of a model. `cache[layer]` or `cache["blocks.0.attention"]` are the states of one layer.

    A layer that the model has in several places has states for each place, found by name. If a model calls a layer several
    times in one place, give each call its own `layer.new_states(slots)`: one state cannot hold several sequences. Such a model
    is refused as soon as its layers have seen different numbers of columns. A model of one layer is not, because a prompt in
    parts makes the same calls.

    copy.deepcopy copies the states, which continue with the same model. A file (pickle, torch.save) has names and states, and
    `attach` connects them to a model.
    """

    def __init__(self, model: nn.Module, slots: int, device: Any = None) -> None:
        self._names = _names_of(model)
        self.states: dict[str, States] = {
            name: layer.new_states(slots, device) for layer, names in self._names.items() for name in names
        }
        turns = _Turns()
        for name, one in self.states.items():
            one.join(turns, name)

    def attach(self, model: nn.Module) -> None:
        """Connects the cache to this model, which has the same layers under the same names."""
        names = _names_of(model)
        self._check([name for its in names.values() for name in its])
        for layer, its in names.items():
            for name in its:
                self.states[name].gather(slice(0))._check(layer.new_states(0), 0)
        self._names = names

    def __getitem__(self, layer: nn.Module | str) -> States:
        names = [layer] if isinstance(layer, str) else self._names.get(layer, []) if isinstance(layer, nn.Module) else []
        if len(names) > 1:
            raise CallError(
                f"states: expected the name of a place, as the model has this {type(layer).__name__} in several, each with states of "
                f"its own: {', '.join(names)}"
            )
        if not names or names[0] not in self.states:
            came = repr(layer) if isinstance(layer, str) else f"another {type(layer).__name__}"
            raise CallError(
                f"states: expected a layer of their model or a name of {', '.join(self.states)}, got {came}; states from a file and "
                "those of another model take its layers after attach(model)"
            )
        return self.states[names[0]]

    def __iter__(self) -> Iterator[States]:
        return iter(self.states.values())

    def reset(self, slots: Any = None) -> None:
        """Starts new sequences in some slots of every layer, or in all."""
        for one in self:
            one.reset(slots)

    def reorder(self, slots: Any) -> None:
        """For beam search: in every layer, slot i continues the sequence of slot slots[i]."""
        for one in self:
            one.reorder(slots)

    def gather(self, slots: Any) -> dict[str, States]:
        """A copy of some slots of every layer, in this order. An integer below 0 gives a new sequence."""
        return {name: one.gather(slots) for name, one in self.states.items()}

    def scatter(self, slots: Any, states: dict[str, States]) -> None:
        """Writes each sequence of a `gather` to a slot of every layer. Below 0 it is skipped."""
        self._check(states)
        for write in [one._writer(slots, states[name]) for name, one in self.states.items()]:
            write()

    def state_dict(self) -> dict[str, dict[str, torch.Tensor]]:
        """For torch.save."""
        return {name: one.state_dict() for name, one in self.states.items()}

    def load_state_dict(self, saved: dict[str, dict[str, torch.Tensor]]) -> None:
        """Takes the values of a `state_dict` of the same model. If one layer does not fit, nothing is written."""
        self._check(saved)
        for load in [one._loader(saved[name]) for name, one in self.states.items()]:
            load()

    def _check(self, named: Any) -> None:
        if list(named) != list(self.states):
            raise CallError(
                f"states: expected those of the layers {', '.join(self.states)}, got {', '.join(named)}"
            )
