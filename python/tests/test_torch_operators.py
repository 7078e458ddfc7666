"""Attentions as operators of PyTorch."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT, SPECS

import polyattn
from polyattn import library

torch = pytest.importorskip("torch")
import polyattn.torch as pt  # noqa: E402
from polyattn.torch import _plain, _recipes  # noqa: E402

SYSTEMS = {
    "linear": library.linear(d=16, dv=8),
    "linear_states": library.linear(d=16, states=True),
    "linear_gated": library.linear(d=16, decay="token"),
    "llops": library.llops(d=16, m=32, p=2),
    "power": library.power(d=8, p=2),
    "based": library.based(d=16, r=4),
    "polysketch": library.polysketch(d=16, r=8, p=4),
    "performer": library.performer(d=16, m=32),
    "hedgehog": library.hedgehog(d=16),
    "retnet": library.retnet(d=16),
    "fast_rope": library.fast_rope(d=8, dv=16, p=2),
}


def inputs_of(attention, rng, **sizes):
    """Random tensors of an attention's arguments; decays are below zero."""
    sizes = {"B": 2, "T": 37, "Tk": 37, "H": 3, "Hkv": 3, "L": 37, **sizes}

    def one(argument):
        shape = [sizes.get(size, size) for size in argument.shape]
        numbers = torch.from_numpy(rng.standard_normal(shape).astype("f4"))
        if "state" in argument.name:
            return numbers.abs() # what normalizes is positive
        return -numbers.abs() if "decay" in argument.name else numbers / 2

    return [one(argument) for argument in attention.signature.arguments]


def exactly(spec, inputs):
    found = polyattn.reference(spec)(*(x.float().numpy() for x in inputs))
    return list(map(torch.from_numpy, found if isinstance(found, tuple) else (found,)))


def as_tuple(found):
    return found if isinstance(found, tuple) else (found,)


@pytest.fixture(scope="module")
def linear16():
    return pt.load(library.linear(d=16))


@pytest.mark.parametrize("name", SYSTEMS)
def test_forward(name, rng):
    attention = pt.load(SYSTEMS[name])
    inputs = inputs_of(attention, rng)
    found = as_tuple(attention(*inputs))
    for one, exact, result in zip(found, exactly(SYSTEMS[name], inputs), attention.signature.results):
        assert one.dtype == torch.float32 and result.dtype == "f32"
        assert (one.double() - exact).norm() <= 2e-5 * exact.norm()
    again = as_tuple(attention(**dict(zip((x.name for x in attention.signature.arguments), inputs))))
    assert all(map(torch.equal, found, again))


@pytest.mark.parametrize("name", SYSTEMS)
def test_opcheck(name, rng):
    attention = pt.load(SYSTEMS[name])
    torch.library.opcheck(torch.ops.polyattn.forward.default, (attention._handle, inputs_of(attention, rng)))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", ["linear_states", "llops", "retnet"])
def test_torch_compile(name, dynamic, rng):
    attention = pt.load(SYSTEMS[name])

    def step(q, *others):
        return [one * 3 for one in as_tuple(attention(q * 2, *others))]

    torch._dynamo.reset()
    compiled = torch.compile(step, fullgraph=True, dynamic=dynamic)
    for length in (37, 50, 1):
        inputs = inputs_of(attention, rng, T=length, L=length)
        assert all(map(torch.equal, compiled(*inputs), step(*inputs)))


def test_export(linear16, rng, tmp_path):
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.project = torch.nn.Linear(24, 96)

        def forward(self, x):
            q, k, v = self.project(x).unflatten(-1, (2, 48)).split(16, -1)
            return linear16(q, k, v)

    layer = Layer().requires_grad_(False)
    x = torch.from_numpy(rng.standard_normal((2, 20, 24)).astype("f4"))
    length = torch.export.Dim("T", min=2, max=4096)
    exported = torch.export.export(layer, (x,), dynamic_shapes=({1: length},))
    torch.export.save(exported, tmp_path / "layer.pt2")
    loaded = torch.export.load(tmp_path / "layer.pt2").module()
    longer = torch.from_numpy(rng.standard_normal((2, 33, 24)).astype("f4"))
    assert torch.equal(loaded(longer), layer(longer))


def test_traces_and_profiles_have_the_operator(linear16, rng):
    """Calls go past the dispatcher only where nobody looks: a trace would take what a call gives for a constant."""
    q, k, v = inputs_of(linear16, rng, T=9)
    traced = torch.jit.trace(lambda q, k, v: linear16(q, k, v), (q, k, v))
    assert torch.equal(traced(k, q, v), linear16(k, q, v))
    for operator in ("polyattn::forward", "polyattn::training"):
        with torch.profiler.profile() as profile:
            linear16(q, k, v)
        assert operator in [one.key for one in profile.key_averages()]
        q.requires_grad_()


