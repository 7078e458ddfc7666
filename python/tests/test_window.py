"""Softmax, windows and exponentials of scores against formulas written out in PyTorch's f64, rows and gradients."""

from __future__ import annotations

import math

import pytest
from conftest import SPECS

import polyattn
from polyattn import builder as b
from polyattn import library

torch = pytest.importorskip("torch")
pt = pytest.importorskip("polyattn.torch")

from polyattn.torch._eager import Eager  # noqa: E402
from polyattn.torch._features import NoForm  # noqa: E402


def seen(queries, keys, *, mask="causal", window=None):
    """Which keys each query sees."""
    lag = torch.arange(queries)[:, None] - torch.arange(keys)
    found = {"causal": lag >= 0, "anticausal": lag <= 0, "full": lag == lag}[mask]
    return found if window is None else found & (lag.abs() < window)


def spread(x, heads, grouping="block"):
    """Keys or values of as many heads as queries have."""
    groups = heads // x.shape[2]
    return x.repeat_interleave(groups, 2) if grouping == "block" else x.repeat(1, 1, groups, 1)


def products(q, k, grouping="block"):
    return torch.einsum("bihd,bjhd->bhij", q, spread(k, q.shape[2], grouping))


def softmax_rows(scores, v, *, mask="causal", window=None, grouping="block"):
    """Zero where a query sees no key."""
    is_seen = seen(*scores.shape[-2:], mask=mask, window=window)
    weights = scores.masked_fill(~is_seen, -torch.inf).softmax(-1).nan_to_num()
    return torch.einsum("bhij,bjhe->bihe", weights, spread(v, scores.shape[1], grouping))


def divided_rows(scores, v, eps, *, mask="causal", window=None):
    """Sums over the keys that are seen, divided by the sum of scores if there is an eps."""
    scores = scores * seen(*scores.shape[-2:], mask=mask, window=window)
    o = torch.einsum("bhij,bjhe->bihe", scores, spread(v, scores.shape[1]))
    return o if eps is None else o / (scores.sum(-1) + eps).transpose(1, 2)[..., None]


def tensors(rng, *shapes):
    return [torch.tensor(rng.standard_normal(shape)).float() for shape in shapes]


def qkv_of(rng, length, keys=None, *, heads=3, kv_heads=None, d=16, dv=24, batch=2):
    keys, kv_heads = length if keys is None else keys, kv_heads or heads
    return tensors(rng, (batch, length, heads, d), (batch, keys, kv_heads, d), (batch, keys, kv_heads, dv))


def check(spec, given, formula, *, rtol=1e-5, of_gradients=2e-5, largest=1, run=None):
    """Rows and the gradients of all arguments, against a formula's. `given` are of the dtype that kernels compute with."""
    found = [x.clone().requires_grad_() for x in given]
    expected = [x.double().requires_grad_() for x in given]
    o = (run or pt.load(spec))(*found)
    rows = formula(*expected)
    assert o.isfinite().all()
    assert (o.double() - rows).norm() <= rtol * rows.norm()
    slopes = torch.randn(rows.shape, generator=torch.Generator().manual_seed(0), dtype=rows.dtype)
    o.backward(slopes.to(o.dtype))
    rows.backward(slopes)
    for mine, theirs in zip(found, expected):
        assert mine.grad.isfinite().all()
        # Where the softmax has one key, what it does cancels, and roundings are left, times a number of a query or a key.
        allowed = of_gradients * theirs.grad.norm() + of_gradients / 20 * largest * slopes.norm()
        assert (mine.grad.double() - theirs.grad).norm() <= allowed


@pytest.mark.parametrize("mask", ["causal", "full"])
@pytest.mark.parametrize("window", [None, 1, 2, 17, 64, 1000])
def test_rows_and_gradients(rng, mask, window):
    """One key, windows inside of a block, across blocks, and wider than the sequence."""
    spec = library.softmax_attention(16, 24, mask=mask, window=window)
    for length in (1, 2, 63, 130):
        check(spec, qkv_of(rng, length), lambda q, k, v: softmax_rows(products(q, k) / 4, v, mask=mask, window=window))


