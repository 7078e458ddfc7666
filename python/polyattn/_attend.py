"""Attention from feature vectors: the dialect's attend, and its normalizers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, overload

from ._errors import CallError
from ._literals import GateHeads, Grouping, Mask, Precision, attributes_text, number, one_of
from ._structure import vector
from ._traced import Traced
from ._values import Tensor, Vector, kind_of, program_of, vector_of
from ._whole import LARGEST, whole_number

@dataclass(frozen=True)
class Normalizer:
    """The divisor of the sums of weighted values: `none()`, `by_sum(eps)`, `by_bias(bias)` or `by_softmax()`."""

    kind: str
    options: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        for name, value in self.options:
            who = f"a normalizer: {name}"
            if name in _WORDS:
                one_of(value, who, _WORDS[name])
            elif name in _NUMBERS:
                number(value, who)
            else:
                raise CallError(f"a normalizer: expected options among {', '.join([*_NUMBERS, *_WORDS])}, got {name}")

    def __str__(self) -> str:
        words = [
            f"{name} = {value if isinstance(value, str) else number(value, name)}" for name, value in self.options
        ]
        return ", ".join([self.kind, *words])


_NUMBERS = ("eps", "bias", "guard_below", "guard_add", "min_denom")
_WORDS = {"eps_mode": Literal["absolute", "row_max"], "reduce": Literal["sum", "mean"]}


def none(**options: Any) -> Normalizer:
    """No normalizer: o is the sum of values weighted by scores. reduce="mean" divides it by the number of visible keys."""
    return Normalizer("none", tuple(options.items()))


def by_sum(eps: float, **options: Any) -> Normalizer:
    """The sum of the scores plus eps.

    options: eps_mode="row_max": eps times the row's largest score in place of eps; reduce="mean": sums are divided by the number of
    visible keys first; min_denom: a floor on the denominator's magnitude; guard_below and guard_add: the latter is added where
    the magnitude is at most the former.
    """
    return Normalizer("sum", (("eps", eps), *options.items()))


def by_bias(bias: float, **options: Any) -> Normalizer:
    """A bias plus the sum of the scores. Options as of by_sum, but for eps_mode."""
    return Normalizer("bias", (("bias", bias), *options.items()))


def by_softmax() -> Normalizer:
    """The sum of the exponentials of scores, which also weight the values: softmax attention over the visible keys.

    The largest score of a row is subtracted first, so scores of any size have results. `score_scale` multiplies scores, and what is
    beside them in a `concat`, before the exponential is taken. There is no state.
    """
    return Normalizer("softmax")


def _tensor(value: Any, kind: str, who: str) -> Tensor:
    if not isinstance(value, Tensor) or value.argument.kind != kind:
        raise CallError(f"attend: {who}: expected an argument that is a {kind}, got {kind_of(value)}")
    return value


def _factors(given: Any) -> str | None:
    if given is None:
        return None
    if not hasattr(given, "__iter__") or isinstance(given, (str, Traced)):
        raise CallError(f"attend: decay_factors: expected a list of numbers, one per head, got {kind_of(given)}")
    return f"array<f64: {', '.join(number(factor, 'attend: decay_factors') for factor in given)}>"


def _local(given: Any) -> list[Vector]:
    if given is None:
        return []
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise CallError(f"attend: local: expected a pair of vectors, got {kind_of(given)}")
    return [vector_of(x, "attend: local") for x in given]


@overload
def attend(
    query: Any, key: Any, value: Any, *, mask: Mask = "causal", normalizer: Normalizer,
    grouping: Grouping | None = "block", local: tuple[Any, Any] | None = None, block: int | None = None,
    decay: Any = None, decay_factors: list[float] | None = None, gate_heads: GateHeads | None = None,
    initial: Any = None, initial_normalizer: Any = None, final_state: Literal[False] = False,
    score_scale: float | None = None, signed_scores: bool = False, window: int | None = None,
    sliding: bool = False, precision: Precision | None = None,
) -> Vector: ...  # fmt: skip
@overload
def attend(
    query: Any, key: Any, value: Any, *, mask: Mask = "causal", normalizer: Normalizer,
    grouping: Grouping | None = "block", local: tuple[Any, Any] | None = None, block: int | None = None,
    decay: Any = None, decay_factors: list[float] | None = None, gate_heads: GateHeads | None = None,
    initial: Any = None, initial_normalizer: Any = None, final_state: Literal[True],
    score_scale: float | None = None, signed_scores: bool = False, window: int | None = None,
    sliding: bool = False, precision: Precision | None = None,
) -> tuple[Any, ...]: ...  # fmt: skip
@overload
def attend(
    query: Any, key: Any, value: Any, *, mask: Mask = "causal", normalizer: Normalizer,
    grouping: Grouping | None = "block", local: tuple[Any, Any] | None = None, block: int | None = None,
    decay: Any = None, decay_factors: list[float] | None = None, gate_heads: GateHeads | None = None,
    initial: Any = None, initial_normalizer: Any = None, final_state: bool,
    score_scale: float | None = None, signed_scores: bool = False, window: int | None = None,
    sliding: bool = False, precision: Precision | None = None,
) -> Any: ...  # fmt: skip
def attend(
    query: Any, key: Any, value: Any, *, mask: Mask = "causal", normalizer: Normalizer,
    grouping: Grouping | None = "block", local: tuple[Any, Any] | None = None, block: int | None = None,
    decay: Any = None, decay_factors: list[float] | None = None, gate_heads: GateHeads | None = None,
    initial: Any = None, initial_normalizer: Any = None, final_state: bool = False,
    score_scale: float | None = None, signed_scores: bool = False, window: int | None = None,
    sliding: bool = False, precision: Precision | None = None,
) -> Any:  # fmt: skip
    """Attention from feature vectors: the output, a vector as wide as `value`; with `final_state` a tuple of it and the final states.

    query, key: vectors of one structure, whose inner products are the scores.
    mask: "causal", "anticausal" or "full".
    normalizer: `none()`, `by_sum(eps)`, `by_bias(bias)` or `by_softmax()`. With none() there is no final normalizer.
    grouping: which key head serves query head h where the numbers of heads differ, h / (H / Hkv) (block) or h mod Hkv
        (interleaved); None where they may not differ.
    local: query and key vectors whose scores pairs inside of a block of `block` positions have instead; with `sliding` the
        pairs with |i - j| < block.
    decay: an argument Decay, FeatureDecay or HeadDecay, logarithms; or decay_factors, one number in (0, 1] per head, the decays themselves.
    gate_heads: whose heads a decay has, "kv" or "q".
    initial, initial_normalizer: arguments State and StateNormalizer, before the first position.
    score_scale: a factor of all scores. signed_scores: with a normalizer the sum of the scores may vanish or be negative.
    window: query i sees only those keys j of the mask with |i - j| < window; all of them if None.
    precision: "f32" keeps the factors of products as exact as f32; "bf16" lets products round them to bf16 where the
        target gains from that, also those of float32 sequences. If None, the dtype of the sequences decides.

    What is not of its kind is a CallError. What breaks a rule of the dialect (docs/PolyAttnDialect.md has them) is a SpecError when
    the spec is compiled, at the line of this call.
    """
    if not isinstance(normalizer, Normalizer):
        raise CallError(
            f"attend: normalizer: expected none(), by_sum(eps), by_bias(bias) or by_softmax(), got {kind_of(normalizer)}"
        )
    vectors = [vector_of(x, "attend") for x in (query, key, value)]
    parts = ["attend"] + [
        f"{role} {x._name}" for role, x in zip(("query", "key", "value"), vectors)
    ]
    types = [x._type for x in vectors]
    pair = _local(local)
    if pair:
        parts.append(f"local {pair[0]._name}, {pair[1]._name}")
        types += [x._type for x in pair]
    tensors: list[Tensor] = []
    for clause, given, kind in (
        ("decay", decay, "decay"),
        ("initial", initial, "state"),
        ("initial_normalizer", initial_normalizer, "state"),
    ):
        if given is not None:
            found = _tensor(given, kind, clause)
            parts.append(f"{clause} %{found._name}")
            types.append(found.type)
            tensors.append(found)
    attributes = attributes_text(
        {
            "final_state": final_state,
            "decay_factors": _factors(decay_factors),
            "precision": precision and one_of(precision, "attend: precision", Precision),
            "gate_heads": gate_heads and one_of(gate_heads, "attend: gate_heads", GateHeads),
            "grouping": grouping and one_of(grouping, "attend: grouping", Grouping),
            "block": None if block is None else whole_number("attend: block", block),
            "sliding": sliding,
            "score_scale": None if score_scale is None else number(score_scale, "attend: score_scale"),
            "signed_scores": signed_scores,
            "window": None if window is None else whole_number("attend: window", window, 1, LARGEST),
        }
    )
    program = program_of([*vectors, *pair, *tensors], "attend")
    name = program.name()
    finals: list[Any] = []
    sums = vector(vectors[2].width)
    output = Vector(program, name, sums)
    if final_state:
        width, depth = vectors[1].width, vectors[2].width
        shapes = [f"tensor<?x?x{width}x{depth}xf32>"]
        if normalizer.kind != "none":
            shapes.append(f"tensor<?x?x{width}xf32>")
        output = Vector(program, f"{name}#0", sums)
        finals = [FinalState(f"{name}#{i + 1}", shape) for i, shape in enumerate(shapes)]
    program.add(
        f"{name}{f':{1 + len(finals)}' if finals else ''} = {' '.join(parts)} {one_of(mask, 'attend: mask', Mask)} normalize "
        f"<{normalizer}>{attributes} : {', '.join(types)}"
    )
    return (output, *finals) if finals else output


@dataclass(frozen=True)
class FinalState:
    """A state after the last position, which a traced function returns."""

    _name: str
    _type: str
