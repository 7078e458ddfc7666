"""What holds for every family of polyattn.torch.nn, whatever its options: copies, empty calls, states in any slots."""

import copy
import io
import pickle

import numpy as np
import pytest
from test_torch_layers import LAYERS
from test_torch_slots import are_equal, contents

import polyattn

torch = pytest.importorskip("torch")

SLOTS = 5


def numbers(rng, *shape):
    """Small ones: the features of RFF then have few scores below zero, which would cancel in the sums that divide."""
    return torch.from_numpy(rng.standard_normal(shape).astype("f4")) / 4


@pytest.mark.parametrize("name", LAYERS)
@torch.no_grad()
def test_copies_compute_the_same(name, rng):
    """By copy.deepcopy, by pickle, and through a file of a state_dict."""
    layer, x = LAYERS[name](kv_heads=2), numbers(rng, 2, 9, 48)
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    loaded = LAYERS[name](kv_heads=2)
    loaded.load_state_dict(torch.load(file))
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), loaded):
        assert torch.equal(other(x), layer(x))
        states, again = layer.new_states(2), other.new_states(2)
        for call in ("prefill", "step"):
            assert torch.equal(getattr(layer, call)(x, states), getattr(other, call)(x, again))
        for one in (copy.deepcopy(states), pickle.loads(pickle.dumps(states))):
            assert are_equal(contents(one), contents(again))


@pytest.mark.parametrize("name", LAYERS)
def test_empty_calls(name):
    """No sequences, or none of their positions, with gradients or without."""
    layer = LAYERS[name]()
    for shape in ((0, 5, 48), (2, 0, 48), (0, 0, 48)):
        x = torch.zeros(shape, requires_grad=True)
        y = layer(x)
        assert y.shape == shape
        y.sum().backward()
        assert x.grad.shape == shape
        assert all(one.grad is None or not one.grad.any() for one in layer.parameters())
        with torch.no_grad():
            assert layer(x).shape == shape


def form_of(slots, rng):
    """The same slots in one of the forms that an index has."""
    forms = [torch.tensor(slots, dtype=torch.int64), torch.tensor(slots, dtype=torch.int32), slots, tuple(slots), np.array(slots, int)]
    if len(slots) == 1 and slots[0] >= 0:
        forms += [slots[0], np.int64(slots[0]), slice(slots[0], slots[0] + 1)]
    if slots == sorted(set(slots)) and all(one >= 0 for one in slots):
        chosen = [i in slots for i in range(SLOTS)]
        forms += [chosen, torch.tensor(chosen), np.array(chosen)]
        if slots and slots[-1] - slots[0] == len(slots) - 1:
            forms.append(slice(slots[0], slots[-1] + 1))
    return forms[rng.integers(len(forms))]


def well_conditioned(layer):
    """The layer, with queries projected as the keys of their group. Rows are divided by sums of scores, which vanish in a row with
    few keys where its query is orthogonal to them, or shares no feature with them. The key of its own position now has all."""
    keys = layer.k_proj.weight.unflatten(0, (layer.kv_heads, -1))
    layer.q_proj.weight.copy_(keys.repeat_interleave(layer.heads // layer.kv_heads, 0).flatten(0, 1))
    return layer


class Sequences:
    """States beside what they stand for: for each slot the inputs that it has seen."""

    def __init__(self, layer, rng):
        self.layer, self.rng, self.states = layer, rng, layer.new_states(SLOTS)
        self.seen = [torch.zeros(0, 48)] * SLOTS

    def distinct(self):
        """Some slots in any order, some rows without one."""
        slots = self.rng.permutation(SLOTS)[: self.rng.integers(1, SLOTS + 1)].tolist()
        return [one if self.rng.random() < 0.85 else -1 for one in slots]

    def any(self, count):
        return self.rng.integers(-1, SLOTS, count).tolist()

    def call(self):
        """prefill or step of some positions of some sequences, against the layer's call of all that they have seen."""
        begins, slots, length = self.rng.random() < 0.3, self.distinct(), int(self.rng.choice([1, 1, 1, 2, 7, 20]))
        if self.rng.random() < 0.3:
            slots, given = list(range(len(slots))), None
        else:
            given = form_of(slots, self.rng)
        x = numbers(self.rng, len(slots), length, 48)
        lengths = [length] * len(slots)
        if self.rng.random() < 0.5:
            lengths = self.rng.integers(0, length + 1, len(slots)).tolist()
        call = self.layer.prefill if begins else self.layer.step
        y = call(x, self.states, given, None if lengths == [length] * len(slots) else lengths)
        for i, (slot, count) in enumerate(zip(slots, lengths)):
            if slot >= 0:
                before = torch.zeros(0, 48) if begins else self.seen[slot]
                self.seen[slot] = torch.cat([before, x[i, :count]])
                wanted = self.layer(self.seen[slot][None])[0, len(before) :]
                assert (y[i, :count] - wanted).norm() <= 1e-4 * wanted.norm()

    def reset(self):
        slots = self.any(self.rng.integers(0, 4))
        self.states.reset(form_of(slots, self.rng))
        for one in slots:
            if one >= 0:
                self.seen[one] = torch.zeros(0, 48)

    def seen_by(self, slots):
        return [self.seen[one] if one >= 0 else torch.zeros(0, 48) for one in slots]

    def move(self):
        into = self.distinct()
        slots = self.any(len(into))
        seen = self.seen_by(slots)
        self.states.scatter(form_of(into, self.rng), self.states.gather(form_of(slots, self.rng)))
        for slot, one in zip(into, seen):
            if slot >= 0:
                self.seen[slot] = one

    def reorder(self):
        slots = self.any(SLOTS)
        self.states.reorder(form_of(slots, self.rng))
        self.seen = self.seen_by(slots)

    def save(self):
        states = self.layer.new_states(SLOTS)
        states.load_state_dict(pickle.loads(pickle.dumps(self.states.state_dict())))
        self.states = states

    def fail(self):
        before, x, layer = contents(self.states), numbers(self.rng, 2, 3, 48), self.layer
        for call in (
            lambda: layer.step(x, self.states, [0, SLOTS]), lambda: layer.step(x, self.states, [1, 1]),
            lambda: layer.prefill(x, self.states, [0]), lambda: layer.step(x, self.states, [0, 1], [4, 0]),
            lambda: layer.step(x.double(), self.states), lambda: layer.prefill(x[..., 1:], self.states),
            lambda: self.states.scatter([0, 0], self.states.gather([1, 2])), lambda: self.states.reorder([0]),
            lambda: self.states.reset([0, SLOTS]), lambda: self.states.gather([0.5]),
        ):  # fmt: skip
            with pytest.raises((polyattn.CallError, RuntimeError)):
                call()
            assert are_equal(contents(self.states), before)


@pytest.mark.parametrize("name", LAYERS)
@torch.no_grad()
def test_states_stand_for_their_sequences(name, rng):
    """Any calls one after the other, slots in any form of an index, wrong calls between them."""
    torch.manual_seed(int(rng.integers(2**31)))
    sequences = Sequences(well_conditioned(LAYERS[name](kv_heads=2)), rng)
    for pool in sequences.states.pools.values():
        pool.fill_(float("nan"))
    for _ in range(25):
        way = rng.choice(["call"] * 6 + ["reset", "move", "reorder", "save", "fail"])
        getattr(sequences, way)()
        assert sequences.states.positions.tolist() == [len(one) for one in sequences.seen]
