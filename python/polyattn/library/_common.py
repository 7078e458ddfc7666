"""What the functions of the library share."""

from __future__ import annotations

import textwrap
from typing import Any, Callable

from .. import _polyattn
from .._errors import CallError
from .._library_files import spec_path
from .._literals import word
from .._specs import source_of
from .._whole import whole_number
from ..builder import Argument, Sequence, Spec, attention, layer_norm


def build(
    name: str, dtype: str, arguments: dict[str, Argument], body: Callable[..., Any],
    results: tuple[str, ...] | None = None,
) -> Spec:  # fmt: skip
    spec: Spec = attention(body, name=name, dtype=dtype, arguments=arguments, results=results)
    return spec


def from_file(file: str, entry: str, sizes: dict[str, Any], dtype: str, name: str) -> Spec:
    """An entry of a file of `specs/` with sizes, a dtype and a name of the caller's."""
    word(name, "a name of an attention")
    numbers = {size: whole_number(size, number, 1) for size, number in sizes.items()}
    module = _polyattn.print_ir(source_of(spec_path(file), entry, dtype=dtype, sizes=numbers), "spec")
    lines = module.strip().splitlines()[1:-1]  # of `module { ... }`
    text = textwrap.dedent("\n".join(lines) + "\n").replace(f"@{entry}(", f"@{name}(", 1)
    return Spec(name, text, (None,) * len(lines))


def sequences(d: int, dv: int | None) -> dict[str, Argument]:
    """Queries, keys and values; values are as wide as keys unless said otherwise."""
    return {"q": Sequence[d], "k": Sequence[d], "v": Sequence[d if dv is None else dv]}


def sizes_of(what: str, given: Any) -> tuple[int, ...]:
    """A list of sizes, at least one."""
    if not isinstance(given, (tuple, list)) or not given:
        raise CallError(f"{what}: expected a tuple of sizes, got {given!r}")
    return tuple(whole_number(what, one) for one in given)


def one_of(what: str, choice: Any, known: Any) -> None:
    if choice not in known:
        raise CallError(f"{what}: expected one of {', '.join(map(str, known))}, got {choice!r}")


def normalized(x: Any, gamma: Any, beta: Any) -> Any:
    """PolySketchFormer's layer normalization before the kernel."""
    return layer_norm(x, gamma, beta, eps=1e-5)
