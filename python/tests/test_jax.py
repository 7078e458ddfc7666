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


def test_bf16(rng):
    kernel = polyattn.compile(SPECS / "linear.mlir", "linear", dtype=jax.numpy.bfloat16)
    qkv = [jax.numpy.asarray(rng.standard_normal((1, 40, 2, 64)), "bfloat16") for _ in range(3)]
    o = kernel(*qkv)
    assert o.dtype == jax.numpy.bfloat16
    expected = polyattn.reference(SPECS / "linear.mlir", "linear")(*map(np.asarray, qkv))
    assert np.abs(np.asarray(o, "f8") - expected).max() < 1e-2 * np.abs(expected).max()
