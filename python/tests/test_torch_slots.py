"""Slots of states: one meaning of every form of an index, in every call that takes one."""

import copy

import numpy as np
import pytest

import polyattn

torch = pytest.importorskip("torch")
import polyattn.torch.nn as pn  # noqa: E402


@pytest.fixture(autouse=True)
def inference():
    with torch.no_grad():
        yield


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
    """All numbers, with 7 in place of NaN, which equals nothing."""
    return {name: one.nan_to_num(7) for name, one in states.state_dict().items()}


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


def test_slots_that_change_in_place(rng):
    """Tensors of slots are kept for calls that name the same ones: a caller's tensor may hold others by then."""
    layer, slots = pn.Linear(48, 6), torch.tensor([4, 1])
    states, exact = layer.new_states(6), [torch.zeros(0, 48)] * 6
    for step, numbers in enumerate(([4, 1], [1, 4], [0, -1], [4, 1], [1, 4])):
        slots.copy_(torch.tensor(numbers))
        x = torch.from_numpy(rng.standard_normal((2, 3, 48)).astype("f4"))
        y = layer.step(x, states, slots.clone() if step > 2 else slots)
        for row, slot in enumerate(numbers):
            if slot >= 0:
                exact[slot] = torch.cat([exact[slot], x[row]])
                wanted = linear_by_formula(layer, exact[slot][None])[0, -3:]
                assert (y[row] - wanted).norm() <= 1e-4 * wanted.norm()
    assert states.positions.tolist() == [len(one) for one in exact]


def test_no_slot_is_any_number_below_zero(rng):
    """One that 32 bits do not hold was an error of PyTorch's."""
    layer, x = pn.Linear(48, 6), torch.from_numpy(rng.standard_normal((2, 3, 48)).astype("f4"))
    states = layer.new_states(3)
    for given in ([-(2**40), 1], torch.tensor([-(2**40), 1]), np.array([-(2**62), 1])):
        states.reset()
        y = layer.step(x, states, given)
        wanted = linear_by_formula(layer, x[1:])
        assert (y[1:] - wanted).norm() <= 1e-4 * wanted.norm() and states.positions.tolist() == [0, 3, 0]


def test_states_that_share_memory(rng):
    """Slots are exchanged through a view of themselves."""
    states = numbered_states(pn.Linear(48, 6), 3)
    wanted = {name: one[[2, 1, 0]] for name, one in contents(states).items()}
    states.scatter([2, 1, 0], pn.States(dict(states.pools), states.positions))
    assert are_equal(contents(states), wanted)
    whole = pn.Linear(48, 6)
    assert len(whole.new_states(0)) == 0
