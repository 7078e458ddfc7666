"""polyattn.torch.nn: layers around attentions."""

import copy

import numpy as np
import pytest

import polyattn
from polyattn import library

torch = pytest.importorskip("torch")
import polyattn.torch.nn as pn  # noqa: E402


LAYERS = {
    "Linear": lambda **kw: pn.Linear(48, 6, **kw),
    "DPFP": lambda **kw: pn.DPFP(48, 6, **kw),
    "FLatten": lambda **kw: pn.FLatten(48, 6, **kw),
    "LLoPS": lambda **kw: pn.LLoPS(48, 6, m=16, **kw),
    "LLoPS of rank 2": lambda **kw: pn.LLoPS(48, 6, m=16, rank=2, squared=True, **kw),
    "LLoPS of each head": lambda **kw: pn.LLoPS(48, 6, m=16, per_head=True, **kw),
    "Power": lambda **kw: pn.Power(48, 6, **kw),
    "gated Power": lambda **kw: pn.Power(48, 6, gated=True, **kw),
    "Polynomial": lambda **kw: pn.Polynomial(48, 6, **kw),
    "local Polynomial": lambda **kw: pn.Polynomial(48, 6, p=4, local=8, **kw),
    "Based": lambda **kw: pn.Based(48, 6, r=4, **kw),
    "ReBased": lambda **kw: pn.ReBased(48, 6, **kw),
    "PolySketch": lambda **kw: pn.PolySketch(48, 6, r=8, **kw),
    "learned PolySketch": lambda **kw: pn.PolySketch(48, 6, r=8, learned=True, **kw),
    "PolySketch of degree 16": lambda **kw: pn.PolySketch(48, 6, r=4, p=16, **kw),
    "rotary learned PolySketch": lambda **kw: pn.PolySketch(48, 6, r=8, learned=True, local=8, rotary=True, **kw),
    "ElementwisePower": lambda **kw: pn.ElementwisePower(48, 6, m=16, **kw),
    "Performer": lambda **kw: pn.Performer(48, 6, m=20, **kw),
    "RFF": lambda **kw: pn.RFF(48, 6, m=1024, **kw),
    "gated RFF": lambda **kw: pn.RFF(48, 6, m=1024, gated=True, **kw),
    "Hedgehog": lambda **kw: pn.Hedgehog(48, 6, **kw),
    "joint Hedgehog": lambda **kw: pn.Hedgehog(48, 6, form="joint", **kw),
    "wide Hedgehog": lambda **kw: pn.Hedgehog(48, 6, m=20, **kw),
    "FastRoPE": lambda **kw: pn.FastRoPE(48, 6, p=2, **kw),
    "Lightning": lambda **kw: pn.Lightning(48, 6, **kw),
    "XPos": lambda **kw: pn.XPos(48, 6, **kw),
    "RetNet": lambda **kw: pn.RetNet(48, 6, **kw),
}


def by_definition(layer, x):
    """The layer without its kernel: the oracle between the same projections."""
    spec, entry, _ = layer.attention._source
    reference = polyattn.reference(spec, entry)
    exact = copy.deepcopy(layer)

    def attend(*tensors, cu_seqlens=None):
        assert cu_seqlens is None
        return torch.from_numpy(reference(*(t.numpy() for t in tensors))).float()

    exact.attention = attend
    exact.attention.signature = layer.attention.signature
    return exact(x)


@pytest.mark.parametrize("kv_heads", [6, 2])
@pytest.mark.parametrize("name", LAYERS)
@torch.no_grad()
def test_layers(name, kv_heads, rng):
    layer = LAYERS[name](kv_heads=kv_heads)
    x = torch.from_numpy(rng.standard_normal((2, 29, 48)).astype("f4"))
    y, exact = layer(x), by_definition(layer, x)
    assert y.shape == x.shape and y.isfinite().all()
    assert (y - exact).norm() <= 1e-4 * exact.norm()
    again = copy.deepcopy(layer)
    again.load_state_dict(layer.state_dict())
    assert torch.equal(again(x), y)
    assert {x.numel() for x in layer.k_proj.parameters()} == {layer.k_proj.out_features * 48}


@torch.no_grad()
def test_any_spec(rng):
    x = torch.from_numpy(rng.standard_normal((2, 29, 48)).astype("f4"))
    layer = pn.Attention(library.fpa(d=16, dv=8, widths=(4, 6)), 48, 3, bias=True)
    assert sorted(dict(layer.named_parameters())) == sorted(
        [f"{one}_proj.{kind}" for one in "qkvo" for kind in ("weight", "bias")] + ["w1", "w2"]
    )
    exact = by_definition(layer, x)
    assert (layer(x) - exact).norm() <= 1e-4 * exact.norm()


