"""Kernels and the reference."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from . import _polyattn
from ._errors import CallError
from ._specs import Spec, python_lines_of, source_of


#: Arguments of these roles are f32, whatever the dtype of sequences and weights is.
F32_ROLES = frozenset(("decay", "frequencies", "lags"))


@dataclass(frozen=True)
class Tensor:
    """One argument or result. A size is a number, or a name whose value each call decides.

    role: its use in the spec: "query", "key", "value", "positional", "weight" (a matrix), "vector" (added), "gain" (multiplied or
    divided by), "frequencies", "lags", "decay", "state", ..., "output", "gradient", "saved".
    """

    name: str
    dtype: str
    shape: tuple[Union[int, str], ...]
    role: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Limit:
    """The most that a named size may be: "T" is at most 128, as the shape of the argument "b" says. Of packed sequences each has a T,
    and where calls continue sequences T is what has come until the call's end."""

    size: str
    most: int
    argument: str


@dataclass(frozen=True)
class Signature:
    """The arguments and results of an entry, in their order, and limits of named sizes."""

    name: str
    arguments: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    limits: tuple[Limit, ...] = ()

    @functools.cached_property
    def pools(self) -> tuple[bool, ...]:
        """For each argument whether it is a pool of states."""
        return tuple(one.shape[:1] == ("P",) for one in self.arguments)

    def check_limits(self, sizes: Mapping[str, Any]) -> None:
        """Refuses sizes, as far as they are known numbers, as a call would. The lengths of packed sequences are no sizes."""
        if any("N+1" in one.shape for one in self.arguments):
            return
        for limit in self.limits:
            found = sizes.get(limit.size)
            if isinstance(found, int) and found > limit.most:
                shape = next(one.shape for one in self.arguments if one.name == limit.argument)
                raise CallError(
                    f"{self.name}: argument '{limit.argument}': expected {limit.size} <= {limit.most} with shape "
                    f"[{', '.join(map(str, shape))}], got {limit.size} = {found}"
                )

    def __str__(self) -> str:
        arguments, results = (", ".join(map(str, part)) for part in (self.arguments, self.results))
        return f"{self.name}({arguments}) -> ({results})"


def _signature_of(program: _polyattn.Program) -> Signature:
    parts: tuple[list[Tensor], list[Tensor]] = ([], [])
    for (name, is_result, dtype, shape), role in zip(program._tensors(), program._roles()):
        parts[is_result].append(Tensor(name, dtype, shape, role))
    limits = tuple(Limit(*one) for one in program._limits())
    return Signature(program.entry, tuple(parts[0]), tuple(parts[1]), limits)


def _usable_processors() -> int:
    return len(os.sched_getaffinity(0))


def _compile_again(source: _polyattn.Source, threads: int | None) -> Kernel:
    kernel = Kernel(source)
    kernel.threads = kernel.threads if threads is None else threads
    return kernel


class Kernel(_polyattn.Kernel):
    """A compiled entry of a spec: `kernel(q, k, v)`, `kernel(q, k=k, v=v, out=o, threads=2)`.

    Arrays are NumPy's or any with `__dlpack__` in CPU memory. They are read and written in place. Results are new arrays of
    the first argument's library, or `out`: an array, a tuple of all, or a dictionary of some. A state that is stored in an
    argument is updated there, and this array is the result. Several threads may call one kernel at once.

    A pickled kernel holds its spec's text and options. Unpickling compiles it or finds it in the cache, for the present machine.
    """

    def __init__(self, source: _polyattn.Source) -> None:
        super().__init__(source)
        self._source = source
        self.threads = _usable_processors()
        self.signature = _signature_of(self)
        self._on_gpus: dict[int, Kernel] = {}

    def __reduce__(self) -> Any:
        return _compile_again, (self._source, None if self.threads == _usable_processors() else self.threads)

    def _on_gpu(self, gpu: int) -> Kernel:
        """What this kernel computes, compiled for a GPU."""
        found = self._on_gpus.get(gpu)
        if found is None:
            found = self._on_gpus.setdefault(gpu, Kernel(self._source.for_target(f"cuda:{gpu}")))
        return found

    def describe(self) -> dict[str, Any]:
        """All properties of the kernel: tensors, stages, features, the CPU features that it needs."""
        found: dict[str, Any] = json.loads(self._json())
        return found

    def explain(self) -> str:
        """The chosen schedule, its cost and the alternatives, as text."""
        return _polyattn.explain(self._source)

    def ir(self, level: str = "tile") -> str:
        """The spec as MLIR at a level: spec, schedule, tile, vector or llvm; of a GPU's kernel spec, schedule, tile, warp or ptx."""
        if not isinstance(level, str):
            raise CallError(f"level: expected a name, got {type(level).__name__}")
        return _polyattn.print_ir(self._source, level)

    def save(self, directory: Union[str, "os.PathLike[str]"], library: str | None = None) -> None:
        """Writes lib<library>.so, its C header and a JSON description, which need no polyattn at run time.

        The default name of the library is the entry's. A C compiler links it (cc, clang or gcc)."""
        for name, value in (("directory", directory), ("library", library or self.entry)):
            if not isinstance(value, (str, os.PathLike)):
                raise CallError(f"{name}: expected a name, got {type(value).__name__}")
        _polyattn.save(self._source, os.fspath(directory), library or self.entry)

    def __repr__(self) -> str:
        return f"<polyattn.Kernel {self.signature}>"


