"""Decays of each feature against the recurrence of gated linear attention (Yang et al. 2024, equation 3), in NumPy's f64."""

from __future__ import annotations

import numpy as np
import pytest

import polyattn
from polyattn import library


def recurrence(q, k, v, log_decay, state, scale):
    """o_t = scale q_t S_t and the last S_t, with S_t = diag(exp(log_decay_t)) S_{t-1} + k_t^T v_t."""
    q, k, v, gates, state = (x.astype("f8") for x in (q, k, v, np.exp(log_decay.astype("f8")), state))
    group = q.shape[2] // k.shape[2]
    rows = []
    for t in range(q.shape[1]):
        state = gates[:, t, :, :, None] * state + k[:, t, :, :, None] * v[:, t, :, None, :]
        rows.append(scale * np.einsum("bhd,bhde->bhe", q[:, t], state.repeat(group, axis=1)))
    return np.stack(rows, 1), state


def gates_of(rng, shape, kind):
    soft = -rng.exponential(0.1, shape)
    if kind == "soft":
        return soft.astype("f4")
    # Neighbours differ by far more than f32 tells apart: sums of such gates have no digits left.
    strong = rng.choice([0.0, -1e-4, -3.0, -90.0, -1e4, -np.inf], shape, p=[0.3, 0.3, 0.2, 0.1, 0.05, 0.05])
    return strong.astype("f4")


@pytest.mark.parametrize("kind", ["soft", "strong"])
@pytest.mark.parametrize("length", [1, 15, 16, 77, 200])
def test_rows_and_state(rng, kind, length):
    d, dv = 32, 24
    q = rng.standard_normal((2, length, 4, d)).astype("f4")
    k = rng.standard_normal((2, length, 2, d)).astype("f4")
    v = rng.standard_normal((2, length, 2, dv)).astype("f4")
    state = rng.standard_normal((2, 2, d, dv)).astype("f4")
    gates = gates_of(rng, (2, length, 2, d), kind)
    kernel = polyattn.compile(library.gla(d, dv, score_scale=d**-0.5, states=True))
    o, final = kernel(q, k, v, gates, state)
    expected, last = recurrence(q, k, v, gates, state, d**-0.5)
    assert abs(o - expected).max() < 2e-6 * abs(expected).max()
    assert abs(final - last).max() < 2e-6 * abs(last).max()


def test_steps_continue_a_call(rng):
    d, length = 16, 40
    spec = library.gla(d, states=True)
    q, k, v = (rng.standard_normal((1, length, 2, d)).astype("f4") for _ in range(3))
    gates = gates_of(rng, (1, length, 2, d), "strong")
    expected, last = recurrence(q, k, v, gates, np.zeros((1, 2, d, d)), 1.0)
    kernel = polyattn.compile(spec)
    state = np.zeros((1, 2, d, d), "f4")
    for begin, end in ((0, 17), (17, 18), (18, 40)):
        part = slice(begin, end)
        o, state = kernel(q[:, part], k[:, part], v[:, part], gates[:, part], state)
        assert abs(o - expected[:, part]).max() < 2e-6 * abs(expected).max()
    assert abs(state - last).max() < 2e-6 * abs(last).max()


def test_gradients_are_refused():
    with pytest.raises(polyattn.SpecError, match="has no gradient yet: its decay is one of each feature"):
        polyattn.compile(library.gla(8), direction="backward")
