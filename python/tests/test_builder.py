"""The builder: Python traced into the dialect, its diagnostics at the lines of Python."""

from __future__ import annotations

import inspect
import re
from typing import Annotated, get_args

import numpy as np
import pytest
from conftest import ROOT

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


def ops(make):
    def traced(q, k, v, w):
        return attend(q, k, make(q, v), normalizer=none())

    arguments = {"q": Sequence[4], "k": Sequence[4], "v": Sequence[4], "w": Weight[4]}
    return polyattn.attention(traced, arguments=arguments).text


def test_every_function_of_the_short_form_is_one_of_the_builder():
    page = (ROOT / "docs/Language.md").read_text()
    table = page.split("\n## Functions\n")[1].split("\n\nPython has")[0]
    names = set(re.findall(r"`(\w+)(?:`|\()", "".join(re.findall(r"^\| \w.* \| (.*) \|$", table, re.M)))) | {"attend", "sqrt"}
    assert {"relu", "first_max", "scatter", "weight_product", "rope"} < names
    assert [name for name in sorted(names) if not callable(getattr(b, name, None))] == []
    assert names - set(b.__all__) == {"abs", "max", "sum"}


def test_functions_have_the_names_of_the_dialect():
    """The short form of specs, the dialect and the builder have one vocabulary."""
    for new, old in (
        (lambda q, v: b.power(v, 3, symmetric=True, block=2, abs=True), lambda q, v: b.sym(v, 3, block=2, abs=True)),
        (lambda q, v: b.sum(v), lambda q, v: b.total(v)),
        (lambda q, v: b.max(v), lambda q, v: b.maximum(v)),
        (lambda q, v: b.abs(v), lambda q, v: b.absolute(v)),
        (lambda q, v: b.concat(1, v, 0.5), lambda q, v: b.concat(b.constant(v, 1), v, b.constant(v, 0.5))),
    ):
        assert ops(new) == ops(old)
    assert "= power 2 %" in ops(lambda q, v: b.sym(v, 2)) and "{symmetric}" in ops(lambda q, v: b.sym(v, 2))


def test_deprecated_names():
    """They warn where they are used, and mean the same."""
    for name, old, new in (
        ("tensor_power", lambda q, v: b.tensor_power(v, 2), lambda q, v: b.sym(v, 2)),
        ("tensor_power", lambda q, v: b.tensor_power(v, 2, symmetric=False), lambda q, v: b.power(v, 2)),
        ("triangle", lambda q, v: b.triangle(q, v, weights="none"), lambda q, v: b.triu(q, v, weights="none")),
    ):
        with pytest.warns(DeprecationWarning, match=rf"polyattn.builder.{name} is deprecated: write") as caught:
            found = ops(old)
        assert found == ops(new)
        assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="write triu"):
        from polyattn.builder import triangle  # noqa: F401
    with pytest.raises(AttributeError, match="'polyattn.builder' has no attribute 'triangel'"):
        b.triangel
    assert not {"triangle", "tensor_power"} & set(b.__all__)


def test_first_max_scatter_weight_product_and_sqrt(rng):
    @polyattn.attention
    def mine(q: Sequence[4], k: Sequence[4], v: Sequence[4], a: Weight[4, 3], c: Weight[3, 4]):
        x = b.scatter(v, indices=[0, 2, 2, np.int64(5)], width=6) / b.sqrt(4)
        return attend(q @ b.weight_product(a, c), b.first_max(k), x, normalizer=none())

    q, k, v = (rng.standard_normal((1, 9, 1, 4)) for _ in range(3))
    k[0, 3] = 1.0  # all equal
    a, c = rng.standard_normal((4, 3)), rng.standard_normal((3, 4))
    x = np.zeros((9, 6))
    for i, j in enumerate((0, 2, 2, 5)):
        x[:, j] += v[0, :, 0, i] / 2
    scores = np.tril((q[0, :, 0] @ a @ c) @ np.eye(4)[k[0, :, 0].argmax(-1)].T)
    assert abs(polyattn.reference(mine)(q, k, v, a, c)[0, :, 0] - scores @ x).max() < 1e-12


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