def test_numbers_of_attentions_are_the_same_in_every_process():
    """Graphs on disk have nothing but the number."""
    program = (
        "import polyattn, polyattn.torch as pt\n"
        "pt.load(polyattn.library.power(d=8, p=2))\n"
        "print(pt.load(polyattn.library.linear(d=16))._handle)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) == pt.load(library.linear(d=16))._handle
    assert int(done.stdout) != pt.load(library.linear(d=16, eps=1e-5))._handle
    entries = [pt.load(SPECS / "linear.mlir", entry)._handle for entry in ("linear", "linear_states")]
    assert entries[0] != entries[1]


def test_a_number_that_nobody_loaded_is_refused(rng):
    with pytest.raises(polyattn.CallError, match="no attention is loaded under the number 12; load"):
        torch.ops.polyattn.forward(12, [torch.zeros(1, 1, 1, 16)])


def test_views(linear16, rng):
    """Strides as projections leave them take no copies of ours to give the same bits."""
    qkv = torch.from_numpy(rng.standard_normal((2, 37, 3, 48)).astype("f4"))
    q, k, v = qkv.split(16, -1)
    expected = linear16(q.contiguous(), k.contiguous(), v.contiguous())
    assert torch.equal(linear16(q, k, v), expected)
    heads = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v)]
    assert torch.equal(linear16(*heads), expected)
    columns = [x.transpose(-1, -2).contiguous().transpose(-1, -2) for x in (q, k, v)]
    assert columns[0].stride(-1) != 1 and torch.equal(linear16(*columns), expected)
    row = q[:1].expand(2, -1, -1, -1)
    assert torch.equal(*linear16(row, row, row))
    assert linear16(*(x[:, :0] for x in (q, k, v))).shape == (2, 0, 3, 16)


class Subclass(torch.Tensor):
    pass


PLAIN = {
    "as it is": (lambda x: x, True),
    "a parameter": (lambda x: torch.nn.Parameter(x, requires_grad=False), True),
    "rows apart": (lambda x: x.repeat_interleave(2, 2)[:, :, ::2], True),
    "columns apart": (lambda x: x.repeat_interleave(2, -1)[..., ::2], False),
    "negated": (lambda x: torch._neg_view(-x), False),
    "a subclass": (lambda x: x.as_subclass(Subclass), False),
    "wants gradients": (lambda x: x.clone().requires_grad_(), False),
}


@pytest.mark.parametrize("way", PLAIN)
@pytest.mark.parametrize("place", [0, 2])
def test_what_is_more_than_memory_takes_the_long_way(linear16, rng, way, place):
    """Tensors that are memory alone go to the kernel at once, others by the operator, with the same numbers."""
    inputs = inputs_of(linear16, rng)
    expected = linear16(*inputs)
    change, is_plain = PLAIN[way]
    inputs[place] = change(inputs[place])
    kernel = _recipes.find(linear16._handle).kernel("f32")
    found = _plain.call_plain(kernel, inputs)
    assert is_plain == (found is not None)
    assert torch.equal(linear16(*inputs).detach().as_subclass(torch.Tensor), expected)
    assert not is_plain or torch.equal(found[0], expected)
    assert _plain.call_plain(kernel, inputs[:-1]) is None and _plain.call_plain(kernel, [*inputs, inputs[0]]) is None


def test_what_a_transform_has_left_behind_is_refused(linear16, rng):
    """A wrapper without memory of its own, after the transform has ended."""
    inputs, kept = inputs_of(linear16, rng), []
    torch.func.vmap(lambda x: kept.append(x) or x)(torch.stack([inputs[0], inputs[0]]))
    torch.func.grad(lambda x: kept.append(x) or x.sum())(inputs[0])
    for one in kept:
        with pytest.raises(polyattn.CallError, match="transforms"):
            linear16(one, *inputs[1:])


