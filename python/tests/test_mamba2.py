"""Mamba-2 and other sequences whose heads are shared, against the recurrence (Dao and Gu 2024, equation 2) in PyTorch's f64."""

from __future__ import annotations

import functools

import pytest
import torch

import polyattn
import polyattn.torch as pt
from polyattn import library

H, N, P = 6, 16, 12


def recurrence(c, b, x, log_decay, state):
    """y_t = S_t^T c_t and the last S_t, with S_t = exp(log_decay_t) S_{t-1} + b_t x_t^T. Head h reads c and b of head h / (H / Hkv)."""
    rows, group = [], x.shape[2] // c.shape[2]
    c, b = (one[:, :, torch.arange(x.shape[2]) // group] for one in (c, b))
    for t in range(x.shape[1]):
        state = log_decay[:, t, :, None, None].exp() * state + b[:, t, :, :, None] * x[:, t, :, None]
        rows.append((c[:, t, :, :, None] * state).sum(-2))
    return torch.stack(rows, 1), state


def whole_head(c, b, x, dt, log_decay, skip):
    y, _ = recurrence(c, b, x * dt, log_decay, c.new_zeros(c.shape[0], H, N, P))
    return y + skip * x


def tensors(length, groups, batch=2, dtype=torch.float32):
    torch.manual_seed(length + groups)
    normal = functools.partial(torch.randn, dtype=torch.float64)
    c, b = normal(2, batch, length, groups, N)
    x, dt = normal(batch, length, H, P), normal(batch, length, H, 1).exp()
    log_decay = -dt[..., 0] * normal(H).exp()
    found = [one.to(dtype) for one in (c, b, x, dt)]
    return [*found, log_decay.float(), normal(H, P).to(dtype)]


def close(found, expected, tolerance):
    assert found.shape == expected.shape
    assert (found.double() - expected).abs().max() <= tolerance * expected.abs().max()


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
@pytest.mark.parametrize("length", [1, 17, 150])
def test_rows_and_gradients(length, groups):
    given = [one.requires_grad_() for one in tensors(length, groups)]
    exact = [one.detach().double().requires_grad_() for one in given]
    attention = pt.load(library.mamba2(N, P, steps=True, skip=True))
    y, expected = attention(*given), whole_head(*exact)
    close(y, expected, 1e-5)
    slope = torch.randn_like(y)
    y.backward(slope)
    expected.backward(slope.double())
    for one, other in zip(given, exact):
        close(one.grad, other.grad, 5e-5)


@pytest.mark.parametrize("dtype, tolerance", [(torch.bfloat16, 3e-2), (torch.float16, 4e-3)])
def test_rows_and_gradients_in_16_bits(dtype, tolerance):
    given = [one.requires_grad_() for one in tensors(70, 2, dtype=dtype)]
    exact = [one.detach().double().requires_grad_() for one in given]
    y, expected = pt.load(library.mamba2(N, P, steps=True, skip=True))(*given), whole_head(*exact)
    close(y, expected, tolerance)
    slope = torch.randn_like(expected)
    y.backward(slope.to(dtype))
    expected.backward(slope.to(dtype).double())
    for one, other in zip(given, exact):
        close(one.grad, other.grad, tolerance)


def test_heads_of_their_own_give_the_same():
    c, b, x, dt, log_decay, skip = tensors(40, 2)
    shared = pt.load(library.mamba2(N, P))(c, b, x, log_decay)
    copies = [one.repeat_interleave(H // 2, 2) for one in (c, b)]
    close(pt.load(library.mamba2(N, P, shared=False))(*copies, x, log_decay), shared.double(), 1e-6)


def test_packed_sequences():
    c, b, x, dt, log_decay, skip = tensors(60, 2, batch=1)
    ends = torch.tensor([0, 13, 13, 60])
    found = pt.load(library.mamba2(N, P))(c, b, x, log_decay, cu_seqlens=ends)
    for begin, end in ((0, 13), (13, 60)):
        parts = [one[:, begin:end].double() for one in (c, b, x, log_decay)]
        expected, _ = recurrence(*parts, torch.zeros(1, H, N, P, dtype=torch.float64))
        close(found[:, begin:end], expected, 1e-5)


def test_steps_of_a_pool():
    """A prompt and tokens after it, whose states lie in slots of a pool."""
    c, b, x, dt, log_decay, skip = tensors(30, 3)
    expected, last = recurrence(*(one.double() for one in (c, b, x, log_decay)), torch.zeros(2, H, N, P, dtype=torch.float64))
    kernel = polyattn.compile(library.mamba2(N, P), direction="decode")
    pool, slots = torch.full((4, H, N, P), torch.nan), torch.tensor([3, 1], dtype=torch.int32)
    for begin, end in ((0, 20), (20, 21), (21, 25), (25, 30)):
        part = [one[:, begin:end] for one in (c, b, x, log_decay)]
        first, lengths = torch.full((2,), begin), torch.full((2,), end - begin, dtype=torch.int32)
        named = dict(state=pool, slots=slots, first_position=first, lengths=lengths)
        close(kernel(*part, **named)[0], expected[:, begin:end], 1e-5)
    close(pool[[3, 1]], last, 1e-5)


def test_final_states():
    c, b, x, dt, log_decay, skip = tensors(33, 2)
    state = torch.randn(2, H, N, P)
    y, final = pt.load(library.mamba2(N, P, states=True))(c, b, x, log_decay, state)
    expected, last = recurrence(*(one.double() for one in (c, b, x, log_decay, state)))
    close(y, expected, 1e-5)
    close(final, last, 1e-5)


def test_a_layer_has_shared_heads():
    """Queries and keys of `kv_heads`, values of `heads`."""
    spec = """polyattn.attention @shared(q, k: shared_seq[8], v: seq[4]) -> (o) {
      return attend(elu_plus_one(q), elu_plus_one(k), v) causal normalize sum(1e-6)
    }"""
    torch.manual_seed(0)
    layer = pt.nn.Attention(spec, 24, heads=6, kv_heads=2)
    assert (layer.q_proj.out_features, layer.k_proj.out_features, layer.v_proj.out_features) == (16, 16, 24)
    x = torch.randn(2, 19, 24, requires_grad=True)
    y = layer(x)
    exact = x.detach().double().requires_grad_()

    def phi(one):
        return (torch.nn.functional.elu(one) + 1).view(2, 19, 2, 8).repeat_interleave(3, 2)

    weights = [getattr(layer, f"{side}_proj").weight.detach().double() for side in "qkvo"]
    q, k, v = phi(exact @ weights[0].T), phi(exact @ weights[1].T), (exact @ weights[2].T).view(2, 19, 6, 4)
    scores = torch.einsum("bihd,bjhd->bhij", q, k).tril()
    o = torch.einsum("bhij,bjhd->bihd", scores / (scores.sum(-1, keepdim=True) + 1e-6), v)
    expected = o.flatten(-2) @ weights[3].T
    close(y, expected, 1e-5)
    y.sum().backward()
    expected.sum().backward()
    close(x.grad, exact.grad, 1e-4)
    states = layer.new_states(2)
    with torch.no_grad():
        close(torch.cat([layer.prefill(x[:, :12], states), layer.step(x[:, 12:], states)], 1), expected.detach(), 1e-5)


def test_wrong_calls_are_refused():
    c, b, x, dt, log_decay, skip = tensors(9, 4)  # 4 heads do not divide 6
    attention = pt.load(library.mamba2(N, P))
    with pytest.raises(polyattn.CallError, match="a number of heads that divides H = 6, got Hkv = 4"):
        attention(c, b, x, log_decay)
    with pytest.raises(polyattn.CallError, match=r"argument 'b': expected shape \[B, T, Hkv, 16\] with Hkv = 4 as in 'c'"):
        attention(c, b[:, :, :2], x, log_decay)
    with pytest.raises(polyattn.SpecError, match="no argument says how many heads there are"):
        polyattn.compile("polyattn.attention @a(q, k, v: shared_seq[8]) { return attend(q, k, v) causal normalize none }")


def test_pools_keep_shared_rows_once():
    """Softmax over the nearest keys, whose heads are shared, token by token."""
    spec = "polyattn.attention @near(q: seq[8], k: shared_seq[8], v: seq[6]) -> (o) { return attend(q, k, v) causal normalize softmax window 8 }"
    torch.manual_seed(3)
    q, k, v = torch.randn(1, 40, 4, 8), torch.randn(1, 40, 2, 8), torch.randn(1, 40, 4, 6)
    scores = torch.einsum("bihd,bjhd->bhij", q.double(), k.double().repeat_interleave(2, 2))
    lag = torch.arange(40)[:, None] - torch.arange(40)
    weights = scores.masked_fill((lag < 0) | (lag >= 8), -torch.inf).softmax(-1)
    expected = torch.einsum("bhij,bjhd->bihd", weights, v.double())
    kernel = polyattn.compile(spec, direction="decode")
    shapes = {one.name: [{"P": 2, "H": 4, "Hkv": 2}.get(size, size) for size in one.shape] for one in kernel.signature.arguments}
    assert shapes["window_keys"][:2] == [2, 2] and shapes["window_values"][:2] == [2, 4]
    pools = {name: torch.full(shapes[name], torch.nan) for name in ("window_keys", "window_values")}
    for begin, end in ((0, 5), (5, 6), (6, 30), (30, 40)):
        part = [one[:, begin:end] for one in (q, k, v)]
        named = dict(slots=torch.tensor([1], dtype=torch.int32), first_position=torch.tensor([begin]), lengths=torch.tensor([end - begin], dtype=torch.int32))
        close(kernel(*part, **pools, **named)[0], expected[:, begin:end], 1e-5)
