"""Kernels on JAX's arrays, which are read-only, on processors."""

import numpy as np
import pytest
from conftest import SPECS

import polyattn

jax = pytest.importorskip("jax")


def test_arrays_in_and_out(linear, qkv):
    expected = linear(*qkv, threads=1)
    arrays = [jax.numpy.asarray(x) for x in qkv]
    found = linear(*arrays, threads=1)
    assert isinstance(found, jax.Array) and np.array_equal(np.asarray(found), expected)
    with pytest.raises(polyattn.CallError, match="result 'o': expected a writable array"):
        linear(*qkv, out=arrays[0])
    assert np.array_equal(np.asarray(arrays[0]), qkv[0])


def test_states_are_not_updated_in_place():
    """They would be the caller's pool, which nothing may write."""
    decode = polyattn.compile(SPECS / "linear.mlir", "linear", direction="decode")
    q, state, z = np.ones((1, 1, 2, 64), "f4"), jax.numpy.zeros((1, 2, 64, 64)), np.zeros((1, 2, 64), "f4")
    rest = np.zeros(1, "i4"), np.zeros(1, "i8"), np.ones(1, "i4")
    with pytest.raises(polyattn.CallError, match="result 'final': expected a writable array"):
        decode(q, q, q, state, z, *rest)
    assert not np.asarray(state).any() and not z.any()


def test_bf16(rng):
    kernel = polyattn.compile(SPECS / "linear.mlir", "linear", dtype=jax.numpy.bfloat16)
    qkv = [jax.numpy.asarray(rng.standard_normal((1, 40, 2, 64)), "bfloat16") for _ in range(3)]
    o = kernel(*qkv)
    assert o.dtype == jax.numpy.bfloat16
    expected = polyattn.reference(SPECS / "linear.mlir", "linear")(*map(np.asarray, qkv))
    assert np.abs(np.asarray(o, "f8") - expected).max() < 1e-2 * np.abs(expected).max()