def pola_former(**options):
    """With scales and exponents that were learned."""
    layer = pn.PolaFormer(48, 6, **options)
    for one in (layer.w, layer.scale):
        torch.nn.init.normal_(one)
    return layer


@torch.no_grad()
def test_pola_former(rng):
    """By the paper's code: softplus of a scale, relu(x)^(1 + 4 sigmoid w) of either sign, both halves over their own sums, a gate."""
    layer, x = pola_former(), torch.from_numpy(rng.standard_normal((2, 29, 48)).astype("f4"))
    exact = copy.deepcopy(layer).double()
    q, k, v = (one(x.double()).unflatten(-1, (6, 8)).transpose(1, 2) for one in (exact.q_proj, exact.k_proj, exact.v_proj))
    factor, power = (one[:, None] for one in (torch.nn.functional.softplus(exact.scale), 1 + 4 * exact.w.sigmoid()))
    (q_plus, q_minus), (k_plus, k_minus) = ([(s * one / factor).relu() ** power for s in (1, -1)] for one in (q, k))
    key, halves = torch.cat([k_plus, k_minus], -1).transpose(-1, -2), []
    for query, value in zip(([q_plus, q_minus], [q_minus, q_plus]), v.chunk(2, -1)):
        scores = torch.cat(query, -1) @ key
        halves.append(scores @ value / 29 / (scores.mean(-1, keepdim=True) + 1e-6))
    o = torch.cat(halves, -1).transpose(1, 2).flatten(-2)
    wanted = exact.o_proj(o * exact.g_proj(x.double()))
    assert (layer(x) - wanted).norm() <= 1e-4 * wanted.norm()
    assert (layer(x) - by_definition(layer, x)).norm() <= 1e-4 * wanted.norm()
    packed = layer(x.flatten(0, 1)[None], cu_seqlens=torch.tensor([0, 29, 58]))
    assert (packed.unflatten(1, (2, 29))[0] - layer(x)).norm() <= 1e-5 * wanted.norm()


@torch.no_grad()
def test_wrong_pola_formers():
    with pytest.raises(polyattn.CallError, match="kv_heads: expected 6, as many as heads"):
        pn.PolaFormer(48, 6, 2)
    with pytest.raises(polyattn.SpecError, match="does not decode with this mask"):
        pn.PolaFormer(48, 6).new_states(3)


@pytest.mark.parametrize("kind", [pn.RetNet, pn.FastRoPE, pn.Lightning])
@torch.no_grad()
def test_first_position(kind, rng):
    """Scores have differences of positions only, so all may be shifted; each sequence of a batch by its own."""
    layer = kind(48, 6, first_position=True)
    x = torch.from_numpy(rng.standard_normal((2, 29, 48)).astype("f4"))
    expected = layer(x)
    assert torch.allclose(expected, kind_without(kind, layer)(x), atol=1e-6)
    for first in (5, torch.tensor([0, 7])):
        assert (layer(x, first) - expected).norm() <= 1e-4 * expected.norm()


def kind_without(kind, layer):
    other = kind(48, 6)
    other.load_state_dict(layer.state_dict())
    return other


@torch.no_grad()
def test_papers_beginnings():
    layer = pn.Performer(64, 1, m=100)
    first = layer.w[:, :64] / layer.w[:, :64].norm(dim=0)
    assert torch.allclose(first.T @ first, torch.eye(64), atol=1e-5)
    assert not list(p for name, p in layer.named_parameters() if "proj" not in name)
    assert torch.equal(pn.Hedgehog(32, 2).w_q[1], torch.eye(16))
    retnet, limit = pn.RetNet(64, 4), 3**0.5 * 2**-2.5 / 8  # of Xavier's uniform distribution
    assert all(0.9 * limit < one.weight.abs().max() <= limit for one in (retnet.q_proj, retnet.v_proj, retnet.g_proj))
    assert 0.9 * limit < retnet.o_proj.weight.abs().max() / 2**1.5 <= limit
    assert torch.allclose(pn.RetNet(32, 2).log_decay.exp(), torch.tensor([1 - 1 / 32, 1 - 1 / 64]))


