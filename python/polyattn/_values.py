"""Vectors and weights of an attention that is being traced, and the lines that it has so far."""

from __future__ import annotations

import inspect
import math
import os
import re
import sys
from typing import Any, Union

from ._arguments import Argument
from ._errors import CallError, SourceLocation
from ._structure import Structure, vector

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


def number(value: float, who: str) -> str:
    """A float as MLIR reads it: with a dot, and finite."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise CallError(f"{who}: expected a finite number, got {value!r}")
    mantissa, _, exponent = repr(float(value)).partition("e")
    text = mantissa if "." in mantissa else mantissa + ".0"
    return f"{text}e{exponent}" if exponent else text


def word(value: Any, who: str) -> str:
    """A name that goes into the text as it is."""
    if not isinstance(value, str) or re.fullmatch(r"[A-Za-z_]\w*", value, re.ASCII) is None:
        raise CallError(f"{who}: expected a word, got {value!r}")
    return value


def enum_text(kind: str, value: Any) -> str:
    """`#polyattn.grouping<block>`"""
    return f"#polyattn.{kind}<{word(value, kind)}>"


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


class Tensor:
    """An argument of the attention that is being traced."""

    def __init__(self, program: Program, name: str, argument: Argument) -> None:
        self._program, self._name, self.argument = program, name, argument
        self._value: Any = None

    @property
    def type(self) -> str:
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

    def __neg__(self) -> Any:
        return -self._read()

    def __sub__(self, other: Any) -> Any:
        return self._read() - other

    def __pow__(self, other: Any) -> Any:
        return self._read() ** other

    def __getitem__(self, indices: Any) -> Any:
        return self._read()[indices]


class Matrix:
    """A weight as a program sees it: a matrix, or a vector."""

    def __init__(self, program: Program, name: str, sizes: tuple[int, ...]) -> None:
        self._program, self._name, self.sizes = program, name, sizes

    @property
    def _type(self) -> str:
        return "x".join(map(str, self.sizes))

    def __matmul__(self, other: Any) -> Matrix:
        other = weight_of(other, "the product of weights")
        name = self._program.name()
        self._program.add(
            f"{name} = weight_product {self._name}, {other._name} : {self._type}, {other._type}"
            f""
        )
        return Matrix(self._program, name, (self.sizes[0], other.sizes[-1]))


class Vector:
    """A vector per batch, position and head."""

    def __init__(self, program: Program, name: str, structure: Structure) -> None:
        self._program, self._name, self.structure = program, name, structure

    @property
    def width(self) -> int:
        return self.structure.width

    @property
    def _type(self) -> str:
        return self.structure.text

    def __matmul__(self, weight: Any) -> Vector:
        return project(self, weight)

    def __mul__(self, other: Any) -> Vector:
        if isinstance(other, (int, float)):
            return emit("scale", [self], self.structure, factor=number(other, "scale"))
        if is_weight(other):
            return emit("mul_vec", [self, other], vector(self.width))
        return hadamard(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Vector:
        if isinstance(other, (int, float)):
            return self * (1.0 / other)
        if is_weight(other):
            return emit("div_vec", [self, other], vector(self.width))
        inverse: Vector = other**-1.0
        return hadamard(self, inverse)

    def __add__(self, other: Any) -> Vector:
        if isinstance(other, (int, float)):
            return emit("add_const", [self], vector(self.width), value=number(other, "add_const"))
        if is_weight(other):
            return emit("add_vec", [self, other], vector(self.width))
        return add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Vector:
        minus: Any = -other
        total: Vector = self + minus
        return total

    def __neg__(self) -> Vector:
        return self * -1.0

    def __pow__(self, exponent: Any) -> Vector:
        """Element by element; `tensor_power` is another op."""
        if isinstance(exponent, (int, float)):
            return emit("pow", [self], vector(self.width), exponent=number(exponent, "pow"))
        return emit("pow", [self, exponent], vector(self.width))

    def __getitem__(self, indices: Any) -> Vector:
        """Elements by a slice or a list of indices."""
        if isinstance(indices, slice):
            indices = range(*indices.indices(self.width))
        chosen = [int(index) for index in indices]
        text = f"array<i64: {', '.join(map(str, chosen))}>"
        return emit("select", [self], vector(len(chosen)), indices=text)


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
    if isinstance(value, Tensor):
        return f"the {value.argument.kind} '{value._name}'"
    return "a weight" if isinstance(value, Matrix) else type(value).__name__


def operand_of(value: Any, who: str) -> Union[Vector, Matrix]:
    return weight_of(value, who) if is_weight(value) else vector_of(value, who)


def attributes_text(attributes: dict[str, Any]) -> str:
    """`{a = 1, b}`: what is true is a unit, and what is None or false is left out."""
    words = [
        name if value is True else f"{name} = {value}"
        for name, value in attributes.items()
        if value is not None and value is not False
    ]
    return f" {{{', '.join(words)}}}" if words else ""


def emit(op: str, inputs: list[Any], structure: Structure, **attributes: Any) -> Vector:
    operands = [operand_of(value, op) for value in inputs]
    program = operands[0]._program
    if any(operand._program is not program for operand in operands):
        raise CallError(f"{op}: operands come from two attentions")
    name = program.name()
    program.add(
        f"{name} = {op} {', '.join(operand._name for operand in operands)}"
        f"{attributes_text(attributes)} : {', '.join(operand._type for operand in operands)}"
        f""
    )
    return Vector(program, name, structure)


def project(x: Any, weight: Any, bias: Any = None) -> Vector:
    """x @ weight, plus a bias where one is given."""
    matrix = weight_of(weight, "project")
    inputs = [x, weight] if bias is None else [x, weight, bias]
    return emit("project", inputs, vector(matrix.sizes[-1]))


def _widest(op: str, inputs: tuple[Any, ...]) -> Structure:
    return vector(max(vector_of(value, op).width for value in inputs))


def hadamard(*inputs: Any) -> Vector:
    """The element-wise product; what has one element is a factor of all."""
    return emit("hadamard", list(inputs), _widest("hadamard", inputs))


def add(*inputs: Any) -> Vector:
    """The element-wise sum; what has one element is added to all."""
    return emit("add", list(inputs), _widest("add", inputs))
