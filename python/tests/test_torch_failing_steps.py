"""Calls with states that fail: they change nothing."""

import pytest
from test_torch_slots import are_equal, contents, linear_by_formula, numbered_states

import polyattn

torch = pytest.importorskip("torch")
import polyattn.torch.nn as pn  # noqa: E402


@pytest.fixture(autouse=True)
def inference():
    with torch.no_grad():
        yield


def without(states, name):
    states.pools = {key: one for key, one in states.pools.items() if key != name}


def of_dtype(module, dtype):
    module.weight = torch.nn.Parameter(module.weight.to(dtype))


def with_pool(states, change):
    states.pools["state"] = change(states.pools["state"])


#: What makes a call wrong: a change of the layer or its states, of what the call is given, and what it says.
FAILURES = {
    "x of f64": (None, lambda x: dict(x=x.double()), RuntimeError, "dtype"),
    "x of another width": (None, lambda x: dict(x=x[..., :40]), polyattn.CallError, "x: expected a tensor .B, T, 48., got shape"),
    "x of two dimensions": (None, lambda x: dict(x=x[0]), polyattn.CallError, "x: expected a tensor .B, T, 48., got shape"),
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


@pytest.mark.parametrize(
    "name, begins",
    # prefill reads no position
    [(name, begins) for name in FAILURES for begins in (False, True) if not (begins and name == "positions out of range")],
)
def test_a_call_that_fails_changes_nothing(name, begins, rng):
    change, arguments, kind, words = FAILURES[name]
    layer = pn.Linear(48, 6)
    states = numbered_states(layer, 3)
    if change is not None:
        change(layer, states)
    before = contents(states)
    x = torch.from_numpy(rng.standard_normal((2, 5, 48)).astype("f4"))
    given = {"x": x} | ({} if arguments is None else arguments(x))
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
