"""Functions of vectors: the dialect's feature ops.

What is no vector or weight is a CallError here. What does not fit, such as widths, is a SpecError when the spec is compiled, at the line
of Python that called the function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Callable

from ._errors import CallError
from ._literals import Beyond, EpsPlace, GeluForm, RopeLayout, TriangleWeights, is_number, number, one_of
from ._structure import concatenation, exponential, product, vector
from ._structure import power as structure_of_power
from ._traced import Traced
from ._values import Matrix, Vector, emit, kind_of, vector_of, weight_of
from ._whole import index_of, whole_number


def _parts(inputs: tuple[Any, ...], who: str) -> list[Any]:
    if not inputs:
        raise CallError(f"{who}: expected at least one vector")
    return [vector_of(x, who).structure for x in inputs]


def tensor(*inputs: Any) -> Vector:
    """The tensor product, of as many elements as the product of the widths: the score is the product of the operands' scores."""
    return emit("tensor", list(inputs), product(_parts(inputs, "tensor")))


def concat(*inputs: Any) -> Vector:
    """Vectors side by side: the score is the sum of the operands' scores. Beside a vector, a number is a constant of width 1."""
    like = next((x for x in inputs if isinstance(x, Traced)), None)
    parts = [constant(like, x) if like is not None and is_number(x) else x for x in inputs]
    return emit("concat", parts, concatenation(_parts(tuple(parts), "concat")))


def power(x: Any, degree: int, *, symmetric: bool = False, block: int | None = None, abs: bool = False) -> Vector:
    """The tensor power, whose score is <x, y>^degree: all width^degree products.

    symmetric: sorted monomials alone, with the roots of their multiplicities, as of `sym`.
    block: monomials sorted by blocks of so many elements, which divide the width.
    abs: the score is |<x, y>|^degree; of an odd degree it has no features.
    """
    return _power(x, degree, "power", symmetric, block, abs)


def sym(x: Any, degree: int, *, block: int | None = None, abs: bool = False) -> Vector:
    """The symmetric power: `power(x, degree, symmetric=True)`, with the same scores and fewer features."""
    return _power(x, degree, "sym", True, block, abs)


def tensor_power(
    x: Any, degree: int, *, symmetric: bool = True, block: int | None = None, abs: bool = False
) -> Vector:
    """Deprecated: `power`, and `sym` where nothing is said of `symmetric`."""
    return _power(x, degree, "tensor_power", symmetric, block, abs)


def _power(x: Any, degree: int, who: str, symmetric: bool, block: int | None, abs: bool) -> Vector:
    structure = structure_of_power(
        vector_of(x, who).structure, whole_number(f"{who}: degree", degree), symmetric,
        None if block is None else whole_number(f"{who}: block", block),
    )  # fmt: skip
    return emit("power", [x], structure, degree=degree, symmetric=symmetric, block=block, abs=abs)


def exp_score(x: Any) -> Vector:
    """The score exp(<x, y>), where <x, y> is the score of the operand. It has no features: such attentions compute all pairs.

    A `relative` beside vectors, by `concat`, is a bias of the exponent. Nothing is subtracted before the exponential is taken, so
    scores from 88 on leave f32: rows that are all exponentials are for `by_softmax`.
    """
    return emit("exp_score", [x], exponential(vector_of(x, "exp_score").structure))


