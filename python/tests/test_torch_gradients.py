"""Gradients of attentions on PyTorch's tensors, which are kernels' too."""

import copy

import pytest

import polyattn
from polyattn import builder as b
from polyattn import library

torch = pytest.importorskip("torch")
from torch.nn import functional as F  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import polyattn.torch as pt  # noqa: E402


def dense(features, eps=None, **fixed):
    """An attention by its definition: all scores, in whatever type the tensors have."""

    def call(q, k, v, *weights):
        scores = torch.einsum("bihd,bjhd->bhij", features(q, "q", *weights), features(k, "k", *weights)).tril()
        o = torch.einsum("bhij,bjhe->bihe", scores, v)
        return o if eps is None else o / (scores.sum(-1).transpose(1, 2)[..., None] + eps)

    return call


def hedgehog(x, side, w_q, w_k):
    z = torch.einsum("bthd,hde->bthe", x, w_q if side == "q" else w_k)
    return torch.cat([z.softmax(-1), (-z).softmax(-1)], -1)


def performer(x, side, w):
    h = x * x.shape[-1] ** -0.25
    return (h @ w - (h * h).sum(-1, keepdim=True) / 2).exp() * w.shape[-1] ** -0.5


def llops(x, side, q1, q2, k1, k2):
    return (x @ q1) * (x @ q2) if side == "q" else (x @ k1) * (x @ k2)


def plain(d=16, dv=8):
    from polyattn.torch._systems import inner_products

    return inner_products(d, dv, scale=1.0)


# The system, its definition.
SYSTEMS = {
    "plain": (plain(), dense(lambda x, side: x)),
    "linear": (library.linear(d=16, dv=8), dense(lambda x, side: F.elu(x) + 1, 1e-6)),
    "power": (library.power(d=8), dense(lambda x, side: torch.einsum("...i,...j->...ij", x, x).flatten(-2) * 8**-0.5, 1e-6)),
    "llops": (library.llops(d=16, dv=8, m=32), dense(llops)),
    "performer": (library.performer(d=16, m=32), dense(performer, 1e-6)),
    "hedgehog": (library.hedgehog(d=16), dense(hedgehog, 1e-6)),
}  # fmt: skip


def inputs_of(spec, rng, T=37, H=3):
    sizes = {"B": 2, "T": T, "H": H, "Hkv": H}
    arguments = pt.load(spec).signature.arguments
    shapes = [[sizes.get(size, size) for size in one.shape] for one in arguments]
    return [torch.from_numpy(rng.standard_normal(shape).astype("f4")) / 2 for shape in shapes]


def gradients_of(call, inputs, factors, which=None):
    inputs = [x.detach().clone().requires_grad_(which is None or i in which) for i, x in enumerate(inputs)]
    o = call(*inputs)
    return torch.autograd.grad((o * factors.to(o.dtype)).sum(), [x for x in inputs if x.requires_grad])


def compiled_or_skip(spec, inputs):
    """What has no kernel for its gradients says so at the call, at a line of the spec."""
    attention = pt.load(spec)
    try:
        attention(*(x.detach().requires_grad_() for x in inputs))
    except polyattn.SpecError as error:
        assert "not compiled yet" in str(error) and error.diagnostics[0].line > 0
        pytest.skip(str(error).splitlines()[0].split(": ", 1)[1])
    return attention


@pytest.mark.parametrize("name", SYSTEMS)
def test_gradients(name, rng):
    spec, definition = SYSTEMS[name]
    inputs = inputs_of(spec, rng)
    attention = compiled_or_skip(spec, inputs)
    factors = torch.randn_like(attention(*inputs))
    exact = gradients_of(definition, [x.double() for x in inputs], factors)
    found = gradients_of(attention, inputs, factors)
    for one, wanted in zip(found, exact):
        assert one.dtype == torch.float32
        assert (one - wanted).norm() <= 1e-4 * wanted.norm()
    # Those of some inputs are the same numbers, and results those of a call without gradients.
    for which in ((0,), (1, 2)):
        for one, i in zip(gradients_of(attention, inputs, factors, which), which):
            assert (one - exact[i]).norm() <= 1e-4 * exact[i].norm()
    training = attention(*(x.detach().requires_grad_() for x in inputs))
    assert (training - attention(*inputs)).norm() <= 1e-6 * training.norm()