@pytest.mark.parametrize("name", ["linear_states", "llops", "retnet"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_casts_by_roles(name, dtype, rng):
    attention = pt.load(SYSTEMS[name])
    inputs = inputs_of(attention, rng)
    with torch.autocast("cpu", dtype=dtype):
        found = as_tuple(attention(*inputs))
    kernel = attention._recipe.kernel(_recipes.STORAGE[dtype])
    types = [_recipes.DTYPES[x.dtype] for x in kernel.signature.arguments]
    assert types[0] == dtype
    kept = [x for x, to in zip(kernel.signature.arguments, types) if to == torch.float32]
    assert all(x.name in ("state", "state_z", "log_decay", "freqs") for x in kept)
    by_hand = as_tuple(attention(*(x.to(to) for x, to in zip(inputs, types))))
    assert found[0].dtype == dtype and all(x.dtype == torch.float32 for x in found[1:])
    assert all(map(torch.equal, found, by_hand))
    compiled = torch.compile(lambda *x: as_tuple(attention(*x)), fullgraph=True)
    with torch.autocast("cpu", dtype=dtype):
        assert all(map(torch.equal, compiled(*inputs), found))


def test_derivatives_that_would_be_zero_are_refused(linear16, rng):
    q, k, v = inputs_of(linear16, rng)
    refused = pytest.raises(polyattn.CallError, match="torch.func's transforms .* are not supported")
    with refused:
        torch.func.jvp(lambda x: linear16(x, k, v), (q,), (q,))
    with refused, torch.autograd.forward_ad.dual_level():
        linear16(q, torch.autograd.forward_ad.make_dual(k, k), v)
    with torch.autograd.forward_ad.dual_level():
        linear16(q, k, v)
    with refused:
        torch.vmap(linear16)(*(x[None] for x in (q, k, v)))
    with refused:
        torch.func.grad(lambda x: linear16(x, k, v).sum())(q)
    with pytest.raises(Exception, match="torch.func's transforms"):
        torch.vmap(lambda x: torch.ops.polyattn.forward(linear16._handle, [x, x, x])[0])(q[None])


def test_forward_alone_keeps_nothing_for_gradients(linear16, rng):
    q, k, v = inputs_of(linear16, rng)
    k.requires_grad_()
    with pytest.raises(polyattn.CallError, match="polyattn::forward keeps nothing for gradients"):
        torch.ops.polyattn.forward(linear16._handle, [q, k, v])
    with torch.no_grad():
        assert torch.equal(linear16(q, k, v), linear16(q, k.detach(), v))


def test_copies_and_pickles(linear16, rng):
    inputs = inputs_of(linear16, rng)
    for other in (copy.deepcopy(linear16), pickle.loads(pickle.dumps(linear16))):
        assert other._handle == linear16._handle
        assert torch.equal(other(*inputs), linear16(*inputs))


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda q, k, v: (q, k), "expected 3 arguments .q, k, v., got 2"),
        (lambda q, k, v: (q, k, v.numpy()), "argument 'v': expected a tensor, got ndarray"),
        (lambda q, k, v: (q, k, v[:, :5]), "argument 'v': expected shape .* with T = 37"),
        (lambda q, k, v: (q, k, v[..., :5]), "argument 'v': expected shape"),
        (lambda q, k, v: (q, k.bfloat16(), v), "argument 'k': expected .*f32"),
        (lambda q, k, v: (q.double(), k, v), r"got a tensor \[2, 37, 3, 16\] of float64"),
        (lambda q, k, v: (q.long(), k, v), r"got a tensor \[2, 37, 3, 16\] of int64"),
    ],
)
def test_wrong_calls(linear16, rng, change, words):
    with pytest.raises(polyattn.CallError, match=words):
        linear16(*change(*inputs_of(linear16, rng)))


def test_wrong_names(linear16, rng):
    q, k, v = inputs_of(linear16, rng)
    with pytest.raises(polyattn.CallError, match="unknown argument 'w', expected q, k, v"):
        linear16(q, k, w=v)
    with pytest.raises(polyattn.CallError, match="argument 'k': came twice"):
        linear16(q, k, v, k=k)
    with pytest.raises(polyattn.CallError, match="argument 'v': is missing"):
        linear16(q, k=k)


def test_a_spec_that_is_wrong():
    with pytest.raises(polyattn.SpecError):
        pt.load("polyattn.attention @a() -> () {\n}\n")


def test_threads_of_torch(linear16, rng):
    inputs = inputs_of(linear16, rng, T=300)
    before = torch.get_num_threads()
    try:
        found = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(linear16(*inputs))
        assert np.allclose(*found, atol=1e-5)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("wants_gradients", [False, True])
def test_errors_are_about_arguments_that_the_caller_knows(linear16, wants_gradients, rng):
    """Wrong types, dtypes, shapes, devices and layouts, in the entry's name also where gradients are wanted."""
    q, k, v = inputs_of(linear16, rng)
    q.requires_grad_(wants_gradients)
    for given, words in (
        ((q.double(), k, v), r"argument 'q': expected float32, bfloat16 or float16, got a tensor \[.*\] of float64"),
        ((q.detach().long(), k, v), r"argument 'q': expected float32, bfloat16 or float16, got a tensor \[.*\] of int64"),
        ((q, k.double(), v), "argument 'k': expected element type f32, got f64$"),
        ((q, k.bfloat16(), v), "argument 'k': expected element type f32, got bf16$"),
        ((q, k.long(), v), "argument 'k': expected element type f32, got i64$"),
        ((q, k * 1j, v), "argument 'k': expected an array .*complex64"),
        ((q, k[:, 1:], v), r"argument 'k': expected shape \[B, T, Hkv, 16\] with T = "),
        ((q[0], k, v), r"argument 'q': expected 4 dimensions \[B, T, H, 16\], got 3"),
        ((q, k.numpy(), v), "argument 'k': expected a tensor, got ndarray"),
        ((q, k.to_sparse(), v), "argument 'k': expected a dense tensor, got one of layout torch.sparse_coo"),
    ):  # fmt: skip
        with pytest.raises(polyattn.CallError, match=f"^{linear16.signature.name}: {words}"):
            linear16(*given)