@pytest.mark.parametrize("window", [1, 20, None])
def test_queries_see_keys_before_them_or_behind(rng, window):
    """The mask anticausal."""

    def body(q, k, v):
        return b.attend(q, k, v, mask="anticausal", normalizer=b.by_softmax(), window=window, score_scale=0.25)

    spec = b.attention(body, arguments={"q": b.Sequence[16], "k": b.Sequence[16], "v": b.Sequence[24]})
    check(spec, qkv_of(rng, 90), lambda q, k, v: softmax_rows(products(q, k) / 4, v, mask="anticausal", window=window))


@pytest.mark.parametrize("length, keys", [(50, 130), (130, 50), (1, 70), (70, 1)])
def test_other_numbers_of_keys_than_of_queries(rng, length, keys):
    """A query whose window has no key is a row of zeros, and has no gradient."""
    for window in (None, 9):
        spec = library.softmax_attention(16, 24, mask="full", window=window)
        given = qkv_of(rng, length, keys)
        check(spec, given, lambda q, k, v: softmax_rows(products(q, k) / 4, v, mask="full", window=window))
    o = pt.load(spec)(*given)
    assert bool((o[:, keys + 8 :] == 0).all())


@pytest.mark.parametrize("grouping", ["block", "interleaved"])
def test_grouped_heads(rng, grouping):
    spec = library.softmax_attention(16, 24, window=30, grouping=grouping)
    given = qkv_of(rng, 100, heads=6, kv_heads=2)
    check(spec, given, lambda q, k, v: softmax_rows(products(q, k, grouping) / 4, v, window=30, grouping=grouping))


@pytest.mark.parametrize("dtype, rtol", [(torch.bfloat16, 1e-2), (torch.float16, 2e-3)])
def test_short_numbers(rng, dtype, rtol):
    spec = library.softmax_attention(16, 24, window=30)
    given = [x.to(dtype) for x in qkv_of(rng, 100, heads=4, kv_heads=2)]
    check(spec, given, lambda q, k, v: softmax_rows(products(q, k) / 4, v, window=30), rtol=rtol, of_gradients=2 * rtol)


@pytest.mark.parametrize("mask", ["causal", "full"])
@pytest.mark.parametrize("size", [1, 10, 50])
def test_scores_of_any_size(rng, mask, size):
    """Whole numbers, whose scores up to 20,000 are exact. Gradients take the logarithm of a row's sum, which is one f32 as large as
    its scores: half of its last digit is what a score has lost."""
    spec = library.softmax_attention(8, 24, mask=mask, window=40, scale=1.0)
    q, k = (torch.tensor(rng.integers(-size, size + 1, (2, 100, 3, 8))).float() for _ in range(2))
    (v,) = tensors(rng, (2, 100, 3, 24))
    check(spec, (q, k, v), lambda q, k, v: softmax_rows(products(q, k), v, mask=mask, window=40), largest=size,
          of_gradients=max(2e-5, 8 * size**2 * 2**-24))  # fmt: skip


@pytest.mark.parametrize("score", [1e4, -1e4])
def test_large_scores_of_one_sign(rng, score):
    """All scores of a row are about equal: neither a sum of zeros nor one of infinities."""
    spec = library.softmax_attention(8, 24, window=40, scale=1.0)
    q = torch.zeros(1, 100, 2, 8)
    q[..., 0] = score
    k = torch.zeros_like(q)
    k[..., 0] = 1
    k[..., 1] = torch.tensor(rng.standard_normal((1, 100, 2))).float()
    q[..., 1] = 1
    (v,) = tensors(rng, (1, 100, 2, 24))
    # What is beside 10,000 keeps four digits.
    check(spec, (q, k, v), lambda q, k, v: softmax_rows(products(q, k), v, window=40), rtol=1e-3, of_gradients=2e-3, largest=abs(score))