UNUSED = """
polyattn.attention @unused(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>, %first: tensor<16x8xf32>,
    %v: tensor<?x?x?x8xf32>, %w: tensor<16x8xf32>, %last: tensor<?x?x?x4xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %weight = read %w : tensor<16x8xf32> -> 16x8
  %not_returned = read %first : tensor<16x8xf32> -> 16x8
  %x = read %q : tensor<?x?x?x16xf32> -> [16]
  %y = read %k : tensor<?x?x?x16xf32> -> [16]
  %a = project %x, %weight : [16], 16x8
  %b = project %y, %weight : [16], 16x8
  %other = project %x, %not_returned : [16], 16x8
  %values = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %b value %values causal normalize <none> : [8], [8], [8]
  return %o : [8]
}
"""


@pytest.mark.parametrize("which", [range(6), (2, 4), (1, 2), (4, 5), (0, 2, 3, 5)])
def test_an_argument_that_no_result_depends_on_has_no_gradient(which, rng):
    attention = pt.load(UNUSED)
    exact = dense(lambda x, side, w: x @ w)
    inputs = [x.requires_grad_(i in which) for i, x in enumerate(inputs_of(UNUSED, rng))]
    q, k, _, v, w, _ = copies = [x.detach().double().requires_grad_() for x in inputs]
    factors = torch.randn(*v.shape, dtype=torch.float64)
    (exact(q, k, v, w) * factors).sum().backward()
    (attention(*inputs) * factors.float()).sum().backward()
    for i, (one, wanted) in enumerate(zip(inputs, copies)):
        assert (one.grad is None) == (i not in which or i in (2, 5)), i
        if one.grad is not None:
            assert (one.grad - wanted.grad).norm() <= 1e-4 * wanted.grad.norm(), i


def test_a_call_whose_results_depend_on_nothing_that_requires_gradients(rng):
    attention, inputs = pt.load(UNUSED), inputs_of(UNUSED, rng)
    for _ in range(2):
        o = attention(*(x.requires_grad_(i in (2, 5)) for i, x in enumerate(inputs)))
        assert not o.requires_grad and torch.equal(o, attention(*(x.detach() for x in inputs)))


def test_an_unused_argument_in_a_graph(rng):
    attention, inputs = pt.load(UNUSED), [x.requires_grad_() for x in inputs_of(UNUSED, rng)]

    def step(*inputs):
        return attention(*inputs).square()

    torch._dynamo.reset()
    found = [torch.autograd.grad(call(*inputs).sum(), inputs, allow_unused=True)
             for call in (step, torch.compile(step, fullgraph=True))]  # fmt: skip
    assert all(one is other is None or torch.equal(one, other) for one, other in zip(*found))
    assert [one is None for one in found[0]] == [False, False, True, False, False, True]


@pytest.fixture
def plainly(rng):
    """An attention with gradients, its inputs and its definition."""
    spec, definition = SYSTEMS["plain"]
    return pt.load(spec), inputs_of(spec, rng), definition


@pytest.mark.parametrize("dynamic", [False, True])
def test_torch_compile_with_gradients(dynamic, plainly, rng):
    # flash-linear-attention #52: NaN under torch.compile.
    attention, _, _ = plainly

    def step(q, k, v):
        return attention(q * 2, k, v).relu() * 3

    torch._dynamo.reset()
    compiled = torch.compile(step, fullgraph=True, dynamic=dynamic)
    for length in (37, 50):
        inputs = inputs_of(SYSTEMS["plain"][0], rng, T=length)
        factors = torch.randn(2, length, 3, 8)
        assert all(map(torch.equal, *(gradients_of(call, inputs, factors) for call in (compiled, step))))


def test_torch_compile_of_functions_with_gradients(rng):
    def step(q, k, v):
        return pt.ops.fused_recurrent_linear_attn(q, k, v)[0] * 2

    torch._dynamo.reset()
    compiled = torch.compile(step, fullgraph=True, dynamic=True)
    for d in (16, 8):
        q, k, v = (torch.from_numpy(rng.standard_normal((2, 20, 3, d)).astype("f4")) for _ in range(3))
        factors = torch.randn_like(v)
        assert all(map(torch.equal, *(gradients_of(call, (q, k, v), factors) for call in (compiled, step))))


def test_checkpoint(plainly):
    attention, inputs, _ = plainly
    factors = torch.randn(2, 37, 3, 8)
    kept = gradients_of(attention, inputs, factors)
    again = gradients_of(lambda *x: checkpoint(attention, *x, use_reentrant=False), inputs, factors)
    assert all(map(torch.equal, kept, again))


