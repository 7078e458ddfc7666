"""Generation: layers that go on with sequences, whose states are in slots."""

import copy
import io
import pickle

import numpy as np
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


def linear_by_formula(layer, x):
    """pn.Linear in f64: phi(q) sum phi(k) v / phi(q) sum phi(k), phi = elu + 1, between its projections."""
    exact = copy.deepcopy(layer).double()
    q, k, v = (one(x.double()).unflatten(-1, (6, 8)).transpose(1, 2) for one in (exact.q_proj, exact.k_proj, exact.v_proj))
    scores = ((torch.nn.functional.elu(q) + 1) @ (torch.nn.functional.elu(k) + 1).transpose(-1, -2)).tril()
    o = scores @ v / (scores.sum(-1, keepdim=True) + 1e-6)
    return exact.o_proj(o.transpose(1, 2).flatten(-2))


#: Each names the slots 4, 1 and 2 of six, in this order or, where it has no order, as SORTED.
FORMS = {
    "a tensor": torch.tensor([4, 1, 2]),
    "i32": torch.tensor([4, 1, 2], dtype=torch.int32),
    "u8": torch.tensor([4, 1, 2], dtype=torch.uint8),
    "a list": [4, 1, 2],
    "a tuple": (4, 1, 2),
    "a list of scalars": [torch.tensor(4), np.int64(1), 2],
    "an array": np.array([4, 1, 2]),
    "an unsigned array": np.array([4, 1, 2], np.uint64),
}
SORTED = {
    "a slice": (slice(1, 3), [1, 2]),
    "a slice from the end": (slice(-2, None), [4, 5]),
    "a slice backwards": (slice(None, None, -2), [5, 3, 1]),
    "a range": (range(1, 3), [1, 2]),
    "bools": (torch.tensor([False, True, True, False, True, False]), [1, 2, 4]),
    "a list of bools": ([False, True, True, False, True, False], [1, 2, 4]),
    "an array of bools": (np.array([False, True, True, False, True, False]), [1, 2, 4]),
    "a number": (3, [3]),
    "a scalar": (torch.tensor(3), [3]),
    "NumPy's scalar": (np.int32(3), [3]),
    "no slot": ([], []),
}
ALL_FORMS = {name: (given, [4, 1, 2]) for name, given in FORMS.items()} | SORTED


def numbered_states(layer, slots):
    """States whose slot i holds numbers of its own and has seen 10 + i positions."""
    states = layer.new_states(slots)
    for pool in states.pools.values():
        pool.copy_(torch.arange(1.0, slots + 1).reshape(-1, *[1] * (pool.dim() - 1)).expand_as(pool))
    states.positions.copy_(torch.arange(10, 10 + slots))
    return states


def contents(states):
    return {name: one.clone() for name, one in states.state_dict().items()}


def are_equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("name", ALL_FORMS)
def test_every_form_of_an_index_means_the_same_slots(name, rng):
    given, numbers = ALL_FORMS[name]
    layer, index = pn.Linear(48, 6), torch.tensor(ALL_FORMS[name][1], dtype=torch.int64)
    states = numbered_states(layer, 6)
    before = contents(states)

    taken = states.gather(given)
    assert are_equal(contents(taken), {key: one[index] for key, one in before.items()})
    for one in (taken.positions, *taken.pools.values()):
        one.add_(1)
    assert are_equal(contents(states), before), "gather gave a view"

    states.scatter(given, taken)
    after = contents(states)
    for key, one in before.items():
        one[index] += 1
    assert are_equal(after, before)

    states.reset(given)
    before["positions"][index] = 0
    assert states.positions.tolist() == before["positions"].tolist()

    x = torch.from_numpy(rng.standard_normal((len(numbers), 9, 48)).astype("f4"))
    by_tensor, by_form = numbered_states(layer, 6), numbered_states(layer, 6)
    for call in (layer.prefill, layer.step):
        assert torch.equal(call(x, by_form, given), call(x, by_tensor, index))
        assert are_equal(contents(by_form), contents(by_tensor))
    wanted = linear_by_formula(layer, torch.cat([x, x], 1))[:, 9:]
    layer.prefill(x, by_form, given)
    assert (layer.step(x, by_form, given) - wanted).norm() <= 1e-5 * wanted.norm()