@pytest.mark.parametrize("is_causal", [True, False])
def test_what_pytorch_computes(rng, is_causal):
    """scaled_dot_product_attention, also with a window as its mask."""
    q, k, v = qkv_of(rng, 150, heads=4, kv_heads=2)
    for window in (None, 33):
        mask = "causal" if is_causal else "full"
        o = pt.load(library.softmax_attention(16, 24, mask=mask, window=window))(q, k, v)
        expected = torch.nn.functional.scaled_dot_product_attention(
            *(x.transpose(1, 2) for x in (q, k, v)), attn_mask=seen(150, 150, mask=mask, window=window), enable_gqa=True
        ).transpose(1, 2)
        torch.testing.assert_close(o, expected, rtol=1e-5, atol=1e-5)


def test_rotary_positions(rng):
    spec = library.softmax_attention(16, 24, window=20, rotary=True, first_position=True)
    q, k, v = qkv_of(rng, 70)
    freqs = torch.tensor([10000.0 ** (-i / 8) for i in range(8)])

    def turned(x):
        angle = (torch.arange(70).double()[:, None] + 5) * freqs.double()
        cosine, sine = angle.cos()[:, None], angle.sin()[:, None]
        first, second = x.double().chunk(2, -1)
        return torch.cat([first * cosine - second * sine, first * sine + second * cosine], -1)

    o = pt.load(spec)(q, k, v, freqs, torch.tensor([5, 5]))
    rows = softmax_rows(products(turned(q), turned(k)) / 4, v.double(), window=20)
    torch.testing.assert_close(o.double(), rows, rtol=1e-5, atol=1e-5)


def bias_of(table, length, beyond, two_sided):
    """Biases of a table [H, n], as [H, T, T]."""
    lag = torch.arange(length)[:, None] - torch.arange(length)
    place = lag + table.shape[-1] // 2 if two_sided else lag.abs()
    inside = place.clamp(0, table.shape[-1] - 1)
    return table[..., inside] if beyond == "last" else table[..., inside] * (place == inside)


@pytest.mark.parametrize("mask", ["causal", "full"])
@pytest.mark.parametrize("window", [None, 30])
@pytest.mark.parametrize("beyond, distances", [("last", 20), ("zero", 20), ("last", 200), ("last", 1)])
def test_biases_of_the_distance(rng, mask, window, beyond, distances):
    """T5's: a number of a table, added to the score, which learns, too."""
    spec = library.softmax_attention(16, 24, mask=mask, window=window, distances=distances, beyond=beyond)
    two_sided = mask == "full"
    given = [*qkv_of(rng, 90), *tensors(rng, (3, 2 * distances - 1 if two_sided else distances))]
    check(spec, given, lambda q, k, v, t: softmax_rows(
        products(q, k) / 4 + bias_of(t, 90, beyond, two_sided), v, mask=mask, window=window
    ))  # fmt: skip


def test_a_bias_of_all_heads(rng):
    spec = library.softmax_attention(16, 24, distances=20, per_head=False, scale=1.0)
    given = [*qkv_of(rng, 90, heads=4, kv_heads=2), *tensors(rng, (20,))]
    check(spec, given, lambda q, k, v, t: softmax_rows(products(q, k) + bias_of(t, 90, "last", False), v))


def of_scores(make, *, value=24, **options):
    """An attention whose queries and keys are `make` of them."""

    def body(q, k, v):
        return b.attend(make(q), make(k), v, **options)

    return b.attention(body, arguments={"q": b.Sequence[16], "k": b.Sequence[16], "v": b.Sequence[value]})