def test_gradients_of_views(plainly):
    """A sum's gradient is one number everywhere, of stride 0; inputs are parts of one buffer."""
    attention, (q, k, v), definition = plainly
    buffer = torch.cat([q, k, v], -1).requires_grad_()
    attention(*buffer.split([16, 16, 8], -1)).sum().backward()
    exact = torch.cat([q, k, v], -1).double().requires_grad_()
    definition(*exact.split([16, 16, 8], -1)).sum().backward()
    assert (buffer.grad - exact.grad).norm() <= 1e-5 * exact.grad.norm()


@pytest.mark.parametrize("of_heads", [False, True])
def test_a_decay_that_several_attends_take(of_heads, rng):
    """Its gradient, the sum of those from each, was refused."""
    decay = b.HeadDecay if of_heads else b.Decay

    @polyattn.attention
    def shared(q: b.Sequence[8], k: b.Sequence[8], v: b.Sequence[6], g: decay):
        x, y = b.softmax(q), b.softmax(k)
        m = b.attend(x, y, v, decay=g, normalizer=b.by_sum(1e-6))
        n = b.attend(q, k, v, decay=g, mask="anticausal", normalizer=b.none(), score_scale=0.1)
        return m + n + b.attend(k, y, v, decay=g, normalizer=b.none(), score_scale=0.1)

    def weights(g, T):
        """What is left at i of what came at j: the gates after j up to i."""
        passed = g.expand(2, T, -1) if of_heads else g
        passed = passed.cumsum(1).transpose(1, 2)
        return (passed[..., :, None] - passed[..., None, :]).tril().exp().tril()

    def definition(q, k, v, g):
        q, k, v = (one.transpose(1, 2) for one in (q, k, v))
        w = weights(g, q.shape[2])
        scores = q.softmax(-1) @ k.softmax(-1).mT * w
        m = scores @ v / (scores.sum(-1, keepdim=True) + 1e-6)
        n = 0.1 * (q @ k.mT * w.mT) @ v
        return (m + n + 0.1 * (k @ k.softmax(-1).mT * w) @ v).transpose(1, 2)

    attention, sizes = pt.load(shared), ((2, 70, 3, 8), (2, 70, 3, 8), (2, 70, 3, 6))
    inputs = [torch.from_numpy(rng.standard_normal(size).astype("f4")) / 2 for size in sizes]
    inputs.append(-0.2 * torch.from_numpy(rng.random((3,) if of_heads else (2, 70, 3)).astype("f4")))
    factors = torch.randn(2, 70, 3, 6)
    exact = gradients_of(definition, [x.double() for x in inputs], factors)
    for which in (None, (3,), (0, 3)):
        for one, i in zip(gradients_of(attention, inputs, factors, which), which or range(4)):
            assert (one - exact[i]).norm() <= 1e-4 * exact[i].norm(), i


@pytest.mark.parametrize("packed", [False, True])
def test_a_state_that_several_attends_take(packed, rng):
    """Its gradient, the sum of those from each, was refused. The attends are of both directions of time, and one has a denominator."""

    @polyattn.attention
    def shared(q: b.Sequence[8], k: b.Sequence[8], v: b.Sequence[6], g: b.Decay, s: b.State[8, 6], z: b.StateNormalizer[8]):
        x, y = b.softmax(q), b.softmax(k)
        m = b.attend(x, y, v, decay=g, initial=s, initial_normalizer=z, normalizer=b.by_sum(2.0))
        n = b.attend(q, k, v, decay=g, initial=s, mask="anticausal", normalizer=b.none(), score_scale=0.1)
        return m + n + b.attend(q, y, v, initial=s, normalizer=b.none(), score_scale=0.1)

    def one_sequence(q, k, v, g, s, z):
        """[T, H, .] and the states [H, 8, 6] and [H, 8]."""
        q, k, v, passed = q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1), g.cumsum(0).mT
        x, y = q.softmax(-1), k.softmax(-1)
        w = (passed[:, :, None] - passed[:, None, :]).tril().exp().tril()
        before, behind = passed.exp()[..., None], (passed[:, -1:] - passed).exp()[..., None]
        scores = x @ y.mT * w
        m = (scores @ v + before * (x @ s)) / (scores.sum(-1, keepdim=True) + before * (x @ z[..., None]) + 2)
        # Seen from behind, the gate of a position stands between it and the one before.
        n = 0.1 * ((q @ k.mT * w.mT) @ v + behind * (q @ s))
        return (m + n + 0.1 * ((q @ y.mT).tril() @ v + q @ s)).transpose(0, 1)

    ends = [0, 20, 20, 70] if packed else [0, 35, 70]
    sizes = [(70, 3, 8), (70, 3, 8), (70, 3, 6), (70, 3), (len(ends) - 1, 3, 8, 6), (len(ends) - 1, 3, 8)]
    given = [torch.from_numpy(rng.standard_normal(size).astype("f4")) / 2 for size in sizes]
    given[3], given[5] = -0.2 * given[3].abs(), given[5].abs()

    def definition(q, k, v, g, s, z):
        return torch.cat([
            one_sequence(*(x[begin:end] for x in (q, k, v, g)), s[i], z[i]) for i, (begin, end) in enumerate(zip(ends, ends[1:])) if end > begin
        ])  # fmt: skip

    attention = pt.load(shared)

    def call(*inputs):
        rows = [x[None] if packed else x.unflatten(0, (2, 35)) for x in inputs[:4]]
        o = attention(*rows, *inputs[4:], cu_seqlens=torch.tensor(ends) if packed else None)
        return o.flatten(0, 1)

    factors = torch.randn(70, 3, 6)
    exact = gradients_of(definition, [x.double() for x in given], factors)
    for which in (None, (4,), (4, 5), (0, 4)):
        for one, i in zip(gradients_of(call, given, factors, which), which or range(6)):
            assert (one - exact[i]).norm() <= 1e-4 * exact[i].norm(), i


