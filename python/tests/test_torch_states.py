"""Generation: layers that go on with sequences, whose states are in slots."""

import io

import pytest
from test_torch_layers import LAYERS

import polyattn
from polyattn import library

torch = pytest.importorskip("torch")
import polyattn.torch as pt  # noqa: E402
import polyattn.torch.nn as pn  # noqa: E402



@pytest.fixture(autouse=True)
def inference():
    with torch.no_grad():
        yield


@pytest.mark.parametrize("name", LAYERS)
def test_tokens_one_by_one(name, rng):
    """A prompt of several lengths in a batch, then tokens, are the same as all at once."""
    layer = LAYERS[name](kv_heads=2)
    x = torch.from_numpy(rng.standard_normal((3, 40, 48)).astype("f4"))
    whole = layer(x)
    states = layer.new_states(5)
    for pool in states.pools.values():
        pool.fill_(float("nan"))  # nobody has to clear them
    slots, lengths = torch.tensor([4, 0, 3]), torch.tensor([30, 17, 1])
    first = layer.prefill(x[:, :30], states, slots, lengths)
    assert states.positions.tolist() == [17, 0, 0, 1, 30]
    for i, length in enumerate(lengths):
        assert (first[i, :length] - whole[i, :length]).norm() <= 1e-4 * whole[i, :length].norm()
    for _ in range(10):
        at = states.positions[slots]
        token = layer.step(x[range(3), at].unsqueeze(1), states, slots)
        wanted = whole[range(3), at].unsqueeze(1)
        assert (token - wanted).norm() <= 1e-4 * wanted.norm()


def test_slots(rng):
    """Gathered, put elsewhere, reordered as beams are, saved and loaded."""
    layer = pn.RetNet(48, 6, first_position=True)
    x = torch.from_numpy(rng.standard_normal((2, 21, 48)).astype("f4"))
    whole, states = layer(x), layer.new_states(2)
    layer.prefill(x[:, :20], states)
    file = io.BytesIO()
    torch.save(states.state_dict(), file)
    last = layer.step(x[:, 20:], states)
    assert torch.allclose(last, whole[:, 20:], atol=1e-5)

    file.seek(0)
    states = layer.new_states(2)
    states.load_state_dict(torch.load(file))
    other = layer.new_states(4)
    other.scatter(torch.tensor([3, 1]), states.gather(torch.tensor([0, 1])))
    assert torch.equal(layer.step(x[:, 20:], other, torch.tensor([3, 1])), last)
    states.reorder(torch.tensor([1, 1]))
    assert torch.equal(layer.step(x[[1, 1], 20:], states), last[[1, 1]])


def test_sequences_without_a_slot(rng):
    layer = pn.Linear(48, 6)
    x = torch.from_numpy(rng.standard_normal((3, 9, 48)).astype("f4"))
    states, alone = layer.new_states(2), layer.new_states(2)
    found = layer.prefill(x, states, torch.tensor([1, -1, 0]))
    assert torch.equal(found[[0, 2]], layer.prefill(x[[0, 2]], alone, torch.tensor([1, 0])))
    assert not found[1].any() and states.positions.tolist() == [9, 9]
    assert all(map(torch.equal, states.pools.values(), alone.pools.values()))


def test_a_model(rng):
    """Several layers, in one cache that is saved whole."""
    model = torch.nn.ModuleList([pn.Linear(48, 6), pn.LLoPS(48, 6, m=16), torch.nn.Linear(48, 48)])
    x = torch.from_numpy(rng.standard_normal((2, 12, 48)).astype("f4"))
    cache = pn.StateCache(model, 2)
    for layer in model[:2]:
        layer.prefill(x, cache[layer])
    other = pn.StateCache(model, 2)
    other.load_state_dict(cache.state_dict())
    cache.reorder(torch.tensor([1, 0]))
    for layer in model[:2]:
        assert torch.equal(layer.step(x[:, :1], other[layer]).flip(0), layer.step(x[:, :1].flip(0), cache[layer]))
    cache.reset()
    assert not any(one.positions.any() for one in cache)


def test_in_bf16_and_in_graphs(rng):
    layer = pn.Linear(48, 6)
    x = torch.from_numpy(rng.standard_normal((2, 12, 48)).astype("f4"))
    states, other = layer.new_states(2), layer.new_states(2)
    layer.prefill(x, states)
    expected = layer.step(x[:, :1], states)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        layer.prefill(x, other)
        found = layer.step(x[:, :1], other)
    assert found.dtype == torch.bfloat16 and (found - expected).norm() < 2e-2 * expected.norm()
    compiled, attention = torch.compile(pt._decode.decode, fullgraph=True), layer.attention._handle
    q, k, v = layer.project(x)
    numbers = torch.tensor([1, 0], dtype=torch.int32), torch.tensor([0, 0]), torch.tensor([12, 7], dtype=torch.int32)
    for call in (pt._decode.decode, compiled):
        pools = list(layer.new_states(2).pools.values())
        results = [call(attention, [q, k, v, *numbers], pools), *pools]
        expected = results if call is not compiled else expected
    assert all(map(torch.equal, results, expected))


def test_refusals():
    layer = pn.Linear(48, 6)
    states, x = layer.new_states(2), torch.zeros(2, 3, 48)
    for slots, lengths, words in (
        ([0, 2], None, "slots: expected numbers below 2"),
        ([1, 1], None, "slots"),
        ([0, 1], [3, 4], "lengths"),
        ([0, 1], [-1, 0], "lengths"),
    ):
        with pytest.raises(polyattn.CallError, match=words):
            layer.step(x, states, torch.tensor(slots), None if lengths is None else torch.tensor(lengths))
    assert not states.positions.any() and not any(one.any() for one in states.pools.values())
    with pytest.raises(polyattn.CallError, match="expected those of the same attention, state .6, 8, 8.*got state .3, 16, 16"):
        states.load_state_dict(pn.Linear(48, 3).new_states(2).state_dict())
    with pytest.raises(polyattn.CallError, match="expected 2 slots, got 3"):
        states.load_state_dict(layer.new_states(3).state_dict())
    with torch.enable_grad(), pytest.raises(polyattn.CallError, match="no gradients; expected torch.no_grad"):
        layer.step(x, states)


def test_pools_that_would_be_copied_are_refused():
    """A copy would be updated, and thrown away."""
    layer = pn.Linear(48, 6)
    states = layer.new_states(2)
    name = next(iter(states.pools))
    states.pools[name] = states.pools[name].transpose(-1, -2).contiguous().transpose(-1, -2)
    with pytest.raises(polyattn.CallError, match="updated where they lie: expected the innermost stride 1"):
        layer.step(torch.zeros(2, 1, 48), states)


def test_autograd_sees_that_pools_change():
    """Gradients of what was computed from a pool before would be those of other numbers."""
    layer = pn.Linear(48, 6)
    states = layer.new_states(2)
    layer.prefill(torch.zeros(2, 3, 48), states)
    factor = torch.ones((), requires_grad=True)
    with torch.enable_grad():
        loss = sum((factor * pool).sum() for pool in states.pools.values())
    layer.step(torch.zeros(2, 1, 48), states)
    with torch.enable_grad(), pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_an_attention_without_a_state_is_refused():
    layer = pn.Attention(library.linear(d=8, mask="full"), 48, 6)
    with pytest.raises(polyattn.SpecError):
        layer.new_states(2)
