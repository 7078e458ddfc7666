"""Layers with positions, far from position 0: by formulas in f64, in training, packed and with states."""

import copy

import pytest

import polyattn

torch = pytest.importorskip("torch")
import polyattn.torch.nn as pn  # noqa: E402
from polyattn.torch.layers.xpos import _SPAN  # noqa: E402

WIDTH, HEADS, D = 16, 2, 8
LAYERS = {
    "RetNet": lambda: pn.RetNet(WIDTH, HEADS, first_position=True),
    "FastRoPE": lambda: pn.FastRoPE(WIDTH, HEADS, p=2, first_position=True),
    "Lightning": lambda: pn.Lightning(WIDTH, HEADS, first_position=True),
    "XPos": lambda: pn.XPos(WIDTH, HEADS),
}
# Beyond f32's whole numbers, and on both sides of 2^31, where XPos also moves its reference.
FAR = (2**24 + 1, 2**31 - 20)


def turned(x, at, freqs, is_interleaved):
    """Rotary positions of x [T, heads, d]; what has no frequency stays."""
    n = len(freqs)
    angle = (at.double()[:, None] * freqs)[:, None]
    x, rest = x[..., : 2 * n], x[..., 2 * n :]
    a, b = (x[..., 0::2], x[..., 1::2]) if is_interleaved else x.chunk(2, -1)
    a, b = a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()
    return torch.cat([torch.stack([a, b], -1).flatten(-2) if is_interleaved else torch.cat([a, b], -1), rest], -1)