def test_what_bounds_keep_from_being_negative_needs_no_signed_scores(rng):
    """cos(x) + 1 was refused under by_sum."""

    @polyattn.attention
    def bounded(q: Sequence[4], k: Sequence[4], v: Sequence[4]):
        x = b.concat(b.cos(q) + 1, 1 - b.exp(-1 * (q * q)))
        y = b.concat(2 - b.tanh(k), 1 / (1 + abs(k)))
        return attend(x, y, v, normalizer=by_sum(1e-6))

    q, k, v = (rng.standard_normal((1, 9, 1, 4)) for _ in range(3))
    x = np.concatenate([np.cos(q) + 1, 1 - np.exp(-(q**2))], -1)[0, :, 0]
    y = np.concatenate([2 - np.tanh(k), 1 / (1 + abs(k))], -1)[0, :, 0]
    scores = np.tril(x @ y.T)
    expected = scores @ v[0, :, 0] / (scores.sum(-1, keepdims=True) + 1e-6)
    assert abs(polyattn.reference(bounded)(q, k, v)[0, :, 0] - expected).max() < 1e-12
    found = polyattn.compile(bounded)(*(one.astype("f4") for one in (q, k, v)))
    assert abs(found[0, :, 0] - expected).max() < 1e-5 * abs(expected).max()
    with pytest.raises(SpecError, match="C5: the scores may be negative"):
        polyattn.compile(polyattn.attention(
            lambda q: attend(b.cos(q) + 0.99, b.cos(q) + 1, q, normalizer=by_sum(1e-6)), name="it", arguments={"q": Sequence[4]}
        ))


def test_sums_of_structured_values_are_plain_vectors(rng):
    """The rows of an attend whose value is a power have no structure: what takes them was refused."""

    @polyattn.attention
    def powers(q: Sequence[4], k: Sequence[4], v: Sequence[4]):
        return attend(b.relu(q), b.relu(k), b.sym(v, 2), normalizer=none()) * 2.0

    q, k, v = (rng.standard_normal((1, 9, 1, 4)) for _ in range(3))
    rows, columns = np.triu_indices(4)
    values = v[0, :, 0][:, rows] * v[0, :, 0][:, columns] * np.where(rows == columns, 1, 2**0.5)
    scores = np.tril(np.maximum(q[0, :, 0], 0) @ np.maximum(k[0, :, 0], 0).T)
    assert abs(polyattn.reference(powers)(q, k, v)[0, :, 0] - 2 * scores @ values).max() < 1e-12


def test_operators_with_a_number_or_a_weight_on_the_left(rng):
    """1 - x, 1 / x, abs(x), w - x, x - w and w / x, against NumPy."""

    @polyattn.attention
    def mirrored(q: Sequence[4], k: Sequence[4], v: Sequence[4], w: Weight[4]):
        x = abs(1 - q) + np.float32(0.5)
        y = np.float64(2) / (abs(k) + 1) - np.float32(3) * k
        return attend(1 / x + (w - x), w / (1 + abs(y)), np.float32(1) - (v - w), normalizer=none())

    q, k, v = (rng.standard_normal((1, 9, 1, 4)) for _ in range(3))
    w = rng.standard_normal(4)
    x = abs(1 - q) + 0.5
    y = 2 / (abs(k) + 1) - 3 * k
    scores = np.tril((1 / x + w - x)[0, :, 0] @ (w / (1 + abs(y)))[0, :, 0].T)
    expected = scores @ (1 - (v - w))[0, :, 0]
    found = polyattn.reference(mirrored)(q, k, v, w)[0, :, 0]
    assert abs(found - expected).max() < 1e-11 * max(1, abs(expected).max())


def test_elements_by_an_index(rng):
    @polyattn.attention
    def chosen(q: Sequence[4], k: Sequence[4], v: Sequence[4]):
        first, second, *others = q
        assert len(q) == 4 and len(others) == 2
        return attend(b.concat(first, second, q[2:]), b.concat(k[0], k[-3], k[np.array([2, -1])]), v * v[1], normalizer=none())

    q, k, v = (rng.standard_normal((1, 9, 1, 4)) for _ in range(3))
    expected = np.tril(q[0, :, 0] @ k[0, :, 0].T) @ (v * v[..., 1:2])[0, :, 0]
    assert abs(polyattn.reference(chosen)(q, k, v)[0, :, 0] - expected).max() < 1e-12


def test_sizes_and_numbers_of_numpy():
    """They give the text that Python's own give."""
    for name in polyattn.library.__all__:
        make = getattr(polyattn.library, name)
        ours = {one.name: one.default for one in inspect.signature(make).parameters.values()}
        theirs = {
            name: np.int64(value) if type(value) is int else np.float64(value) if type(value) is float else value
            for name, value in ours.items()
        }
        assert str(make(**theirs)) == str(make(**ours)), name
    assert Weight[np.int32(3), np.uint8(4)] == Weight[3, 4]


