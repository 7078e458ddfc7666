"""Long convolutions against formulas in PyTorch's f64: rows, gradients, and what is refused."""

from __future__ import annotations

import copy

import ml_dtypes
import numpy as np
import pytest

import polyattn
from polyattn import builder as b
from polyattn import library

torch = pytest.importorskip("torch")
pt = pytest.importorskip("polyattn.torch")


def convolved(x, h, *, reversed=False, circular=False):
    """Direct sums of x [B, T, H, d] and a filter [L, d] or [H, L, d], with d = 1 for all channels alike: a matrix of lags."""
    length, lags = x.shape[1], h.shape[-2]
    lag = torch.arange(length)[:, None] - torch.arange(length)
    lag = -lag if reversed else lag
    lag = lag.remainder(max(length, 1)) if circular else lag
    inside = (lag >= 0) & (lag < lags)
    matrix = h[..., lag.clamp(0, lags - 1), :] * inside[..., None]  # [H, T, T, d]
    return torch.einsum("hije,bjhe->bihe", matrix.expand(x.shape[2], -1, -1, x.shape[3]), x)


def by_columns(h, per_channel):
    return h if per_channel else h[..., None]


def hyena(q, *others):
    """Of any order: gates, keys, values, then filters."""
    order = len(others) // 2 + 1
    *gates, k, v = others[:order]
    row = k * v
    for gate, h in zip([*gates, q], others[order:]):
        row = gate * convolved(row, h)
    return row


def h3(q, k, v, s, h):
    return q * convolved(convolved(k, s) * v, h)


def toeplitz_network(v, before, after):
    return convolved(v, before) + convolved(v, after, reversed=True)


def tensors_of(spec, rng, batch=2, length=64, heads=3):
    sizes = {"B": batch, "T": length, "H": heads}

    def one(shape):
        numbers = torch.from_numpy(rng.standard_normal(shape)).float()
        return numbers if len(shape) == 4 else numbers * max(shape) ** -0.5

    return [one([sizes.get(size, size) for size in about.shape]) for about in pt.load(spec).signature.arguments]


def close(found, expected, allowed=1e-5, besides=0.0):
    assert found.shape == expected.shape
    assert (found.double() - expected).norm() <= allowed * expected.norm() + besides + 1e-12


def check_rows_and_gradients(spec, formula, given, dtype=torch.float32):
    """All numbers of the dtype, in which each convolution and each gate may round its rows."""
    allowed = 1e-5 if dtype == torch.float32 else 2e-2
    found = [x.to(dtype).requires_grad_() for x in given]
    expected = [x.detach().double().requires_grad_() for x in found]
    o, rows = pt.load(spec)(*found), formula(*expected)
    assert o.dtype == dtype
    close(o, rows, allowed)
    slopes = torch.randn_like(rows).to(dtype)
    o.backward(slopes)
    rows.backward(slopes.double())
    for mine, theirs in zip(found, expected):
        assert mine.grad.dtype == dtype
        # A filter of few numbers has gradients of many terms, which cancel.
        close(mine.grad, theirs.grad, allowed, allowed / 10 * slopes.norm().double())


