"""Structures of feature vectors: what the dialect's types say, `[16] x [24]`, `sym 2 [64]`, `[1] + [16]`."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, prod


@dataclass(frozen=True)
class Structure:
    """A structure as text, and how many features it has. `is_atom`: as an operand it needs no parentheses."""

    text: str
    width: int
    is_atom: bool = True

    def __str__(self) -> str:
        return self.text

    @property
    def operand(self) -> str:
        return self.text if self.is_atom else f"({self.text})"


def vector(width: int) -> Structure:
    return Structure(f"[{width}]", width)


def product(parts: list[Structure]) -> Structure:
    if len(parts) == 1:
        return parts[0]
    text = " x ".join(part.operand for part in parts)
    return Structure(text, prod(part.width for part in parts), is_atom=False)


def concatenation(parts: list[Structure]) -> Structure:
    if len(parts) == 1:
        return parts[0]
    # A product binds tighter than a sum.
    text = " + ".join(part.operand if "+" in part.text else part.text for part in parts)
    return Structure(text, sum(part.width for part in parts), is_atom=False)


def exponential(exponent: Structure) -> Structure:
    """Scores without features, which count as one."""
    return Structure(f"exp {exponent.operand}", 1)


def power(base: Structure, degree: int, symmetric: bool, block: int | None) -> Structure:
    """Sorted tuples of blocks where it is symmetric, all tuples where it is not."""
    word = "sym" if symmetric else "pow"
    blocks = "" if block is None else f" block {block}"
    size = block or 1
    width = base.width**degree
    if symmetric:
        width = comb(base.width // size + degree - 1, degree) * size**degree
    return Structure(f"{word} {degree}{blocks} {base.operand}", width)
