"""Measures an attention beside PyTorch's own operations."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any, Callable

import torch

from .._comparison import Row, Sizes
from .._errors import CallError, SpecError
from .._kernels import F32_ROLES, Signature, Tensor
from .._specs import Spec
from .._timing import Call
from . import _recipes
from ._attention import Attention, load
from ._decode import decode, kernel_of
from ._eager import Eager
from ._features import NoForm


def _numbers(about: Tensor, shape: list[int], generator: torch.Generator) -> torch.Tensor:
    """Random numbers for an argument, of a size that its role has in models."""

    def normal(size: float) -> torch.Tensor:
        return torch.randn(shape, generator=generator) * size

    if about.role in ("query", "key", "value"):
        return normal(0.5)
    if about.role in ("gain", "positional"):
        return 1 + normal(0.1)
    if about.role == "vector":
        return normal(0.1)
    if about.role == "frequencies":
        steps = torch.arange(shape[-1], dtype=torch.float32) / shape[-1]
        return (10000.0**-steps).expand(shape).clone()
    if about.role == "lags":
        return 0.75 + normal(0.1)
    if about.role == "decay":
        return -normal(0.1).abs()
    return normal(shape[-2] ** -0.5 if len(shape) > 1 else 1.0)


def inputs_of(
    signature: Signature, batch: int, length: int, heads: int, kv_heads: int, dtype: torch.dtype, seed: int | None = None
) -> list[torch.Tensor]:
    """Random arguments of an attention."""
    sizes = {"B": batch, "T": length, "Tk": length, "L": length, "H": heads, "Hkv": kv_heads}
    generator = torch.Generator()
    if seed is None:
        generator.seed()
    else:
        generator.manual_seed(seed)
    found = []
    for one in signature.arguments:
        shape = [sizes[size] if isinstance(size, str) else size for size in one.shape]
        if one.dtype.startswith("i"):
            found.append(torch.zeros(shape, dtype=torch.int64))
            continue
        numbers = _numbers(one, shape, generator)
        is_wide = one.role in F32_ROLES or one.dtype == "f32" and dtype != torch.float32 and len(shape) < 2
        found.append(numbers if is_wide else numbers.to(dtype))
    return found


#: Relative errors that are rounding: of results, and of gradients.
TOLERANCES = {torch.float32: (1e-3, 1e-2), torch.float16: (1e-2, 5e-2), torch.bfloat16: (5e-2, 2e-1)}
FEWEST = 3  # rounds


def _arrays(found: Any) -> list[torch.Tensor]:
    return [x.detach().double() for x in ([found] if isinstance(found, torch.Tensor) else found)]


def _error(found: list[torch.Tensor], expected: list[torch.Tensor]) -> float:
    """The largest relative error. A gradient that is nothing but rounding beside the others is not compared digit by digit."""
    norms = [float(one.norm()) for one in expected]
    return max(
        float((a - b).norm()) / max(norm, max(norms) / 100, 1e-30) for a, b, norm in zip(found, expected, norms)
    )


def _reason(error: Exception) -> str:
    """The first line of the message, whole: the fault is named after the path of a file, which can be long."""
    lines = [one.strip() for one in str(error).splitlines() if one.strip()]
    return lines[0] if lines else type(error).__name__


class Problem:
    """One direction of one attention: its calls by column, and why others are absent."""

    def __init__(self, attention: Attention, eager: Eager | NoForm, sizes: Sizes, tell: Callable[[str], None]) -> None:
        self.attention, self.sizes, self.tell = attention, sizes, tell
        self._eager = eager
        self.calls: dict[str, Call] = {}
        self.absent: dict[str, str] = {}
        self.expected: list[torch.Tensor] = []

    @property
    def eager(self) -> Eager:
        if isinstance(self._eager, NoForm):
            raise self._eager
        return self._eager

    @property
    def tolerance(self) -> float:
        return TOLERANCES[self.sizes.dtype][0]

    def make(self, compiles: bool) -> None:
        """Ours first, which gives the results that others must have."""
        self.calls["polyattn"] = self.ours()
        self.expected = self.calls["polyattn"].results()
        columns = {"eager": self.fastest_eager, "compiled": self.compiled}
        for column, make in columns.items() if compiles else [("eager", self.fastest_eager)]:
            self.tell(f"{self.direction}: {column}")
            try:
                self.calls[column] = make()
            except Exception as error:  # whatever PyTorch or its C++ compiler say of a program
                self.absent[column] = _reason(error)

    def checked(self, call: Call) -> Call:
        error = _error(call.results(), self.expected)
        if not error <= self.tolerance:
            raise NoForm(f"results differ from polyattn's by {error:.1e}")
        return call

    def fastest_eager(self) -> Call:
        reasons: list[str] = []
        best: tuple[float, Call] | None = None
        for name, run in self.forms().items():
            self.tell(f"{self.direction}: eager, {name}")
            try:
                call = self.checked(self.call(run, name))
                once = call.ready()
            except Exception as error:  # such as memory
                reasons.append(f"{name}: {_reason(error)}")
                continue
            if best is None or once < best[0]:
                best = once, call
        if best is None:
            raise NoForm("; ".join(reasons) or "no form of this length")
        return best[1]

    def compiled(self) -> Call:
        """torch.compile of the fastest form that is no loop of Python."""
        names = [one for one in self.forms() if not one.startswith("looped")]
        form = self.calls["eager"].form if "eager" in self.calls else ""
        name = form if form in names else next(iter(names[::-1]), "")
        if not name:
            raise NoForm("no form without a loop of Python")
        run = torch.compile(self.forms()[name], fullgraph=True, dynamic=False)
        call = self.checked(self.call(run, name))
        call.ready()
        return call

    direction = ""

    def ours(self) -> Call:
        raise NotImplementedError

    def forms(self) -> Mapping[str, Callable[..., torch.Tensor]]:
        raise NotImplementedError

    def call(self, run: Callable[..., Any], form: str) -> Call:
        raise NotImplementedError


class Forward(Problem):
    direction = "forward"

    def inputs(self) -> list[torch.Tensor]:
        sizes = self.sizes
        return inputs_of(self.attention.signature, sizes.batch, sizes.length, sizes.heads, sizes.kv_heads, sizes.dtype, sizes.seed)

    def ours(self) -> Call:
        call = self.call(self.attention, "")
        call.ready()
        return call

    def forms(self) -> Mapping[str, Callable[..., torch.Tensor]]:
        return self.eager.forms(self.sizes.length, self.sizes.batch, self.sizes.heads)

    def call(self, run: Callable[..., Any], form: str) -> Call:
        inputs = self.inputs()

        def forward() -> Any:
            with torch.inference_mode():
                return run(*inputs)

        return Call(forward, lambda: _arrays(forward()), form)


class Both(Forward):
    """Forward and backward: the gradients of all arguments that have one."""

    direction = "forward + backward"

    @property
    def tolerance(self) -> float:
        return TOLERANCES[self.sizes.dtype][1]

    def call(self, run: Callable[..., Any], form: str) -> Call:
        learned = ("query", "key", "value", "weight", "gain", "vector")
        roles = [one.role in learned for one in self.attention.signature.arguments]
        inputs = [x.requires_grad_() if is_learned else x for x, is_learned in zip(self.inputs(), roles)]
        wanted = [x for x in inputs if x.requires_grad]
        size, _ = _recipes.shapes_of(self.attention.signature, inputs)[0]
        factors = torch.randn(size, generator=torch.Generator().manual_seed(self.sizes.seed + 1)).to(self.sizes.dtype)

        def both() -> Any:
            return torch.autograd.grad(run(*inputs), wanted, factors)

        return Call(both, lambda: _arrays(both()), form)


class Decode(Problem):
    """A token of each of `batch` sequences, whose states continue in place."""

    direction = "decode"

    def tokens(self, step: int) -> list[torch.Tensor]:
        sizes = self.sizes
        signature = self.attention.signature
        first, second = (
            inputs_of(signature, sizes.batch, 1, sizes.heads, sizes.kv_heads, sizes.dtype, sizes.seed + i) for i in (0, step)
        )
        return [new if "T" in one.shape or "Tk" in one.shape else old
                for one, old, new in zip(signature.arguments, first, second)]  # fmt: skip

    def _call(self, step: Callable[[int, list[torch.Tensor]], torch.Tensor], begin: Callable[[], Any], form: str) -> Call:
        """Two tokens of new sequences are checked, and the second is timed again and again."""
        first, second = self.tokens(0), self.tokens(1)

        def run() -> torch.Tensor:
            with torch.inference_mode():
                return step(1, second)

        def results() -> list[torch.Tensor]:
            with torch.inference_mode():
                begin()
                step(0, first)
                return _arrays(step(1, second))

        return Call(run, results, form)

    def ours(self) -> Call:
        handle, batch = self.attention._handle, self.sizes.batch
        signature = kernel_of(handle, _recipes.STORAGE[self.sizes.dtype]).signature
        sizes = {"P": batch, "H": self.sizes.heads, "Hkv": self.sizes.kv_heads}
        names = {one.name for one in self.attention.signature.arguments}
        pools, others = [], {}
        for one, is_pool in zip(signature.arguments, signature.pools):
            if is_pool:
                pools.append(torch.zeros([sizes[x] if isinstance(x, str) else x for x in one.shape]))
            elif one.name not in names or one.name == "first_position":
                values = {"slots": torch.arange(batch), "lengths": torch.ones(batch)}.get(one.name, torch.zeros(batch))
                others[one.name] = values.to(_recipes.DTYPES[one.dtype])

        def step(position: int, tokens: list[torch.Tensor]) -> torch.Tensor:
            given = dict(zip((one.name for one in self.attention.signature.arguments), tokens)) | others
            if "first_position" in given:
                given["first_position"] = given["first_position"] + position
            return decode(handle, [given[one.name] for one, is_pool in zip(signature.arguments, signature.pools) if not is_pool], pools)

        call = self._call(step, lambda: None, "")
        call.ready()
        return call

    def forms(self) -> Mapping[str, Callable[..., torch.Tensor]]:
        return {f"token{way}": eager.token for way, eager in self.eager.ways().items()}

    def call(self, run: Callable[..., Any], form: str) -> Call:
        eager = self.eager.ways()[form.removeprefix("token")]
        states = eager.states(tuple(self.tokens(0)))

        def begin() -> None:
            for one in states:
                one.zero_()

        return self._call(lambda position, tokens: run(position, *states, *tokens), begin, form)


PROBLEMS = {"forward": Forward, "both": Both, "decode": Decode}


def measure(
    spec: Spec, entry: str | None, sizes: Sizes, directions: Sequence[str], seconds: float, compiles: bool,
    tell: Callable[[str], None],
) -> tuple[str, list[Row]]:  # fmt: skip
    """The entry's name, and a row for each direction."""
    attention = load(spec, entry)
    if any(one.role == "state" for one in attention.signature.arguments) or len(attention.signature.results) != 1:
        raise CallError("compare: expected a spec without states in its signature and with one result, "
                        f"got {attention.signature}")  # fmt: skip
    try:
        eager: Eager | NoForm = Eager(spec, entry, attention.signature)
    except NoForm as error:
        eager = error
    rows = []
    for direction in directions:
        torch._dynamo.reset()
        problem = PROBLEMS[direction](attention, eager, sizes, tell)
        tell(f"{problem.direction}: polyattn")
        try:
            problem.make(compiles)
        except SpecError as error:  # no gradient, or no state
            rows.append(Row(problem.direction, {}, {}, {"polyattn": _reason(error)}))
            continue
        rounds: dict[str, list[float]] = {column: [] for column in problem.calls}
        begin, done = time.monotonic(), 0
        while done < FEWEST or time.monotonic() - begin < seconds:
            for column, call in problem.calls.items():
                rounds[column].append(call.turn())
            done += 1
            tell(f"{problem.direction}: round {done}")
        medians = {column: statistics.median(found) for column, found in rounds.items()}
        forms = {column: call.form for column, call in problem.calls.items() if call.form}
        rows.append(Row(problem.direction, medians, forms, problem.absent))
    return attention.signature.name, rows
