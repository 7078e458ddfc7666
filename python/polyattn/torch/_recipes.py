"""What an operator's number stands for: an attention whose kernels are compiled when tensors come.

A graph that torch.compile keeps on disk, or that torch.export wrote, has the number only. So it is a hash of what it stands
for, never a counter: another process that has loaded the same has it under the same number, and no other.
"""

from __future__ import annotations

import hashlib
import json
import threading
import weakref
from dataclasses import replace
from typing import Any, Callable

import torch

from .. import __version__, _polyattn
from .._errors import CallError, NoGradientError, SpecError
from .._kernels import Kernel, Signature, _signature_of, compile
from .._specs import Spec, python_lines_of, source_of
from ._threads import TEAM

#: Storage of sequences by torch's dtypes.
STORAGE = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16"}
DTYPES = {name: dtype for dtype, name in STORAGE.items()} | {"i64": torch.int64, "i32": torch.int32}

_recipes: dict[int, Recipe] = {}


class StorageError(CallError):
    """Tensors of a dtype that no sequence has."""


def _describe(spec: Spec, entry: str | None, storage: str, packed: bool) -> Signature:
    """The signature of a kernel, without compiling it: the oracle's, which differs in what results hold."""
    with python_lines_of(spec):
        exact = _signature_of(_polyattn.Reference(source_of(spec, entry, dtype=storage, packed=packed)))
    results = tuple(
        replace(one, dtype=storage if "T" in one.shape else "f32") for one in exact.results
    )
    return replace(exact, results=results)


def shapes_of(signature: Signature, inputs: list[Any]) -> list[tuple[list[Any], Any]]:
    """Shapes and dtypes of the results for arguments of these sizes, which may be symbols."""
    bound: dict[str, Any] = {}
    for argument, tensor in zip(signature.arguments, inputs):
        for size, actual in zip(argument.shape, tensor.shape):
            if isinstance(size, str):
                bound.setdefault(size, actual)
    bound.setdefault("Tk", bound.get("T"))
    bound.setdefault("Hkv", bound.get("H"))
    if "N+1" in bound:
        bound.setdefault("N", bound["N+1"] - 1)
    signature.check_limits(bound)
    return [
        (
            [bound[size] if isinstance(size, str) else size for size in result.shape],
            DTYPES[result.dtype],
        )
        for result in signature.results
    ]


class Pair:
    """Both halves of an attention's gradients, by the names of what they take and give."""

    def __init__(self, signature: Signature, training: Kernel, backward: Kernel) -> None:
        self.training, self.backward = training, backward
        taken, given = backward.signature.arguments, training.signature.results
        read = {one.name for one in taken}
        self.inputs = [one.name for one in signature.arguments]
        #: How many of what training gives are results of the attention, and the names of their gradients.
        self.count = len(signature.results)
        self.gradients = [f"d_{one.name}" for one in given[: self.count]]
        #: Which of what training gives backward reads, and their names.
        self.is_kept = [one.name in read for one in given]
        self.kept = [one.name for one in given if one.name in read]
        #: Which argument each result of backward is the gradient of. An argument that no result depends on has none.
        self.places = [self.inputs.index(one["gradient_of"]) for one in backward.describe()["results"]]
        self._heads = [(i, one.shape.index("H")) for i, one in enumerate(taken[: len(self.inputs)]) if "H" in one.shape]

    def check_heads(self, inputs: list[Any]) -> None:
        """Refuses what the backward half will, before anything is computed."""
        for i, dimension in self._heads[1:]:
            first, of_first = self._heads[0]
            heads, expected = inputs[i].shape[dimension : dimension + 1], inputs[first].shape[of_first : of_first + 1]
            if heads and expected and heads != expected:
                raise CallError(
                    f"{self.backward.signature.name}: argument '{self.inputs[i]}': expected {expected[0]} heads, as "
                    f"'{self.inputs[first]}' has, for gradients, got {heads[0]}"
                )