@torch.no_grad()
def test_a_sketch_begins_at_what_it_sketches():
    for p, rank in ((2, 1), (3, 2)):
        layer = pn.LLoPS(16, 1, m=60_000, p=p, rank=rank)
        q, k = torch.randn(2, 16) / 4
        q = q + k # so that <q, k> is not small

        def features(x, side):
            names = [[f"theta_{side}{i + 1}{r + 1 if rank > 1 else ''}" for i in range(p)] for r in range(rank)]
            return torch.cat([torch.stack([x @ getattr(layer, n) for n in group]).prod(0) for group in names])

        found, wanted = features(q, "q") @ features(k, "k"), (q @ k / 16) ** p
        assert abs(found - wanted) < 0.1 * (q.norm() * k.norm() / 16) ** p


@pytest.mark.parametrize("options", [{}, {"p": 3, "m": 40}, {"p": 4}])
@pytest.mark.parametrize("per_head", [True, False])
def test_llops_begins_as_based(per_head, options, rng):
    """LLoPS, section 4.2: scores, and so results, are BASED's, in any degree; and every weight has a gradient."""
    based = pn.Based(48, 6, 2, r=4, per_head=per_head, head_dim=10, value_dim=7)
    layer = pn.LLoPS.from_based(based, **options)
    x = torch.from_numpy(rng.standard_normal((2, 29, 48)).astype("f4"))
    with torch.no_grad():
        wanted = based(x)
        assert (layer(x) - wanted).norm() <= 1e-5 * wanted.norm()
        states, begun = layer.new_states(2), based.new_states(2)
        for call, part in (("prefill", x[:, :20]), ("step", x[:, 20:])):
            wanted = getattr(based, call)(part, begun)
            assert (getattr(layer, call)(part, states) - wanted).norm() <= 1e-5 * wanted.norm()

        # The scores by the formula 1 + s + s^2 / 2 in f64.
        exact, begun = (copy.deepcopy(one).double() for one in (layer, based))
        q, k = (one(x.double()).unflatten(-1, (count, -1)) for one, count in ((exact.q_proj, 6), (exact.k_proj, 2)))
        kernel = [torch.stack([y @ getattr(exact, f"theta_{side}{i + 1}") if not per_head else torch.einsum(
            "bthd,hdm->bthm", y, getattr(exact, f"theta_{side}{i + 1}")) for i in range(exact._options["p"])]).prod(0)
            for side, y in (("q", q), ("k", k))]  # fmt: skip
        found = torch.einsum("bthm,bshm->bhts", kernel[0], kernel[1].repeat_interleave(3, 2))
        q, k = (one(x.double()).unflatten(-1, (count, -1)) for one, count in ((begun.q_proj, 6), (begun.k_proj, 2)))
        h = [torch.einsum("bthd,hdr->bthr", y, w if per_head else w.expand(y.shape[2], -1, -1))
             for y, w in ((q, begun.w_q), (k, begun.w_k))]  # fmt: skip
        s = torch.einsum("bthr,bshr->bhts", h[0], h[1].repeat_interleave(3, 2)) / 2  # the root of r = 4
        assert torch.allclose(found, 1 + s + s**2 / 2, rtol=1e-6, atol=1e-6)
    layer(x).square().sum().backward()
    learned = [one for one in layer.parameters() if one.grad is not None and one.grad.any()]
    assert len(learned) == len(list(layer.parameters()))


def test_llops_begins_as_based_refuses():
    based = pn.Based(48, 6, r=4)
    for make, words in (
        (lambda: pn.LLoPS.from_based(pn.Linear(48, 6)), "based: expected a polyattn.torch.nn.Based, got Linear"),
        (lambda: pn.LLoPS.from_based(based, p=1), "p: expected a whole number of at least 2, got 1"),
        (lambda: pn.LLoPS.from_based(based, m=14), "m: expected a whole number of at least 15, got 14"),
        (lambda: pn.LLoPS(48, 6, squared=True, eps=1e-6), "llops: eps is offered without the square and the full mask only"),
        (lambda: pn.LLoPS(48, 6, mask="full", eps=1e-6), "llops: eps is offered without the square and the full mask only"),
        (lambda: library.llops(states=True, eps=1e-6), "llops: states are offered without a normalizer only"),
    ):
        with pytest.raises(polyattn.CallError, match=words):
            make()


@torch.no_grad()
def test_torch_compile_of_a_layer(rng):
    layer = pn.RetNet(48, 6, kv_heads=2, first_position=True)
    compiled = torch.compile(layer, fullgraph=True)
    for length in (29, 40):
        x = torch.from_numpy(rng.standard_normal((2, length, 48)).astype("f4"))
        assert torch.allclose(compiled(x, 3), layer(x, 3), atol=1e-6)