@pytest.mark.parametrize("name", ["linear", "llops", "performer", "hedgehog"])
def test_gradients_from_states_after_blocks(name, rng):
    spec, definition = SYSTEMS[name]
    inputs = inputs_of(spec, rng)
    attention = pt.load(spec, state_every=16)
    assert attention._handle != pt.load(spec)._handle
    d_o = None
    gradients = []
    for call in (attention, torch.compile(attention, fullgraph=True), copy.deepcopy(attention), definition):
        own = [one.detach().clone().requires_grad_() for one in inputs]
        o = call(*own)
        d_o = torch.randn_like(o) if d_o is None else d_o
        gradients.append(torch.autograd.grad(o, own, d_o))
    for one in gradients[:-1]:
        for ours, theirs in zip(one, gradients[-1]):
            assert (ours - theirs).norm() < 2e-5 * theirs.norm()
    layer = pt.nn.Linear(32, heads=2, state_every=16)
    layer(torch.randn(1, 40, 32)).sum().backward()
    assert all(parameter.grad is not None for parameter in layer.parameters())


def test_attentions_without_states_after_blocks_are_refused(rng):
    attention = pt.load(library.power(d=8), state_every=16)
    q = torch.randn(1, 20, 2, 8, requires_grad=True)
    attention(q.detach(), q.detach(), q.detach())
    with pytest.raises(polyattn.SpecError, match="its features are products"):
        attention(q, q, q)
    with pytest.raises(polyattn.CallError, match="state_every: expected 1 to 1024 positions"):
        pt.load(library.power(d=8), state_every=0)


def test_gradients_in_bf16(plainly):
    attention, inputs, definition = plainly
    small = [x.bfloat16() for x in inputs]
    factors = torch.randn(2, 37, 3, 8)
    exact = gradients_of(definition, [x.double() for x in small], factors.bfloat16())
    for one, wanted in zip(gradients_of(attention, small, factors), exact):
        assert one.dtype == torch.bfloat16
        assert (one.double() - wanted).norm() <= 2e-2 * wanted.norm()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = gradients_of(attention, inputs, factors)
    exact = gradients_of(definition, [x.double() for x in inputs], factors)
    for one, wanted in zip(found, exact):
        assert one.dtype == torch.float32 and (one - wanted).norm() <= 2e-2 * wanted.norm()


def test_second_derivatives_are_refused(plainly):
    attention, inputs, _ = plainly
    inputs = [x.requires_grad_() for x in inputs]
    first = torch.autograd.grad(attention(*inputs).sum(), inputs, create_graph=True)
    with pytest.raises(polyattn.CallError, match="second derivatives are not supported"):
        torch.autograd.grad(first[0].sum(), inputs)