@pytest.mark.parametrize("mask", ["causal", "anticausal", "full"])
@pytest.mark.parametrize("window", [1, 13, 70, 500])
def test_windows_of_feature_maps(rng, mask, window):
    """Any scores, with a normalizer and without."""
    given = qkv_of(rng, 150, heads=4, kv_heads=2)
    spec = of_scores(b.elu_plus_one, mask=mask, normalizer=b.by_sum(1e-6), window=window)

    def elu(x):
        return torch.nn.functional.elu(x) + 1

    check(spec, given, lambda q, k, v: divided_rows(products(elu(q), elu(k)), v, 1e-6, mask=mask, window=window))
    spec = of_scores(lambda x: b.sym(x, 2), mask=mask, normalizer=b.none(), window=window)
    check(spec, given, lambda q, k, v: divided_rows(products(q, k) ** 2, v, None, mask=mask, window=window))


def test_a_window_beside_decays(rng):
    """One number for each position and key head, whose products are of the keys that are seen."""

    def body(q, k, v, g):
        return b.attend(b.exp(q), b.exp(k), v, normalizer=b.by_sum(1e-6), decay=g, gate_heads="kv", window=25)

    arguments = {"q": b.Sequence[16], "k": b.Sequence[16], "v": b.Sequence[24], "g": b.Decay}
    q, k, v = qkv_of(rng, 100)
    g = -torch.tensor(rng.random((2, 100, 3))).float() / 4

    def formula(q, k, v, g):
        past = g.cumsum(1).transpose(1, 2)
        decay = (past[..., :, None] - past[..., None, :]).tril().exp()
        return divided_rows(products(q.exp(), k.exp()) * decay, v, 1e-6, window=25)

    check(b.attention(body, arguments=arguments), (q, k, v, g), formula)


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_exponentials_of_scores(rng, mask):
    """exp(s) alone is a softmax; it may be a factor, a part of a sum, a power, and the exponent of another."""
    given = qkv_of(rng, 90)
    exp = b.exp_score
    for make, formula in (
        (lambda x: exp(x * 0.5), lambda s: (s / 4).exp()),
        (lambda x: b.tensor(exp(x * 0.5), b.concat(1, b.sym(x, 2))), lambda s: (s / 4).exp() * (1 + s**2)),
        (lambda x: b.concat(1, exp(x * 0.5)), lambda s: 1 + (s / 4).exp()),
        (lambda x: b.sym(exp(x * 0.25), 3), lambda s: (s * 3 / 16).exp()),
        (lambda x: exp(b.sym(x, 2) * -0.125), lambda s: (s**2 / 64).exp()),
        (lambda x: exp(exp(x * 0.25)), lambda s: (s / 16).exp().exp()),
    ):
        spec = of_scores(make, mask=mask, normalizer=b.by_sum(1e-6))
        check(spec, given, lambda q, k, v: divided_rows(formula(products(q, k)), v, 1e-6, mask=mask))
    softmax = pt.load(library.softmax_attention(16, 24, mask=mask))(*given)
    written_out = pt.load(of_scores(lambda x: exp(x * 0.5), mask=mask, normalizer=b.by_sum(0.0)))(*given)
    torch.testing.assert_close(written_out, softmax, rtol=1e-5, atol=1e-5)


def test_a_softmax_of_any_score(rng):
    """The exponent is a score as any other: a polynomial of the product, scaled as a whole."""
    spec = of_scores(lambda x: b.concat(x, b.sym(x, 2) * 0.25), normalizer=b.by_softmax(), score_scale=0.125, window=40)
    check(spec, qkv_of(rng, 90), lambda q, k, v: softmax_rows((products(q, k) + products(q, k) ** 2 / 16) / 8, v, window=40))


def test_linear_attention_and_a_window_in_one_row(rng):
    """BASED's features over all keys, softmax over the nearest, each with its own normalizer."""
    spec = library.based_window(16, 24, r=4, window=20)
    given = [*qkv_of(rng, 150), *tensors(rng, (3, 16, 4), (3, 16, 4))]

    def formula(q, k, v, w_q, w_k):
        s = products(torch.einsum("bthd,hdr->bthr", q, w_q), torch.einsum("bthd,hdr->bthr", k, w_k)) / 2
        return divided_rows(1 + s + s**2 / 2, v, 1e-12) + softmax_rows(products(q, k) / 4, v, window=20)

    check(spec, given, formula)


