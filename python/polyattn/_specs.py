"""Specs, as users give them: text, a path, or what a builder has made."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Union, runtime_checkable

import numpy as np

from ._errors import CallError, SpecError
from ._polyattn import Source
from ._whole import LARGEST, index_of, whole_number


@runtime_checkable
class HasText(Protocol):
    """A spec that knows its text."""

    @property
    def name(self) -> str:
        """What diagnostics call its file."""
        ...

    @property
    def text(self) -> str:
        """Its program in the dialect."""
        ...


Spec = Union[str, "os.PathLike[str]", HasText]


@dataclass(frozen=True)
class ReadSpec:
    """A spec as it was read, which a file that changes or goes does not change, with the sizes that its caller chose."""

    name: str
    text: str
    sizes: tuple[tuple[str, int], ...] = ()


_LONGEST = 16 << 20
_DTYPES = {
    "f32": "f32", "float32": "f32", "f16": "f16", "float16": "f16", "bf16": "bf16", "bfloat16": "bf16",
}  # fmt: skip


def read_spec(spec: Spec) -> tuple[str, str]:
    """The text and the name of a spec. What has a line or a bracket is text, and no path."""
    if isinstance(spec, str) and ("\n" in spec or "{" in spec):
        return spec, "spec"
    if isinstance(spec, (str, os.PathLike)):
        return _read_file(os.fspath(spec)), os.fspath(spec)
    if isinstance(spec, HasText):
        return spec.text, spec.name
    raise CallError(f"spec: expected text, a path or a built spec, got {type(spec).__name__}")


def as_read(spec: Spec, sizes: Mapping[str, int] | None = None) -> HasText:
    """A spec that knows its text, and its sizes if they are given."""
    chosen = sizes_of(spec, sizes)
    if isinstance(spec, HasText) and not chosen:
        return spec
    text, name = read_spec(spec)
    return ReadSpec(name, text, chosen)


def sizes_of(spec: Spec, sizes: Mapping[str, int] | None) -> tuple[tuple[str, int], ...]:
    """The sizes that a caller gives, or those that a spec was read with."""
    if sizes is None:
        return spec.sizes if isinstance(spec, ReadSpec) else ()
    if not isinstance(sizes, Mapping):
        raise CallError(f"sizes: expected a dictionary such as {{'d': 64}}, got {type(sizes).__name__}")
    for name in sizes:
        if not isinstance(name, str) or not name.isidentifier():
            raise CallError(f"sizes: expected names of sizes, got {name!r}")
    return tuple((name, whole_number(f"sizes: '{name}'", size, 1, LARGEST)) for name, size in sorted(sizes.items()))


def _read_file(path: str) -> str:
    """As the tools do: a pipe may never begin and a device never end."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise CallError(f"spec: expected a regular file, got {path}")
    if status.st_size > _LONGEST:
        raise CallError(f"spec: expected at most {_LONGEST} bytes, got {status.st_size} in {path}")
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(_LONGEST)


def _plain(text: str) -> str:
    """Without halves of characters, which UTF-8 has not."""
    return text.encode("utf-8", "replace").decode("utf-8")


def storage_of(dtype: Any) -> str | None:
    """"f32" for "f32", "float32", numpy.float32, torch.float32, ..."""
    if dtype is None:
        return None
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype))
    known = _DTYPES.get(name.removeprefix("torch."))
    if known is None:
        raise CallError(f"dtype: expected f32, bf16 or f16, got {name}")
    return known


def check_direction(
    direction: str, wrt: Sequence[str] | None, accumulate: bool, state_every: int | None
) -> None:
    if not isinstance(direction, str) or direction not in ("forward", "training", "backward", "decode", "states", "gradient_states"):
        raise CallError(
            "direction: expected forward, training, backward, decode, states or gradient_states, "
            f"got {direction!r}"
        )
    for name, is_given in (
        ("wrt", wrt is not None),
        ("accumulate", accumulate),
        ("state_every", state_every is not None),
    ):
        if is_given and direction not in ("training", "backward"):
            raise CallError(f"{name}: expected direction training or backward with it")
    if wrt is not None and not _are_names(wrt):
        raise CallError(f"wrt: expected a list of names, got {wrt!r}")
    check_state_every(state_every)


def _are_names(given: Any) -> bool:
    is_list = hasattr(given, "__iter__") and not isinstance(given, (str, bytes))
    return is_list and all(isinstance(name, str) and "," not in name for name in given)


def text_or_none(name: str, value: Any) -> str | None:
    """An option that is a word."""
    if value is not None and not isinstance(value, str):
        raise CallError(f"{name}: expected a name, got {type(value).__name__}")
    return value


def flag(name: str, value: Any) -> bool:
    """An option that is on or off: a bool of Python's or NumPy's."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise CallError(f"{name}: expected True or False, got {value!r}")


def check_state_every(state_every: int | None) -> None:
    if state_every is not None and not 1 <= (index_of(state_every) or 0) <= 1024:
        raise CallError(f"state_every: expected 1 to 1024 positions, or None, got {state_every!r}")


@contextlib.contextmanager
def python_lines_of(spec: Spec) -> Iterator[None]:
    """Diagnostics of a spec that a builder has made are about its Python."""
    try:
        yield
    except SpecError as error:
        locations = getattr(spec, "locations", None)
        if locations is None or not isinstance(spec, HasText):
            raise
        raise error.at(spec.name, locations) from None


def source_of(
    spec: Spec,
    entry: str | None = None,
    target: str = "native",
    dtype: Any = None,
    *,
    invariant: bool = False,
    cache: Union[str, "os.PathLike[str]", None] = None,
    direction: str = "forward",
    wrt: Sequence[str] | None = None,
    accumulate: bool = False,
    state_every: int | None = None,
    packed: bool = False,
    sizes: Mapping[str, int] | None = None,
) -> Source:
    accumulate = flag("accumulate", accumulate)
    check_direction(direction, wrt, accumulate, state_every)
    text, name = read_spec(spec)
    return Source(
        _plain(text),
        _plain(name),
        text_or_none("entry", entry),
        text_or_none("target", target),
        None if cache is None else _folder(cache),
        storage_of(dtype),
        flag("invariant", invariant),
        direction,
        None if wrt is None else ",".join(wrt),
        flag("packed", packed),
        accumulate,
        int(state_every or 0),
        ",".join(f"{size}={number}" for size, number in sizes_of(spec, sizes)) or None,
    )


def _folder(cache: Any) -> str:
    if not isinstance(cache, (str, os.PathLike)):
        raise CallError(f"cache: expected a folder's path, got {type(cache).__name__}")
    return os.fspath(cache)