def test_batched_gradients_are_refused(plainly):
    """is_grads_batched and jacobian(vectorize=True), which map the way back alone."""
    attention, inputs, _ = plainly
    inputs = [x.requires_grad_() for x in inputs]
    with pytest.raises(polyattn.CallError, match=r"batched gradients \(is_grads_batched, .* are not supported"):
        o = attention(*inputs)
        torch.autograd.grad(o, inputs[0], torch.ones(3, *o.shape), is_grads_batched=True)
    with pytest.raises(polyattn.CallError, match="batched gradients"):
        torch.autograd.functional.jacobian(lambda q: attention(q, *inputs[1:]).sum((0, 1)), inputs[0], vectorize=True)


def test_gradients_without_a_kernel_are_refused_at_the_call(rng):
    """At a line of the spec, and before the loss is computed."""
    retnet = pt.load(library.retnet(d=16))
    q, k, v = (torch.from_numpy(rng.standard_normal((2, 9, 3, 16)).astype("f4")) for _ in range(3))
    with pytest.raises(polyattn.SpecError) as raised:
        retnet(q, k, v, torch.ones(8, requires_grad=True), torch.zeros(3))
    assert raised.value.diagnostics[0].line > 0


def test_gradients_of_grouped_heads(plainly):
    """Right, or refused before anything is computed."""
    attention, (q, k, v), definition = plainly
    k, v = k[:, :, :1], v[:, :, :1]
    inputs = [x.detach().requires_grad_() for x in (q, k, v)]
    try:
        o = attention(*inputs)
    except polyattn.CallError as error:
        assert "argument 'k': expected 3 heads, as 'q' has, for gradients, got 1" in str(error)
        return
    factors = torch.randn_like(o)
    found = torch.autograd.grad((o * factors).sum(), inputs)
    exact = gradients_of(lambda q, k, v: definition(q, k.expand(-1, -1, 3, -1), v.expand(-1, -1, 3, -1)),
                         [x.double() for x in (q, k, v)], factors)  # fmt: skip
    assert all((one - wanted).norm() <= 1e-5 * wanted.norm() for one, wanted in zip(found, exact))


def test_a_layer_learns():
    """Steps of training lower the loss: a layer learns what another one does."""
    torch.manual_seed(0)
    teacher = pt.nn.Attention(plain(16, 16), 32, 2).requires_grad_(False)
    layer = copy.deepcopy(teacher)
    for one in layer.parameters():
        one.requires_grad_().data += 0.1 * torch.randn_like(one)
    optimizer = torch.optim.Adam(layer.parameters(), lr=3e-3)
    losses = []
    for _ in range(40):
        x = torch.randn(4, 30, 32) / 4
        loss = (layer(x) - teacher(x)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert sum(losses[-5:]) < 0.3 * sum(losses[:5])


def test_operators_are_seen_by_modes():
    """Outside graphs a call goes past PyTorch's dispatcher, unless something wants to see it."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), named=None):
            seen.append(str(function))
            return function(*arguments, **(named or {}))

    attention = pt.load(library.linear(d=16))
    inputs = [torch.rand(1, 20, 2, 16).requires_grad_() for _ in range(3)]
    factors = torch.randn(1, 20, 2, 16)
    o = attention(*inputs)
    direct = [o, *torch.autograd.grad(o, inputs, factors)]
    with Watch():
        o = attention(*inputs)
        watched = [o, *torch.autograd.grad(o, inputs, factors)]
    assert all(map(torch.equal, direct, watched))
    o = attention(*inputs)  # elements of a gradient may be in memory with the other sign
    negated = torch.complex(factors, -factors).conj().imag
    assert negated.is_neg() and all(map(torch.equal, direct[1:], torch.autograd.grad(o, inputs, negated)))
    assert [one for one in seen if "polyattn" in one] == ["polyattn.training.default", "polyattn.backward.default"]


@pytest.mark.parametrize("name", ["linear", "linear_states", "hedgehog"])
def test_autocast_goes_past_the_dispatcher_too(name, rng, monkeypatch):
    """The same as by its operators, whose casts are nodes of autograd's graph, in a third of the time.

    Gradients of weights, which are sums in f32, are not rounded on the way to weights of f32.
    """
    from polyattn.torch import _gradients

    spec = library.linear(d=16, states=True) if name == "linear_states" else SYSTEMS[name][0]
    attention = pt.load(spec)
    inputs = [x.abs().requires_grad_() for x in inputs_of(spec, rng)]
    inputs[1] = inputs[1].detach().bfloat16().requires_grad_()

    def step():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            o = attention(*inputs)
        o = o if isinstance(o, tuple) else (o,)
        return [*o, *torch.autograd.grad(sum(x.float().square().sum() for x in o), inputs)]

    monkeypatch.setattr(_gradients, "are_plain", lambda tensors: False)
    wanted = step()
    monkeypatch.undo()
    monkeypatch.setattr(_gradients, "_training_op", None)
    monkeypatch.setattr(_gradients, "_backward_op", None)
    found = step()
    assert wanted[0].dtype == torch.bfloat16
    assert all(torch.equal(one.bfloat16(), other.bfloat16()) for one, other in zip(found, wanted))
    assert all(one.dtype == x.dtype for one, x in zip(found[-len(inputs):], inputs))


def saved_by(call):
    """What autograd saves for gradients during a call, and the call's result."""
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda one: saved.append(one) or one, lambda one: one):
        return call(), saved