def test_one_normalizer_for_exact_and_other_scores(rng):
    """Exponentials in blocks of positions, features before them."""
    spec = library.shared_window(16, 24, m=8, block=16)
    given = [*qkv_of(rng, 150), *tensors(rng, (3, 16, 8), (3, 16, 8))]

    def phi(x, w):
        z = torch.einsum("bthd,hdm->bthm", x, w)
        return torch.cat([z.softmax(-1), (-z).softmax(-1)], -1)

    def formula(q, k, v, w_q, w_k):
        block = torch.arange(150) // 16
        scores = (products(q, k) / 4).exp().where(block[:, None] == block, products(phi(q, w_q), phi(k, w_k)))
        return divided_rows(scores, v, 1e-6)

    check(spec, given, formula)


@pytest.mark.parametrize("block", [1, 5, 16, 64, 200])
def test_exact_scores_of_a_window_that_slides(rng, block):
    """Exponentials for the nearest keys, features for those before them, at any length of the window."""
    spec = library.shared_window(16, 24, m=8, block=block, sliding=True)
    given = [*qkv_of(rng, 150), *tensors(rng, (3, 16, 8), (3, 16, 8))]

    def phi(x, w):
        z = torch.einsum("bthd,hdm->bthm", x, w)
        return torch.cat([z.softmax(-1), (-z).softmax(-1)], -1)

    def formula(q, k, v, w_q, w_k):
        at = torch.arange(150)
        scores = (products(q, k) / 4).exp().where(at[:, None] - at < block, products(phi(q, w_q), phi(k, w_k)))
        return divided_rows(scores, v, 1e-6)

    check(spec, given, formula)


@pytest.mark.parametrize("spec", [
    library.softmax_attention(16, 24, window=9), library.softmax_attention(16, 24), library.softmax_attention(16, 24, mask="full", window=9),
    library.based_window(16, 24, r=4, window=9), library.shared_window(16, 24, m=4, block=9, sliding=True),
], ids=["window", "causal", "full window", "based_window", "sliding"])  # fmt: skip
def test_packed_sequences_do_not_see_each_other(rng, spec):
    """A window ends where a sequence begins, also for gradients."""
    attend = pt.load(spec)
    q, k, v = qkv_of(rng, 60, batch=1)
    weights = tensors(rng, *[(3, 16, 4)] * (len(attend.signature.arguments) - 3))
    ends = [0, 25, 25, 26, 60]
    packed, alone = ([x.clone().requires_grad_() for x in (q, k, v, *weights)] for _ in range(2))
    o = attend(*packed, cu_seqlens=torch.tensor(ends))
    parts = [attend(*(x[:, i:j] for x in alone[:3]), *alone[3:]) for i, j in zip(ends, ends[1:]) if i < j]
    expected = torch.cat(parts, 1)
    torch.testing.assert_close(o, expected, rtol=1e-5, atol=1e-5)
    slopes = torch.randn_like(o)
    o.backward(slopes)
    expected.backward(slopes)
    for mine, theirs in zip(packed, alone):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-4, atol=1e-4)


def test_a_layer_with_a_window_learns(rng):
    """The layer of any spec: a token is told by the one before it, which a window of two keys shows."""
    torch.manual_seed(int(rng.integers(2**31)))
    layer = pt.nn.Attention(library.softmax_attention(16, window=2, distances=2), 32, heads=2)
    table, last = torch.nn.Embedding(8, 32), torch.nn.Linear(32, 8)
    parameters = [*layer.parameters(), *table.parameters(), *last.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-2)
    losses = []
    for _ in range(80):
        tokens = torch.randint(8, (8, 40))
        logits = last(layer(table(tokens)))[:, 1:]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, :-1].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[0] > 1.5 and sum(losses[-5:]) / 5 < 0.5 * losses[0]
    x = table(tokens[:1]).detach()
    with torch.no_grad():
        states = layer.new_states(1)
        parts = [layer.prefill(x[:, :17], states)] + [layer.step(x[:, i : i + 1], states) for i in range(17, 40)]
        torch.testing.assert_close(torch.cat(parts, 1), layer(x), rtol=1e-4, atol=1e-5)