class Recipe:
    """An attention by its text, for which the first tensor's dtype chooses the kernel.

    With `is_packed` it is of packed sequences, and `cu_seqlens` is its last argument. Gradients keep states after
    `state_every` positions each, if it is not None.
    """

    def __init__(
        self, spec: Spec, entry: str | None, identity: Any, is_packed: bool = False, state_every: int | None = None
    ) -> None:
        self._spec, self._entry, self._is_packed = spec, entry, is_packed
        self._state_every = state_every
        self._kernels: dict[Any, Kernel] = {}
        self._signatures: dict[str, Signature] = {}
        self._pairs: dict[tuple[str, int], Pair] = {}
        self._without: dict[tuple[str, str, int], str] = {}
        self._lock = threading.Lock()
        self._owners: set[int] = set()
        text = json.dumps([__version__, entry, identity, *["packed"] * is_packed, *[state_every] * bool(state_every)])
        self.handle = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1

    def keep_for(self, owner: Any) -> None:
        """Keeps kernels as long as this owner, or another one, is there.

        The recipe itself stays, a few kilobytes: a graph that has its number, or a backward call that is still to come, compiles
        again what it needs.
        """
        self._owners.add(id(owner))
        weakref.finalize(owner, self._leave, id(owner)).atexit = False

    def _leave(self, owner: int) -> None:
        # No lock: a garbage collection may come while this thread holds it.
        self._owners.discard(owner)
        if not self._owners:
            self._kernels.clear()
            self._pairs.clear()
            self._signatures.clear()

    def signature(self, storage: str = "f32") -> Signature:
        found = self._signatures.get(storage)
        if found is None:
            found = self._signatures[storage] = _describe(
                self._spec, self._entry, storage, self._is_packed
            )
        return found

    def kernel(self, storage: str) -> Kernel:
        found = self._kernels.get(storage)
        return found if found is not None else self._compile(storage)

    def half(self, storage: str, direction: str, wrt: int) -> Kernel:
        """One half of a pair for training. Bits of `wrt` are arguments."""
        key = (storage, direction, wrt)
        found = self._kernels.get(key)
        if found is not None:
            return found
        if key not in self._without:
            names = [x.name for i, x in enumerate(self.signature().arguments) if wrt >> i & 1]
            try:
                return self._compile(key, dtype=storage, direction=direction, wrt=names, state_every=self._state_every)
            except NoGradientError as error:
                self._without[key] = str(error)
        raise NoGradientError(self._without[key])

    def pair(self, storage: str, wrt: int) -> Pair:
        found = self._pairs.get((storage, wrt))
        if found is None:
            halves = (self.half(storage, direction, wrt) for direction in ("training", "backward"))
            found = self._pairs[storage, wrt] = Pair(self.signature(storage), *halves)
        return found

    def all_gradients(self, storage: str) -> int:
        """The bits of all arguments that can have gradients, after compiling the half that gives them; 0 for none."""
        options = {"dtype": storage, "direction": "backward", "state_every": self._state_every}
        try:
            kernel = self._compile((storage, "backward", None), **options)
        except SpecError:
            if self._state_every is not None:
                raise  # states are for gradients, which were asked for
            return 0
        gradients = {one.name for one in kernel.signature.results}
        wrt = sum(1 << i for i, one in enumerate(self.signature().arguments) if f"d_{one.name}" in gradients)
        self._kernels.setdefault((storage, "backward", wrt), kernel)
        return wrt

    def decoding(self, storage: str) -> Kernel:
        """What goes on with sequences in pools of states."""
        found = self._kernels.get((storage, "decode"))
        if found is None:
            found = self._compile((storage, "decode"), dtype=storage, direction="decode")
        return found

    def _compile(self, key: Any, **options: Any) -> Kernel:
        with self._lock:
            found = self._kernels.get(key)
            if found is None:
                options = options or {"dtype": key}
                found = compile(self._spec, self._entry, packed=self._is_packed, **options)
                found._team = TEAM
                self._kernels[key] = found
        return found

    def of(self, inputs: list[Any]) -> Recipe:
        """The one for tensors of these sizes."""
        return self

    def dtypes(self, inputs: list[Any], storage: str) -> list[Any]:
        """What each input is expected to hold."""
        return [DTYPES[one.dtype] for one in self.signature(storage).arguments]

    def results(self, inputs: list[Any]) -> list[tuple[list[Any], Any]]:
        """Shapes and dtypes of the results, where sizes may be symbols."""
        return shapes_of(self.signature(storage_of(inputs)), inputs)

    def kept(self, inputs: list[Any], wrt: int) -> list[tuple[list[Any], Any]]:
        """The same of the forward half of a pair: the results, and what gradients need."""
        return shapes_of(self.half(storage_of(inputs), "training", wrt).signature, inputs)


class Family(Recipe):
    """Attentions of all sizes: head sizes of the tensors choose the spec.

    Sizes may be symbols while torch.compile looks at a program, so a spec is made when the kernel is called only;
    `shapes` says what the results' sizes are.
    """

    def __init__(
        self, name: str, options: dict[str, Any], make: Callable[..., Spec],
        shapes: Callable[[list[Any]], list[tuple[list[Any], Any]]], is_packed: bool = False,
    ) -> None:  # fmt: skip
        super().__init__("", None, [name, sorted(options.items())], is_packed)
        self.options = options
        self._make, self._shapes = make, shapes
        self._members: dict[Any, Recipe] = {}

    def of(self, inputs: list[Any]) -> Recipe:
        key = (int(inputs[0].shape[-1]), int(inputs[2].shape[-1]))
        found = self._members.get(key)
        if found is None:
            spec = self._make(*key, **self.options)
            found = self._members[key] = Recipe(spec, None, None, self._is_packed)
        return found

    def results(self, inputs: list[Any]) -> list[tuple[list[Any], Any]]:
        return self._shapes(inputs)

    def kept(self, inputs: list[Any], wrt: int) -> list[tuple[list[Any], Any]]:
        return self.of(inputs).kept(inputs, wrt)


def register(recipe: Recipe, owner: Any = None) -> Recipe:
    """The recipe under its number, which may be there already. Its kernels go with the last of its owners."""
    found = _recipes.setdefault(recipe.handle, recipe)
    if owner is not None:
        found.keep_for(owner)
    return found


def find(handle: int) -> Recipe:
    found = _recipes.get(handle)
    if found is None:
        raise CallError(
            f"polyattn: no attention is loaded under the number {handle}; load what the graph "
            "was made with, by polyattn.torch.load, before it runs"
        )
    return found


def storage_of(inputs: list[Any]) -> str:
    if not inputs:
        raise CallError("polyattn: expected tensors, got none")
    found = STORAGE.get(inputs[0].dtype)
    if found is None:
        raise StorageError(f"polyattn: expected tensors of float32, bfloat16 or float16, got {inputs[0].dtype}")
    return found
