"""Scores by the distance of positions against formulas written out in PyTorch's f64, rows and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import polyattn
from polyattn import builder as b
from polyattn import library

torch = pytest.importorskip("torch")
pt = pytest.importorskip("polyattn.torch")

from polyattn.torch._eager import Eager  # noqa: E402


def lag_scores(table, queries, keys, *, beyond, two_sided=False):
    """c(i - j) of a table [H, n], as [H, T, Tk]."""
    lag = torch.arange(queries)[:, None] - torch.arange(keys)
    count = table.shape[-1]
    place = lag + count // 2 if two_sided else lag.abs()
    inside = place.clamp(0, count - 1)
    found = table[:, inside]
    return found if beyond == "last" else found * (place == inside)


def attention(scores, v, causal, eps):
    scores = scores.tril() if causal else scores
    o = torch.einsum("bhij,bjhe->bihe", scores, v)
    return o if eps is None else o / (scores.sum(-1) + eps).transpose(1, 2)[..., None]


def by_elu(q, k):
    phi = torch.nn.functional.elu
    return torch.einsum("bihd,bjhd->bhij", phi(q) + 1, phi(k) + 1)


def tensors(rng, *shapes):
    return [torch.tensor(rng.standard_normal(shape)).float() for shape in shapes]


def check_rows_and_gradients(o, rows, found, expected):
    """`o` and the gradients of `found` against rows and gradients of `expected` in f64."""
    slopes = torch.randn_like(rows)
    o.backward(slopes.float())
    rows.backward(slopes)
    torch.testing.assert_close(o.double(), rows, rtol=1e-5, atol=1e-5)
    for mine, theirs in zip(found, expected):
        # Where the denominator cancels what a number of the table does, roundings are left.
        allowed = 2e-5 * theirs.grad.norm() + 1e-6 * slopes.norm()
        assert (mine.grad.double() - theirs.grad).norm() < allowed


@pytest.mark.parametrize("mask", ["causal", "full"])
@pytest.mark.parametrize("beyond", ["last", "zero"])
@pytest.mark.parametrize("distances", [1, 5, 40, 300])
@pytest.mark.parametrize("length", [1, 63, 130])
def test_rows_and_gradients(rng, mask, beyond, distances, length):
    spec = library.relative(16, 24, feature_map="elu", mask=mask, beyond=beyond, distances=distances)
    heads, causal = 3, mask == "causal"
    numbers = distances if causal else 2 * distances - 1
    given = tensors(rng, (2, length, heads, 16), (2, length, heads, 16), (2, length, heads, 24), (heads, numbers))
    found = [x.clone().requires_grad_() for x in given]
    expected = [x.double().requires_grad_() for x in given]
    o = pt.load(spec)(*found)
    q, k, v, table = expected
    scores = lag_scores(table.exp(), length, length, beyond=beyond, two_sided=not causal) * by_elu(q, k)
    rows = attention(scores, v, causal, 1e-6)
    check_rows_and_gradients(o, rows, found, expected)


@pytest.mark.parametrize("of_near", [True, False])
def test_a_table_beside_a_window_that_slides(rng, of_near):
    """The pairs of a window, or those beyond it, have scores by distance; so has the gradient of the table."""

    def body(q, k, v, table):
        c, x, y = b.relative(table, beyond="last", log=True), b.elu_plus_one(q), b.elu_plus_one(k)
        pairs = [(b.tensor(c, x), b.tensor(c, y)), (x, y)]
        near, far = pairs if of_near else pairs[::-1]
        return b.attend(*far, v, normalizer=b.by_sum(1e-3), local=near, block=24, sliding=True)

    arguments = {"q": b.Sequence[8], "k": b.Sequence[8], "v": b.Sequence[5], "table": b.HeadWeight[9]}
    spec = b.attention(body, arguments=arguments)
    given = tensors(rng, (2, 130, 3, 8), (2, 130, 3, 8), (2, 130, 3, 5), (3, 9))
    found = [x.clone().requires_grad_() for x in given]
    expected = [x.double().requires_grad_() for x in given]
    q, k, v, table = expected
    plain = by_elu(q, k)
    scored = lag_scores(table.exp(), 130, 130, beyond="last") * plain
    is_near = torch.arange(130)[:, None] - torch.arange(130) < 24
    rows = attention(torch.where(is_near, scored if of_near else plain, plain if of_near else scored), v, True, 1e-3)
    check_rows_and_gradients(pt.load(spec)(*found), rows, found, expected)


def test_a_table_of_all_heads_and_grouped_heads(rng):
    """One table for all heads, distances on both sides, and keys of fewer heads."""
    spec = library.relative(8, feature_map="squares", distances=20, mask="full", two_sided=False, per_head=False)
    given = tensors(rng, (2, 50, 4, 8), (2, 50, 4, 8), (2, 50, 4, 8), (20,))
    found = [x.clone().requires_grad_() for x in given]
    q, k, v, table = (x.double().requires_grad_() for x in given)
    o = pt.load(spec)(*found)
    scores = lag_scores(table.exp()[None], 50, 50, beyond="last") * torch.einsum("bihd,bjhd->bhij", q, k) ** 2
    rows = attention(scores, v, False, 1e-6)
    o.sum().backward()
    rows.sum().backward()
    torch.testing.assert_close(o.double(), rows, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(found[3].grad.double(), table.grad, rtol=1e-4, atol=1e-4)


def test_sums_and_powers_of_scores_by_distance(rng):
    """Definition 1.1 of Fast RoPE Attention, P(q^T W(i - j) k), for three places of W."""
    places = ((0, 1), (2, 2), (3, 0))
    spec = library.relative_rope(6, 10, places=places, distances=30)
    q, k, v, *tables = given = tensors(rng, (1, 70, 2, 6), (1, 70, 2, 6), (1, 70, 2, 10), *[(2, 30)] * 3)
    o = pt.load(spec)(*given)
    sums = sum(
        lag_scores(table.double(), 70, 70, beyond="zero") * torch.einsum("bih,bjh->bhij", q[..., i].double(), k[..., j].double())
        for table, (i, j) in zip(tables, places)
    )
    first, second, third = (x**2 for x in (1.0134232833691079, 1.0554046585996855, 0.68509215015205138))
    scores = first + second * sums + third * sums**2
    torch.testing.assert_close(o.double(), attention(scores, v.double(), True, 0.0), rtol=1e-4, atol=1e-4)


def covered(distances, mask="causal"):
    """An attention of at most `distances` positions."""
    return library.relative(16, 24, feature_map="elu", mask=mask, beyond="error", distances=distances)


def of_length(rng, length, numbers):
    return tensors(rng, (2, length, 2, 16), (2, length, 2, 16), (2, length, 2, 24), (2, numbers))


@pytest.mark.parametrize("mask", ["causal", "full"])
@pytest.mark.parametrize("distances", [1, 17, 70])
def test_a_table_covers_calls_of_its_length(rng, mask, distances):
    causal = mask == "causal"
    numbers = distances if causal else 2 * distances - 1
    given = of_length(rng, distances, numbers)
    found = [x.clone().requires_grad_() for x in given]
    expected = [x.double().requires_grad_() for x in given]
    spec = covered(distances, mask)
    attend = pt.load(spec)
    q, k, v, table = expected
    scores = lag_scores(table.exp(), distances, distances, beyond="zero", two_sided=not causal) * by_elu(q, k)
    rows = attention(scores, v, causal, 1e-6)
    kernel, reference = polyattn.compile(spec), polyattn.reference(spec)
    arrays = [x.numpy() for x in given]
    np.testing.assert_allclose(kernel(*arrays), rows.detach().numpy(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(reference(*arrays), rows.detach().numpy(), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(Eager(spec, None, attend.signature).direct(*expected), rows)
    check_rows_and_gradients(attend(*found), rows, found, expected)


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_no_way_to_call_takes_more_positions_than_a_table_covers(rng, mask):
    spec, numbers = covered(30, mask), 30 if mask == "causal" else 59
    given = of_length(rng, 31, numbers)
    arrays = [x.numpy() for x in given]
    message = rf"relative: argument 'b': expected T <= 30 with shape \[H, {numbers}\], got T = 31"
    out = np.full((2, 31, 2, 24), 7, "f4")
    with pytest.raises(polyattn.CallError, match=message):
        polyattn.compile(spec)(*arrays, out=out)
    with pytest.raises(polyattn.CallError, match=message):
        polyattn.reference(spec)(*arrays, out=out.astype("f8"))
    assert (out == 7).all()
    attend = pt.load(spec)
    attend(*(x.to("meta") for x in of_length(rng, 30, numbers)))
    # Eager, of shapes alone, and with gradients.
    for tensors_of_call in (
        given, [x.to("meta") for x in given], [x.clone().requires_grad_() for x in given],
        [x.to("meta").requires_grad_() for x in given],
    ):  # fmt: skip
        with pytest.raises(polyattn.CallError, match=message):
            attend(*tensors_of_call)
    with pytest.raises(polyattn.CallError, match=message):
        Eager(spec, None, attend.signature).direct(*given)
    layer = pt.nn.Attention(spec, 48, heads=2)
    assert layer(torch.randn(1, 30, 48)).shape == (1, 30, 48)
    with pytest.raises(polyattn.CallError, match=message):
        layer(torch.randn(1, 31, 48))
    with pytest.raises(polyattn.CallError, match=message):
        layer.to("meta")(torch.empty(1, 31, 48, device="meta"))


def test_a_signature_says_what_limits_sizes():
    (limit,) = polyattn.compile(covered(30)).signature.limits
    assert (limit.size, limit.most, limit.argument) == ("T", 30, "b")
    limits = polyattn.reference(covered(30, "full")).signature.limits
    assert {(one.size, one.most) for one in limits} == {("T", 30), ("Tk", 30)}
    assert polyattn.compile(library.relative(8, feature_map="elu")).signature.limits == ()


def test_keys_are_limited_too(rng):
    q, k, v, table = of_length(rng, 31, 59)
    kernel = polyattn.compile(covered(30, "full"))
    with pytest.raises(polyattn.CallError, match=r"expected Tk <= 30 with shape \[H, 59\], got Tk = 31"):
        kernel(*(x.numpy() for x in (q[:, :7].contiguous(), k, v, table)))


def test_packed_sequences_are_limited_each(rng):
    q, k, v, table = (x[:1] if x.dim() == 4 else x for x in of_length(rng, 60, 30))
    attend = pt.load(covered(30))
    packed = attend(q, k, v, table, cu_seqlens=torch.tensor([0, 30, 30, 60]))
    for part in (slice(0, 30), slice(30, 60)):
        torch.testing.assert_close(packed[:, part], attend(q[:, part], k[:, part], v[:, part], table), rtol=1e-5, atol=1e-6)
    with pytest.raises(polyattn.CallError, match=r"'b': expected T <= 30 with shape \[H, 30\], got T = 31 in sequence 1"):
        attend(q, k, v, table, cu_seqlens=torch.tensor([0, 29, 60]))


@pytest.mark.parametrize("make", [covered, lambda n: library.softmax_attention(16, 24, distances=n, beyond="error")])
def test_covered_sequences_decode_to_the_end_of_the_table(rng, make):
    layer = pt.nn.Attention(make(30), 32, heads=2)
    with torch.no_grad():
        layer.b.uniform_(-1, 1)
        (x,) = tensors(rng, (2, 30, 32))
        rows = layer(x)
        states = layer.new_states(2)
        found = [layer.prefill(x[:, :11], states)]
        found += [layer.step(x[:, i : i + size], states) for i, size in ((11, 1), (12, 9), (21, 8), (29, 1))]
        torch.testing.assert_close(torch.cat(found, 1), rows, rtol=1e-4, atol=1e-5)
        with pytest.raises(polyattn.CallError, match=r"'b': expected T <= 30 with shape \[H, 30\], got T = 31 in batch 0"):
            layer.step(x[:, :1], states)
        assert states.positions.tolist() == [30, 30]


def test_packed_sequences_have_distances_of_their_own(rng):
    spec = library.relative(8, feature_map="elu", distances=10)
    q, k, v, table = tensors(rng, (1, 60, 2, 8), (1, 60, 2, 8), (1, 60, 2, 8), (2, 10))
    attend = pt.load(spec)
    packed = attend(q, k, v, table, cu_seqlens=torch.tensor([0, 25, 25, 60]))
    for begin, end in ((0, 25), (25, 60)):
        part = slice(begin, end)
        torch.testing.assert_close(packed[:, part], attend(q[:, part], k[:, part], v[:, part], table), rtol=1e-5, atol=1e-6)


def test_a_layer_learns_its_table(rng):
    layer = pt.nn.Attention(library.relative(16, feature_map="elu", distances=32), 48, heads=3)
    assert dict(layer.named_parameters())["b"].shape == (3, 32) and bool((layer.b == 1).all())
    (x,) = tensors(rng, (2, 40, 48))
    layer(x).square().mean().backward()
    assert layer.b.grad.abs().sum() > 0
    layer.bfloat16()
    assert layer(x.bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda q, c: b.relative(q, beyond="last"), "relative"),
        (lambda q, c: b.relative(c, beyond="first"), "relative: beyond: expected one of zero, last, error, got 'first'"),
        (lambda q, c: b.exp(b.relative(c, beyond="last")), "takes the features of a score by the distance of positions"),
        (lambda q, c: b.relative(c, beyond="last", two_sided=True), "their number is odd; got 4"),
    ],
)
def test_what_is_no_score_by_distance_is_refused(make, message):
    def body(q, c):
        x = b.tensor(make(q, c), q)
        return b.attend(x, x, q, normalizer=b.none())

    with pytest.raises(ValueError, match=message):
        polyattn.compile(b.attention(body, arguments={"q": b.Sequence[8], "c": b.HeadWeight[4]}))


def test_no_decoding_of_a_sum_without_a_window():
    """A number of the distance beside products: no state has what it adds to the score of each key."""

    def body(q, k, v, c):
        c = b.relative(c, beyond="last")
        return b.attend(b.concat(q, c), b.concat(k, c), v, normalizer=b.none())

    sequences = {name: b.Sequence[8] for name in "qkv"}
    with pytest.raises(ValueError, match="a score by the distance of positions has no features"):
        polyattn.compile(b.attention(body, arguments=sequences | {"c": b.HeadWeight[4]}), direction="decode")


def biased_softmax(window, beyond):
    """Rows of a softmax over the nearest keys, with a bias of the distance."""

    def formula(q, k, v, table):
        lag = torch.arange(q.shape[1])[:, None] - torch.arange(q.shape[1])
        bias = lag_scores(table if table.dim() == 2 else table[None], *lag.shape, beyond=beyond)
        scores = torch.einsum("bihd,bjhd->bhij", q, k) / q.shape[-1] ** 0.5 + bias
        weights = scores.masked_fill((lag < 0) | (lag >= window), -torch.inf).softmax(-1)
        return torch.einsum("bhij,bjhe->bihe", weights, v)

    return formula


def by_table(beyond):
    """Rows of elu + 1 times the numbers of a table that ends, or repeats its last number."""

    def formula(q, k, v, table):
        return attention(lag_scores(table.exp(), *[q.shape[1]] * 2, beyond=beyond) * by_elu(q, k), v, True, 1e-6)

    return formula


@pytest.mark.parametrize("spec, table, formula", [
    (library.softmax_attention(16, 24, window=20, distances=8), (2, 8), biased_softmax(20, "last")),
    (library.softmax_attention(16, 24, window=20, distances=8, beyond="zero"), (2, 8), biased_softmax(20, "zero")),
    (library.softmax_attention(16, 24, window=17, distances=60, per_head=False), (60,), biased_softmax(17, "last")),
    (library.softmax_attention(16, 24, window=2, distances=2), (2, 2), biased_softmax(2, "last")),
    (library.relative(16, 24, feature_map="elu", distances=35, beyond="zero"), (2, 35), by_table("zero")),
    (library.relative(16, 24, feature_map="elu", distances=35), (2, 35), by_table("last")),
    (library.relative(16, 24, feature_map="elu", distances=1), (2, 1), by_table("last")),
], ids=["last", "zero", "one of all heads", "two keys", "ended", "repeated", "one number"])  # fmt: skip
def test_windows_of_distances_decode(rng, spec, table, formula):
    """Prompts, chunks and single tokens of two sequences, of different lengths in one call, beside a batch without a slot."""
    decode = polyattn.compile(spec, direction="decode")
    lengths = np.array([113, 0, 90])
    given = [x.numpy() for x in tensors(rng, (3, 113, 2, 16), (3, 113, 2, 16), (3, 113, 2, 24), table)]
    expected = formula(*(torch.tensor(x).double() for x in given)).numpy()
    *qkv, numbers = given
    given = {argument.name: argument for argument in decode.signature.arguments}
    names = [name for name in given if name.startswith(("state", "window_"))]
    pools = {name: np.full((5, 2, *given[name].shape[2:]), np.nan, "f4") for name in names}
    done = np.zeros(3, int)
    for most in (50, 3, 33, *[1] * 40):
        counts = np.minimum(lengths - done, [most, 0, max(most - 9, 1)])
        # What lies past a batch's positions is never read.
        parts = [np.full((3, most, *x.shape[2:]), np.nan, "f4") for x in qkv]
        for part, x in zip(parts, qkv):
            for batch, (first, count) in enumerate(zip(done, counts)):
                part[batch, :count] = x[batch, first : first + count]
        clauses = {"slots": np.array([3, -1, 0], "i4"), "first_position": done.astype("i8"), "lengths": counts.astype("i4")}
        o, *_ = decode(*parts, numbers, **pools, **clauses)
        for batch in (0, 2):
            wanted = expected[batch, done[batch] : done[batch] + counts[batch]]
            np.testing.assert_allclose(o[batch, : counts[batch]], wanted, rtol=1e-4, atol=1e-5)
            assert not o[batch, counts[batch] :].any()
        assert not o[1].any()
        done += counts
    assert (done == lengths).all()
    assert all(np.isnan(pool[[1, 2, 4]]).all() and np.isfinite(pool[[0, 3]]).all() for pool in pools.values())


@pytest.mark.parametrize("feature_map", ["elu", "squares", "none"])
@pytest.mark.parametrize("coefficients", [(1.0,), (0.4, 0.3, 0.2, 0.1)])
def test_sums_of_exponentials(rng, feature_map, coefficients):
    """Rows of states are those of all pairs."""
    torch.manual_seed(int(rng.integers(2**31)))
    spec = library.exponentials(8, 5, coefficients=coefficients, feature_map=feature_map)
    q, k, v = torch.randn(2, 70, 3, 8), torch.randn(2, 70, 3, 8), torch.randn(2, 70, 3, 5)
    decays = [-0.3 * torch.rand(3) for _ in coefficients]
    found = torch.from_numpy(polyattn.compile(spec)(*(x.numpy() for x in (q, k, v, *decays))))
    lag = torch.arange(70)[:, None] - torch.arange(70)
    x, y = (torch.nn.functional.elu(z.double()) + 1 if feature_map == "elu" else z.double() for z in (q, k))
    scores = torch.einsum("bihd,bjhd->bhij", x, y) ** (2 if feature_map == "squares" else 1)
    kept = sum(a * (g.double()[:, None, None] * lag.clamp(min=0)).exp() for a, g in zip(coefficients, decays))
    scores = scores * kept * (lag >= 0)
    rows = torch.einsum("bhij,bjhd->bihd", scores, v.double())
    if feature_map != "none":
        rows = rows / (scores.sum(-1).transpose(1, 2)[..., None] + 1e-6)
    assert float((found - rows).norm() / rows.norm()) < 1e-5


def test_no_exponentials():
    with pytest.raises(polyattn.CallError, match="coefficients: expected at least one number"):
        library.exponentials(coefficients=())


@pytest.mark.parametrize("length", [1, 15, 110])
@pytest.mark.parametrize("mask", ["causal", "anticausal"])
@pytest.mark.parametrize("where", ["in blocks", "beside blocks", "both"])
def test_gradients_of_tables_with_local_vectors(rng, where, mask, length):
    """A table in the scores of a query's own block, of the other blocks, or of both."""
    block, is_near, is_far = 16, where != "beside blocks", where != "in blocks"

    def body(q, k, v, c):
        score = b.relative(c, beyond="last", log=True)
        near, far = ([b.elu_plus_one(x), b.elu_plus_one(x)] for x in (q, k))
        sides = [
            [b.tensor(score, x) if has_table else x for x, has_table in zip(side, (is_near, is_far))] for side in (near, far)
        ]
        (near_q, far_q), (near_k, far_k) = sides
        return b.attend(far_q, far_k, v, mask=mask, normalizer=b.by_sum(1e-6), local=(near_q, near_k), block=block)

    arguments = {"q": b.Sequence[16], "k": b.Sequence[16], "v": b.Sequence[24], "c": b.HeadWeight[30]}
    given = tensors(rng, (2, length, 3, 16), (2, length, 3, 16), (2, length, 3, 24), (3, 30))
    found = [x.clone().requires_grad_() for x in given]
    q, k, v, c = expected = [x.double().requires_grad_() for x in given]
    o = pt.load(b.attention(body, arguments=arguments))(*found)
    place = torch.arange(length) // block
    own = place[:, None] == place
    has_table = torch.where(own, is_near, is_far)
    factors = torch.where(has_table, lag_scores(c.exp(), length, length, beyond="last"), 1.0)
    scores = factors * by_elu(q, k)
    scores = scores.tril() if mask == "causal" else scores.triu()
    rows = attention(scores, v, False, 1e-6)
    check_rows_and_gradients(o, rows, found, expected)