def eager_of(spec, entry=None):
    return Eager(spec, entry, polyattn.reference(spec, entry).signature)


@pytest.mark.parametrize("mask", ["causal", "full"])
@pytest.mark.parametrize("window", [None, 1, 20])
@pytest.mark.parametrize("size", [1, 50])
def test_forms_in_pytorch(rng, mask, window, size):
    """What `polyattn.compare` measures beside kernels has the same rows and gradients, for scores of any size."""
    eager = eager_of(library.softmax_attention(8, 24, mask=mask, window=window, scale=1.0))
    for length, keys in ((70, 70), (70, 30), (30, 70)) if mask == "full" else ((70, 70),):
        q, k = (torch.tensor(rng.integers(-size, size + 1, (2, n, 3, 8))).double() for n in (length, keys))
        v = torch.tensor(rng.standard_normal((2, keys, 3, 24)))
        check(None, (q, k, v), lambda q, k, v: softmax_rows(products(q, k), v, mask=mask, window=window), run=eager.direct)


def test_forms_of_biases_and_exponentials(rng):
    eager = eager_of(library.softmax_attention(16, 24, mask="full", window=30, distances=10))
    given = [x.double() for x in (*qkv_of(rng, 50), *tensors(rng, (3, 19)))]
    check(None, given, lambda q, k, v, t: softmax_rows(
        products(q, k) / 4 + bias_of(t, 50, "last", True), v, mask="full", window=30
    ), run=eager.direct)  # fmt: skip
    given = [x.double() for x in qkv_of(rng, 50)]
    eager = eager_of(of_scores(lambda x: b.concat(1, b.exp_score(x * 0.5)), normalizer=b.by_sum(0.1), window=30))
    check(None, given, lambda q, k, v: divided_rows(1 + (products(q, k) / 4).exp(), v, 0.1, window=30), run=eager.direct)


def test_forms_that_there_are_none_of(rng):
    """Forms with states say why they have none."""
    given = [x.double() for x in qkv_of(rng, 50)]
    for spec, reason in (
        (library.softmax_attention(16, 24), "a softmax has no states here"),
        (of_scores(b.exp, normalizer=b.none(), window=8), "a window has no states here"),
        (of_scores(b.exp_score, normalizer=b.none()), "the exponential of a score has no features"),
    ):
        for form in (eager_of(spec).chunked, eager_of(spec).looped):
            with pytest.raises(NoForm, match=reason):
                form(10, *given)
    eager = eager_of(library.softmax_attention(16, 24, mask="full", distances=4))
    q, k, v = (x.double() for x in qkv_of(rng, 50, 20))
    with pytest.raises(NoForm, match="positions, where there are not as many keys as queries"):
        eager.direct(q, k, v, torch.ones(3, 7).double())


def test_comparison():
    options = {"length": 64, "heads": 2, "seconds": 0.0, "threads": 1, "compiled": False}
    found = polyattn.compare(library.softmax_attention(16, window=8, distances=4), **options)
    forward, both, decode = found.rows
    for row in (forward, both):
        assert not row.absent and row.forms["eager"] == "direct"
    assert not decode.absent.get("polyattn") and decode.seconds["polyattn"]


BAD_WINDOWS = (0, -1, 1.5, True, "8", 1 << 31)