def scores_of(layer, q, k, at, rows):
    """[heads, rows, T] of q [rows, heads, d] at positions `at[rows]` and k [T, heads, d] at positions `at`, without the mask."""
    freqs = layer.freqs.double()
    products = lambda q, k: torch.einsum("ihd,jhd->hij", q, k)  # noqa: E731
    rope = lambda q, k, kind: products(turned(q, at[rows], freqs, kind), turned(k, at, freqs, kind))  # noqa: E731
    distance = (at[rows][:, None] - at).clamp(min=0).double()
    if isinstance(layer, pn.RetNet):
        return rope(q, k * D**-0.5, True) * torch.exp(distance * layer.log_decay.double()[:, None, None])
    if isinstance(layer, pn.Lightning):
        unit = lambda x: torch.nn.functional.silu(x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * layer.gain)  # noqa: E731
        return rope(unit(q), unit(k), False) * torch.exp(distance * layer.log_decay.double()[:, None, None])
    if isinstance(layer, pn.FastRoPE):
        s = rope(q, k, True) * D**-0.5
        return sum(root**2 * s**i for i, root in enumerate(polyattn.library.polynomials._EXP[2]))
    zeta = (2 * torch.arange(D // 2).double() + 0.4 * D) / (1.4 * D)
    scores = 0
    for i in range(D // 2):  # a pair of channels at a time
        pair = [i, i + D // 2]
        own = products(turned(q[..., pair], at[rows], freqs[[i]], False), turned(k[..., pair], at, freqs[[i]], False))
        scores = scores + own * zeta[i] ** (distance / 512)
    return scores


def by_formula(layer, x, first=0, last=None):
    """The last rows of the layer of one sequence [T, width] in f64, from queries to results."""
    exact = copy.deepcopy(layer).double()
    x = x.double()
    at, rows = first + torch.arange(len(x)), slice(0 if last is None else len(x) - last, None)
    q, k, v = (one(x).unflatten(-1, (HEADS, -1)) for one in (exact.q_proj, exact.k_proj, exact.v_proj))
    scores = scores_of(exact, q[rows], k, at, rows)
    scores = scores.masked_fill(at > at[rows][:, None], 0)
    if isinstance(layer, pn.FastRoPE):
        scores = scores / scores.sum(-1, keepdim=True)
    o = torch.einsum("hij,jhd->ihd", scores, v)
    return exact.combine(o, x[rows])


def near(found, wanted, tolerance=1e-4):
    return (found.double() - wanted).norm() <= tolerance * wanted.norm()


def numbers(rng, *shape):
    return torch.from_numpy(rng.standard_normal(shape).astype("f4"))


@pytest.mark.parametrize("first", FAR)
@pytest.mark.parametrize("name", ["RetNet", "FastRoPE", "Lightning"])
def test_training_far_from_zero(name, first, rng):
    """Alone with gradients, and packed, each sequence from its own position on."""
    layer, x = LAYERS[name](), numbers(rng, 50, WIDTH).requires_grad_()
    y, wanted = layer(x[None], first)[0], by_formula(layer, x, first)
    assert near(y, wanted)
    weights = numbers(rng, 50, WIDTH)
    found, expected = (torch.autograd.grad((one * weights).sum(), x)[0] for one in (y, wanted))
    assert near(found, expected.double())
    ends, firsts = torch.tensor([0, 20, 20, 50]), torch.tensor([first, 5, 3])
    packed = layer(x[None], firsts, cu_seqlens=ends)[0]
    assert near(packed[:20], by_formula(layer, x[:20], first)) and near(packed[20:], by_formula(layer, x[20:], 3))


@pytest.mark.parametrize("first", FAR)
@pytest.mark.parametrize("name", LAYERS)
@torch.no_grad()
def test_states_far_from_zero(name, first, rng):
    """A sequence of whose past nothing is left goes on there, token by token and by several."""
    layer, x = LAYERS[name](), numbers(rng, 40, WIDTH)
    states = layer.new_states(3)
    states.positions[1] = first
    slot = torch.tensor([1])
    pieces = [layer.step(one[None], states, slot)[0] for one in x.split([1, 1, 30, 1, 7])]
    assert near(torch.cat(pieces), by_formula(layer, x, first))
    assert states.positions.tolist() == [0, first + 40, 0]


def test_xpos_of_40000_positions(rng):
    """zeta^t and zeta^-t would leave f32 after 36,000."""
    layer, x = pn.XPos(WIDTH, HEADS), numbers(rng, 40_000, WIDTH).requires_grad_()
    y, wanted = layer(x[None])[0], by_formula(layer, x, last=40)
    assert y.isfinite().all() and near(y[-40:], wanted)
    weights = numbers(rng, 40, WIDTH)
    found, expected = (torch.autograd.grad((one * weights).sum(), x)[0] for one in (y[-40:], wanted))
    assert near(found, expected.double())


@torch.no_grad()
def test_xpos_in_batches_and_packed(rng):
    """Sequences of one segment and of several; what follows the first segment begins with its state."""
    layer, lengths = pn.XPos(WIDTH, HEADS), [_SPAN + 1, 0, 7, 3 * _SPAN, _SPAN]
    ends = torch.tensor([0, *lengths]).cumsum(0)
    x = numbers(rng, int(ends[-1]), WIDTH)
    packed = layer(x[None], cu_seqlens=ends)[0]
    for begin, end in zip(ends[:-1], ends[1:]):
        if begin < end:
            assert near(packed[begin:end][-9:], by_formula(layer, x[begin:end], last=min(9, int(end - begin))))
    batch = x[: 2 * (_SPAN + 40)].unflatten(0, (2, -1))
    for one, y in zip(batch, layer(batch)):
        assert near(y[-50:], by_formula(layer, one, last=50))
    for wrong in ([0, 10, 5, len(x)], [0, 3000], [1, len(x)]):
        with pytest.raises(polyattn.CallError, match="cu_seqlens"):
            layer(x[None], cu_seqlens=torch.tensor(wrong))


@torch.no_grad()
def test_xpos_goes_on_for_long(rng):
    """A long prompt of several lengths, then tokens over the next segment's begin; and slots that change places."""
    layer, x = pn.XPos(WIDTH, HEADS), numbers(rng, 2, 2 * _SPAN + 30, WIDTH)
    states, slots, lengths = layer.new_states(3), torch.tensor([2, 0]), torch.tensor([2 * _SPAN - 3, 100])
    states.positions.fill_(12345)  # of sequences that were there before
    first = layer.prefill(x[:, : 2 * _SPAN - 3], states, slots, lengths)
    assert near(first[0, -5:], by_formula(layer, x[0, : 2 * _SPAN - 3], last=5))
    assert near(first[1, :100], by_formula(layer, x[1, :100])) and not first[1, 100:].any()
    states.reorder(torch.tensor([2, 1, 0]))
    for i in range(6):
        token = layer.step(x[:1, 2 * _SPAN - 3 + i][None], states, torch.tensor([0]))
    assert near(token[0], by_formula(layer, x[0, : 2 * _SPAN + 3], last=1))
    with pytest.raises(polyattn.CallError, match="lengths: expected numbers from 0 to T = 4126"):
        layer.prefill(x, states, slots, torch.tensor([1, 5000]))


@torch.no_grad()
def test_xpos_in_float16(rng):
    """Lengths of a table from position 0 leave float16 after 4,500 positions."""
    layer, x = pn.XPos(WIDTH, HEADS), numbers(rng, 6000, WIDTH)
    wanted = by_formula(layer, x, last=20)
    assert near(copy.deepcopy(layer).half()(x[None].half())[0, -20:], wanted, 2e-2)




@torch.no_grad()
def test_local_blocks_far_from_zero(rng):
    """Blocks are counted from position 0; only where in its block a sequence is may count."""
    layer, x = pn.PolySketch(WIDTH, HEADS, r=8, local=32), numbers(rng, 1, 70, WIDTH)
    results = []
    for first in (32 * 5 - 20, 2**31 - 20):
        states = layer.new_states(2)
        states.positions[1] = first
        results.append(torch.cat([layer.step(one, states, torch.tensor([1])) for one in x.split([1, 40, 1, 28], 1)], 1))
    assert results[0].any() and torch.equal(*results)
