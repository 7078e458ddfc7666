"""Attentions as functions of tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from .._errors import CallError
from .._kernels import Signature
from .._specs import Spec, as_read, check_state_every, sizes_of
from . import _recipes
from ._call import call
from ._checks import what_came
from ._sequences import OFFSETS, call_packed


class Attention:
    """An attention on tensors: `attention(q, k, v)`, `attention(q, k=k, v=v)`. `load` makes one.

    Queries are [B, T, H, d], keys [B, T, Hkv, d] and values [B, T, Hkv, dv], of float32, bfloat16 or float16. The dtype of the
    first tensor selects the kernel, which is compiled at the first call, or by `warm`. `signature` has the shapes, dtypes and
    roles of all arguments and results. A call returns one tensor, or a tuple if the spec has several results.

    With `cu_seqlens`, N + 1 ascending offsets from 0 to T, the tensors are [1, T, H, d] and hold N concatenated sequences. Each
    sequence has its own states and first position.

    Kernels live as long as an attention of the same spec does. It pickles as its spec.

    Raises:
        polyattn.SpecError: of the spec, with its lines; at a call, if a direction such as gradients does not exist for it.
        polyattn.CallError: names the argument, the expected value and the given one.
    """

    def __init__(
        self, spec: Spec, entry: str | None = None, state_every: int | None = None, sizes: Mapping[str, int] | None = None
    ) -> None:
        check_state_every(state_every)
        read = as_read(spec, sizes)
        self._source = (read, entry, state_every)
        identity = [read.text, *sizes_of(read, None)]
        recipe = _recipes.Recipe(read, entry, identity, state_every=state_every)
        self.signature: Signature = recipe.signature()
        self._recipe = _recipes.register(recipe, self)
        self._handle = self._recipe.handle
        self._packed = _recipes.register(_recipes.Recipe(read, entry, identity, True, state_every), self).handle
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
        try:
            results = self._call(inputs, ends)
        except (CallError, NotImplementedError) as error:
            raise self._explain(error, inputs) from None
        return results[0] if len(results) == 1 else tuple(results)

    def _call(self, inputs: list[Any], ends: Any) -> list[Any]:
        if ends is None:
            return call(self._handle, inputs, len(self.signature.results))
        return call_packed(self._packed, inputs, ends, self.signature)

    def _explain(self, error: Exception, inputs: list[Any]) -> Exception:
        """What went wrong in the names that the caller knows."""
        for name, one in zip(self._names, inputs):
            if one.layout is not torch.strided:
                return CallError(f"{self._entry}: argument '{name}': expected a dense tensor, got one of layout {one.layout}")
        if isinstance(error, NotImplementedError):
            return error
        if isinstance(error, _recipes.StorageError):
            return CallError(
                f"{self._entry}: argument '{self._names[0]}': expected float32, bfloat16 or float16, got {what_came(inputs[0])}"
            )
        # The half of a pair that gradients are taken of has a name of its own.
        return CallError(str(error).replace(f"{self._entry}__forward:", f"{self._entry}:", 1))

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

    def warm(self, dtype: Any = torch.float32, *, wrt: Sequence[str] | None = None) -> None:
        """Compiles the kernels for sequences of a dtype: the one of calls without gradients, and both of the gradient.

        wrt: the arguments that will require gradients; all that can if None, and none if it is empty.
        """
        storage = _recipes.storage_of([torch.empty(0, dtype=dtype)])
        self._recipe.kernel(storage)
        if wrt is None:
            bits = self._recipe.all_gradients(storage)
        else:
            for name in wrt:
                if name not in self._names:
                    raise CallError(f"{self._entry}: wrt: unknown argument '{name}', expected {', '.join(self._names)}")
            bits = sum(1 << self._names.index(name) for name in set(wrt))
        if bits:
            self._recipe.pair(storage, bits)

    def __reduce__(self) -> Any:
        return Attention, self._source

    def __repr__(self) -> str:
        return f"<polyattn.torch.Attention {self._entry}({', '.join(self._names)})>"


def load(
    spec: Spec, entry: str | None = None, *, sizes: Mapping[str, int] | None = None, state_every: int | None = None
) -> Attention:
    """An attention from a spec.

    Args:
        spec: its text, a path, or a spec of the builder or the library.
        entry: one of the spec's attentions; needed if there are several.
        sizes: sizes of the entry by name, in place of the defaults of a text in the short form.
        state_every: save the states after every so many positions, 1 to 1024. Gradients then take less time and more memory.

    Raises:
        polyattn.SpecError: of the spec, with its lines.
        polyattn.CallError: of an argument.
    """
    return Attention(spec, entry, state_every, sizes)