@pytest.mark.parametrize("window", BAD_WINDOWS)
def test_windows_that_are_none(window):
    with pytest.raises(polyattn.CallError) as info:
        library.softmax_attention(8, window=window)
    assert str(info.value) == f"attend: window: expected a whole number from 1 to 2147483647, got {window!r}"


ARGUMENTS = {"q": b.Sequence[8], "k": b.Sequence[8], "v": b.Sequence[8]}
NOT_OF_STATES = "a window leaves out keys, which a state has: it is not for states, local vectors or a decay of each feature"
NOT_OF_SUMS = "a softmax has exponentials of scores, which have no features: it is not for states, local vectors or decays"


@pytest.mark.parametrize(
    "options, more, message",
    [
        (dict(window=4, initial="s"), {"s": b.State[8, 8]}, f"C23: {NOT_OF_STATES}"),
        (dict(window=4, final_state=True), {}, f"C23: {NOT_OF_STATES}"),
        (dict(window=4, local=True, block=16), {}, f"C23: {NOT_OF_STATES}"),
        (dict(window=4, decay="g"), {"g": b.FeatureDecay[8]}, f"C23: {NOT_OF_STATES}"),
        (dict(window=4, normalizer=b.none(reduce="mean")), {}, "C23: a mean is over all keys of the mask, not over those of a window"),
        (dict(normalizer=b.by_softmax(), initial="s"), {"s": b.State[8, 8]}, f"C24: {NOT_OF_SUMS}"),
        (dict(normalizer=b.by_softmax(), final_state=True), {}, f"C24: {NOT_OF_SUMS}"),
        (dict(normalizer=b.by_softmax(), local=True, block=16), {}, f"C24: {NOT_OF_SUMS}"),
        (dict(normalizer=b.by_softmax(), decay="g"), {"g": b.Decay}, f"C24: {NOT_OF_SUMS}"),
        (dict(normalizer=b.by_softmax(), decay="g"), {"g": b.HeadDecay}, f"C24: {NOT_OF_SUMS}"),
        (dict(normalizer=b.by_softmax(), decay_factors=[0.5]), {}, f"C24: {NOT_OF_SUMS}"),
        (dict(normalizer=b.Normalizer("softmax", (("eps", 1e-6),))), {}, "a normalizer `softmax` has no fields"),
    ],
)
def test_what_they_are_not_for(options, more, message):
    def body(q, k, v, **others):
        given = {name: others.get(value, value) if isinstance(value, str) else value for name, value in options.items()}
        if "local" in given:
            given["local"] = (q, k)
        return b.attend(q, k, v, **{"normalizer": b.none(), **given})

    with pytest.raises(polyattn.SpecError) as info:
        polyattn.compile(b.attention(body, arguments=ARGUMENTS | more))
    assert len(info.value.diagnostics) == 1
    assert info.value.diagnostics[0].message.endswith(message)
    assert info.value.diagnostics[0].file == __file__


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda x: b.exp_score(2.0), polyattn.CallError, "exp_score: expected a vector, got float"),
        (lambda x: b.exp(b.exp_score(x)), polyattn.SpecError, "C14: takes the features of the exponential of a score, which has none"),
        (lambda x: b.exp_score(x) @ b.constant(x, 1), polyattn.CallError, "@: expected a weight, got a vector"),
    ],
)
def test_what_has_no_features(make, error, message):
    with pytest.raises(error) as info:
        polyattn.compile(of_scores(make, normalizer=b.none()))
    assert message in str(info.value)


def test_an_exponential_is_no_value():
    def body(q, k, v):
        return b.attend(q, k, b.exp_score(v), normalizer=b.none())

    with pytest.raises(polyattn.SpecError, match="C14: .*the exponential of a score") as info:
        polyattn.compile(b.attention(body, arguments=ARGUMENTS))
    assert len(info.value.diagnostics) == 1