def test_a_number_below_0_is_no_slot(rng):
    """It was the last one for reset, gather, scatter and reorder."""
    layer = pn.Linear(48, 6)
    states, slots = numbered_states(layer, 4), torch.tensor([1, -1, 0, -7])
    before = contents(states)
    taken = states.gather(slots)
    assert taken.positions.tolist() == [11, 0, 10, 0]
    for key, one in taken.pools.items():
        assert torch.equal(one[[0, 2]], before[key][[1, 0]]) and not one[[1, 3]].any()

    states.scatter(slots, numbered_states(layer, 4))  # 0 to slot 1, 2 to slot 0, the others nowhere
    wanted = contents(numbered_states(layer, 4))
    assert are_equal(contents(states), {key: one[[2, 0, 2, 3]] for key, one in wanted.items()})

    states.reset(slots)
    assert states.positions.tolist() == [0, 0, 12, 13]
    states.reorder([3, -1, 3, 0])
    assert states.positions.tolist() == [13, 0, 13, 0]
    assert all(torch.equal(one[[0, 2]], wanted[key][[3, 3]]) for key, one in states.pools.items())

    x = torch.from_numpy(rng.standard_normal((2, 5, 48)).astype("f4"))
    before = contents(states)
    layer.step(x, states, [1, -1])
    for key, one in contents(states).items():
        assert torch.equal(one[[0, 2, 3]], before[key][[0, 2, 3]]) and not torch.equal(one[1], before[key][1])


NO_SLOTS = {
    "too large": ([0, 6], "slots: expected numbers below 6, the number of slots, got 6"),
    "too large for 63 bits": (np.array([2**63 + 1], np.uint64), "slots: expected numbers below 6"),
    "unsigned bits of -1": (torch.tensor([-1]).view(torch.uint64), "slots: expected numbers below 6"),
    "far too large": ([2**70], "slots: expected whole numbers"),
    "fractions": ([0.0, 1.0], "slots: expected whole numbers, a slice, or bools, one for each slot, got .0.0, 1.0."),
    "a tensor of floats": (torch.tensor([0.0]), "slots: expected whole numbers.*got torch.float32 .1,."),
    "complex": (torch.tensor([1j]), "slots: expected whole numbers"),
    "text": ("01", "slots: expected whole numbers.*got '01'"),
    "a bool": (True, "slots: expected 6 bools, one for each slot"),
    "too few bools": ([True, False], "slots: expected 6 bools, one for each slot, got .True, False."),
    "bools and numbers": ([True, 2], "slots: expected whole numbers"),
    "two dimensions": (torch.zeros(2, 1, dtype=torch.int64), "slots: expected numbers in one dimension"),
    "lists of two lengths": ([[0], [1, 2]], "slots: expected whole numbers"),
    "a slice of fractions": (slice(0.5, 2), "slots: expected a slice of whole numbers"),
}


@pytest.mark.parametrize("name", NO_SLOTS)
def test_what_is_no_slot_is_refused_everywhere(name):
    given, words = NO_SLOTS[name]
    layer = pn.Linear(48, 6)
    states = numbered_states(layer, 6)
    before, x = contents(states), torch.zeros(2, 3, 48)
    other = numbered_states(layer, 2)
    for call in (
        lambda: states.reset(given), lambda: states.gather(given), lambda: states.scatter(given, other),
        lambda: states.reorder(given), lambda: layer.step(x, states, given), lambda: layer.prefill(x, states, given),
    ):  # fmt: skip
        with pytest.raises(polyattn.CallError, match=words):
            call()
    assert are_equal(contents(states), before)