class Reference(_polyattn.Reference):
    """The reference of an entry: every score by its definition, in f64, slow. Called and pickled like a kernel."""

    def __init__(self, source: _polyattn.Source) -> None:
        super().__init__(source)
        self._source = source
        self.signature = _signature_of(self)

    def __reduce__(self) -> Any:
        return Reference, (self._source,)

    def __repr__(self) -> str:
        return f"<polyattn.Reference {self.signature}>"


def compile(
    spec: Spec,
    entry: str | None = None,
    target: str = "native",
    dtype: Any = None,
    direction: str = "forward",
    *,
    sizes: Mapping[str, int] | None = None,
    wrt: Sequence[str] | None = None,
    accumulate: bool = False,
    state_every: int | None = None,
    packed: bool = False,
    invariant: bool = False,
    cache: Union[str, "os.PathLike[str]", None] = None,
) -> Kernel:
    """Compiles an entry of a spec, or takes it from the cache.

    spec: its text, a path, or a spec of the builder or the library.
    entry: one of the spec's attentions; needed if there are several.
    target: native, or x86-64, x86-64-v3, x86-64-v4, x86-64-v4-bf16; cuda, or cuda:1, for a GPU of this machine. Calls
        on a GPU take PyTorch tensors or CuPy arrays, and are launched on the current stream of that library.
    dtype: dtype of the sequences (f32, bf16, f16, or a dtype of NumPy or PyTorch); the spec's if None.
    direction: forward, results only; training, results and saved tensors; backward, gradients, from the saved tensors of
        a training kernel of the same spec; decode, results, with states in pools that are updated in place; states and
        gradient_states, the contribution of a segment to the states after it, and to the gradients of the states before it.
    sizes: sizes of the entry by name, {"d": 64, "m": 1024}, in place of the defaults of a text in the short form.
    wrt: the arguments that get gradients; all that have one if None.
    accumulate: gradients of weights, and of decays of heads, are added to the values of one more argument each, sum_d_NAME,
        and stored there.
    state_every: a training kernel saves the states after every so many positions, as one more result. The backward kernel of
        the same state_every then computes all gradients in one pass: less time for more memory.
    packed: sequences are concatenated in one batch, between the offsets of one more argument, cu_seqlens.
    invariant: the bits of a sequence depend neither on its batch nor on threads.
    cache: a folder for compiled code; the user's if None, none if "".
    """
    with python_lines_of(spec):
        return Kernel(
            source_of(
                spec,
                entry,
                target,
                dtype,
                invariant=invariant,
                cache=cache,
                direction=direction,
                wrt=wrt,
                accumulate=accumulate,
                state_every=state_every,
                packed=packed,
                sizes=sizes,
            )
        )


def reference(
    spec: Spec, entry: str | None = None, dtype: Any = None, direction: str = "forward", *,
    sizes: Mapping[str, int] | None = None, packed: bool = False,
) -> Reference:  # fmt: skip
    """The reference of an entry of a spec: a function that returns f64 results, and final states as new arrays.

    Arguments are those that `compile` has. The directions training and backward are refused: compare gradients with
    differences of the forward direction.
    """
    if direction in ("training", "backward"):
        raise CallError(f"direction: expected forward, decode, states or gradient_states of a reference, got {direction}")
    with python_lines_of(spec):
        return Reference(source_of(spec, entry, dtype=dtype, direction=direction, packed=packed, sizes=sizes))