LENGTHS = [1, 2, 63, 64, 65, 300]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("lags", [1, 50, 400])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_hyena(order, lags, dtype, rng):
    spec = library.hyena(8, lags=lags, order=order, per_head=lags > 1)  # a row for each head would be a vector
    for length in LENGTHS:
        check_rows_and_gradients(spec, hyena, tensors_of(spec, rng, length=length), dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("make, formula", [
    (lambda: library.h3(6, shift=3, lags=70), h3),
    (lambda: library.h3(5, shift=9, lags=2), h3),
    (lambda: library.toeplitz_network(7, lags=64), toeplitz_network),
    (lambda: library.toeplitz_network(16, lags=100, per_head=True), toeplitz_network),
    (lambda: library.hyena(34, lags=33, per_head=False), hyena),
], ids=["h3", "h3 of two lags", "toeplitz", "toeplitz of heads", "hyena of one filter"])  # fmt: skip
def test_systems(make, formula, dtype, rng):
    spec = make()
    for length in LENGTHS:
        check_rows_and_gradients(spec, formula, tensors_of(spec, rng, length=length), dtype)


@pytest.mark.parametrize("reversed", [False, True])
@pytest.mark.parametrize("circular", [False, True])
@pytest.mark.parametrize("per_head", [True, False])
@pytest.mark.parametrize("per_channel", [True, False])
def test_forms_of_a_filter(reversed, circular, per_head, per_channel, rng):
    for lags in (1, 5, 64, 100):
        if lags == 1 and per_head and per_channel:
            continue  # a row for each head would be a vector of lags
        spec = library.long_convolution(6, lags=lags, reversed=reversed, circular=circular, per_head=per_head, per_channel=per_channel)

        def formula(v, h):
            return convolved(v, by_columns(h, per_channel), reversed=reversed, circular=circular)

        for length in LENGTHS:
            check_rows_and_gradients(spec, formula, tensors_of(spec, rng, length=length))


def test_a_filter_of_two_convolutions(rng):
    """Its gradient is a sum, beside features before, between and after, and a result that is no convolution's."""

    @polyattn.attention(results=("y", "z"))
    def twice(v: b.Sequence[6], h: b.Weight[40, 6], w: b.Weight[6, 6]):
        x = b.convolve(b.tanh(v @ w), h, circular=True)
        return b.convolve(x * v, h, circular=True) * 2.0 + v, b.exp(x)

    given = tensors_of(twice, rng, length=90)
    found, expected = ([x.clone().to(dtype).requires_grad_() for x in given] for dtype in (torch.float32, torch.float64))
    y, z = pt.load(twice)(*found)
    v, h, w = expected
    x = convolved((v @ w).tanh(), h, circular=True)
    wanted = convolved(x * v, h, circular=True) * 2 + v, x.exp()
    for mine, theirs in zip((y, z), wanted):
        close(mine, theirs)
    (y.sum() + z.square().sum()).backward()
    (wanted[0].sum() + wanted[1].square().sum()).backward()
    for mine, theirs in zip(found, expected):
        close(mine.grad, theirs.grad)


@pytest.mark.parametrize("batch, length", [(0, 5), (2, 0), (0, 0)])
def test_empty_calls(batch, length, rng):
    for spec in (library.hyena(8, lags=20, order=3), library.toeplitz_network(8, lags=20), library.long_convolution(8, lags=9, circular=True)):
        given = [x.requires_grad_() for x in tensors_of(spec, rng, batch, length)]
        o = pt.load(spec)(*given)
        assert o.shape == (batch, length, 3, 8)
        o.sum().backward()
        assert all(x.grad.shape == x.shape and not x.grad.any() for x in given)


def test_slopes_are_differences(rng):
    """Of f32 kernels along random directions."""
    spec = library.hyena(8, lags=30, order=3)
    given = tensors_of(spec, rng, length=70)
    attention, reference = pt.load(spec), polyattn.reference(spec)
    for i in range(len(given)):
        leaves = [x.clone().requires_grad_(i == j) for j, x in enumerate(given)]
        direction = torch.randn_like(given[i])
        (slope,) = torch.autograd.grad(attention(*leaves).sum(), leaves[i])
        step = 2.0**-6  # rows are polynomials of each argument, of degree 1

        def total(t):
            return float(reference(*((x + t * direction if i == j else x).numpy() for j, x in enumerate(given))).sum())

        difference = (total(step) - total(-step)) / (2 * step)
        assert abs(float((slope * direction).sum()) - difference) <= 1e-4 * float(slope.norm() * direction.norm())


def test_arrays_of_numpy(rng):
    """Kernels of arrays, both halves of a pair, with views, 16 bits, and sums of gradients in place."""
    spec = library.hyena(8, lags=40)
    q, k, v, h = (x.numpy() for x in tensors_of(spec, rng, length=70))
    expected = hyena(*(torch.from_numpy(x).double() for x in (q, k, v, h))).numpy()
    kernel = polyattn.compile(spec)
    for found in (kernel(q, k, v, h), kernel(q[:, ::-1][:, ::-1], k=k, v=np.asfortranarray(v.transpose(3, 0, 1, 2)).transpose(1, 2, 3, 0), h=h), polyattn.reference(spec)(q, k, v, h)):
        assert np.abs(found - expected).max() < 1e-5
    half = polyattn.compile(spec, dtype="bf16")(*(x.astype(ml_dtypes.bfloat16) for x in (q, k, v, h)))
    assert np.linalg.norm(half.astype("f4") - expected) < 2e-2 * np.linalg.norm(expected)
    forward = polyattn.compile(spec, direction="training")
    backward = polyattn.compile(spec, direction="backward", wrt=["k", "h"], accumulate=True)
    slopes = rng.standard_normal(q.shape).astype("f4")
    results = forward(q, k, v, h)
    given = dict(zip("qkvh", (q, k, v, h)))
    given |= dict(zip((one.name for one in forward.signature.results), results if isinstance(results, tuple) else (results,)))
    total = np.ones_like(h)
    given |= {"d_o": slopes, "sum_d_h": total}
    d_k, d_h = backward(**{one.name: given[one.name] for one in backward.signature.arguments})
    leaves = [torch.from_numpy(x).double().requires_grad_() for x in (q, k, v, h)]
    hyena(*leaves).backward(torch.from_numpy(slopes).double())
    assert d_h is total
    assert np.abs(d_k - leaves[1].grad.numpy()).max() < 1e-4
    assert np.abs(d_h - 1 - leaves[3].grad.numpy()).max() < 1e-4


def test_transforms_of_torch(rng):
    """The operator's checks, tensors without memory, torch.compile, copies and views."""
    spec = library.hyena(8, lags=40)
    attention, given = pt.load(spec), tensors_of(spec, rng, length=37)
    torch.library.opcheck(torch.ops.polyattn.forward.default, (attention._handle, given))
    given = [x.requires_grad_() for x in given]
    with torch.device("meta"):
        shapes = [torch.empty(x.shape, requires_grad=True) for x in given]
    o = attention(*shapes)
    assert o.is_meta and o.shape == given[0].shape
    o.sum().backward()
    assert all(x.grad.is_meta and x.grad.shape == x.shape for x in shapes)

    def rows(*given):
        return attention(*given).square().sum()

    plain = torch.autograd.grad(rows(*given), given)
    compiled = torch.autograd.grad(torch.compile(rows, backend="aot_eager", fullgraph=True)(*given), given)
    for one, other in zip(plain, compiled):
        torch.testing.assert_close(one, other)


def test_what_is_refused(rng):
    """What convolutions do not have is said in one line."""
    spec = library.hyena(8, lags=40)
    q, k, v, h = (x[:1] if x.dim() == 4 else x for x in tensors_of(spec, rng))
    attention = pt.load(spec)
    message = "has convolutions, which are not compiled for packed sequences"
    for call in (
        lambda: attention(q, k, v, h, cu_seqlens=torch.tensor([0, 20, 64])),
        lambda: polyattn.compile(spec, packed=True),
    ):
        with pytest.raises(polyattn.SpecError, match=message):
            call()
    with pytest.raises(polyattn.SpecError, match="does not decode: a token's row depends on all rows before it"):
        polyattn.compile(spec, direction="decode")
    layer = pt.nn.Attention(spec, 24, heads=3)
    with pytest.raises(polyattn.SpecError, match="does not decode: a token's row depends on all rows before it"):
        layer.new_states(2)
    with pytest.raises(polyattn.SpecError, match="stands beside a convolution, which needs an entry of its own"):

        @polyattn.attention
        def mixed(q: b.Sequence[8], k: b.Sequence[8], v: b.Sequence[8], h: b.Weight[4, 8]):
            return b.attend(q, b.convolve(k, h), v, normalizer=b.none())

        polyattn.compile(mixed)
    with pytest.raises(polyattn.SpecError, match="C1: expected a filter of 1 to"):
        polyattn.compile(polyattn.attention(lambda v, h: b.convolve(v, h), name="wrong", arguments={"v": b.Sequence[8], "h": b.Weight[4, 7]}))
    with pytest.raises(ValueError, match="convolve"):
        polyattn.compile(polyattn.attention(lambda v, h: b.convolve(v, v), name="wrong", arguments={"v": b.Sequence[8], "h": b.Weight[4, 7]}))


def test_layers_of_any_spec(rng):
    """Filters begin so that rows are as large as those that they are made of."""
    layer = pt.nn.Attention(library.hyena(16, lags=200), 48, heads=3)
    x = torch.from_numpy(rng.standard_normal((2, 300, 48))).float()
    o = layer.attend(x)
    assert 0.2 < o.std() < 5
    layer(x).square().mean().backward()
    assert layer.h.shape == (3, 200, 16) and layer.h.grad.abs().sum() > 0
    for spec in (library.toeplitz_network(8, lags=9), library.long_convolution(8, lags=9)):
        with pytest.raises(polyattn.CallError, match=f"{spec.name}: expected queries, keys and values .* first, got arguments v, "):
            pt.nn.Attention(spec, 24, heads=3)


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("length", [1, 2, 70])
def test_the_layer(order, length, rng):
    """Against its formula in f64, with gradients of all parameters, in 16 bits, empty, on the device meta, and copied."""
    layer = pt.nn.Hyena(24, 3, 40, order=order, bias=True)
    exact = copy.deepcopy(layer).double()
    x = torch.from_numpy(rng.standard_normal((2, length, 24))).float()

    def formula(x):
        rows = torch.nn.functional.pad(exact.in_proj(x), (0, 0, 2, 0)).unfold(1, 3, 1)
        rows = (rows * exact.short_conv.weight.squeeze(1)).sum(-1)
        filters = [getattr(exact, name) for name in exact._filters]
        return exact.o_proj(hyena(*rows.unflatten(-1, (order + 1, 3, 8)).unbind(2), *filters).flatten(-2))

    y, rows = layer(x), formula(x.double())
    close(y, rows)
    y.square().sum().backward()
    rows.square().sum().backward()
    for mine, theirs in zip(layer.parameters(), exact.parameters(), strict=True):
        close(mine.grad, theirs.grad, 1e-4)
    close(copy.deepcopy(layer).bfloat16()(x.bfloat16()), rows, 0.1)
    for shape in ((0, 5, 24), (2, 0, 24)):
        empty = torch.zeros(shape, requires_grad=True)
        layer(empty).sum().backward()
        assert empty.grad.shape == shape
    meta = copy.deepcopy(layer).to("meta")
    assert meta(x.to("meta")).shape == x.shape
    again = meta.to_empty(device="cpu")
    again.reset_parameters()
    for mine, theirs in zip(again.parameters(), layer.parameters(), strict=True):
        assert 0.5 * theirs.square().sum() <= mine.square().sum() <= 2 * theirs.square().sum()
    again.load_state_dict(layer.state_dict())
    assert torch.equal(again(x), y)


def test_wrong_layers():
    layer = pt.nn.Hyena(24, 3, 40)
    for call, message in (
        (lambda: layer.new_states(2), "Hyena does not decode: a position's row depends on all rows before it"),
        (lambda: pt.nn.Hyena(24, 5, 40), "heads: expected a divisor of the width 24, got 5"),
        (lambda: pt.nn.Hyena(24, 3, 1), "lags: expected a whole number of at least 2, got 1"),
        (lambda: pt.nn.Hyena(24, 3, 40, order=1), "order: expected a whole number of at least 2, got 1"),
        (lambda: layer(torch.zeros(2, 24)), r"Hyena: x: expected a tensor \[B, T, 24\], got shape \(2, 24\)"),
    ):
        with pytest.raises(polyattn.CallError, match=message):
            call()