def test_wrong_layers():
    for make, words in (
        (lambda: pn.Linear(48, 6, 4), "kv_heads: expected a divisor of 6 heads, got 4"),
        (lambda: pn.FPA(48, 3, 1), "kv_heads: expected 3, as many as heads"),
        (lambda: pn.Attention(library.linear(d=8, states=True), 48, 6), "argument 'state': expected a spec without states"),
        (lambda: pn.Linear(48, 6)(torch.zeros(1, 1, 48), 3), "first_position: expected none"),
        (lambda: pn.Linear(64, 5), "heads: expected a divisor of the width 64, or head_dim given, got 5 heads"),
        (lambda: pn.FastRoPE(64, 5), "heads: expected a divisor of the width 64, or value_dim given, got 5 heads"),
        (lambda: pn.Linear(48, 0), "heads: expected a whole number of at least 1, got 0"),
        (lambda: pn.Linear(48, 6.0), "heads: expected a whole number of at least 1, got 6.0"),
        (lambda: pn.Linear(48, True), "heads: expected a whole number of at least 1, got True"),
        (lambda: pn.Linear("48", 6), "width: expected a whole number of at least 1, got '48'"),
        (lambda: pn.Linear(48, 6, 0), "kv_heads: expected a whole number of at least 1, got 0"),
        (lambda: pn.Linear(48, 6, 2.0), "kv_heads: expected a whole number of at least 1, got 2.0"),
        (lambda: pn.Linear(48, 6, head_dim=0), "head_dim: expected a whole number of at least 1, got 0"),
        (lambda: pn.Linear(48, 6, value_dim=8.5), "value_dim: expected a whole number of at least 1, got 8.5"),
        (lambda: pn.Attention(library.linear(d=8), 48, 0), "heads: expected a whole number of at least 1, got 0"),
    ):
        with pytest.raises(polyattn.CallError, match=words):
            make()
    assert pn.Linear(np.int64(48), np.int32(6), np.int64(2)).k_proj.out_features == 16
    assert pn.Linear(64, 5, head_dim=12, value_dim=8).o_proj.in_features == 40


@torch.no_grad()
def test_first_position_is_a_whole_number(rng):
    """1.7 was 1, and a mask an error of expand()."""
    layer = pn.RetNet(48, 6, first_position=True)
    x = torch.from_numpy(rng.standard_normal((2, 5, 48)).astype("f4"))
    wanted = layer(x, 7)
    for given in (np.int64(7), torch.tensor(7), torch.tensor([7, 7], dtype=torch.int32), [7, 7], np.array([7, 7], np.uint8)):
        assert torch.equal(layer(x, given), wanted)
    for given in (
        1.7, True, "1", 1j, [1.0, 2.0], [1, 2, 3], torch.ones(2, 5), torch.tensor([[1], [2]]), torch.tensor([True, False]),
        np.array([1.0]), 2**70, object(),
    ):  # fmt: skip
        with pytest.raises(polyattn.CallError, match="first_position: expected a whole number, or 2 of them, one for each sequence"):
            layer(x, given)
    for given in (-1, 2**62, np.array([2**63 + 5, 0], np.uint64)):
        with pytest.raises(polyattn.CallError, match="'first_position'"):
            layer(x, given)


def test_first_position_is_on_the_device_of_x():
    """It was in the processor's memory, wherever x was."""
    layer = pn.RetNet(48, 6, first_position=True).to("meta")
    x = torch.zeros(2, 5, 48, device="meta")
    for given in (None, 7, [0, 7], torch.zeros(2, dtype=torch.int64, device="meta"), torch.zeros(2, dtype=torch.int64)):
        assert layer(x, given).shape == x.shape


@pytest.mark.parametrize("name", [*LAYERS, "PolaFormer"])
def test_shapes_alone_with_gradients(name):
    """On the device meta, where PyTorch has no autocast: calls with gradients wanted were errors of PyTorch."""
    make = {**LAYERS, "PolaFormer": lambda: pola_former()}[name]
    layer = make().to("meta")
    x = torch.zeros(2, 5, 48, device="meta", requires_grad=True)
    y = layer(x)
    assert y.is_meta and y.shape == x.shape and y.requires_grad
    y.sum().backward()
    for one in (x, *layer.parameters()):
        assert one.grad.is_meta and one.grad.shape == one.shape
    with torch.no_grad():
        assert layer(x).shape == x.shape
        if name != "PolaFormer":
            states = layer.new_states(3)
            for slots in (None, [2, -1], torch.zeros(2, dtype=torch.int64, device="meta")):
                assert layer.prefill(x, states, slots).shape == layer.step(x, states, slots).shape == x.shape


