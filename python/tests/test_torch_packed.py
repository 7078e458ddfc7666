"""Sequences one behind the other (`cu_seqlens`): what a call of each gives."""

import pytest
from test_torch_layers import LAYERS

import polyattn
from polyattn import library

torch = pytest.importorskip("torch")
import polyattn.torch as pt  # noqa: E402

# An empty sequence, one token, more than a block.
ENDS = [0, 5, 5, 6, 110]


def packed_and_parts(layer, x, **named):
    packed = layer(x, cu_seqlens=torch.tensor(ENDS), **named)
    return packed, torch.cat([layer(x[:, a:b], **named) for a, b in zip(ENDS, ENDS[1:])], 1)


def round_projections(layer, x):
    """Numbers of so few bits that PyTorch's projections are exact: `x`, and the weights of `layer`.

    PyTorch adds up one row in another order than many. Where a sum of scores is small against its terms, as that of one key may
    be, the attention of other last bits differs by any multiple of them.
    """
    for one in layer.modules():
        if isinstance(one, torch.nn.Linear):
            for numbers in one.parameters(recurse=False):
                numbers.copy_((numbers * 64).round() / 64)
    return (x * 16).round() / 16


@pytest.mark.parametrize("name", LAYERS)
@torch.no_grad()
def test_layers(name, rng):
    layer = LAYERS[name](kv_heads=2)
    x = torch.from_numpy(rng.standard_normal((1, ENDS[-1], 48)).astype("f4"))
    found, wanted = packed_and_parts(layer, round_projections(layer, x))
    assert (found - wanted).norm() <= 1e-6 * wanted.norm()


def test_a_sum_of_scores_that_is_small_against_its_terms(rng):
    """One key almost across its query: every difference in q . k would be seen a thousandfold."""
    attention = pt.load(library.power(d=16))
    q, k, v = (torch.from_numpy(rng.standard_normal((1, ENDS[-1], 2, 16)).astype("f4")) for _ in range(3))
    query, key = q[:, ENDS[2]], k[:, ENDS[2]]
    key -= (key * query).sum(-1, keepdim=True) / query.square().sum(-1, keepdim=True) * query * 0.9995
    found = attention(q, k, v, cu_seqlens=torch.tensor(ENDS))
    wanted = torch.cat([attention(*(x[:, a:b] for x in (q, k, v))) for a, b in zip(ENDS, ENDS[1:])], 1)
    assert (found - wanted).norm() <= 1e-6 * wanted.norm()


@pytest.mark.parametrize("name", ["Linear", "LLoPS", "Based", "Hedgehog"])
def test_gradients(name, rng):
    """Those of all parameters, by one kernel."""
    layer = LAYERS[name](kv_heads=2)
    x = torch.from_numpy(rng.standard_normal((1, ENDS[-1], 48)).astype("f4"))
    found, wanted = packed_and_parts(layer, x)
    parameters = list(layer.parameters())
    factors = torch.randn_like(found)
    gradients = [torch.autograd.grad(o, parameters, factors) for o in (found, wanted)]
    for one, exact in zip(*gradients):
        assert (one - exact).norm() <= 1e-4 * exact.norm()


@torch.no_grad()
def test_positions_are_those_of_each_sequence(rng):
    layer = pt.nn.RetNet(48, 6, first_position=True)
    x = torch.from_numpy(rng.standard_normal((1, ENDS[-1], 48)).astype("f4"))
    first = torch.tensor([3, 9, 0, 1000])
    found = layer(x, first, torch.tensor(ENDS, dtype=torch.int32))
    parts = [layer(x[:, a:b], first[i]) for i, (a, b) in enumerate(zip(ENDS, ENDS[1:]))]
    assert torch.allclose(found, torch.cat(parts, 1), atol=1e-6)


def test_states_and_their_gradients_are_those_of_each_sequence(rng):
    attention = pt.load(library.linear(d=16, states=True))
    q, k, v, s, z = (
        torch.from_numpy(rng.standard_normal(shape).astype("f4")).abs().requires_grad_()
        for shape in (*[(1, ENDS[-1], 2, 16)] * 3, (4, 2, 16, 16), (4, 2, 16))
    )
    found = attention(q, k, v, s, z, cu_seqlens=torch.tensor(ENDS))
    parts = [
        attention(q[:, a:b], k[:, a:b], v[:, a:b], s[i : i + 1], z[i : i + 1])
        for i, (a, b) in enumerate(zip(ENDS, ENDS[1:]))
    ]
    wanted = [torch.cat(one, dim) for one, dim in zip(zip(*parts), (1, 0, 0))]
    factors = [torch.randn_like(one) for one in found]
    gradients = [torch.autograd.grad(x, (q, k, v, s, z), factors) for x in (found, wanted)]
    for one, exact in (*zip(found, wanted), *zip(*gradients)):
        assert (one - exact).norm() <= 1e-6 * exact.norm()