def test_annotations_for_type_checkers():
    """Annotated[Vector, Sequence[8]] is Sequence[8]."""

    @polyattn.attention
    def plain(q: Sequence[8], k: Sequence[8], v: Sequence[8], w: Weight[8, 4], g: b.Decay):
        return attend(b.exp(q @ w), b.exp(k @ w), v, normalizer=none(), decay=g, gate_heads="kv")

    @polyattn.attention(name="plain")
    def annotated(
        q: Annotated[b.Vector, Sequence[8]], k: Annotated[b.Vector, Sequence[8]], v: Annotated[b.Vector, Sequence[8]],
        w: Annotated[b.Matrix, Weight[8, 4]], g: Annotated[b.Tensor, b.Decay],
    ):  # fmt: skip
        return attend(b.exp(q @ w), b.exp(k @ w), v, normalizer=none(), decay=g, gate_heads="kv")

    assert annotated.text == plain.text


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
        (lambda q, k, v, w: q @ k, "@: expected a weight, got the sequence 'k'"),
        (lambda q, k, v, w: b.tanh(w), "tanh: expected a vector, got the weight 'w'"),
        (lambda q, k, v, w: b.tanh("x"), "tanh: expected a vector, got str"),
        (lambda q, k, v, w: q * float("nan"), r"\*: expected a finite number, got nan"),
        (lambda q, k, v, w: q ** float("inf"), r"\*\*: expected a finite number, got inf"),
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


def test_traced_values_have_no_numbers():
    """Functions of NumPy, PyTorch and Python, conditions, and arrays in place of weights."""
    torch = pytest.importorskip("torch")

    for body, words in (
        (lambda x: np.maximum(x, 0), "numpy.maximum: expected arrays, got the sequence 'q' of an attention that is traced"),
        (lambda x: np.ones(4) * x, "numpy.multiply: expected arrays, got the sequence 'q'"),
        (lambda x: np.asarray(b.exp(x)), "numpy.array: expected arrays, got a vector"),
        (lambda x: torch.relu(x), "torch.relu: expected arrays, got the sequence 'q'.*polyattn.builder has the functions"),
        (lambda x: torch.cat([x, x]), "torch.cat: expected arrays, got the sequence 'q'"),
        (lambda x: torch.tensor(2.0) * b.exp(x), "torch.mul: expected arrays, got a vector"),
        (lambda x: x * np.ones(4), r"\*: expected a vector, got ndarray"),
        (lambda x: x + "1", r"\+: expected a vector, got str"),
        (lambda x: x @ np.ones((4, 4)), "@: expected a weight, got ndarray"),
        (lambda x: x if x > 0 else -x, "a condition: expected a number .*polyattn.builder.is_above"),
        (lambda x: x or 1, "a condition: expected a number"),
        (lambda x: float(x), "float: expected arrays, got the sequence 'q'"),
        (lambda x: x / 0, "/: expected a divisor other than 0"),
        (lambda x: x[4:], r"x\[...\]: expected at least one of 4 elements, got none"),
        (lambda x: x[4], r"x\[...\]: expected whole numbers from -4 to 3, or a slice, got 4"),
        (lambda x: x[[0, -5]], r"from -4 to 3, or a slice, got -5"),
        (lambda x: x[1.5], r"from -4 to 3, or a slice, got 1.5"),
        (lambda x: x["0"], r"from -4 to 3, or a slice, got '0'"),
        (lambda x: x[np.ones(4, bool)], r"from -4 to 3, or a slice, got np.True_"),
        (lambda x: b.sym(x, 2.5), "sym: degree: expected a whole number of at least 1, got 2.5"),
        (lambda x: b.scatter(x, indices=[0, 1, 2], width=4), r"scatter: indices: expected 4 whole numbers from 0 to 3, got \[0, 1, 2\]"),
        (lambda x: b.scatter(x, indices=[0, 1, 2, 4], width=4), r"from 0 to 3, got \[0, 1, 2, 4\]"),
        (lambda x: b.weight_product(x, x), "weight_product: expected a weight, got the sequence 'q'"),
        (lambda x: b.sqrt(x), "sqrt: expected a number that is not negative, got the sequence 'q'"),
        (lambda x: b.sqrt(-1), "sqrt: expected a number that is not negative, got -1"),
        (lambda x: b.softmax(x, groups=0), "softmax: groups: expected a whole number of at least 1, got 0"),
        (lambda x: b.softmax(x, groups=np.True_), "softmax: groups: expected a whole number of at least 1, got (np.)?True"),
        (lambda x: b.softmax(x, groups=np.array([1, 2])), r"expected a whole number of at least 1, got int64 \(2,\)"),
        (lambda x: b.constant(3, 1.0), "constant: like: expected a vector, got int"),
        (lambda x: b.concat(), "concat: expected at least one vector"),
        (lambda x: attend(x, x, x, normalizer=None), r"attend: normalizer: expected none\(\), by_sum\(eps\), .*got NoneType"),
        (lambda x: attend(x, x, x, normalizer=none(), local=x), "attend: local: expected a pair of vectors, got the sequence"),
        (lambda x: attend(x, x, x, normalizer=none(), decay_factors=0.5), "decay_factors: expected a list of numbers.*got float"),
        (lambda x: attend(x, x, x, normalizer=none(), block=1.5), "attend: block: expected a whole number"),
    ):  # fmt: skip
        with pytest.raises(CallError, match=words):
            polyattn.attention(lambda q: body(q), name="it", arguments={"q": Sequence[4]})
    kept = []
    polyattn.attention(lambda q: kept.append(q) or q, name="it", arguments={"q": Sequence[4]})
    with pytest.raises(CallError, match="attend: operands come from two attentions"):
        polyattn.attention(lambda q: attend(q, q, kept[0], normalizer=none()), name="it", arguments={"q": Sequence[4]})


