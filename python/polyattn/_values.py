"""Vectors and weights of an attention that is being traced, and the lines that it has so far."""

from __future__ import annotations

import inspect
import os
import sys
from typing import Any, Iterator, Union

from ._arguments import Argument
from ._errors import CallError, SourceLocation
from ._literals import attributes_text, is_number, number
from ._structure import Structure, vector
from ._traced import Traced
from ._whole import index_of

_FOLDER = os.path.dirname(__file__)


def _caller() -> SourceLocation:
    """The line of the innermost caller outside of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == _FOLDER:
        frame = frame.f_back
    column = 1
    if sys.version_info >= (3, 11):
        # The position of the call or operator that runs in this frame.
        positions = inspect.getframeinfo(frame, context=0).positions
        column = (positions.col_offset or 0) + 1 if positions else 1
    return SourceLocation(frame.f_code.co_filename, frame.f_lineno, column)


class Program:
    """The lines of an attention so far."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.lines: list[str] = []
        self.locations: list[SourceLocation] = []
        self.count = 0

    def add(self, line: str) -> None:
        self.lines.append(line)
        self.locations.append(_caller())

    def name(self) -> str:
        self.count += 1
        return f"%{self.count - 1}"


class Tensor(Traced):
    """An argument of the attention that is being traced.

    A sequence or a table is the vector, and a weight the matrix or vector, of one position and head: operators and functions of
    polyattn.builder take it as such. Decays, states and first positions are for `attend` alone.
    """

    def __init__(self, program: Program, name: str, argument: Argument) -> None:
        self._program, self._name, self.argument = program, name, argument
        self._value: Any = None

    def _kind(self) -> str:
        return f"the {self.argument.kind} '{self._name}'"

    @property
    def type(self) -> str:
        """Its type in the dialect."""
        return self.argument.type_with(self._program.dtype)

    def _read(self) -> Any:
        """The vector of a token and head, or the weight of a head; read once."""
        if self._value is None:
            kind, sizes = self.argument.kind, self.argument.sizes
            if kind not in ("sequence", "weight"):
                raise CallError(f"{self._name}: a {kind} is no vector, only attend takes it")
            own = tuple(size for size in sizes if size is not None)
            if kind == "sequence":
                own = own[-1:]
            name = self._program.name()
            form = "x".join(map(str, own)) if kind == "weight" else f"[{own[-1]}]"
            self._program.add(
                f"{name} = read %{self._name} : {self.type} -> {form}"
            )
            if kind == "weight":
                self._value = Matrix(self._program, name, own)
            else:
                self._value = Vector(self._program, name, vector(own[-1]))
        return self._value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # protocols that Python asks for
        return getattr(self._read(), name)

    def __matmul__(self, other: Any) -> Any:
        return self._read() @ other

    def __mul__(self, other: Any) -> Any:
        return self._read() * other

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Any:
        return self._read() + other

    __radd__ = __add__

    def __truediv__(self, other: Any) -> Any:
        return self._read() / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self._read()

    def __neg__(self) -> Any:
        return -self._read()

    def __abs__(self) -> Any:
        return abs(self._read())

    def __sub__(self, other: Any) -> Any:
        return self._read() - other

    def __rsub__(self, other: Any) -> Any:
        return other - self._read()

    def __pow__(self, other: Any) -> Any:
        return self._read() ** other

    def __getitem__(self, indices: Any) -> Any:
        return self._read()[indices]

    def __len__(self) -> int:
        return len(self._read())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._read())


class Matrix(Traced):
    """A weight as a program sees it, a matrix or a vector. `a @ b` of two matrices is their product."""

    def __init__(self, program: Program, name: str, sizes: tuple[int, ...]) -> None:
        self._program, self._name, self.sizes = program, name, sizes

    def _kind(self) -> str:
        return "a weight"

    @property
    def _type(self) -> str:
        return "x".join(map(str, self.sizes))

    def __matmul__(self, other: Any) -> Matrix:
        other = weight_of(other, "@")
        name = self._program.name()
        self._program.add(
            f"{name} = weight_product {self._name}, {other._name} : {self._type}, {other._type}"
        )
        return Matrix(self._program, name, (self.sizes[0], other.sizes[-1]))