def triu(x: Any, y: Any, *, weights: TriangleWeights) -> Vector:
    """Products x_i y_j for i <= j, width (width + 1) / 2 of them. weights: off-diagonal ones times 1 (none) or the root of 2 (sqrt2)."""
    width = vector_of(x, "triu").width
    return emit(
        "triu", [x, y], vector(width * (width + 1) // 2),
        weights=one_of(weights, "triu: weights", TriangleWeights),
    )  # fmt: skip


def scatter(x: Any, *, indices: Sequence[int], width: int) -> Vector:
    """The elements of x added up at so many indices among `width`, and 0 elsewhere: `x[indices]` the other way round."""
    size, count = vector_of(x, "scatter").width, whole_number("scatter: width", width)
    places = [index_of(one) for one in indices]
    if len(places) != size or any(place is None or not 0 <= place < count for place in places):
        raise CallError(f"scatter: indices: expected {size} whole numbers from 0 to {count - 1}, got {list(indices)}")
    return emit("scatter", [x], vector(count), indices=f"array<i64: {', '.join(map(str, places))}>", width=count)


def weight_product(a: Any, b: Any) -> Matrix:
    """The matrix product of two weights, a [n, m] and b [m, k] or [m]; `a @ b` is the same."""
    return weight_of(a, "weight_product") @ weight_of(b, "weight_product")


def sqrt(value: float) -> float:
    """The square root of a number, such as a size. The root of a vector is `x ** 0.5`."""
    if not is_number(value) or not value >= 0:
        raise CallError(f"sqrt: expected a number that is not negative, got {kind_of(value) if not is_number(value) else value}")
    return math.sqrt(value)


def constant(like: Any, value: float, width: int = 1) -> Vector:
    """The same number in each of `width` elements, in the attention that `like` is of."""
    if not isinstance(like, Traced):
        raise CallError(f"constant: like: expected a vector, got {type(like).__name__}")
    program, count = like._program, whole_number("constant: width", width)
    name = program.name()
    program.add(
        f"{name} = constant {{value = {number(value, 'constant: value')}, width = {count}}}"
    )
    return Vector(program, name, vector(count))


def _elementwise(name: str, formula: str, op: str | None = None) -> Callable[[Any], Vector]:
    def function(x: Any) -> Vector:
        return emit(op or name, [x], vector(vector_of(x, name).width))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{formula} of each element x."
    return function


relu = _elementwise("relu", "max(x, 0)")
elu_plus_one = _elementwise("elu_plus_one", "x + 1 above 0 and exp(x) elsewhere")
exp = _elementwise("exp", "e to the power x")
tanh = _elementwise("tanh", "The hyperbolic tangent")
sin = _elementwise("sin", "The sine, in radians,")
cos = _elementwise("cos", "The cosine, in radians,")
absolute = _elementwise("absolute", "|x|", "abs")
sign = _elementwise("sign", "1 above 0, -1 below and 0 at 0")
log = _elementwise("log", "The natural logarithm")
sigmoid = _elementwise("sigmoid", "1 / (1 + exp(-x))")
silu = _elementwise("silu", "x / (1 + exp(-x))")
softplus = _elementwise("softplus", "log(1 + exp(x))")


def gelu(x: Any, *, form: GeluForm) -> Vector:
    """x times the normal distribution function of each element x. form: erf, the function itself, or tanh, an approximation."""
    return emit(
        "gelu", [x], vector(vector_of(x, "gelu").width), form=one_of(form, "gelu: form", GeluForm)
    )


def clamp_min(x: Any, value: float) -> Vector:
    """The larger of an element and a number, for each element."""
    return emit("clamp_min", [x], vector(vector_of(x, "clamp_min").width), value=number(value, "clamp_min: value"))


def is_above(x: Any, value: float) -> Vector:
    """1 where an element is larger than the value, else 0."""
    return emit("is_above", [x], vector(vector_of(x, "is_above").width), value=number(value, "is_above: value"))


def total(x: Any) -> Vector:
    """The sum of the elements, a vector of width 1."""
    return emit("sum", [x], vector(1))


def first_max(x: Any) -> Vector:
    """1 at the largest element, the first of equal ones, and 0 elsewhere."""
    return emit("first_max", [x], vector(vector_of(x, "first_max").width))


def squared_norm(x: Any) -> Vector:
    """The sum of the elements' squares, a vector of width 1."""
    return emit("squared_norm", [x], vector(1))


def maximum(x: Any) -> Vector:
    """The largest element, a vector of width 1."""
    return emit("max", [x], vector(1))


def layer_norm(
    x: Any, gamma: Any = None, beta: Any = None, *, eps: float, eps_place: EpsPlace = "inside"
) -> Vector:
    """(x - mean) / sqrt(variance + eps), times a weight gamma plus a weight beta, each as wide as x, where given.

    eps_place: inside the root, or outside, beside it.
    """
    affine = [weight for weight in (gamma, beta) if weight is not None]
    if beta is not None and gamma is None:
        raise CallError("layer_norm: a beta comes with a gamma")
    width = vector_of(x, "layer_norm").width
    return emit(
        "layer_norm", [x, *affine], vector(width),
        eps=number(eps, "layer_norm: eps"),
        eps_place=one_of(eps_place, "layer_norm: eps_place", EpsPlace),
    )  # fmt: skip


def l2_norm(x: Any, *, eps: float) -> Vector:
    """x / max(|x|, eps), with the Euclidean norm."""
    return emit("l2_norm", [x], vector(vector_of(x, "l2_norm").width), eps=number(eps, "l2_norm: eps"))


def l2_rescale(x: Any, reference: Any) -> Vector:
    """The direction of x with the length of `reference`, a vector."""
    return emit("l2_rescale", [x, reference], vector(vector_of(x, "l2_rescale").width))


def sum_norm(x: Any, *, eps: float) -> Vector:
    """x / (sum of the elements + eps)."""
    return emit("sum_norm", [x], vector(vector_of(x, "sum_norm").width), eps=number(eps, "sum_norm: eps"))


def softmax(x: Any, *, groups: int = 1) -> Vector:
    """exp(x) over its sum, in each of `groups` equal runs of elements."""
    return emit("softmax", [x], vector(vector_of(x, "softmax").width), groups=whole_number("softmax: groups", groups))


def rope(
    x: Any, frequencies: Any, *, layout: RopeLayout, dims: int | None = None,
    offset: float = 0.0, scale: float = 1.0,
) -> Vector:  # fmt: skip
    """Rotary positions: pairs of elements, turned by scale (position + offset) times a frequency.

    frequencies: a weight [dims / 2], in radians per position.
    layout: which elements are a pair. half: i and i + dims / 2; interleaved: 2i and 2i + 1; deinterleave: as interleaved, with results
        as of half.
    dims: how many elements turn, from the first on; all if None.
    """
    width = vector_of(x, "rope").width
    return emit(
        "rope", [x, frequencies], vector(width), layout=one_of(layout, "rope: layout", RopeLayout),
        dims=width if dims is None else whole_number("rope: dims", dims), offset=number(offset, "rope: offset"),
        scale=number(scale, "rope: scale"),
    )  # fmt: skip


def relative(table: Any, *, beyond: Beyond, log: bool = False, two_sided: bool = False) -> Vector:
    """A score c(i - j) that depends on the positions of a query and a key alone: a number of a table.

    It has no features: `tensor` multiplies the scores of other vectors by it, `concat` adds it, powers raise it, and query and key name
    it at the same places. Such attentions compute all pairs.

    table: a weight [n], or [heads, n] with a row for each query head. It has the distances |i - j| from 0 to n - 1.
    beyond: what distances from n on count as: zero, or the last number of the table. With error there are none: a call of more than n
        positions, of queries or keys, is refused, and two-sided one of more than (n + 1) / 2.
    log: the table has the logarithms of the scores, which are positive then.
    two_sided: for the mask full, the table has the lags i - j from -(n - 1) / 2 to (n - 1) / 2; n is odd.
    """
    weight_of(table, "relative")
    return emit(
        "relative", [table], vector(1), beyond=one_of(beyond, "relative: beyond", Beyond), log=log, two_sided=two_sided
    )  # fmt: skip


def convolve(x: Any, filters: Any, *, reversed: bool = False, circular: bool = False) -> Vector:
    """y_i = sum over j <= i of h(i - j) x_j, element by element: a long convolution along positions.

    It takes all rows before the first of its result is known. So no attend takes what is computed from it, it does not decode, and
    packed sequences are refused.

    filters: a weight [n, width of x], or [n] for all elements alike, or either with a row for each head; n lags, and 0 for all others.
    reversed: the sum is over j >= i, of h(j - i) x_j.
    circular: the sum is over all j, and the lag is the remainder of i - j, or j - i, by the length.
    """
    weight_of(filters, "convolve")
    return emit(
        "convolve", [x, filters], vector(vector_of(x, "convolve").width), reversed=reversed, circular=circular
    )  # fmt: skip
