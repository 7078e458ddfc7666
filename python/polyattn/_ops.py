"""Functions of vectors: the dialect's feature ops."""

from __future__ import annotations

from typing import Any, Callable

from ._errors import CallError
from ._structure import concatenation, power, product, vector
from ._values import Vector, emit, enum_text, number, vector_of

def tensor(*inputs: Any) -> Vector:
    """The tensor product: the score is the product of the operands' scores."""
    return emit("tensor", list(inputs), product([vector_of(x, "tensor").structure for x in inputs]))


def concat(*inputs: Any) -> Vector:
    """Side by side: the score is the sum of the operands' scores."""
    parts = [vector_of(x, "concat").structure for x in inputs]
    return emit("concat", list(inputs), concatenation(parts))


def tensor_power(
    x: Any, degree: int, *, symmetric: bool = True, block: int | None = None, abs: bool = False
) -> Vector:
    """The tensor power, whose score is <x, y>^degree: on sorted monomials where it is symmetric."""
    structure = power(vector_of(x, "power").structure, degree, symmetric, block)
    return emit(
        "power", [x], structure, degree=degree, symmetric=symmetric, block=block, abs=abs
    )


def triangle(x: Any, y: Any, *, weights: str) -> Vector:
    """Products x_i y_j for i <= j, off-diagonal ones weighted by 1 (none) or the root of 2 (sqrt2)."""
    width = vector_of(x, "triu").width
    return emit(
        "triu", [x, y], vector(width * (width + 1) // 2), weights=enum_text("triu_weights", weights)
    )


def constant(like: Any, value: float, width: int = 1) -> Vector:
    """The same number in every element, in the program of `like`."""
    program = like._program
    name = program.name()
    program.add(
        f"{name} = constant {{value = {number(value, 'constant')}, width = {width}}}"
    )
    return Vector(program, name, vector(width))


def _elementwise(op: str) -> Callable[[Any], Vector]:
    def function(x: Any) -> Vector:
        return emit(op, [x], vector(vector_of(x, op).width))

    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"The dialect's `{op}`."
    return function


relu = _elementwise("relu")
elu_plus_one = _elementwise("elu_plus_one")
exp = _elementwise("exp")
tanh = _elementwise("tanh")
sin = _elementwise("sin")
cos = _elementwise("cos")
absolute = _elementwise("abs")
sign = _elementwise("sign")
log = _elementwise("log")
sigmoid = _elementwise("sigmoid")
silu = _elementwise("silu")
softplus = _elementwise("softplus")


def gelu(x: Any, *, form: str) -> Vector:
    """form: tanh or erf."""
    return emit("gelu", [x], vector(vector_of(x, "gelu").width), form=enum_text("gelu_form", form))


def clamp_min(x: Any, value: float) -> Vector:
    return emit("clamp_min", [x], vector(vector_of(x, "clamp_min").width), value=number(value, "clamp_min"))


def is_above(x: Any, value: float) -> Vector:
    """1 where an element is larger than the value, else 0."""
    return emit("is_above", [x], vector(vector_of(x, "is_above").width), value=number(value, "is_above"))


def total(x: Any) -> Vector:
    """The sum of the elements, a vector of one element."""
    return emit("sum", [x], vector(1))


def squared_norm(x: Any) -> Vector:
    """The sum of squares, a vector of one element."""
    return emit("squared_norm", [x], vector(1))


def maximum(x: Any) -> Vector:
    """The largest element, a vector of one element."""
    return emit("max", [x], vector(1))


def layer_norm(
    x: Any, gamma: Any = None, beta: Any = None, *, eps: float, eps_place: str = "inside"
) -> Vector:
    """(x - mean) / sqrt(var + eps), times gamma plus beta where given."""
    affine = [weight for weight in (gamma, beta) if weight is not None]
    if beta is not None and gamma is None:
        raise CallError("layer_norm: a beta comes with a gamma")
    width = vector_of(x, "layer_norm").width
    return emit(
        "layer_norm", [x, *affine], vector(width),
        eps=number(eps, "layer_norm"), eps_place=enum_text("eps_place", eps_place),
    )  # fmt: skip


def l2_norm(x: Any, *, eps: float) -> Vector:
    return emit("l2_norm", [x], vector(vector_of(x, "l2_norm").width), eps=number(eps, "l2_norm"))


def l2_rescale(x: Any, reference: Any) -> Vector:
    """The direction of x with the length of `reference`."""
    return emit("l2_rescale", [x, reference], vector(vector_of(x, "l2_rescale").width))


def sum_norm(x: Any, *, eps: float) -> Vector:
    return emit("sum_norm", [x], vector(vector_of(x, "sum_norm").width), eps=number(eps, "sum_norm"))


def softmax(x: Any, *, groups: int = 1) -> Vector:
    """Over the elements, in equal runs."""
    return emit("softmax", [x], vector(vector_of(x, "softmax").width), groups=groups)


def rope(
    x: Any, frequencies: Any, *, layout: str, dims: int | None = None,
    offset: float = 0.0, scale: float = 1.0,
) -> Vector:  # fmt: skip
    """Rotary positions. layout: half, interleaved or deinterleave."""
    width = vector_of(x, "rope").width
    return emit(
        "rope", [x, frequencies], vector(width), layout=enum_text("rope_layout", layout),
        dims=width if dims is None else dims, offset=number(offset, "rope"), scale=number(scale, "rope"),
    )  # fmt: skip