class Vector(Traced):
    """A vector per batch, position and head.

    `x @ w` is its projection by a matrix. `+`, `-`, `*`, `/`, `**` and `abs` work element by element, with numbers, with vectors
    of the same width or of width 1, and with weights that are vectors. `x[3]`, `x[2:5]` and `x[[1, 1, 0]]` select elements.
    What does not fit is a CallError, or a SpecError at that line of Python when the spec is compiled.
    """

    def __init__(self, program: Program, name: str, structure: Structure) -> None:
        self._program, self._name, self.structure = program, name, structure

    def _kind(self) -> str:
        return "a vector"

    @property
    def width(self) -> int:
        """The number of its elements."""
        return self.structure.width

    @property
    def _type(self) -> str:
        return self.structure.text

    def __matmul__(self, weight: Any) -> Vector:
        return project(self, weight_of(weight, "@"))

    def __mul__(self, other: Any) -> Vector:
        if is_number(other):
            return emit("scale", [self], self.structure, factor=number(other, "*"))
        if is_weight(other):
            return emit("mul_vec", [self, other], vector(self.width))
        return hadamard(self, vector_of(other, "*"))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Vector:
        if is_number(other):
            if other == 0:
                raise CallError("/: expected a divisor other than 0")
            return self * (1.0 / float(other))
        if is_weight(other):
            return emit("div_vec", [self, other], vector(self.width))
        divisor = vector_of(other, "/")
        return hadamard(self, divisor**-1.0)

    def __rtruediv__(self, other: Any) -> Vector:
        inverse = self**-1.0
        return inverse if is_number(other) and other == 1 else inverse * other

    def __add__(self, other: Any) -> Vector:
        if is_number(other):
            return emit("add_const", [self], vector(self.width), value=number(other, "+"))
        if is_weight(other):
            return emit("add_vec", [self, other], vector(self.width))
        return add(self, vector_of(other, "+"))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Vector:
        if is_weight(other):
            return -self.__rsub__(other)
        return self.__add__(-other if is_number(other) else -vector_of(other, "-"))

    def __rsub__(self, other: Any) -> Vector:
        return (-self).__add__(other)

    def __neg__(self) -> Vector:
        return self * -1.0

    def __abs__(self) -> Vector:
        return emit("abs", [self], vector(self.width))

    def __pow__(self, exponent: Any) -> Vector:
        """Element by element; `power` is another op."""
        if is_number(exponent):
            return emit("pow", [self], vector(self.width), exponent=number(exponent, "**"))
        return emit("pow", [self, operand_of(exponent, "**")], vector(self.width))

    def __getitem__(self, indices: Any) -> Vector:
        """One element, or several by a slice or a list of indices, as a vector."""
        chosen = _chosen(indices, self.width)
        text = f"array<i64: {', '.join(map(str, chosen))}>"
        return emit("select", [self], vector(len(chosen)), indices=text)

    def __len__(self) -> int:
        return self.width

    def __iter__(self) -> Iterator[Vector]:
        return (self[i] for i in range(self.width))


def _chosen(indices: Any, width: int) -> list[int]:
    """The elements that an index, a slice or a list of indices names; negative ones count from the end."""
    if isinstance(indices, slice):
        given: list[Any] = list(range(*indices.indices(width)))
    else:
        given = [indices] if index_of(indices) is not None or not _is_listed(indices) else list(indices)
    if not given:
        raise CallError(f"x[...]: expected at least one of {width} elements, got none")
    chosen = []
    for one in given:
        index = index_of(one)
        if index is None or not -width <= index < width:
            raise CallError(f"x[...]: expected whole numbers from {-width} to {width - 1}, or a slice, got {one!r}")
        chosen.append(index % width)
    return chosen


def _is_listed(indices: Any) -> bool:
    return hasattr(indices, "__iter__") and not isinstance(indices, (str, bytes))


def is_weight(value: Any) -> bool:
    return isinstance(value, Matrix) or (
        isinstance(value, Tensor) and value.argument.kind == "weight"
    )


def weight_of(value: Any, who: str) -> Matrix:
    found = value._read() if isinstance(value, Tensor) else value
    if not isinstance(found, Matrix):
        raise CallError(f"{who}: expected a weight, got {kind_of(value)}")
    return found


def vector_of(value: Any, who: str) -> Vector:
    found = value._read() if isinstance(value, Tensor) else value
    if not isinstance(found, Vector):
        raise CallError(f"{who}: expected a vector, got {kind_of(value)}")
    return found


def kind_of(value: Any) -> str:
    return value._kind() if isinstance(value, Traced) else type(value).__name__


def operand_of(value: Any, who: str) -> Union[Vector, Matrix]:
    return weight_of(value, who) if is_weight(value) else vector_of(value, who)


def program_of(values: list[Any], who: str) -> Program:
    """The program that all values are of."""
    program: Program = values[0]._program
    if any(value._program is not program for value in values):
        raise CallError(f"{who}: operands come from two attentions")
    return program


# What users call ops that have another name in the dialect.
_WORDS = {
    "add_vec": "+", "div_vec": "/", "mul_vec": "*", "pow": "**", "scale": "*",
}  # fmt: skip


def emit(op: str, inputs: list[Any], structure: Structure, **attributes: Any) -> Vector:
    who = _WORDS.get(op, op)
    operands = [operand_of(value, who) for value in inputs]
    program = program_of(operands, who)
    name = program.name()
    degree = f" {attributes.pop('degree')}" if "degree" in attributes else ""  # stands before the operand
    program.add(
        f"{name} = {op}{degree} {', '.join(operand._name for operand in operands)}"
        f"{attributes_text(attributes)} : {', '.join(operand._type for operand in operands)}"
    )
    return Vector(program, name, structure)


def project(x: Any, weight: Any, bias: Any = None) -> Vector:
    """x @ weight, a matrix [width of x, m], plus a bias [m] where one is given: a vector of width m."""
    matrix = weight_of(weight, "project")
    inputs = [x, weight] if bias is None else [x, weight, bias]
    return emit("project", inputs, vector(matrix.sizes[-1]))


def _widest(op: str, inputs: tuple[Any, ...]) -> Structure:
    if not inputs:
        raise CallError(f"{op}: expected at least one vector")
    return vector(max(vector_of(value, op).width for value in inputs))


def hadamard(*inputs: Any) -> Vector:
    """The element-wise product of vectors of one width; what has width 1 is a factor of all elements."""
    return emit("hadamard", list(inputs), _widest("hadamard", inputs))


def add(*inputs: Any) -> Vector:
    """The element-wise sum of vectors of one width; what has width 1 is added to all elements."""
    return emit("add", list(inputs), _widest("add", inputs))
