"""Random wrong calls with PyTorch's tensors: exceptions, nothing is written, and the process lives."""

import numpy as np
import pytest
import wrong_arguments

import polyattn
from polyattn import library

torch = pytest.importorskip("torch")
import polyattn.torch as pt  # noqa: E402

CALLS = 200


def other_shape(x, rng):
    return wrong_arguments.other_shape(x, rng, torch.cat)


def other_dtype(x, rng):
    kinds = [torch.float64, torch.int32, torch.bool, torch.complex64, torch.float16, torch.bfloat16]
    return x.detach().to([one for one in kinds if one != x.dtype][rng.integers(5)])


def other_device(x, rng):
    return x.detach().to("meta")


def other_layout(x, rng):
    return x.detach().to_sparse()


def no_tensor(x, rng):
    return [None, 3.0, "tensor", [1.0], x.detach().numpy(), object()][rng.integers(6)]


CHANGES = [other_shape, other_dtype, other_device, other_layout, no_tensor]


def refused(call, tensors, what):
    before = [x.detach().clone() for x in tensors]
    try:
        call()
    except (ValueError, TypeError, RuntimeError, IndexError):
        pass
    else:
        pytest.fail(f"nothing was said of {what}")
    assert all(map(torch.equal, tensors, before)), what


@pytest.mark.parametrize("needs_gradients", [False, True])
def test_attentions(needs_gradients, rng):
    attention = pt.load(library.linear(d=8, states=True))
    shapes = [(1, 20, 2, 8)] * 3 + [(1, 2, 8, 8), (1, 2, 8)]
    good = [torch.rand(shape).requires_grad_(needs_gradients) for shape in shapes]
    wanted = attention(*good)
    for _ in range(CALLS):
        given = list(good)
        i = int(rng.integers(len(given)))
        change = CHANGES[rng.integers(len(CHANGES))]
        given[i] = change(given[i], rng)
        if i == 0 and change is other_shape and given[i].shape[2:] == (4, 8):
            continue  # more heads of queries
        refused(lambda: attention(*given), good, (change.__name__, i))
    assert all(map(torch.equal, attention(*good), wanted))


@torch.no_grad()
def test_steps_of_states(rng):
    """Tensors of another kind, numbers out of range, and states of another spec."""
    layer, other = pt.nn.LLoPS(16, 2, m=8), pt.nn.LLoPS(16, 2, m=12)
    states, strange = layer.new_states(4), other.new_states(4)
    good = dict(x=torch.rand(2, 3, 16), states=states, slots=torch.tensor([2, 0]), lengths=torch.tensor([3, 1]))
    layer.prefill(**good)
    pools = [*states.pools.values(), states.positions, *strange.pools.values(), strange.positions]
    assert states.positions.tolist() == [1, 0, 3, 0]
    for _ in range(CALLS):
        given, name = dict(good), rng.choice(list(good))
        if name == "x":
            given["x"] = [other_shape, other_device, other_layout, no_tensor][rng.integers(4)](good["x"], rng)
            if isinstance(given["x"], torch.Tensor) and given["x"].shape == (2, 6, 16):
                continue  # more positions
        elif name == "states":
            given["states"] = [strange, None, 3, torch.zeros(4)][rng.integers(4)]
        elif name == "slots":
            wrong = [4, 2**31 - 1, 0]  # the last is another row's
            given["slots"] = torch.tensor([wrong[rng.integers(3)], 0])
            if not rng.integers(4):
                given["slots"] = [[2, 2], torch.tensor([2.0, 0.0]), torch.tensor([[2, 0]]), torch.tensor([2**32, 0])][rng.integers(4)]
        else:
            given["lengths"] = torch.tensor([3, [-1, 4, 2**31 - 1, 2**32 + 1][rng.integers(4)]])
        call = (layer.step, layer.prefill)[rng.integers(2)]
        refused(lambda: call(**given), pools, (name, given[name]))
    assert layer.step(**good).isfinite().all()


def test_ends(rng):
    attention = pt.load(library.linear(d=8))
    good = [torch.rand(1, 20, 2, 8) for _ in range(3)]
    for _ in range(CALLS):
        ends = np.sort(rng.integers(0, 20, 4))
        ends[[0, -1]] = 0, 20
        ends[rng.integers(4)] += rng.choice([-(2**31), -1000, 30, 2**31, 2**33])
        ends = torch.from_numpy(ends)
        needs = bool(rng.integers(2))
        refused(lambda: attention(*(x.requires_grad_(needs) for x in good), cu_seqlens=ends), good, ends)
    with pytest.raises(polyattn.CallError):
        attention(*good, cu_seqlens=torch.tensor([0, 20], device="meta"))
