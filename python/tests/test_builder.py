"""The builder: Python traced into the dialect, its diagnostics at the lines of Python."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import polyattn
from polyattn import CallError, SpecError
from polyattn import builder as b
from polyattn.builder import HeadWeight, Sequence, Weight, attend, by_sum, none


@polyattn.feature_map
def squares(x, w):
    return b.exp(x @ w) * 0.5


def line_of(words):
    """Where this file has some words last."""
    lines = inspect.getsource(inspect.getmodule(line_of)).splitlines()
    return max(i + 1 for i, line in enumerate(lines) if words in line and "line_of" not in line)


def test_functions_become_specs(rng):
    d, m = 8, 12

    @polyattn.attention
    def simple(q: Sequence[d], k: Sequence[d], v: Sequence[6], w: Weight[d, m]):
        return attend(squares(q, w), squares(k, w), v, normalizer=by_sum(1e-12))

    assert simple.name == "simple" and str(simple) == simple.text
    assert "eps = 1.0e-12" in simple.text and "%w: tensor<8x12xf32>" in simple.text
    kernel = polyattn.compile(simple)
    q, k, v = (rng.standard_normal((1, 30, 2, width)).astype("f4") for width in (d, d, 6))
    w = rng.standard_normal((d, m)).astype("f4") / 4
    expected = polyattn.reference(simple)(q, k, v, w)
    assert abs(kernel(q, k, v, w=w) - expected).max() < 1e-5 * abs(expected).max()


def test_anticausal_is_causal_backwards(rng):
    def spec(mask):
        return polyattn.attention(
            lambda q, k, v: attend(b.exp(q), b.exp(k), v, mask=mask, normalizer=by_sum(1e-6)),
            name=mask, arguments={"q": Sequence[4], "k": Sequence[4], "v": Sequence[3]},
        )

    tensors = [rng.standard_normal((1, 70, 2, width)).astype("f4") for width in (4, 4, 3)]
    expected = polyattn.compile(spec("causal"))(*tensors)
    reversed_ = polyattn.compile(spec("anticausal"))(*(np.ascontiguousarray(x[:, ::-1]) for x in tensors))
    assert abs(reversed_[:, ::-1] - expected).max() < 1e-5 * abs(expected).max()


def test_options_of_the_decorator():
    @polyattn.attention(name="other", dtype="bf16", results=("y",))
    def one(q: Sequence[4], k: Sequence[4], v: Sequence[4], w: HeadWeight[4, 4]):
        return attend(q @ w, k @ w, v, normalizer=none())

    assert polyattn.compile(one).signature.results[0].name == "y"
    assert one.text.startswith("polyattn.attention @other(%q: tensor<?x?x?x4xbf16>")
    assert "tensor<?x4x4xbf16>" in one.text


def test_every_op(rng):
    """Ops that no function of the library uses, and all operators, against NumPy."""

    @polyattn.attention
    def all_of_them(q: Sequence[4], k: Sequence[4], v: Sequence[4], u: Weight[4, 3], w: Weight[3, 4], c: Weight[4]):
        x = q @ (u @ w)
        x = b.absolute(x) + 0.5
        x = (2.0 * x - q) / 4.0 + c
        x = (x * c) / (b.squared_norm(q) + 1.0)
        x = b.gelu(b.l2_norm(x, eps=1e-6), form="erf") / (b.absolute(q) + 1.0)
        x = x + b.is_above(q, 0.25) * b.sign(q) + b.log(b.total(b.exp(q)))
        y = b.softmax(b.sin(k)[::-1], groups=2) + b.cos(k)[[1, 1, 0, 3]]
        return attend(b.tensor(x), b.concat(y), v - v * 0.5, normalizer=none())

    text = all_of_them.text
    for op in ("weight_product", "abs", "add_vec", "mul_vec", "l2_norm", "gelu", "select", "softmax"):
        assert f" {op} " in text, op
    found = polyattn.reference(all_of_them)
    q, k, v = (rng.standard_normal((1, 9, 1, 4)) for _ in range(3))
    u, w, c = (rng.standard_normal(size) for size in ((4, 3), (3, 4), 4))
    x = abs(q @ u @ w) + 0.5
    x = (2 * x - q) / 4 + c
    x = x * c / ((q**2).sum(-1, keepdims=True) + 1)
    x = x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-6)
    erf = np.vectorize(__import__("math").erf)
    x = 0.5 * x * (1 + erf(x / np.sqrt(2))) / (abs(q) + 1)
    x = x + (q > 0.25) * np.sign(q) + np.log(np.exp(q).sum(-1, keepdims=True))
    halves = np.exp(np.sin(k)[..., ::-1]).reshape(1, 9, 1, 2, 2)
    y = (halves / halves.sum(-1, keepdims=True)).reshape(k.shape) + np.cos(k)[..., [1, 1, 0, 3]]
    scores = np.tril(x[0, :, 0] @ y[0, :, 0].T)
    expected = scores @ (v[0, :, 0] * 0.5)
    assert abs(found(q, k, v, u, w, c)[0, :, 0] - expected).max() < 1e-12


def test_positions_and_states(rng):
    @polyattn.attention
    def later(
        q: Sequence[4], k: Sequence[4], v: Sequence[4], f: Weight[2], s: b.State[4, 4],
        first: b.FirstPosition,
    ):  # fmt: skip
        q, k = (b.rope(x, f, layout="half") for x in (q, k))
        return attend(q, k, v, normalizer=none(), initial=s, final_state=True)

    kernel = polyattn.compile(later)
    q, k, v = (rng.standard_normal((1, 20, 2, 4)).astype("f4") for _ in range(3))
    f, s = rng.standard_normal(2).astype("f4"), np.zeros((1, 2, 4, 4), "f4")
    whole, final = kernel(q, k, v, f, s, np.array([0]))
    one, s = kernel(q[:, :7], k[:, :7], v[:, :7], f, s, np.array([0]))
    two, s = kernel(q[:, 7:], k[:, 7:], v[:, 7:], f, s, np.array([7]))
    assert abs(np.concatenate([one, two], 1) - whole).max() < 1e-4
    assert abs(s - final).max() < 1e-4
    with pytest.raises(CallError, match="'first'"):
        kernel(q, k, v, f, s, np.array([-1]))


def test_diagnostics_are_at_lines_of_python():
    @polyattn.attention
    def signed(q: Sequence[4], k: Sequence[4], v: Sequence[4]):
        tanh = b.tanh(q)
        return attend(tanh, b.tanh(k), v, normalizer=by_sum(1e-6))  # may vanish

    for make in (polyattn.compile, polyattn.reference):
        with pytest.raises(SpecError, match="C5: the scores may be negative") as info:
            make(signed)
        first = info.value.diagnostics[0]
        assert (first.file, first.line) == (__file__, line_of("# may vanish"))
        assert str(info.value).startswith(f"{__file__}:{first.line}:")


def test_diagnostics_are_in_feature_maps():
    @polyattn.feature_map
    def wrong(x, w):
        y = b.relu(x)
        return y @ w  # too many rows

    @polyattn.attention
    def outer(q: Sequence[4], k: Sequence[4], v: Sequence[4], w: Weight[5, 4]):
        return attend(wrong(q, w), wrong(k, w), v, normalizer=none())

    with pytest.raises(SpecError, match="C1: expected a weight matrix with 4 rows, got") as info:
        polyattn.compile(outer)
    assert info.value.diagnostics[0].line == line_of("# too many rows")


def test_misuse():
    d = Sequence[4]

    def trace(body, **more):
        polyattn.attention(body, name="it", arguments={"q": d, "k": d, "v": d, "w": Weight[4, 4]} | more)

    for body, words in (
        (lambda q, k, v, w: 3, "expected vectors as results, got int"),
        (lambda q, k, v, w: q @ k, "project: expected a weight, got the sequence 'k'"),
        (lambda q, k, v, w: b.tanh(w), "tanh: expected a vector, got the weight 'w'"),
        (lambda q, k, v, w: b.tanh("x"), "tanh: expected a vector, got str"),
        (lambda q, k, v, w: q * float("nan"), "scale: expected a finite number, got nan"),
        (lambda q, k, v, w: q ** float("inf"), "pow: expected a finite number, got inf"),
        (lambda q, k, v, w: b.by_sum(True) and attend(q, k, v, normalizer=by_sum(True)), "finite number, got True"),
        (lambda q, k, v, w: attend(q, k, v, normalizer=none(), decay=w), "decay: expected an argument that is a decay"),
        (lambda q, k, v, w: attend(q, w, v, normalizer=none()), "attend: expected a vector, got the weight"),
    ):
        with pytest.raises(CallError, match=words):
            trace(body)
    kept = []
    trace(lambda q, k, v, w: kept.append(q) or q)
    with pytest.raises(CallError, match="operands come from two attentions"):
        trace(lambda q, k, v, w: q * kept[0])
    with pytest.raises(CallError, match="argument 'k': expected an annotation such as"):

        @polyattn.attention
        def without(q: Sequence[4], k, v: Sequence[4]):
            return q

    for sizes in ((0,), (-1, 2), ("a",), (1.5,)):
        with pytest.raises(CallError, match="expected positive sizes"):
            Weight[sizes]
    with pytest.raises(CallError, match="a decay is no vector"):
        polyattn.attention(lambda q, g: g @ q, name="it", arguments={"q": d, "g": b.Decay})


def test_names_are_data():
    """A name cannot become part of the program."""
    for name in ('x"', "x(%q) {", "x y", "a\nb", ""):
        with pytest.raises((SpecError, CallError)):
            spec = polyattn.attention(lambda q: q, name=name, arguments={"q": Sequence[4]})
            polyattn.compile(spec)
    for options in (dict(mask="causal {"), dict(grouping="block>"), dict(gate_heads="q q")):
        with pytest.raises(CallError, match="expected a word, got"):
            polyattn.attention(
                lambda q: attend(q, q, q, normalizer=none(), **options),
                name="it", arguments={"q": Sequence[4]},
            )
