"""Values without numbers: what functions of NumPy, PyTorch and Python make of them is an error in plain words."""

from __future__ import annotations

from typing import Any, NoReturn

from ._errors import CallError
from ._literals import is_number

# What NumPy calls for a number of its own on the left of an operator.
_REFLECTED = {"add": "__radd__", "subtract": "__rsub__", "multiply": "__rmul__", "divide": "__rtruediv__"}


class Traced:
    """What stands for a vector or a weight while an attention is traced. It has no numbers, and says so where some are wanted."""

    _program: Any

    def _kind(self) -> str:
        """What it is, for messages."""
        raise NotImplementedError

    def _refuse(self, function: str) -> NoReturn:
        raise CallError(
            f"{function}: expected arrays, got {self._kind()} of an attention that is traced and has no numbers yet; "
            "polyattn.builder has the functions of vectors"
        )

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **named: Any) -> Any:
        reflected = _REFLECTED.get(function.__name__)
        if method == "__call__" and reflected and is_number(inputs[0]) and not named:
            return getattr(self, reflected)(inputs[0])
        self._refuse(f"numpy.{function.__name__}")

    def __array__(self, *others: Any, **named: Any) -> Any:
        self._refuse("numpy.array")

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, given: Any = (), named: Any = None) -> Any:
        pending = [*given, *(named or {}).values()]
        for one in pending:
            if isinstance(one, Traced):
                one._refuse(f"torch.{getattr(function, '__name__', function)}")
            pending += one if isinstance(one, (tuple, list)) else []
        return NotImplemented

    def __float__(self) -> float:
        self._refuse("float")

    def __bool__(self) -> bool:
        raise CallError(
            f"a condition: expected a number or a bool of Python's, got {self._kind()} of an attention that is traced and has "
            "no numbers yet; polyattn.builder.is_above is 1 where an element is larger than a number"
        )

    def __gt__(self, other: Any) -> bool:
        return bool(self)

    __lt__ = __ge__ = __le__ = __gt__
