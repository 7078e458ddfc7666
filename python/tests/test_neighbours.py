"""Other libraries that bring an LLVM of their own, in one process with ours, in both orders, with symbols for all."""

import importlib.util
import subprocess
import sys

import pytest
from conftest import SPECS

USES = {
    "torch": """
import torch
assert torch.bmm(torch.ones(2, 8, 8), torch.ones(2, 8, 8)).sum() == 1024
""",
    "jax": """
import jax, jax.numpy
assert jax.jit(lambda x: (x * 2).sum())(jax.numpy.ones(10)) == 20
""",
    "numba": """
import numba
@numba.njit
def squares(n):
    total = 0.0
    for i in range(n):
        total += i * i
    return total
assert squares(10) == 285
""",
    "triton": """
import triton
from triton._C import libtriton
context = libtriton.ir.context()
libtriton.ir.load_dialects(context)
assert "module" in str(libtriton.ir.builder(context).create_module())
""",
}
OURS = f"""
import numpy, polyattn
x = numpy.ones((1, 100, 2, 64), "f4")
for entry in ("linear", "linear_full"):
    kernel = polyattn.compile({str(SPECS / "linear.mlir")!r}, entry, cache="")
    assert abs(kernel(x, x, x, threads=2) - 1).max() < 1e-5
try:
    polyattn.compile("polyattn.attention @x() -> () {{\\n")
    raise SystemExit("compiled")
except polyattn.SpecError:
    pass
"""


@pytest.mark.parametrize("flags", ["RTLD_LOCAL", "RTLD_GLOBAL"])
@pytest.mark.parametrize("order", ["first", "last"])
@pytest.mark.parametrize("name", USES)
def test_one_process(name, order, flags):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    parts = [OURS, USES[name]] if order == "first" else [USES[name], OURS]
    program = f"import os, sys\nsys.setdlopenflags(os.{flags} | os.RTLD_NOW)\n" + "".join(parts) + OURS
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
