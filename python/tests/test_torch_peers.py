"""Functions under the names of flash-linear-attention and retention, against formulas, and against FLA's where it is."""

import inspect

import numpy as np
import pytest

import polyattn

torch = pytest.importorskip("torch")
from polyattn.torch import ops  # noqa: E402

B, T, H, K, V = 2, 45, 4, 16, 24


@pytest.fixture
def tensors(rng):
    def draw(*shape):
        return torch.from_numpy(rng.standard_normal(shape).astype("f4"))

    return draw


def recurrence(q, k, v, scale, s=None, z=None, g=None, normalize=False):
    """o_t = q_t S_t, token by token in f64; one head of keys for each of queries."""
    repeat = q.shape[2] // k.shape[2]
    q, k, v = (x.double() for x in (q * scale, k, v))
    s = k.new_zeros(k.shape[0], k.shape[2], k.shape[3], v.shape[3]) if s is None else s.double()
    z = k.new_zeros(k.shape[0], k.shape[2], k.shape[3]) if z is None else z.double().squeeze(1)
    rows = []
    for t in range(q.shape[1]):
        if g is not None:
            s = s * g.double()[:, t, :, None, None].exp()
        s = s + k[:, t, :, :, None] * v[:, t, :, None]
        z = z + k[:, t]
        row = torch.einsum("bhk,bhkv->bhv", q[:, t], s.repeat_interleave(repeat, 1))
        if normalize:
            row = row / ((q[:, t] * z.repeat_interleave(repeat, 1)).sum(-1, keepdim=True) + 1e-10)
        rows.append(row)
    return torch.stack(rows, 1), s, z.unsqueeze(1)


