"""Kernels on PyTorch's tensors, without operators: a call is one on arrays."""

import subprocess
import sys

import numpy as np
import pytest
from conftest import SPECS

import polyattn

torch = pytest.importorskip("torch")


def test_tensors_in_and_out(linear, qkv):
    expected = linear(*qkv, threads=1)
    found = linear(*map(torch.from_numpy, qkv), threads=1)
    assert isinstance(found, torch.Tensor) and np.array_equal(found.numpy(), expected)
    out = torch.zeros_like(found)
    assert linear(*qkv, out=out, threads=1) is out
    assert np.array_equal(out.numpy(), expected)


def test_bf16(rng):
    kernel = polyattn.compile(SPECS / "linear.mlir", "linear", dtype=torch.bfloat16)
    qkv = [torch.from_numpy(rng.standard_normal((1, 40, 2, 64)).astype("f4")).bfloat16() for _ in range(3)]
    o = kernel(*qkv)
    assert o.dtype == torch.bfloat16
    expected = polyattn.reference(SPECS / "linear.mlir", "linear")(*qkv)
    assert expected.dtype == torch.float64
    assert (o.double() - expected).abs().max() < 1e-2 * expected.abs().max()


def test_tensors_that_require_gradients_are_refused(linear, qkv):
    tensors = [torch.from_numpy(x) for x in qkv]
    tensors[1].requires_grad_()
    with pytest.raises(polyattn.CallError, match="argument 'k': expected a tensor without gradients"):
        linear(*tensors)
    with pytest.raises(polyattn.CallError, match="argument 'k'"):
        linear(tensors[0], tensors[1] * 2, tensors[2])
    linear(*(x.detach() for x in tensors))


def test_tensors_that_are_not_numbers_in_memory_are_refused(linear, qkv):
    q, k, v = map(torch.from_numpy, qkv)
    negated = torch.complex(torch.zeros_like(v), v).conj().imag
    assert negated.is_neg()
    with pytest.raises(polyattn.CallError, match="argument 'v': .*resolve_neg"):
        linear(q, k, negated)
    assert torch.equal(linear(q, k, negated.resolve_neg()), -linear(q, k, v))
    for other in (v.to_sparse(), v.to("meta"), v.bool(), torch.nn.Parameter(v)):
        with pytest.raises(polyattn.CallError, match="argument 'v'"):
            linear(q, k, other)


def test_parameters_without_gradients(linear, qkv):
    """Subclasses of tensors."""
    found = linear(*(torch.nn.Parameter(torch.from_numpy(x), requires_grad=False) for x in qkv), threads=1)
    assert np.array_equal(found.numpy(), linear(*qkv, threads=1))


def test_importing_takes_no_compiler_of_pytorch_along():
    """torch._dynamo and what it imports are seconds, which a program that compiles no graph need not wait for."""
    program = """
import sys, torch
before = set(sys.modules)
import polyattn.torch
added = [name for name in sys.modules if name not in before and name.split(".")[0] not in ("polyattn", "numpy")]
print(len(added), [name for name in ("torch._dynamo", "torch._inductor", "sympy") if name in sys.modules and name not in before])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    count, heavy = done.stdout.split(maxsplit=1)
    assert heavy.strip() == "[]" and int(count) < 50
