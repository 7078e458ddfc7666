"""A builder of specs: Python functions over vectors, traced into the polyattn dialect.

    @polyattn.feature_map
    def llops(x, a, b):
        return (x @ a) * (x @ b)

    @polyattn.attention
    def llops(q: Sequence[64], k: Sequence[64], v: Sequence[64], a: Weight[64, 256], b: Weight[64, 256]):
        return attend(llops(q, a, b), llops(k, a, b), v, normalizer=none(), grouping="block")

Type checkers want types for annotations: `q: Annotated[Vector, Sequence[64]], a: Annotated[Matrix, Weight[64, 256]]` mean the
same, with Tensor for decays, states and first positions.

Each op keeps the Python line that asked for it, and diagnostics point there.
"""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Callable, ParamSpec, get_origin, overload

from ._arguments import (
    Argument,
    Decay,
    FeatureDecay,
    FirstPosition,
    HeadDecay,
    HeadTable,
    HeadWeight,
    Sequence,
    SharedSequence,
    State,
    StateNormalizer,
    Table,
    Weight,
    Weight32,
)
from ._attend import FinalState, Normalizer, attend, by_bias, by_softmax, by_sum, none
from ._errors import CallError, SourceLocation
from ._literals import word
from ._ops import (
    absolute,
    clamp_min,
    concat,
    constant,
    convolve,
    cos,
    elu_plus_one,
    exp,
    exp_score,
    first_max,
    gelu,
    is_above,
    l2_norm,
    l2_rescale,
    layer_norm,
    log,
    maximum,
    power,
    relative,
    relu,
    rope,
    scatter,
    sigmoid,
    sign,
    silu,
    sin,
    softmax,
    softplus,
    sqrt,
    squared_norm,
    sum_norm,
    sym,
    tanh,
    tensor,
    tensor_power,
    total,
    triu,
    weight_product,
)
from ._specs import storage_of
from ._values import Matrix, Program, Tensor, Vector, add, hadamard, kind_of, project, vector_of

__all__ = [
    "Argument",
    "Decay",
    "FeatureDecay",
    "FirstPosition",
    "HeadDecay",
    "HeadTable",
    "HeadWeight",
    "Matrix",
    "Normalizer",
    "Sequence",
    "SharedSequence",
    "Spec",
    "State",
    "StateNormalizer",
    "Table",
    "Tensor",
    "Vector",
    "Weight",
    "Weight32",
    "absolute",
    "add",
    "attend",
    "attention",
    "by_bias",
    "by_softmax",
    "by_sum",
    "clamp_min",
    "concat",
    "constant",
    "convolve",
    "cos",
    "elu_plus_one",
    "exp",
    "exp_score",
    "feature_map",
    "first_max",
    "gelu",
    "hadamard",
    "is_above",
    "l2_norm",
    "l2_rescale",
    "layer_norm",
    "log",
    "maximum",
    "none",
    "power",
    "project",
    "relative",
    "relu",
    "rope",
    "scatter",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "softmax",
    "softplus",
    "sqrt",
    "squared_norm",
    "sum_norm",
    "sym",
    "tanh",
    "tensor",
    "total",
    "triu",
    "weight_product",
]


@dataclass(frozen=True)
class Spec:
    """A traced attention, which `polyattn.compile`, `polyattn.reference` and `polyattn.torch.load` take.

    `name` is its entry, `text` its program in the polyattn dialect. `locations` has the Python line of every line of the text, where
    there is one."""

    name: str
    text: str = field(repr=False)
    locations: tuple[SourceLocation | None, ...] = field(repr=False, compare=False)

    def __str__(self) -> str:
        return self.text


_P = ParamSpec("_P")


def feature_map(function: Callable[_P, Any]) -> Callable[_P, Vector]:
    """Says that a function makes a vector of vectors and weights, and checks that it does: what else it gives is a CallError."""

    @functools.wraps(function)
    def apply(*arguments: _P.args, **named: _P.kwargs) -> Vector:
        return vector_of(function(*arguments, **named), function.__name__)

    return apply


def _argument_of(annotation: Any) -> Any:
    """`Sequence[64]`, or the same in `Annotated[Vector, Sequence[64]]`."""
    if get_origin(annotation) is Annotated:
        return next((one for one in annotation.__metadata__ if isinstance(one, Argument)), annotation)
    return annotation


def _argument_types(
    function: Callable[..., Any], variables: dict[str, Any]
) -> dict[str, Argument]:
    """From annotations, which are text after `from __future__ import annotations`."""
    found: dict[str, Argument] = {}
    for name in inspect.signature(function).parameters:
        kind = function.__annotations__.get(name)
        if isinstance(kind, str):
            kind = eval(kind, function.__globals__, variables)
        kind = _argument_of(kind)
        if not isinstance(kind, Argument):
            raise CallError(
                f"{function.__name__}: argument '{name}': expected an annotation such as "
                f"Sequence[64] or Annotated[Vector, Sequence[64]], got {kind}"
            )
        found[name] = kind
    return found