def test_wrong_numbers_of_slots():
    layer = pn.Linear(48, 6)
    states = numbered_states(layer, 4)
    before = contents(states)
    for call, words in (
        (lambda: states.reorder([0]), "slots: expected 4, one for each slot, got 1"),
        (lambda: states.scatter([0, 1], layer.new_states(1)), "states: expected 2 sequences, one for each slot given, got 1"),
        (lambda: states.scatter([2, 2], layer.new_states(2)), "slots: expected each slot once, got 2 for two rows"),
        (lambda: states.scatter([0], before), "states: expected States, as gather gives them, got dict"),
        (lambda: states.load_state_dict({"positions": states.positions}), "states: expected a tensor 'state', got positions"),
        (lambda: layer.step(torch.zeros(5, 1, 48), states), "slots: expected at most 4 rows of x, one for each slot, got 5"),
        (lambda: layer.new_states(2.5), "slots: expected a whole number of at least 0, got 2.5"),
        (lambda: layer.new_states(-1), "slots: expected a whole number of at least 0, got -1"),
        (lambda: layer.new_states(True), "slots: expected a whole number of at least 0, got True"),
    ):
        with pytest.raises(polyattn.CallError, match=words):
            call()
    assert are_equal(contents(states), before)


def test_states_that_share_memory(rng):
    """Slots are exchanged through a view of themselves."""
    states = numbered_states(pn.Linear(48, 6), 3)
    wanted = {name: one[[2, 1, 0]] for name, one in contents(states).items()}
    states.scatter([2, 1, 0], pn.States(dict(states.pools), states.positions))
    assert are_equal(contents(states), wanted)
    whole = pn.Linear(48, 6)
    assert len(whole.new_states(0)) == 0


def without(states, name):
    states.pools = {key: one for key, one in states.pools.items() if key != name}


def of_dtype(module, dtype):
    module.weight = torch.nn.Parameter(module.weight.to(dtype))


def with_pool(states, change):
    states.pools["state"] = change(states.pools["state"])


