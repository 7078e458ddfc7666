"""Generation: layers that go on with sequences, whose states are in slots."""

import copy
import io
import pickle

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


def test_a_layer_in_several_places(rng):
    """One state would be that of both. Each place has its own, by its name."""
    layer, other = pn.RetNet(48, 6, first_position=True), pn.Linear(48, 6)
    model = torch.nn.Sequential(layer, other, layer)
    x = torch.from_numpy(rng.standard_normal((2, 12, 48)).astype("f4"))
    cache, found = pn.StateCache(model, 2), []
    for at in (slice(9), slice(9, 12)):
        y = x[:, at]
        for name, one in (("0", layer), ("1", other), ("2", layer)):
            y = one.step(y, cache[name])
        found.append(y)
    wanted = model(x)
    assert (torch.cat(found, 1) - wanted).norm() <= 1e-4 * wanted.norm()
    assert cache[other] is cache["1"]
    with pytest.raises(polyattn.CallError, match="the model has this RetNet in several, each with states of its own: 0, 2"):
        cache[layer]
    with pytest.raises(polyattn.CallError, match="or a name of 0, 2, 1, got '3'"):
        cache["3"]
    with pytest.raises(polyattn.CallError, match="got another Linear"):
        cache[pn.Linear(48, 6)]


@pytest.mark.parametrize("calls", [(0, 0, 1, 2), (0, 1, 1, 2), (0, 1, 2, 2), (0, 0)])
def test_a_layer_that_is_called_twice_in_one_place(calls, rng):
    """Its one state would go over the words twice. The first pass cannot tell it from a prompt in parts; a later one does."""
    model = torch.nn.ModuleList(pn.Linear(48, 6) for _ in range(3)).requires_grad_(False)
    x = torch.from_numpy(rng.standard_normal((2, 12, 48)).astype("f4"))

    def through(x, states):
        for i, one in zip(calls, states):
            x = model[i].step(x, one)
        return x

    if len(set(calls)) > 1:
        cache = pn.StateCache(model, 2)
        through(x[:, :9], [cache[model[i]] for i in calls])
        before = {}

        def goes_on():
            for at in (slice(9, 10), slice(10, 11)):
                y = x[:, at]
                for i in calls:
                    before.update({name: one.state_dict()["positions"].clone() for name, one in cache.states.items()})
                    y = model[i].step(y, cache[model[i]])

        with pytest.raises(polyattn.CallError, match="expected each layer once in a pass of the model, got ") as refused:
            goes_on()
        assert f"got {max(calls, key=calls.count)} after" in str(refused.value) and "give each call its own layer.new_states" in str(refused.value)
        assert all(torch.equal(one.positions, before[name]) for name, one in cache.states.items())

    # What the message says: states of each call.
    own, wanted = [model[i].new_states(2) for i in calls], x
    for i in calls:
        wanted = model[i](wanted)
    found = torch.cat([through(part, own) for part in x.split(5, 1)], 1)
    assert (found - wanted).norm() <= 1e-4 * wanted.norm()


def test_prompts_in_parts_through_one_layer_after_another(rng):
    """They are no layers that are called twice: the parts may be other ones in each layer, and slots begin later than others."""
    model = torch.nn.ModuleList(pn.Linear(48, 6) for _ in range(2)).requires_grad_(False)
    x = torch.from_numpy(rng.standard_normal((3, 13, 48)).astype("f4"))
    cache, wanted = pn.StateCache(model, 3), model[1](model[0](x))
    model[0].step(x[:, :5], cache[model[0]])  # another use of one layer, forgotten by new sequences in all slots
    cache[model[0]].reset()
    for slots in (torch.tensor([2]), torch.tensor([1, 0])):
        y = x[slots, :12]
        for layer, size in zip(model, (4, 3)):
            layer.prefill(y[:, :0], cache[layer], slots)
            y = torch.cat([layer.step(part, cache[layer], slots) for part in y.split(size, 1)], 1)
        assert torch.allclose(y, wanted[slots, :12], atol=1e-4)
    saved, y = cache.gather(slice(None)), x[:, 12:]
    for _ in range(2):  # the second time from a copy
        for layer in model:
            y = layer.step(y, cache[layer])
        assert torch.allclose(y, wanted[:, 12:], atol=1e-4)
        cache.scatter(None, saved)
        y = x[:, 12:]


def test_a_compiled_layer_has_its_states_once():
    """What wraps a layer has its attributes, and would have states beside those that the layer goes on with."""
    layer = pn.Linear(48, 6)
    cache = pn.StateCache(torch.nn.Sequential(torch.compile(layer)), 1)
    assert list(cache.states) == ["0._orig_mod"] and cache[layer] is cache["0._orig_mod"]