def _trace(
    function: Callable[..., Any], name: str, dtype: str, results: tuple[str, ...] | None,
    arguments: dict[str, Argument],
) -> Spec:  # fmt: skip
    if isinstance(results, str):
        raise CallError(f"attention: results: expected a tuple of names, got {results!r}")
    dtype = storage_of(dtype) or "f32"
    program = Program(dtype)
    for one in (name, *arguments, *(results or ())):
        word(one, "a name of an attention")
    tensors = {key: Tensor(program, key, kind) for key, kind in arguments.items()}
    given = function(**tensors)
    outputs = given if isinstance(given, tuple) else (given,)
    values = [x._read() if isinstance(x, Tensor) else x for x in outputs]
    for value in values:
        if not isinstance(value, (Vector, FinalState)):
            raise CallError(f"{name}: expected vectors as results, got {kind_of(value)}")
    names = results or ("o", "final", "final_normalizer")[: len(values)]
    if len(names) != len(values):
        raise CallError(f"{name}: expected {len(names)} results {names}, got {len(values)}")
    firsts = [key for key, kind in arguments.items() if kind.kind == "first"]
    clause = f" first_position %{firsts[0]}" if firsts else ""
    types = [
        x._type if isinstance(x, FinalState) else f"tensor<?x?x?x{x.width}x{dtype}>" for x in values
    ]
    head = ", ".join(f"%{key}: {tensor.type}" for key, tensor in tensors.items())
    tail = ", ".join(f"{key}: {kind}" for key, kind in zip(names, types))
    lines = program.lines + [
        f"return {', '.join(x._name for x in values)} : {', '.join(x._type for x in values)}"
    ]
    body = "\n".join(f"  {line}" for line in lines)
    text = f"polyattn.attention @{name}({head}) -> ({tail}){clause} {{\n{body}\n}}\n"
    code = function.__code__
    start = SourceLocation(code.co_filename, code.co_firstlineno, 1)
    return Spec(name, text, (start, *program.locations, start, start))


@overload
def attention(function: Callable[..., Any], /) -> Spec: ...
@overload
def attention(
    function: Callable[..., Any], /, *, name: str | None = None, dtype: str = "f32",
    results: tuple[str, ...] | None = None, arguments: dict[str, Argument] | None = None,
) -> Spec: ...  # fmt: skip
@overload
def attention(
    *, name: str | None = None, dtype: str = "f32", results: tuple[str, ...] | None = None,
    arguments: dict[str, Argument] | None = None,
) -> Callable[[Callable[..., Any]], Spec]: ...  # fmt: skip
def attention(
    function: Callable[..., Any] | None = None, *, name: str | None = None, dtype: str = "f32",
    results: tuple[str, ...] | None = None, arguments: dict[str, Argument] | None = None,
) -> Any:  # fmt: skip
    """Traces a function into a Spec: it is called once, with vectors and weights that have no numbers yet.

    name: the entry's name, the function's if None.
    dtype: what sequences and weights are stored in: f32, bf16 or f16.
    results: the names of what the function returns; o, final and final_normalizer if None.
    arguments: what its arguments are, by their names; their annotations say so if None.

    What is no name, no annotation of an argument, or no vector as a result is a CallError.
    """

    variables = sys._getframe(1).f_locals

    def trace(function: Callable[..., Any]) -> Spec:
        if not hasattr(function, "__code__"):
            raise CallError(f"attention: expected a function written in Python, got {kind_of(function)}")
        types = _argument_types(function, variables) if arguments is None else _checked(arguments)
        return _trace(function, name or function.__name__, dtype, results, types)

    return trace if function is None else trace(function)


def _checked(arguments: dict[str, Argument]) -> dict[str, Argument]:
    for name, kind in arguments.items():
        if not isinstance(kind, Argument):
            raise CallError(f"arguments: '{name}': expected what an argument is, such as Sequence[64], got {kind!r}")
    return arguments


# The names of the short form, which are Python's own as well: `from polyattn.builder import *` leaves these alone.
abs, max, sum = absolute, maximum, total

if not TYPE_CHECKING:  # for which any name would be one
    #: Deprecated names: what they mean, and what to write.
    _OLDER = {"triangle": (triu, "triu"), "tensor_power": (tensor_power, "power or sym")}
    del tensor_power

    def __getattr__(name: str) -> Any:
        if name not in _OLDER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        function, newer = _OLDER[name]
        warnings.warn(f"{__name__}.{name} is deprecated: write {newer}", DeprecationWarning, stacklevel=2)
        return function
