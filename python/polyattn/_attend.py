"""Attention from feature vectors: the dialect's attend, and its normalizers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._errors import CallError
from ._values import Tensor, Vector, attributes_text, enum_text, kind_of, number, vector_of, word

@dataclass(frozen=True)
class Normalizer:
    """What the sums of weighted values are divided by."""

    kind: str
    options: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        words = [
            f"{name} = {word(value, name) if isinstance(value, str) else number(value, name)}"
            for name, value in self.options
        ]
        return ", ".join([self.kind, *words])


def none(**options: Any) -> Normalizer:
    """No normalizer."""
    return Normalizer("none", tuple(options.items()))


def by_sum(eps: float, **options: Any) -> Normalizer:
    """The sum of the scores plus eps."""
    return Normalizer("sum", (("eps", eps), *options.items()))


def by_bias(bias: float, **options: Any) -> Normalizer:
    """The sum of the scores plus a bias."""
    return Normalizer("bias", (("bias", bias), *options.items()))


def _tensor(value: Any, kind: str, who: str) -> Tensor:
    if not isinstance(value, Tensor) or value.argument.kind != kind:
        raise CallError(f"attend: {who}: expected an argument that is a {kind}, got {kind_of(value)}")
    return value


def attend(
    query: Any, key: Any, value: Any, *, mask: str = "causal", normalizer: Normalizer,
    grouping: str | None = "block", local: tuple[Any, Any] | None = None, block: int | None = None,
    decay: Any = None, decay_factors: list[float] | None = None, gate_heads: str | None = None,
    initial: Any = None, initial_normalizer: Any = None, final_state: bool = False,
    score_scale: float | None = None, signed_scores: bool = False,
) -> Any:  # fmt: skip
    """Attention from feature vectors; with `final_state` a tuple of the output and the final states.

    The mask is "causal", "anticausal" or "full". Without a normalizer there is no final normalizer. docs/PolyAttnDialect.md has what each option means.
    """
    vectors = [vector_of(x, "attend") for x in (query, key, value)]
    parts = ["attend"] + [
        f"{role} {x._name}" for role, x in zip(("query", "key", "value"), vectors)
    ]
    types = [x._type for x in vectors]
    if local is not None:
        pair = [vector_of(x, "attend: local") for x in local]
        parts.append(f"local {pair[0]._name}, {pair[1]._name}")
        types += [x._type for x in pair]
    states: list[Tensor] = []
    for clause, given, kind in (
        ("decay", decay, "decay"),
        ("initial", initial, "state"),
        ("initial_normalizer", initial_normalizer, "state"),
    ):
        if given is not None:
            found = _tensor(given, kind, clause)
            parts.append(f"{clause} %{found._name}")
            types.append(found.type)
            states += [found] if kind == "state" else []
    factors = None
    if decay_factors is not None:
        numbers = ", ".join(number(factor, "decay_factors") for factor in decay_factors)
        factors = f"array<f64: {numbers}>"
    attributes = attributes_text(
        {
            "final_state": final_state,
            "decay_factors": factors,
            "gate_heads": gate_heads and enum_text("gate_heads", gate_heads),
            "grouping": grouping and enum_text("grouping", grouping),
            "block": block,
            "score_scale": None if score_scale is None else number(score_scale, "score_scale"),
            "signed_scores": signed_scores,
        }
    )
    program = vectors[0]._program
    name = program.name()
    finals: list[Any] = []
    output = Vector(program, name, vectors[2].structure)
    if final_state:
        width, depth = vectors[1].width, vectors[2].width
        shapes = [f"tensor<?x?x{width}x{depth}xf32>"]
        if normalizer.kind != "none":
            shapes.append(f"tensor<?x?x{width}xf32>")
        output = Vector(program, f"{name}#0", vectors[2].structure)
        finals = [FinalState(f"{name}#{i + 1}", shape) for i, shape in enumerate(shapes)]
    program.add(
        f"{name}{f':{1 + len(finals)}' if finals else ''} = {' '.join(parts)} {word(mask, 'mask')} normalize "
        f"<{normalizer}>{attributes} : {', '.join(types)}"
    )
    return (output, *finals) if finals else output


@dataclass(frozen=True)
class FinalState:
    _name: str
    _type: str
