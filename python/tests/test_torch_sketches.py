"""PolySketchFormer of any degree, Hedgehog of any width and the gate of Random Feature Attention, by their formulas in f64."""

import copy

import pytest

import polyattn
from polyattn import library

torch = pytest.importorskip("torch")
import polyattn.torch.nn as pn  # noqa: E402

F = torch.nn.functional
WIDTH, HEADS, LENGTH = 48, 3, 37


def numbers(rng, *shape):
    return torch.from_numpy(rng.standard_normal(shape).astype("f4"))


def weights_of(layer):
    """All weights of the attention in f64, gains and shifts no longer where they begin."""
    for name in ("gamma", "beta"):
        if hasattr(layer, name):
            getattr(layer, name).add_(0.1 * torch.randn_like(getattr(layer, name)))
    return {name: value.double() for name, value in [*layer.named_parameters(), *layer.named_buffers()]}


def projected(layer, x):
    """Queries, keys and values [B, heads, T, size] in f64."""
    exact = copy.deepcopy(layer).double()
    return exact, [one.transpose(1, 2) for one in exact.project(x.double())]


def causal(scores, v, divisor):
    scores = scores.tril()
    return scores @ v / divisor(scores.sum(-1, keepdim=True))


def check(layer, x, o):
    exact = copy.deepcopy(layer).double()
    wanted = exact.combine(o.transpose(1, 2), x.double())
    assert (layer(x) - wanted).norm() <= 1e-5 * wanted.norm()


