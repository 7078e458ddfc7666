"""States of sequences for generation: what a layer keeps of the positions it has seen."""

from __future__ import annotations

from typing import Any, Iterator

import torch
from torch import nn

from .._errors import CallError


class States:
    """The states of one layer's sequences: rows of pools, one for each slot, and how many positions each has seen.

    A slot without positions is a sequence that has not begun; its rows need not be zero.
    """

    def __init__(self, pools: dict[str, torch.Tensor], positions: torch.Tensor) -> None:
        self.pools, self.positions = pools, positions

    def __len__(self) -> int:
        """The number of slots."""
        return len(self.positions)

    def reset(self, slots: Any = None) -> None:
        """Begins new sequences in some slots, or in all."""
        self.positions[slice(None) if slots is None else slots] = 0

    def gather(self, slots: Any) -> States:
        """A copy of some slots, in that order."""
        return States({name: one[slots] for name, one in self.pools.items()}, self.positions[slots])

    def scatter(self, slots: Any, states: States) -> None:
        """Puts what `gather` has taken, here or elsewhere, into slots."""
        self._check({name: one.shape[1:] for name, one in states.pools.items()})
        for name, one in self.pools.items():
            one[slots] = states.pools[name]
        self.positions[slots] = states.positions

    def reorder(self, slots: Any) -> None:
        """Slot i goes on with the sequence that slot slots[i] has, as the beams of a search do."""
        self.scatter(slice(None), self.gather(slots))

    def state_dict(self) -> dict[str, torch.Tensor]:
        return {"positions": self.positions, **self.pools}

    def load_state_dict(self, saved: dict[str, torch.Tensor]) -> None:
        self._check({name: one.shape[1:] for name, one in saved.items() if name != "positions"})
        if len(saved["positions"]) != len(self):
            raise CallError(f"states: expected {len(self)} slots, got {len(saved['positions'])}")
        pools = {name: saved[name] for name in self.pools}
        self.scatter(slice(None), States(pools, saved["positions"]))

    def _check(self, shapes: dict[str, Any]) -> None:
        own = {name: one.shape[1:] for name, one in self.pools.items()}
        if shapes != own:
            words = [", ".join(f"{name} {list(size)}" for name, size in one.items()) for one in (own, shapes)]
            raise CallError(f"states: expected those of the same attention, {words[0]}, got {words[1]}")


class StateCache:
    """The states of all attentions of a model: `cache[layer]` are those of one of its layers."""

    def __init__(self, model: nn.Module, slots: int) -> None:
        self.states: dict[str, States] = {}
        self._names: dict[nn.Module, str] = {}
        for name, one in model.named_modules():
            if hasattr(one, "new_states"):
                self.states[name], self._names[one] = one.new_states(slots), name

    def __getitem__(self, layer: nn.Module) -> States:
        return self.states[self._names[layer]]

    def __iter__(self) -> Iterator[States]:
        return iter(self.states.values())

    def reset(self, slots: Any = None) -> None:
        for one in self:
            one.reset(slots)

    def reorder(self, slots: Any) -> None:
        for one in self:
            one.reorder(slots)

    def gather(self, slots: Any) -> dict[str, States]:
        return {name: one.gather(slots) for name, one in self.states.items()}

    def scatter(self, slots: Any, states: dict[str, States]) -> None:
        self._check(states)
        for name, one in self.states.items():
            one.scatter(slots, states[name])

    def state_dict(self) -> dict[str, dict[str, torch.Tensor]]:
        """For torch.save."""
        return {name: one.state_dict() for name, one in self.states.items()}

    def load_state_dict(self, saved: dict[str, dict[str, torch.Tensor]]) -> None:
        self._check(saved)
        for name, one in self.states.items():
            one.load_state_dict(saved[name])

    def _check(self, named: Any) -> None:
        if list(named) != list(self.states):
            raise CallError(
                f"states: expected those of the layers {', '.join(self.states)}, got {', '.join(named)}"
            )