@pytest.mark.parametrize(
    "spec, reason",
    [
        (library.softmax_attention(8), "a softmax has exponentials of scores, which have no features"),
        (library.softmax_attention(8, window=4), "a softmax has exponentials of scores, which have no features"),
        (library.based_window(8, r=2), "a softmax has exponentials of scores, which have no features"),
        (of_scores(b.exp, normalizer=b.none(), window=4), "a window leaves out keys, which a state has"),
        (of_scores(b.exp_score, normalizer=b.none()), "the exponential of a score has no features"),
    ],
)
def test_no_states_of_segments(spec, reason):
    with pytest.raises(polyattn.SpecError, match=f"has no states that segments compose by: {reason}"):
        polyattn.compile(spec, direction="states")


@pytest.mark.parametrize(
    "spec, reason",
    [
        (library.softmax_attention(8), "a softmax has exponentials of scores, which have no features"),
        (of_scores(b.exp_score, normalizer=b.none()), "the exponential of a score has no features"),
        (library.softmax_attention(8, distances=2, beyond="zero"), "a softmax has exponentials of scores, which have no features"),
    ],
)
def test_no_decoding(spec, reason):
    with pytest.raises(polyattn.SpecError, match=f"does not decode: {reason}"):
        polyattn.compile(spec, direction="decode")


@pytest.mark.parametrize(
    "spec",
    [
        library.softmax_attention(8, window=1),
        library.softmax_attention(8, window=7),
        library.softmax_attention(8, window=40),
        library.based_window(8, r=4, window=20),
        library.shared_window(8, m=4, block=1, sliding=True),
        library.shared_window(8, m=4, block=20, sliding=True),
        library.shared_window(8, m=4, block=64, sliding=True),
        library.relative(8, feature_map="elu", distances=12),
        of_scores(lambda x: b.exp_score(x * 0.5), normalizer=b.by_sum(0.1), window=19),
        library.softmax_attention(8, window=20, distances=6, per_head=False),
        library.relative(8, feature_map="squares", distances=20, beyond="zero"),
    ],
)
def test_windows_decode(rng, spec):
    """A prompt, a chunk and single tokens give the rows of the whole sequence, by a ring that they go round several times."""
    layer = pt.nn.Attention(spec, 16, heads=2)
    if hasattr(layer, "b"):
        layer.b.data.copy_(*tensors(rng, layer.b.shape))
    (x,) = tensors(rng, (2, 150, 16))
    with torch.no_grad():
        whole = layer(x)
        states = layer.new_states(2)
        parts = [layer.prefill(x[:, :61], states), layer.step(x[:, 61:75], states)]
        parts += [layer.step(x[:, i : i + 1], states) for i in range(75, 150)]
    torch.testing.assert_close(torch.cat(parts, 1), whole, rtol=1e-4, atol=1e-5)


def test_blocks_of_exponentials_decode(rng):
    """The exact scores of a block are of the keys that a cache of the block has."""
    spec = library.shared_window(8, block=4)
    layer = pt.nn.Attention(spec, 16, heads=2)
    (x,) = tensors(rng, (1, 23, 16))
    with torch.no_grad():
        whole = layer(x)
        states = layer.new_states(1)
        parts = [layer.prefill(x[:, :9], states)] + [layer.step(x[:, i : i + 1], states) for i in range(9, 23)]
    torch.testing.assert_close(torch.cat(parts, 1), whole, rtol=1e-4, atol=1e-5)


def test_the_files_of_specs(rng):
    """The entries of specs/window.mlir, at sizes of the call."""
    q, k, v = qkv_of(rng, 100, d=32, dv=8)
    for entry, mask, window in (("softmax", "causal", None), ("softmax_window", "causal", 10), ("softmax_full", "full", None)):
        sizes = {"d": 32, "dv": 8} | ({"w": window} if window else {})
        o = pt.load(SPECS / "window.mlir", entry, sizes=sizes)(q, k, v)
        rows = softmax_rows(products(q, k) / math.sqrt(32), v, mask=mask, window=window)
        torch.testing.assert_close(o, rows, rtol=1e-5, atol=1e-5)