@torch.no_grad()
def test_flatten_of_vision(rng):
    """A vector of an unknown name is a weight as any other; the table of positions is a subclass's."""

    class Vision(pn.Attention):
        def __init__(self):
            super().__init__(library.flatten_vision(d=8), 48, 6)
            self.table = torch.nn.Parameter(torch.randn(29, 6, 8))

        def of_call(self, name, *others):
            return self.table if name == "position" else super().of_call(name, *others)

    layer, x = Vision(), torch.from_numpy(rng.standard_normal((2, 29, 48)).astype("f4"))
    torch.nn.init.normal_(layer.s)
    exact = copy.deepcopy(layer).double()
    q, k, v = (one(x.double()).unflatten(-1, (6, 8)) for one in (exact.q_proj, exact.k_proj, exact.v_proj))

    def focused(x):
        r = (x.relu() + 1e-6) / torch.nn.functional.softplus(exact.s)
        return r**3 * r.norm(dim=-1, keepdim=True) / (r**3).norm(dim=-1, keepdim=True)

    query, key = (focused(one).transpose(1, 2) for one in (q, k + exact.table))
    scores = query @ key.transpose(-1, -2)
    o = scores @ v.transpose(1, 2) / 29 / (scores.mean(-1, keepdim=True) + 1e-6)
    wanted = exact.o_proj(o.transpose(1, 2).flatten(-2))
    assert (layer(x) - wanted).norm() <= 1e-4 * wanted.norm()


def check_gradients(attention, inputs, rng):
    """The gradients of f32 kernels against differences of the oracle, which computes in f64, along a random direction of each input."""
    reference = polyattn.reference(*attention._source[:2])
    factors = torch.from_numpy(rng.standard_normal(attention(*inputs).shape))
    (attention(*inputs) * factors).sum().backward()
    exact = [one.detach().double().numpy() for one in inputs]
    for i, one in enumerate(inputs):
        if not one.requires_grad:
            continue
        direction, step = rng.standard_normal(one.shape), 1e-6
        above, below = (reference(*exact[:i], exact[i] + by * direction, *exact[i + 1 :]) for by in (step, -step))
        slope = ((above - below) * factors.numpy()).sum() / (2 * step)
        found, size = (one.grad.double().numpy() * direction).sum(), one.grad.double().norm().item()
        assert abs(found - slope) <= 1e-4 * max(abs(slope), size), attention.signature.arguments[i].name


@pytest.mark.parametrize("name", [*LAYERS, "PolaFormer"])
def test_operators_of_all_families(name, rng):
    """PyTorch's own checks of an operator, and the gradients of the attention."""
    layer = pn.PolaFormer(48, 6) if name == "PolaFormer" else LAYERS[name]()
    attention, seen = layer.attention, []

    def watch(*tensors, **named):
        seen.append(tensors)
        return attention(*tensors, **named)

    layer.attention, watch.signature = watch, attention.signature
    layer(torch.from_numpy(rng.standard_normal((1, 6, 48)).astype("f4")))
    # The sum of a row's scores would vanish where its query is orthogonal to few keys: no gradient in f32 has digits then.
    tensors = (seen[0][1], *seen[0][1:])
    inputs = [
        one.detach().clone().requires_grad_(i < 3 or isinstance(getattr(layer, about.name, None), torch.nn.Parameter))
        for i, (about, one) in enumerate(zip(attention.signature.arguments, tensors))
    ]
    check_gradients(attention, inputs, rng)
    handle, wrt = attention._handle, sum(1 << i for i, one in enumerate(inputs) if one.requires_grad)
    torch.library.opcheck(torch.ops.polyattn.training.default, (handle, wrt, inputs))


@pytest.mark.parametrize("x, got", [(torch.zeros(10, 48), r"shape \(10, 48\)"), (torch.zeros(2, 10, 47), r"shape \(2, 10, 47\)"), (3, "int")])
def test_input_of_another_shape_is_refused(x, got):
    layer = pn.Linear(48, heads=3)
    with pytest.raises(polyattn.CallError, match=r"Linear: x: expected a tensor \[B, T, 48\], got " + got):
        layer(x)