@pytest.mark.parametrize("way", ["eager", "the operator", "compiled"])
def test_what_the_backward_half_does_not_read_is_not_saved(way, rng):
    """An attention without a denominator kept its result, so that work in place on it was an error."""
    spec, exact = SYSTEMS["plain"]
    attention, inputs = pt.load(spec), [x.requires_grad_() for x in inputs_of(spec, rng)]
    wrt = 7
    call = {
        "eager": attention,
        "the operator": lambda *x: torch.ops.polyattn.training(attention._handle, wrt, x)[0],
        "compiled": torch.compile(attention, fullgraph=True),
    }[way]
    o, saved = saved_by(lambda: call(*inputs))
    assert all(one.data_ptr() != o.data_ptr() for one in saved)
    if way == "eager":
        assert {one.data_ptr() for one in saved} == {one.data_ptr() for one in inputs}
    factors = torch.randn_like(o)
    o.mul_(factors)
    found = torch.autograd.grad(o.sum(), inputs)
    wide = [x.detach().double().requires_grad_() for x in inputs]
    wanted = torch.autograd.grad((exact(*wide) * factors.double()).sum(), wide)
    for one, other in zip(found, wanted):
        assert (one - other).norm() <= 1e-5 * other.norm()


def test_what_the_backward_half_reads_is_guarded(rng):
    """With a denominator the result is read: a change in place would change gradients."""
    spec, _ = SYSTEMS["linear"]
    inputs = [x.requires_grad_() for x in inputs_of(spec, rng)]
    o, saved = saved_by(lambda: pt.load(spec)(*inputs))
    assert any(one.data_ptr() == o.data_ptr() for one in saved)
    o = pt.load(spec)(*inputs).mul_(2)  # without hooks, which have no versions
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        o.sum().backward()


def test_a_result_that_nobody_took(rng):
    """The gradient in it is zero, whichever of the results it is."""
    spec = library.linear(d=16, states=True)
    attention, inputs = pt.load(spec), [x.abs().requires_grad_() for x in inputs_of(spec, rng)]
    results = attention(*inputs)
    for i, one in enumerate(results):
        factors = torch.randn_like(one)
        found = torch.autograd.grad((one * factors).sum(), inputs, retain_graph=True, materialize_grads=True)
        whole = torch.autograd.grad(
            sum((x * (factors if i == j else 0)).sum() for j, x in enumerate(results)), inputs, retain_graph=True
        )
        assert all(map(torch.equal, found, whole))


@pytest.mark.parametrize("wrt", [None, ["q", "v"]])
def test_warm_compiles_both_halves_of_the_gradient(wrt, monkeypatch):
    from polyattn.torch import _recipes

    attention = pt.load(library.linear(d=24))
    attention.warm(torch.bfloat16, wrt=wrt)
    monkeypatch.setattr(_recipes, "compile", None)  # nothing is left to be compiled
    inputs = [torch.randn(1, 33, 2, 24, dtype=torch.bfloat16) for _ in range(3)]
    attention(*inputs)
    for name, one in zip("qkv", inputs):
        one.requires_grad_(wrt is None or name in wrt)
    attention(*inputs).float().sum().backward()
    assert [one.grad is not None for one in inputs] == [one.requires_grad for one in inputs]


def test_warm_without_gradients():
    spec = str(library.linear(d=24))
    attention = pt.load(spec.replace("eps = 1.0e-06", "eps = 1.0e-06, eps_mode = row_max"))
    attention.warm()
    attention.warm(wrt=[])
    with pytest.raises(polyattn.SpecError, match="row_max"):
        attention.warm(wrt=["q"])
    with pytest.raises(polyattn.CallError, match="wrt: unknown argument 'x', expected q, k, v"):
        attention.warm(wrt=["x"])