def direct(q, k, v, score, eps=None, g=None):
    """All scores."""
    k, v = (x.repeat_interleave(q.shape[2] // k.shape[2], 2) for x in (k, v))
    scores = score(torch.einsum("bihk,bjhk->bhij", q.double(), k.double()))
    if g is not None:
        sums = g.double().cumsum(1).transpose(1, 2).repeat_interleave(q.shape[2] // g.shape[2], 1)
        scores = scores * (sums[..., :, None] - sums[..., None, :]).clamp(max=0).exp()
    scores = scores.tril()
    o = torch.einsum("bhij,bjhv->bihv", scores, v.double())
    return o if eps is None else o / (scores.sum(-1).transpose(1, 2)[..., None] + eps)


def close(found, expected, most=2e-5):
    assert found.shape == expected.shape
    return (found.double() - expected).norm() <= most * expected.norm()


@pytest.mark.parametrize("function", [ops.chunk_linear_attn, ops.fused_recurrent_linear_attn])
@pytest.mark.parametrize("normalize", [False, True, None])
@pytest.mark.parametrize("scale, heads", [(None, H), (0.7, 2)])
def test_linear(function, normalize, scale, heads, tensors):
    q, k, v = tensors(B, T, H, K).abs(), tensors(B, T, heads, K).abs(), tensors(B, T, heads, V)
    s, z = tensors(B, heads, K, V), tensors(B, 1, heads, K).abs()
    chosen = {} if normalize is None else {"normalize": normalize}
    if normalize is None:
        normalize = function is ops.chunk_linear_attn
    exact = recurrence(q, k, v, scale or K**-0.5, s, z, normalize=normalize)
    o, final = function(q, k, v, scale, (s, z) if normalize else s, output_final_state=True, **chosen)
    assert close(o, exact[0])
    if normalize:
        assert isinstance(final, tuple) and close(final[0], exact[1]) and close(final[1], exact[2])
    else:
        assert close(final, exact[1])
    o, final = function(q, k, v, scale, **chosen)
    assert close(o, recurrence(q, k, v, scale or K**-0.5, normalize=normalize)[0])
    if normalize:
        assert final[0] is None and final[1].shape == (B, 1, heads, K)
    else:
        assert final is None


def test_reverse(tensors):
    q, k, v = tensors(B, T, H, K), tensors(B, T, H, K), tensors(B, T, H, V)
    o, final = ops.fused_recurrent_linear_attn(q, k, v, reverse=True)
    exact = recurrence(*(x.flip(1) for x in (q, k, v)), K**-0.5)[0].flip(1)
    assert final is None and close(o, exact)


REVERSIBLE = [ops.fused_recurrent_linear_attn, ops.fused_recurrent_simple_gla, ops.fused_recurrent_retention]


@pytest.mark.parametrize("function", REVERSIBLE)
@pytest.mark.parametrize("normalize", [False, True])
def test_reverse_with_states_decays_and_normalizers(function, normalize, tensors):
    """From the last token to the first: the same as the reversed tensors give from the first to the last."""
    is_linear = function is REVERSIBLE[0]
    if normalize and not is_linear:
        pytest.skip("only linear attention has a normalizer")
    q, k, v = tensors(B, T, H, K).abs(), tensors(B, T, H, K).abs(), tensors(B, T, H, V)
    s, z, g = tensors(B, H, K, V), tensors(B, 1, H, K).abs(), None
    more = {"normalize": normalize} if is_linear else {}
    if function is ops.fused_recurrent_simple_gla:
        g = -tensors(B, T, H).abs()
        gamma = -tensors(H).abs() / 8
        more |= {"g": g, "g_gamma": gamma}
        g = (g + gamma).flip(1)
    elif not is_linear:
        g = (1 - 2.0 ** (-5.0 - torch.arange(H, dtype=torch.float64))).log().expand(B, T, H)
    inputs = [x.requires_grad_() for x in (q, k, v, s)]
    o, final = function(q, k, v, initial_state=(s, z) if normalize else s, output_final_state=True, reverse=True, **more)
    exact = recurrence(*(x.flip(1) for x in (q, k, v)), K**-0.5, s, z, g=g, normalize=normalize)
    assert close(o, exact[0].flip(1))
    final = final if normalize else (final,)
    assert all(close(one, wanted) for one, wanted in zip(final, exact[1:]))
    found = torch.autograd.grad(o.square().sum() + final[0].sum(), inputs)
    wanted = torch.autograd.grad(exact[0].square().sum() + exact[1].sum(), inputs)
    assert all(close(*pair, 1e-4) for pair in zip(found, wanted))


def test_reverse_of_packed_sequences(tensors):
    q, k, v, g, s = tensors(1, T, H, K), tensors(1, T, H, K), tensors(1, T, H, V), -tensors(1, T, H).abs(), tensors(3, H, V, K)
    ends = torch.tensor([0, 7, 7, T])
    o, final = ops.fused_recurrent_simple_gla(
        q, k, v, g, initial_state=s, output_final_state=True, reverse=True, state_v_first=True, cu_seqlens=ends
    )
    for i, (a, b) in enumerate(zip(ends, ends[1:])):
        part = [x[:, a:b].flip(1) for x in (q, k, v)]
        exact = recurrence(*part, K**-0.5, s[i : i + 1].transpose(-1, -2), g=g[:, a:b].flip(1)) if b > a else None
        if exact is None:
            assert torch.equal(final[i], s[i])
        else:
            assert close(o[:, a:b], exact[0].flip(1)) and close(final[i : i + 1].transpose(-1, -2), exact[1])
    for wrong in ([0, 9, 8, T], [1, 9, T], [0, 9, T + 1]):
        with pytest.raises(polyattn.CallError, match=rf"gla: argument 'cu_seqlens': expected numbers that rise from 0 to T = {T}, got \[{wrong[0]}, 9"):
            ops.fused_recurrent_simple_gla(q, k, v, g, reverse=True, cu_seqlens=torch.tensor(wrong))


def test_hints_change_nothing(tensors):
    """What FLA's functions take about the launch of their kernels; scales of NumPy's."""
    q, k, v, g = tensors(1, T, H, K), tensors(1, T, H, K), tensors(1, T, H, V), -tensors(1, T, H).abs()
    ends = torch.tensor([0, 7, T])
    plain = ops.chunk_simple_gla(q, k, v, g, scale=0.5, cu_seqlens=ends)[0]
    hinted = ops.chunk_simple_gla(q, k, v, g, scale=np.float32(0.5), cu_seqlens=ends, cu_seqlens_cpu=ends.clone(), chunk_size=32)[0]
    assert torch.equal(plain, hinted)
    assert torch.equal(ops.parallel_simple_gla(q, k, v, g, np.float64(0.5), cu_seqlens=ends, cu_seqlens_cpu=ends)[0], plain)
    assert torch.equal(ops.chunk_retention(q, k, v)[0], ops.chunk_retention(q, k, v, chunk_size=np.int64(64))[0])


@pytest.mark.parametrize("function", [ops.chunk_simple_gla, ops.fused_chunk_simple_gla, ops.fused_recurrent_simple_gla])
@pytest.mark.parametrize("gates", ["token", "head", "both", "none"])
def test_simple_gla(function, gates, tensors):
    q, k, v, s = tensors(B, T, H, K), tensors(B, T, H, K), tensors(B, T, H, V), tensors(B, H, K, V)
    g = -tensors(B, T, H).abs() if gates in ("token", "both") else None
    gamma = -tensors(H).abs() / 8 if gates in ("head", "both") else None
    total = (torch.zeros(B, T, H) if g is None else g) + (0 if gamma is None else gamma)
    exact = recurrence(q, k, v, K**-0.5, s, g=total)
    o, final = function(q, k, v, g, gamma, initial_state=s, output_final_state=True)
    assert close(o, exact[0]) and close(final, exact[1])
    assert close(ops.parallel_simple_gla(q, k, v, total)[0], recurrence(q, k, v, K**-0.5, g=total)[0])


def test_retention(tensors):
    q, k, v, s = tensors(B, T, H, K), tensors(B, T, H, K), tensors(B, T, H, V), tensors(B, H, K, V)
    g = (1 - 2.0 ** (-5.0 - torch.arange(H, dtype=torch.float64))).log().expand(B, T, H)
    exact = recurrence(q, k, v, K**-0.5, s, g=g)
    for function in (ops.chunk_retention, ops.fused_chunk_retention, ops.fused_recurrent_retention):
        o, final = function(q, k, v, initial_state=s, output_final_state=True)
        assert close(o, exact[0]) and close(final, exact[1])
    o, none = ops.parallel_retention(q, k, v, scale=1.0)
    assert none is None and close(o, recurrence(q, k, v, 1.0, g=g)[0])


@pytest.mark.parametrize(
    "function", [ops.chunk_simple_gla, ops.fused_recurrent_simple_gla, ops.fused_recurrent_retention]
)
def test_states_with_values_first(function, tensors):
    """What flash-linear-attention's own layers ask for: the same numbers, [B, H, V, K]."""
    q, k, v, s = tensors(B, T, H, K), tensors(B, T, H, K), tensors(B, T, H, V), tensors(B, H, K, V)
    o, final = function(q, k, v, initial_state=s, output_final_state=True)
    first = s.transpose(-1, -2).contiguous().requires_grad_()
    found, turned = function(q, k, v, initial_state=first, output_final_state=True, state_v_first=True)
    assert (found - o).norm() <= 1e-6 * o.norm() and (turned.transpose(-1, -2) - final).norm() <= 1e-6 * final.norm()
    assert function(q, k, v, state_v_first=True)[1] is None
    (found.sum() + turned.sum()).backward()
    assert first.grad.shape == first.shape


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("scale", [None, 0.3])
def test_based(normalized, scale, tensors):
    q, k, v = tensors(B, T, H, K), tensors(B, T, H, K), tensors(B, T, H, V)
    s = scale or K**-0.5
    exact = direct(q, k, v, lambda x: 1 + s * x + (s * x) ** 2 / 2, 1e-6 if normalized else None)
    assert close(ops.parallel_based(q, k, v, scale, normalized), exact)
    assert close(ops.fused_chunk_based(q, k, v, scale, use_norm=normalized), exact)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("scaled", [True, False])
def test_rebased(normalized, scaled, tensors):
    q, k, v = tensors(B, T, H, K), tensors(B, T, H, K), tensors(B, T, H, V)
    s = K**-0.5 if scaled else 1.0
    exact = direct(q, k, v, lambda x: (s * x) ** 2, 1e-3 if normalized else None)
    assert close(ops.parallel_rebased(q, k, v, 1e-3, scaled, normalized), exact)


@pytest.mark.parametrize("deg", [2, 4])
@pytest.mark.parametrize("gated", [True, False])
def test_power(deg, gated, tensors):
    q, k, v = tensors(B, T, H, 8), tensors(B, T, 2, 8), tensors(B, T, 2, V)
    g = -tensors(B, T, 2).abs() / 4 if gated else None
    exact = direct(q, k, v, lambda x: (x * 8**-0.5) ** deg, 1e-30, g)
    assert close(ops.power_retention(q, k, v, g, deg=deg, chunk_size=16), exact, 1e-4)


def test_packed_sequences(tensors):
    q, k, v = tensors(1, T, H, K).abs(), tensors(1, T, H, K).abs(), tensors(1, T, H, V)
    ends = torch.tensor([0, 7, 7, 30, T])
    s, z, g = tensors(4, H, K, V), tensors(4, 1, H, K).abs(), -tensors(1, T, H).abs()
    o, (fs, fz) = ops.chunk_linear_attn(q, k, v, None, (s, z), True, cu_seqlens=ends)
    gated, final = ops.chunk_simple_gla(q, k, v, g, initial_state=s, output_final_state=True, cu_seqlens=ends)
    kept, none = ops.chunk_retention(q, k, v, cu_seqlens=ends)
    assert none is None
    for i, (a, b) in enumerate(zip(ends, ends[1:])):
        part = [x[:, a:b] for x in (q, k, v)]
        found = ops.chunk_linear_attn(*part, None, (s[i : i + 1], z[i : i + 1]), True)
        assert torch.equal(o[:, a:b], found[0])
        assert torch.equal(fs[i : i + 1], found[1][0]) and torch.equal(fz[i : i + 1], found[1][1])
        found = ops.chunk_simple_gla(*part, g[:, a:b], initial_state=s[i : i + 1], output_final_state=True)
        assert torch.equal(gated[:, a:b], found[0]) and torch.equal(final[i : i + 1], found[1])
        assert torch.equal(kept[:, a:b], ops.chunk_retention(*part)[0])


@pytest.mark.parametrize("dynamic", [False, True])
def test_torch_compile_of_functions(dynamic, tensors):
    def step(q, k, v, g):
        o, (s, z) = ops.chunk_linear_attn(q.abs(), k.abs(), v, output_final_state=True)
        return o, s, z, ops.chunk_simple_gla(q, k, v, g)[0], ops.parallel_based(q, k, v)

    torch._dynamo.reset()
    compiled = torch.compile(step, fullgraph=True, dynamic=dynamic)
    for length, d in ((T, K), (20, K), (20, 8)):
        inputs = tensors(B, length, H, d), tensors(B, length, H, d), tensors(B, length, H, V), -tensors(B, length, H).abs()
        assert all(map(torch.equal, compiled(*inputs), step(*inputs)))


def test_bf16_of_functions(tensors):
    q, k, v, s = tensors(B, T, H, K), tensors(B, T, H, K), tensors(B, T, H, V), tensors(B, H, K, V)
    small = [x.bfloat16() for x in (q, k, v)]
    o, final = ops.chunk_retention(*small, initial_state=s, output_final_state=True)
    assert o.dtype == torch.bfloat16 and final.dtype == torch.float32
    exact, _ = ops.chunk_retention(*(x.float() for x in small), initial_state=s)
    assert close(o, exact.double(), 1e-2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert ops.chunk_retention(q, k, v)[0].dtype == torch.bfloat16


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda q: ops.chunk_linear_attn(q, q, q, initial_state=q), "'initial_state': expected a tuple of S and z"),
        (lambda q: ops.chunk_linear_attn(q[0], q, q), "'q': expected a tensor .B, T, H, K., got a tensor .45, 4, 16. of float32"),
        (lambda q: ops.chunk_linear_attn(q, q, q, q), "'scale': expected a number"),
        (lambda q: ops.chunk_linear_attn(q, q, q, cu_seqlens=torch.tensor([0, 45])), "'cu_seqlens': expected tensors of batch 1"),
        (lambda q: ops.chunk_linear_attn(q[:1], q[:1], q[:1], cu_seqlens=torch.tensor([0, 9])), "'cu_seqlens': expected the last offset to be T = 45, got 9"),
        (lambda q: ops.chunk_retention(q[:1], q[:1], q[:1], initial_state=q[:1], cu_seqlens=torch.tensor([0, 9, 45])), "with N = 2 as in 'cu_seqlens'"),
        (lambda q: ops.chunk_simple_gla(q, q, q, initial_state=q[0], state_v_first=True), "'initial_state'"),
        (lambda q: ops.parallel_simple_gla(q, q, q, output_attentions=True), "'output_attentions'"),
        (lambda q: ops.parallel_retention(q, q, q, output_attentions=True), "'output_attentions'"),
        (lambda q: ops.parallel_rebased(q, q, q, return_both=True), "'return_both'"),
        (lambda q: ops.power_retention(q, q, q, deg=3), "'deg': expected an even number"),
        (lambda q: ops.power_retention(q, q, q, initial_state=q), "another basis"),
        (lambda q: ops.power_retention(q, q, q, return_final_state=True), "another basis"),
        (lambda q: ops.chunk_linear_attn(q[:1], q[:1], q[:1], cu_seqlens=torch.tensor([0, 9])), "^chunk_linear_attn: argument"),
        (lambda q: ops.power_retention(q, q, q, deg=2.0), "'deg': expected a whole number of at least 2, got 2.0"),
        (lambda q: ops.power_retention(q, q, q, q), r"^power_retention: argument 'log_G': expected a tensor \[B, T, Hkv\], got"),
        (lambda q: ops.chunk_simple_gla(q, q, q, chunk_size=0), "'chunk_size': expected a whole number of at least 1, got 0"),
        (lambda q: ops.chunk_retention(q, q, q, chunk_size="a"), "'chunk_size': expected a whole number of at least 1, got 'a'"),
        (lambda q: ops.chunk_simple_gla(q, q, q, cu_seqlens_cpu=torch.tensor([0, 45])), "'cu_seqlens': expected a tensor, of which"),
        (lambda q: ops.chunk_simple_gla(q[:1], q[:1], q[:1], cu_seqlens=torch.tensor([0, 45]), cu_seqlens_cpu=torch.tensor([0, 44])),
         "'cu_seqlens_cpu': expected a copy of cu_seqlens"),
        (lambda q: ops.chunk_linear_attn(q[:1], q[:1], q[:1], cu_seqlens=torch.tensor([0, 2**32 + 45])), "'cu_seqlens': expected"),
        (lambda q: ops.chunk_linear_attn(q[:1], q[:1], q[:1], cu_seqlens=torch.tensor([False, True])), "N . 1 whole numbers, got"),
        (lambda q: ops.parallel_based(q, q, q, scale=-1), "^parallel_based: argument 'scale': expected a positive number, got -1"),
        (lambda q: ops.parallel_rebased(q, q, q, eps=None), "'eps': expected a number, got None"),
        (lambda q: ops.chunk_linear_attn(q, q, q, initial_state=(q, q)), r"'initial_state': expected a tensor \[N, 1, Hkv, K\]"),
        (lambda q: ops.fused_recurrent_linear_attn(q, q, q, initial_state=(q, q)), "'initial_state': expected a tensor .N, Hkv, K, V., got tuple"),
    ],
)  # fmt: skip
def test_refusals(call, words):
    with pytest.raises(polyattn.CallError, match=words):
        call(torch.ones(B, T, H, K))


SEQUENCES = ["Q", "K", "V"], ["q", "k", "v"]
WRONG = [
    (0, lambda x: x.double(), "expected float32, bfloat16 or float16, got a tensor .2, 45, 4, 16. of float64"),
    (0, lambda x: x.numpy(), "expected a tensor .B, T, H, K., got ndarray"),
    (0, lambda x: x.long(), "of floating-point numbers, got a tensor .2, 45, 4, 16. of int64"),
    (0, lambda x: x[..., :0], "expected at least one channel, got a tensor .2, 45, 4, 0. of float32"),
    (1, lambda x: x.bfloat16(), "expected float32, as '[qQ]' has, got a tensor .2, 45, 4, 16. of bfloat16"),
    (1, lambda x: x[:, :44], "with T = 45 as in '[qQ]', got a tensor .2, 44, 4, 16."),
    (1, lambda x: x[..., :8], "with K = 16 as in '[qQ]', got a tensor"),
    (1, lambda x: x[:, :, :3], "expected a number of heads that divides 4, as '[qQ]' has, got 3"),
    (1, lambda x: x.to("meta"), "expected a tensor on cpu, where '[qQ]' is, got one on meta"),
    (2, lambda x: x[:1], "with B = 2 as in '[qQ]', got a tensor .1, 45, 4, 16."),
    (2, lambda x: x[:, :, :2], "with Hkv = 4 as in '[kK]', got a tensor"),
]  # fmt: skip


@pytest.mark.parametrize("name", ops.__all__)
def test_errors_are_about_the_function_that_was_called(name):
    """Wrong types, dtypes, shapes and devices of each sequence: its name, the argument's name, what came."""
    x = torch.ones(B, T, H, K)
    for place, change, words in WRONG:
        given = [x, x, x]
        given[place] = change(x)
        if place == 0 and given[0] is not x and words.startswith("expected at least"):
            given = [given[0], given[0], x]
        argument = SEQUENCES[name != "power_retention"][place]
        with pytest.raises(polyattn.CallError, match=f"^{name}: argument '{argument}': .*{words}"):
            getattr(ops, name)(*given)
    for argument, shape, words in (
        ("g", (B, T, 3), r"\[B, T, Hkv\] with Hkv = 4 as in 'k', got a tensor \[2, 45, 3\] of float32"),
        ("g_gamma", (B,), r"\[Hkv\] with Hkv = 4 as in 'k'"),
        ("initial_state", (H, K, K), r"\[N, Hkv, (K, V|V, K)\], got a tensor \[4, 16, 16\] of float32"),
        ("initial_state", (3, H, K, K), r".* with N = 2 as in 'q', got a tensor \[3, 4, 16, 16\] of float32"),
    ):
        if argument not in inspect.signature(getattr(ops, name)).parameters or name == "power_retention":
            continue
        is_normalized = argument == "initial_state" and name in LINEAR[:2]
        given = torch.ones(shape)
        with pytest.raises(polyattn.CallError, match=f"^{name}: argument '{argument}': expected a tensor {words}"):
            getattr(ops, name)(x, x, x, **{argument: (given, torch.ones(B, 1, H, K)) if is_normalized else given})


def test_unknown_options_are_refused():
    q = torch.ones(B, T, H, K)
    with pytest.raises(TypeError, match="head_first"):
        ops.chunk_retention(q, q, q, head_first=True)
    assert not hasattr(ops, "chunk_gla")


def test_signatures_are_flash_linear_attentions():
    for module in ("linear_attn", "simple_gla", "retention", "based", "rebased"):
        theirs = pytest.importorskip(f"fla.ops.{module}", exc_type=ImportError)
        for name in set(ops.__all__) & set(dir(theirs)):
            found, wanted = (
                {x.name: x.default for x in inspect.signature(getattr(one, name)).parameters.values() if x.kind != x.VAR_KEYWORD}
                for one in (ops, theirs)
            )
            hint = found.pop("chunk_size", None)  # which theirs take among their `**kwargs`
            assert hint is None
            assert found == wanted and list(found) == list(wanted), name


class _Norm(torch.nn.Module):
    """In place of a norm that is a kernel for GPUs."""

    def forward(self, o, g=None):
        o = torch.nn.functional.rms_norm(o, o.shape[-1:])
        return o if g is None else o * torch.nn.functional.silu(g)


class _Unturned(torch.nn.Module):
    def forward(self, q, k, **ignored):
        return q, k


def _by_tokens(name, normalize):
    """A function of theirs by its formula, which PyTorch differentiates."""

    def call(q, k, v, g=None, initial_state=None, output_final_state=False, scale=None, cu_seqlens=None, **named):
        if "retention" in name:
            g = (1 - 2.0 ** (-5.0 - torch.arange(q.shape[2], dtype=torch.float64))).log().expand(q.shape[:3])
        is_normalized = named.get("normalize", normalize)
        assert initial_state is None and not output_final_state
        return recurrence(q, k, v, scale or q.shape[-1] ** -0.5, g=g, normalize=is_normalized)[0].to(v.dtype), None

    return call


LINEAR = ["chunk_linear_attn", "fused_chunk_linear_attn", "fused_recurrent_linear_attn"]
RETENTION = ["chunk_retention", "fused_chunk_retention", "fused_recurrent_retention", "parallel_retention"]
GLA = ["chunk_simple_gla", "fused_recurrent_simple_gla"]
THEIRS = [
    *(("linear_attn", "LinearAttention", LINEAR, {"feature_map": one, "mode": mode, "output_norm": "identity", "norm_q": norms,
                                                  "norm_k": norms, "expand_k": 1.0, "expand_v": 1.0})
      for one, mode, norms in (("elu", "chunk", False), ("relu", "fused_chunk", True), ("hedgehog", "fused_recurrent", False),
                               ("elementwise_product", "chunk", False), ("dpfp", "chunk", False))),
    *(("simple_gla", "SimpleGatedLinearAttention", GLA, {"mode": mode, "use_short_conv": False})
      for mode in ("chunk", "fused_recurrent")),
    *(("multiscale_retention", "MultiScaleRetention", RETENTION, {"mode": mode}) for mode in ("chunk", "fused_recurrent", "parallel")),
]  # fmt: skip


@pytest.mark.parametrize("module, layer, names, options", THEIRS)
def test_layers_of_flash_linear_attention(module, layer, names, options, tensors, monkeypatch):
    """Their own layers with our functions in them: results and gradients are those of the formulas."""
    theirs = pytest.importorskip(f"fla.layers.{module}", exc_type=ImportError)
    one = getattr(theirs, layer)(hidden_size=64, num_heads=4, **options)
    for name in ("norm", "g_norm", "g_norm_swish_gate"):
        if hasattr(one, name) and "Norm" in type(getattr(one, name)).__name__:
            setattr(one, name, _Norm())
    if hasattr(one, "rotary"):
        one.rotary = _Unturned()
    x, found = tensors(2, 70, 64) / 2, []
    for functions in ({name: getattr(ops, name) for name in names}, {name: _by_tokens(name, name == LINEAR[0]) for name in names}):
        for name in set(names) & set(vars(theirs)):
            monkeypatch.setattr(theirs, name, functions[name])
        o = one(x)[0]
        found.append([o, *torch.autograd.grad(o.square().sum(), list(one.parameters()), allow_unused=True)])
    for ours, wanted in zip(*found):
        assert (ours is None) == (wanted is None)
        assert ours is None or (ours - wanted).norm() <= 1e-3 * wanted.norm()
