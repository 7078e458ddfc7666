"""Attentions as functions of tensors."""

from __future__ import annotations

from typing import Any

import torch

from .._errors import CallError
from .._kernels import Signature
from .._specs import Spec, check_state_every, read_spec
from . import _recipes
from ._call import call
from ._sequences import OFFSETS, call_packed


class Attention:
    """An attention on tensors: `attention(q, k, v)`, `attention(q, k=k, v=v)`.

    The dtype of the first tensor chooses the kernel, which is compiled upon the first call. With `cu_seqlens`, N + 1 ascending
    numbers from 0 to T, the sequences are [1, T, H, d] and hold N sequences one behind the other; states and first positions are
    those of each. With `state_every=64` a call that gradients will be taken of keeps the states after so many positions each, from which
    gradients take less time.
    """

    def __init__(self, spec: Spec, entry: str | None = None, state_every: int | None = None) -> None:
        check_state_every(state_every)
        text, _ = read_spec(spec)
        self._source = (spec, entry, state_every)
        recipe = _recipes.Recipe(spec, entry, text, state_every=state_every)
        self.signature: Signature = recipe.signature()
        self._recipe = _recipes.register(recipe)
        self._handle = self._recipe.handle
        self._packed = _recipes.register(_recipes.Recipe(spec, entry, text, True, state_every)).handle
        self._entry = self.signature.name
        self._names = tuple(one.name for one in self.signature.arguments)

    def __call__(self, *tensors: Any, **named: Any) -> Any:
        ends = named.pop(OFFSETS, None) if OFFSETS not in self._names else None
        inputs = self._in_order(tensors, named) if named else list(tensors)
        if len(inputs) != len(self._names):
            raise CallError(
                f"{self._entry}: expected {len(self._names)} arguments "
                f"({', '.join(self._names)}), got {len(inputs)}"
            )
        for name, one in zip(self._names, inputs):
            if not isinstance(one, torch.Tensor):
                raise CallError(
                    f"{self._entry}: argument '{name}': expected a tensor, got {type(one).__name__}"
                )
        count = len(self.signature.results)
        if ends is None:
            results = call(self._handle, inputs, count)
        else:
            results = call_packed(self._packed, inputs, ends, self.signature)
        return results[0] if len(results) == 1 else tuple(results)

    def _in_order(self, tensors: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        inputs = list(tensors)
        for name in named:
            if name not in self._names:
                raise CallError(
                    f"{self._entry}: unknown argument '{name}', expected {', '.join(self._names)}"
                )
            if name in self._names[: len(tensors)]:
                raise CallError(
                    f"{self._entry}: argument '{name}': came twice, by its position and by its name"
                )
        for name in self._names[len(tensors) :]:
            if name not in named:
                raise CallError(
                    f"{self._entry}: argument '{name}': is missing, expected {', '.join(self._names)}"
                )
            inputs.append(named[name])
        return inputs

    def warm(self, dtype: Any = torch.float32) -> None:
        """Compiles the kernel for sequences of a dtype now."""
        self._recipe.kernel(_recipes.storage_of([torch.empty(0, dtype=dtype)]))

    def __reduce__(self) -> Any:
        return Attention, self._source

    def __repr__(self) -> str:
        return f"<polyattn.torch.Attention {self._entry}({', '.join(self._names)})>"


def load(spec: Spec, entry: str | None = None, *, state_every: int | None = None) -> Attention:
    """An attention from a spec: its text, a path, or what the builder or the library has made.

    state_every: gradients take less time and more memory: their forward call keeps the states after so many positions each.
    """
    return Attention(spec, entry, state_every)