#: What makes a call wrong: a change of the layer or its states, of what the call is given, and what it says.
FAILURES = {
    "x of f64": (None, lambda x: dict(x=x.double()), RuntimeError, "dtype"),
    "x of another width": (None, lambda x: dict(x=x[..., :40]), RuntimeError, "shapes"),
    "x of two dimensions": (None, lambda x: dict(x=x[0]), polyattn.CallError, "x: expected a tensor .B, T, width."),
    "x on another device": (None, lambda x: dict(x=x.to("meta")), polyattn.CallError, "expected them on meta, as x, got cpu"),
    "lengths of bools": (None, lambda x: dict(lengths=[True, False]), polyattn.CallError, "lengths: expected a whole number, or 2"),
    "lengths of one": (None, lambda x: dict(lengths=[1]), polyattn.CallError, "lengths: expected a whole number, or 2 of them"),
    "fractions": (None, lambda x: dict(lengths=torch.tensor([1.0, 2.0])), polyattn.CallError, "lengths: expected .*got torch.float32"),
    "o_proj of bf16": (
        lambda layer, states: of_dtype(layer.o_proj, torch.bfloat16), None, polyattn.CallError,
        "o_proj: expected weights of torch.float32 on cpu, as the queries, got torch.bfloat16",
    ),
    "k_proj of bf16": (lambda layer, states: of_dtype(layer.k_proj, torch.bfloat16), None, RuntimeError, "dtype"),
    "pools of f16": (
        lambda layer, states: with_pool(states, torch.Tensor.half), None, polyattn.CallError, "argument 'state': expected"
    ),
    "pools of fewer slots": (
        lambda layer, states: with_pool(states, lambda one: one[:2]), None, polyattn.CallError, "argument 'state"
    ),
    "a pool without memory of its own for each slot": (
        lambda layer, states: with_pool(states, lambda one: one[:1].expand_as(one)), None, polyattn.CallError,
        "expected elements that do not overlap",
    ),
    "no pool": (
        lambda layer, states: without(states, "state_normalizer"), None, polyattn.CallError,
        "expected those of new_states with state_normalizer, got state",
    ),
    "positions of i32": (
        lambda layer, states: setattr(states, "positions", states.positions.int()), None, polyattn.CallError,
        "states: expected positions of torch.int64 .slots., got torch.int32 .3.",
    ),
    "positions out of range": (
        lambda layer, states: states.positions.fill_(2**62), None, polyattn.CallError, "argument 'first_position'"
    ),
    "gradients wanted": (
        lambda layer, states: torch.set_grad_enabled(True), None, polyattn.CallError, "no gradients; expected torch.no_grad"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("begins", [False, True])
def test_a_call_that_fails_changes_nothing(name, begins, rng):
    change, arguments, kind, words = FAILURES[name]
    layer = pn.Linear(48, 6)
    states = numbered_states(layer, 3)
    if change is not None:
        change(layer, states)
    before = contents(states)
    x = torch.from_numpy(rng.standard_normal((2, 5, 48)).astype("f4"))
    given = {"x": x} | ({} if arguments is None else arguments(x))
    if begins and name == "positions out of range":
        return  # which prefill does not read
    for slots in (None, [2, 0]):
        with pytest.raises(kind, match=words):
            (layer.prefill if begins else layer.step)(**given, states=states, slots=slots)
        assert are_equal(contents(states), before)


def test_states_of_inference_mode(rng):
    """new_states and gather make what every mode can change. Others are refused before the kernel writes."""
    layer = pn.Linear(48, 6)
    x = torch.from_numpy(rng.standard_normal((2, 9, 48)).astype("f4"))
    with torch.inference_mode():
        states = layer.new_states(2)
        layer.prefill(x[:, :7], states)
        states = states.gather([0, 1])
        layer.step(x[:, 7:8], states)
    wanted = linear_by_formula(layer, x)[:, 8:]
    assert (layer.step(x[:, 8:], states) - wanted).norm() <= 1e-5 * wanted.norm()

    with torch.inference_mode():
        states = pn.States({name: one.clone() for name, one in states.pools.items()}, states.positions.clone())
        layer.step(x[:, :1], states)
        before = contents(states)
    for call in (
        lambda: layer.step(x[:, :1], states), lambda: layer.prefill(x, states), lambda: states.reset(),
        lambda: states.scatter([0], states.gather([1])), lambda: states.reorder([1, 0]),
        lambda: states.load_state_dict(layer.new_states(2).state_dict()),
    ):  # fmt: skip
        with pytest.raises(polyattn.CallError, match="states: expected tensors made outside torch.inference_mode"):
            call()
    assert are_equal(contents(states), before)


def test_a_cache_is_loaded_whole_or_not(rng):
    """The second layer's states are wrong: those of the first stay."""
    model = torch.nn.ModuleList([pn.Linear(48, 6), pn.RetNet(48, 6)])
    cache, other = pn.StateCache(model, 2), pn.StateCache(model, 2)
    for layer in model:
        layer.prefill(torch.from_numpy(rng.standard_normal((2, 5, 48)).astype("f4")), other[layer])
    saved, taken = other.state_dict(), other.gather([1, 0])
    saved["1"] = {name: one[..., :5] for name, one in saved["1"].items()}
    taken["1"].pools = {name: one[:1] for name, one in taken["1"].pools.items()}
    for call in (lambda: cache.load_state_dict(saved), lambda: cache.scatter([0, 1], taken)):
        with pytest.raises(polyattn.CallError, match="states: expected"):
            call()
    assert not any(one.any() for states in cache for one in states.state_dict().values())


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