def test_options_that_are_none():
    def same(q):
        return q

    for options, words in (
        (dict(dtype="f8"), "dtype: expected f32, bf16 or f16, got f8"),
        (dict(results="o"), "results: expected a tuple of names, got 'o'"),
        (dict(arguments={"q": 3}), r"arguments: 'q': expected what an argument is, such as Sequence\[64\], got 3"),
    ):
        with pytest.raises(CallError, match=words):
            polyattn.attention(same, **({"arguments": {"q": Sequence[4]}} | options))
    with pytest.raises(CallError, match="attention: expected a function written in Python, got int"):
        polyattn.attention(3)


def test_words_of_options():
    """The compiler takes each word that the builder does, and the builder says which where it takes none."""
    from polyattn import _attend, _literals

    def spec(grouping="block", mask="causal", gate_heads="kv", form="erf", layout="half", place="inside", weights="none", precision=None, **normalizer):
        def phi(x, f):
            return b.triu(b.layer_norm(b.gelu(b.rope(x, f, layout=layout), form=form), eps=1e-6, eps_place=place), x, weights=weights)

        return polyattn.attention(
            lambda q, k, v, f, g: attend(
                phi(q, f), phi(k, f), v, mask=mask, grouping=grouping, gate_heads=gate_heads, decay=None if mask == "full" else g, precision=precision,
                normalizer=none(**normalizer) if "eps_mode" not in normalizer else by_sum(1e-6, **normalizer), signed_scores=True,
            ),
            name="it", arguments={"q": Sequence[4], "k": Sequence[4], "v": Sequence[4], "f": Weight[2], "g": b.Decay},
        )  # fmt: skip

    known = {
        "grouping": _literals.Grouping, "mask": _literals.Mask, "gate_heads": _literals.GateHeads, "precision": _literals.Precision, "form": _literals.GeluForm,
        "layout": _literals.RopeLayout, "place": _literals.EpsPlace, "weights": _literals.TriangleWeights, **_attend._WORDS,
    }  # fmt: skip
    for option, words in known.items():
        for word in get_args(words):
            if (option, word) != ("mask", "full"):  # which has no decay
                polyattn.reference(spec(**{option: word}))
        for wrong in ("x", "block>", None if option not in ("grouping", "gate_heads", "precision") else 3, 1):
            with pytest.raises(CallError, match=f": expected one of {', '.join(get_args(words))}, got"):
                spec(**{option: wrong})
    for wrong, words in ((dict(foo=1.0), "expected options among eps, .*, got foo"), (dict(min_denom="x"), "min_denom: expected a finite")):
        with pytest.raises(CallError, match=words):
            by_sum(1e-6, **wrong)
    with pytest.raises(CallError, match="a normalizer: eps: expected a finite number, got 'x'"):
        by_sum("x")


def test_names_are_data():
    """A name cannot become part of the program."""
    for name in ('x"', "x(%q) {", "x y", "a\nb", ""):
        with pytest.raises((SpecError, CallError)):
            spec = polyattn.attention(lambda q: q, name=name, arguments={"q": Sequence[4]})
            polyattn.compile(spec)
    for options in (dict(mask="causal {"), dict(grouping="block>"), dict(gate_heads="q q")):
        with pytest.raises(CallError, match="attend: .*: expected one of .*, got"):
            polyattn.attention(
                lambda q: attend(q, q, q, normalizer=none(), **options),
                name="it", arguments={"q": Sequence[4]},
            )