def test_copies_of_a_cache(rng):
    """States go on from a copy or a file as they were, beside the model, of which they hold nothing."""
    model = torch.nn.Sequential(pn.Linear(48, 6), torch.nn.Linear(48, 48), pn.LLoPS(48, 6, m=16))
    layers = [model[0], model[2]]
    x = torch.from_numpy(rng.standard_normal((2, 13, 48)).astype("f4"))
    cache = pn.StateCache(model, 2)
    for layer in layers:
        layer.prefill(x[:, :12], cache[layer])
    file = pickle.dumps(cache)
    assert len(file) < 2 * sum(pool.nbytes for one in cache for pool in one.pools.values())
    copies, loaded = [copy.deepcopy(cache), copy.copy(copy.deepcopy(cache))], pickle.loads(file)
    assert loaded["2"].positions.tolist() == [12, 12]
    with pytest.raises(polyattn.CallError, match=r"expected a layer of their model or a name of 0, 2, got another Linear.*attach\(model\)"):
        loaded[layers[0]]
    loaded.attach(model)
    for layer in layers:
        wanted = layer(x)[:, 12:]
        for one in (*copies, loaded, cache):
            assert one[layer].positions.tolist() == [12, 12]
            assert torch.allclose(layer.step(x[:, 12:], one[layer]), wanted, atol=1e-4)

    # A copy of the model has states of its own after attach.
    both, other = copy.deepcopy((model, cache))
    with pytest.raises(polyattn.CallError, match="got another Linear"):
        other[both[0]]
    other.attach(both)
    assert other[both[0]] is other["0"] and cache[model[0]] is cache["0"]
    for wrong, words in ((model[0], "expected those of the layers 0, 2, got "),
                         (torch.nn.Sequential(pn.Linear(48, 3), torch.nn.Identity(), pn.LLoPS(48, 6, m=16)), "of the same attention")):
        with pytest.raises(polyattn.CallError, match=words):
            other.attach(wrong)
    assert other[both[0]] is other["0"]


def test_copies_of_states(rng):
    layer = pn.Linear(48, 6)
    x = torch.from_numpy(rng.standard_normal((2, 13, 48)).astype("f4"))
    states, wanted = layer.new_states(2), layer(x)[:, 12:]
    layer.prefill(x[:, :12], states)
    for one in (copy.deepcopy(states), pickle.loads(pickle.dumps(states)), states):
        assert torch.allclose(layer.step(x[:, 12:], one), wanted, atol=1e-5)
        assert one.positions.tolist() == [13, 13]


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
        ([0, 2], None, "slots: expected numbers below 2, the number of slots, got 2"),
        ([1, 1], None, "slots: expected each slot once, got 1 for two rows"),
        ([0, 1, -1], None, "slots: expected 2, one for each row of x, got 3"),
        ([0, 1], [3, 4], "lengths: expected numbers from 0 to T = 3, got 4"),
        ([0, 1], [-1, 0], "lengths: expected numbers from 0 to T = 3, got -1"),
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


@pytest.mark.parametrize("name", LAYERS)
def test_a_step_of_no_sequences(name):
    layer = LAYERS[name]()
    states = layer.new_states(2)
    for shape, slots in (((0, 1, 48), None), ((0, 4, 48), []), ((2, 0, 48), None), ((2, 0, 48), [1, 0])):
        for call in (layer.prefill, layer.step):
            assert call(torch.zeros(shape), states, slots).shape == shape
    assert not states.positions.any()


def test_the_device_of_new_states():
    """Weights of quantized layers are behind a method or none at all, those of offloaded ones are on the device meta."""

    class Quantized(torch.nn.Module):
        def __init__(self, full):
            super().__init__()
            self.packed = full.weight.detach().to(torch.float16).numpy()

        def weight(self):
            raise AssertionError

        def forward(self, x):
            return torch.nn.functional.linear(x, torch.from_numpy(self.packed).float())

    layer, x = pn.Linear(48, 6), torch.ones(1, 2, 48)
    for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
        setattr(layer, name, Quantized(getattr(layer, name)))
    states = layer.new_states(1)
    assert states.positions.device.type == "cpu" and layer.step(x, states).isfinite().all()
    layer = pn.RetNet(48, 6)
    layer.q_proj.to("meta")
    assert layer.new_states(1).positions.device.type == "cpu"
    layer.to("meta")
    for states in (layer.new_states(1), pn.StateCache(torch.nn.Sequential(layer), 1)[layer]):
        assert all(one.is_meta for one in states.state_dict().values())
    for states in (layer.new_states(1, "cpu"), pn.StateCache(torch.nn.Sequential(layer), 1, device="cpu")[layer]):
        assert all(one.device.type == "cpu" for one in states.state_dict().values())


def test_a_step_of_all_slots_is_one_graph(rng):
    """It looks at no number."""
    layer = pn.Linear(48, 6)
    compiled = torch.compile(layer.step, fullgraph=True, backend="eager")
    states, other = layer.new_states(2), layer.new_states(2)
    for _ in range(3):
        x = torch.from_numpy(rng.standard_normal((2, 1, 48)).astype("f4"))
        assert torch.allclose(compiled(x, states), layer.step(x, other), atol=1e-6)
    assert states.positions.tolist() == [3, 3]
