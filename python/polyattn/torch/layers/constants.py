"""Numbers of a layer that follow from a formula and are never learned: rotary frequencies and decays.

They are neither parameters nor buffers. A buffer would be rounded by `.bfloat16()`, by a checkpoint in 16 bits and by
`torch.set_default_dtype`, and lost by `to_empty`. The error of an angle is the error of its frequency times the position,
so kernels take these numbers in f32 whatever the dtype of the sequences.
"""

from __future__ import annotations

from typing import Any, Union

import torch

from ..._errors import CallError

#: Nested lists, as `tolist` gives them.
Numbers = Union[float, list[Any]]


class Constants:
    """Constants by name, as Python's own numbers. A call gets them in f32, on the device of its tensors."""

    def __init__(self) -> None:
        self._numbers: dict[str, Numbers] = {}
        self._tensors: dict[tuple[str, torch.device], torch.Tensor] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._numbers

    def __iter__(self) -> Any:
        return iter(self._numbers)

    def __getstate__(self) -> dict[str, Any]:
        return {"_numbers": self._numbers, "_tensors": {}}

    def add(self, name: str, numbers: Numbers) -> None:
        """Adds or replaces the numbers of an argument."""
        self._numbers[name] = numbers

    def on(self, name: str, device: torch.device) -> torch.Tensor:
        """A constant in f32, shared by all calls on that device."""
        found = self._tensors.get((name, device))
        if found is not None:
            return found
        if torch.compiler.is_compiling():
            return self._new(name, device)
        # A tensor that is made in inference mode could not be saved for gradients later.
        with torch.inference_mode(False):
            found = self._new(name, device)
        if type(found) is torch.Tensor:  # none of a tracing mode, which ends
            self._tensors[name, device] = found
        return found

    def _new(self, name: str, device: torch.device) -> torch.Tensor:
        return torch.tensor(self._numbers[name], dtype=torch.float32, device=device)

    def has(self, name: str, saved: torch.Tensor) -> bool:
        """Whether a checkpoint's tensor holds the same numbers, up to its own rounding."""
        if not saved.is_floating_point():
            return False
        own = torch.tensor(self._numbers[name], dtype=torch.float64, device="cpu")
        about = torch.finfo(saved.dtype)
        # Frequencies were once computed in f32, whose powers are off by some units in the last place.
        close = {"rtol": max(about.eps, 2.0**-20), "atol": about.tiny * about.eps}
        return own.shape == saved.shape and bool(torch.allclose(saved.detach().cpu().double(), own, **close))


class Constant:
    """`layer.NAME`: a copy of a constant, on the layer's device. It is set when the layer is made."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, layer: Any, owner: type | None = None) -> Any:
        return self if layer is None else layer.constant(self._name)

    def __set__(self, layer: Any, value: Any) -> None:
        raise CallError(
            f"{self._name}: is no buffer that can be replaced; make the layer with constants={{'{self._name}': ...}}"
        )


def numbers_of(who: str, value: Any, shape: list[int]) -> Numbers:
    """What a caller gives in place of a formula: a tensor, an array or a list of the shape."""
    try:
        given = torch.as_tensor(value, dtype=torch.float64, device="cpu")
    except (TypeError, ValueError, RuntimeError) as error:
        raise CallError(f"constants: '{who}': expected numbers of shape {shape}, got {type(value).__name__}") from error
    if list(given.shape) != shape:
        raise CallError(f"constants: '{who}': expected numbers of shape {shape}, got {list(given.shape)}")
    numbers: Numbers = given.tolist()
    return numbers