def tree(x, degree, join, path=""):
    """Algorithm 1, PolysketchWithNegativity."""
    if degree == 1:
        return x
    return join(*((tree(x, degree // 2, join, path + side), path + side) for side in "12"))


def rotated(x, freqs):
    """Pairs of neighbouring channels, turned by their position."""
    angles = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] * freqs.double()
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1).flatten(-2)


@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("p, signed", [(4, False), (8, False), (16, False), (2, True), (4, True), (8, True)])
@torch.no_grad()
def test_random_sketches_of_any_degree(p, signed, rotary, rng):
    layer, x = pn.PolySketch(WIDTH, HEADS, r=6, p=p, signed=signed, rotary=rotary), numbers(rng, 2, LENGTH, WIDTH)
    w = weights_of(layer)
    _, (q, k, v) = projected(layer, x)
    q, k = (F.layer_norm(one, one.shape[-1:], w["gamma"], w["beta"]) for one in (q, k))
    if rotary:
        q, k = (rotated(one, layer.freqs) for one in (q, k))
    join = lambda left, right: 6**-0.5 * (left[0] @ w["g" + left[1]]) * (right[0] @ w["g" + right[1]])
    features = [tree(one, p if signed else p // 2, join) for one in (q, k)]
    scores = features[0] @ features[1].mT
    check(layer, x, causal(scores, v, torch.ones_like) if signed else causal(scores**2, v, lambda total: 1 + total))
    assert len([name for name, _ in layer.named_buffers()]) == (2 * p - 2 if signed else p - 2)  # the paper's count


def learned_rows(q, k, v, w, p, local=None, freqs=None):
    """Algorithm 2, with networks of its own at every node, and exact scores inside of blocks."""
    q, k = (F.layer_norm(one, one.shape[-1:], w["gamma"], w["beta"]) for one in (q, k))
    if freqs is not None:
        q, k = (rotated(one, freqs) for one in (q, k))

    def net(y, path):
        for i in (1, 2):
            y = F.layer_norm(y, y.shape[-1:], w[f"gamma{i}_{path}"], w[f"beta{i}_{path}"], eps=1e-6)
            y = F.gelu(y @ w[f"w{2 * i - 1}_{path}"] + w[f"b{2 * i - 1}_{path}"], approximate="tanh")
            y = y @ w[f"w{2 * i}_{path}"] + w[f"b{2 * i}_{path}"]
        return y

    join = lambda left, right: 5**0.5 * torch.tanh(5**-0.5 * net(*left) * net(*right))
    features = [tree(one, p // 2, join) for one in (q, k)]
    scores = (features[0] @ features[1].mT) ** 2
    if local:
        block = torch.arange(q.shape[-2]) // local
        scores = torch.where(block[:, None] == block, (q @ k.mT) ** p, scores)
    return causal(scores, v, lambda total: 1 + total)


@pytest.mark.parametrize("p, rotary, local", [(4, True, None), (8, False, None), (8, True, 8), (16, False, 8)])
@torch.no_grad()
def test_learned_sketches_of_any_degree(p, rotary, local, rng):
    spec = library.polysketch_learned(WIDTH // HEADS, r=5, p=p, local=local, rotary=rotary)
    layer, x = pn.Attention(spec, WIDTH, HEADS), numbers(rng, 2, LENGTH, WIDTH)
    w = weights_of(layer)
    _, qkv = projected(layer, x)
    check(layer, x, learned_rows(*qkv, w, p, local, layer.constant("freqs") if rotary else None))
    assert len({name.split("_")[-1] for name in w if name.startswith("w1_")}) == p - 2  # the paper's count


@pytest.mark.parametrize("p, local", [(4, None), (8, None), (8, 8)])
def test_gradients_of_learned_sketches(p, local, rng):
    """Of all weights of all networks, 74 at p = 8, each summed up by every kernel that reads it."""
    layer, x = pn.Attention(library.polysketch_learned(8, r=5, p=p, local=local), 16, 2), numbers(rng, 2, LENGTH, 16)
    with torch.no_grad():
        weights_of(layer)
    slopes = numbers(rng, *x.shape)

    def gradients_in(dtype):
        """Those of the formulas, by PyTorch."""
        plain, inputs = copy.deepcopy(layer).to(dtype), x.to(dtype)
        qkv = (one.transpose(1, 2) for one in plain.project(inputs))
        rows = learned_rows(*qkv, dict(plain.named_parameters()), p, local)
        plain.combine(rows.transpose(1, 2), inputs).backward(slopes.to(dtype))
        return {name: one.grad for name, one in plain.named_parameters()}

    layer(x).backward(slopes)
    expected, rounded = gradients_in(torch.float64), gradients_in(torch.float32)
    assert len([name for name in expected if "_" in name]) >= 12 * (p - 2)
    for name, mine in layer.named_parameters():
        theirs = expected[name]
        # The norms of the networks are over 5 numbers: where these are nearly equal, f32 loses digits in any order of its sums.
        allowed = max(5e-5 * theirs.norm() + 1e-6 * slopes.norm(), 4 * (rounded[name] - theirs).norm())
        assert (mine.grad - theirs).norm() <= allowed, name


@torch.no_grad()
def test_rotary_sketches_have_positions(rng):
    """A sequence goes on at its position, token by token too. Random sketches are of the rotated vectors, so they depend on the position
    of the first."""
    layer = pn.PolySketch(WIDTH, HEADS, r=8, rotary=True, first_position=True)
    x = numbers(rng, 2, LENGTH, WIDTH)
    wanted = layer(x)
    states = layer.new_states(2)
    found = torch.cat([layer.prefill(x[:, :20], states), *(layer.step(x[:, i : i + 1], states) for i in range(20, LENGTH))], 1)
    assert (found - wanted).norm() <= 1e-4 * wanted.norm()
    assert (layer(x, 1000) - wanted).norm() > 1e-3 * wanted.norm()
    twin = pn.PolySketch(WIDTH, HEADS, r=8)
    twin.load_state_dict(layer.state_dict())
    assert (twin(x) - wanted).norm() > 1e-3 * wanted.norm()


@pytest.mark.parametrize("softmax", [False, True])
@torch.no_grad()
def test_gate_of_random_feature_attention(softmax, rng):
    """Peng et al. 2021, section 3.2: S_t = g_t S_{t-1} + (1 - g_t) phi(k_t) v_t, position by position, and decoding does the same."""
    layer, x = pn.RFF(WIDTH, HEADS, m=64, gated=True, softmax=softmax), numbers(rng, 2, LENGTH, WIDTH) / 2
    torch.nn.init.normal_(layer.gate.bias)  # it begins nearly open
    w, (exact, (q, k, v)) = weights_of(layer)["w"], projected(layer, x)
    g = torch.sigmoid(exact.gate(x.double())).transpose(1, 2)

    def phi(y):
        h = y * y.shape[-1] ** -0.25
        both = torch.cat([(h @ w).cos(), (h @ w).sin()], -1) * 64**-0.5
        return both * (h.square().sum(-1, keepdim=True) / 2).exp() if softmax else both

    state, total, rows = 0, 0, []
    for t in range(LENGTH):
        now, new = g[:, :, t, None, None], phi(k)[:, :, t]
        state = now * state + (1 - now) * new[..., None] * v[:, :, t, None]
        total = now[..., 0] * total + (1 - now[..., 0]) * new
        query = phi(q)[:, :, t]
        z = (query * total).sum(-1, keepdim=True) + 1e-6
        rows.append((query[..., None, :] @ state)[..., 0, :] / (z.sign() * z.abs().clamp_min(1e-4)))
    check(layer, x, torch.stack(rows, 2))
    states, wanted = layer.new_states(2), layer(x)
    found = torch.cat([layer.prefill(x[:, :20], states), *(layer.step(x[:, i : i + 1], states) for i in range(20, LENGTH))], 1)
    assert (found - wanted).norm() <= 1e-4 * wanted.norm()


@pytest.mark.parametrize("form", ["halves", "joint", "exp"])
@torch.no_grad()
def test_hedgehog_of_any_width(form, rng):
    layer, x = pn.Hedgehog(WIDTH, HEADS, m=21, form=form), numbers(rng, 2, LENGTH, WIDTH) / 2
    w, (_, (q, k, v)) = weights_of(layer), projected(layer, x)

    def phi(y, side):
        z = y @ w[f"w_{side}"]
        if form == "joint":
            z = 2 * (z + w[f"b_{side}"][:, None])
            return torch.cat([z, -z], -1).softmax(-1)
        return torch.cat([z.exp(), (-z).exp()], -1) if form == "exp" else torch.cat([z.softmax(-1), (-z).softmax(-1)], -1)

    check(layer, x, causal(phi(q, "q") @ phi(k, "k").mT, v, lambda total: total + 1e-6))
    assert polyattn.compile(library.hedgehog(WIDTH // HEADS, m=21)).describe()["feature_dim"] == 42


@torch.no_grad()
def test_local_blocks_alone(rng):
    """Table 7 of PolySketchFormer: exact scores inside of blocks and none beyond, at once and token by token."""
    layer, x = pn.Polynomial(WIDTH, HEADS, p=4, local=8), numbers(rng, 2, LENGTH, WIDTH)
    w, (_, (q, k, v)) = weights_of(layer), projected(layer, x)
    q, k = (F.layer_norm(one, one.shape[-1:], w["gamma"], w["beta"]) for one in (q, k))
    block = torch.arange(LENGTH) // 8
    scores = (q @ k.mT) ** 4 * (block[:, None] == block)
    check(layer, x, causal(scores, v, lambda total: 1 + total))
    states, wanted = layer.new_states(2), layer(x)
    found = torch.cat([layer.prefill(x[:, :20], states), *(layer.step(x[:, i : i + 1], states) for i in range(20, LENGTH))], 1)
    assert (found - wanted).norm() <= 1e-5 * wanted.norm()


def test_wrong_sketches():
    for make, words in (
        (lambda: library.polysketch(p=6), "p: expected a power of two, at least 4, got 6"),
        (lambda: library.polysketch(p=2), "p: expected a whole number of at least 4, got 2"),
        (lambda: library.polysketch(p=6, signed=True), "p: expected a power of two, at least 2, got 6"),
        (lambda: library.polysketch_learned(p=12), "p: expected a power of two, at least 4, got 12"),
        (lambda: library.polysketch(first_position=True), "first_position: expected False without rotary=True"),
        (lambda: pn.PolySketch(WIDTH, HEADS, learned=True, signed=True), "signed: expected one of False, got True"),
        (lambda: pn.PolySketch(WIDTH, HEADS, learned=True, p=8), "p: expected one of 4, got 8"),
        (lambda: pn.PolySketch(WIDTH, HEADS, hidden=4), "hidden: expected one of None, got 4"),
        (lambda: pn.Hedgehog(WIDTH, HEADS, m=0), r"HeadWeight: expected positive sizes, got \[16, 0\]"),
    ):
        with pytest.raises(polyattn.CallError, match=words):
            make()