def test_gradients_of_one_decay_for_all_sequences(rng):
    """By one kernel, as those of weights are: they were those of calls one after the other."""
    attention = pt.load(library.linear(d=16, decay="head"))
    q, k, v = (torch.from_numpy(rng.standard_normal((1, ENDS[-1], 2, 16)).astype("f4")) for _ in range(3))
    inputs = [x.requires_grad_() for x in (q, k, v, -0.1 * torch.rand(2))]
    found = attention(*inputs, cu_seqlens=torch.tensor(ENDS))
    assert type(found.grad_fn).__name__ == "_TrainingBackward"
    wanted = torch.cat([attention(*(x[:, a:b] for x in inputs[:3]), inputs[3]) for a, b in zip(ENDS, ENDS[1:])], 1)
    factors = torch.randn_like(found)
    for one, exact in zip(*(torch.autograd.grad(o, inputs, factors) for o in (found, wanted))):
        assert (one - exact).norm() <= 1e-5 * exact.norm()


def test_it_is_one_call(rng, monkeypatch):
    """Not one of each sequence, whose graph would have as many as there are."""
    attention = pt.load(library.linear(d=16))
    step = torch.compile(lambda q, k, v, ends: attention(q, k, v, cu_seqlens=ends), fullgraph=True)
    for ends in (ENDS, [0, 40], [0, 1, 2, 30, 31]):
        q, k, v = (torch.from_numpy(rng.standard_normal((1, ends[-1], 2, 16)).astype("f4")) for _ in range(3))
        inputs = [x.requires_grad_() for x in (q, k, v)]
        ends = torch.tensor(ends)
        found, wanted = step(*inputs, ends), attention(*inputs, cu_seqlens=ends)
        assert torch.equal(found, wanted)
        factors = torch.randn_like(found)
        assert all(map(torch.equal, *(torch.autograd.grad(o, inputs, factors) for o in (found, wanted))))
    handle, ends = attention._packed, torch.tensor(ENDS, dtype=torch.int32)
    inputs = [torch.randn(1, ENDS[-1], 2, 16) for _ in range(3)]
    torch.library.opcheck(torch.ops.polyattn.forward.default, (handle, [*inputs, ends]))
    inputs = [x.requires_grad_() for x in inputs]
    torch.library.opcheck(torch.ops.polyattn.training.default, (handle, 7, [*inputs, ends]))


def test_a_spec_that_has_an_argument_of_that_name():
    """It is packed already, and takes it as its own."""
    text = str(library.linear(d=8)).replace(") -> (", ", %cu_seqlens: tensor<?xi32>) -> (", 1)
    attention = pt.load(text.replace(") {\n", ") packed %cu_seqlens {\n", 1))
    q, k, v = torch.randn(3, 1, 20, 2, 8)
    ends = torch.tensor([0, 7, 20], dtype=torch.int32)
    expected = pt.load(library.linear(d=8))(q, k, v, cu_seqlens=ends)
    assert torch.equal(attention(q, k, v, ends), expected)
    assert torch.equal(attention(q, k, v, cu_seqlens=ends), expected)


@pytest.mark.parametrize(
    "ends, batch, words",
    [
        ([0, 45], 2, "expected tensors of batch 1 with it, got 2"),
        ([0, 9], 1, "'cu_seqlens'.*45"),
        ([1, 45], 1, "'cu_seqlens'"),
        ([0, 30, 20, 45], 1, "'cu_seqlens'"),
        ([0, 2**31 + 45], 1, "'cu_seqlens'"),
        ([0], 1, "expected at least two numbers, got 1"),
        ([[0, 45]], 1, r"expected a tensor of N \+ 1 whole numbers, got torch.int64 \(1, 2\)"),
        ([0.0, 45.0], 1, "whole numbers, got torch.float32"),
        ([False, True], 1, "whole numbers, got torch.bool"),
        ([0j, 45], 1, "whole numbers, got torch.complex64"),
        ([0, 2**32 + 45], 1, "'cu_seqlens': expected the last offset to be T = 45"),
    ],
)
def test_wrong_ends(ends, batch, words):
    attention, packed_by_layer = pt.load(library.linear(d=8)), pt.nn.LLoPS(16, 2, m=8)
    q = torch.randn(batch, 45, 2, 8)
    for requires in (False, True):
        with pytest.raises(polyattn.CallError, match=words):
            attention(q.requires_grad_(requires), q, q, cu_seqlens=torch.tensor(ends))
    with pytest.raises(polyattn.CallError, match=words):
        packed_by_layer(torch.randn(batch, 45, 16), cu_seqlens=torch.tensor(ends))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_offsets_of_every_width(dtype):
    """Also in the functions of other libraries, where 64 bits wrapped to 32: 2^32 + 45 was 45."""
    attention, x = pt.load(library.linear(d=8)), torch.rand(1, 45, 2, 8)
    ends = torch.tensor([0, 7, 45])
    calls = (
        lambda ends: attention(x, x, x, cu_seqlens=ends), lambda ends: pt.ops.chunk_linear_attn(x, x, x, cu_seqlens=ends)[0],
        lambda ends: pt.ops.chunk_retention(x, x, x, cu_seqlens=ends)[0],
    )  # fmt: skip
    for call in calls:
        assert torch.equal(call(ends.to(getattr(torch, dtype))), call(ends))
        if dtype.endswith("64"):
            for wrong in ([0, 2**32 + 45], [0, -(2**32) + 45, 45], [2**32, 45]):
                with pytest.raises(polyattn.CallError, match="'cu_seqlens': expected"):
                    call(torch.tensor(wrong).view(getattr(torch, dtype)))
