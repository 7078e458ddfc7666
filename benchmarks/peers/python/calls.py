#!/usr/bin/env python3
"""Microseconds that a call takes over the kernel: from C, on NumPy's arrays, on PyTorch's tensors, as an operator.

    benchmarks/peers/python/calls.py     in a Python that has polyattn and, for the rest of the table, PyTorch

One token of linear attention, two heads, d = 64, one thread. Ways are timed in turns, and the best of them is what counts:
anything else on the machine only adds. Needs a C compiler.
"""

import ctypes
import pathlib
import subprocess
import tempfile
import time

import numpy as np

import polyattn

ROUNDS, CALLS = 225, 200
LOOP = r"""
#include "polyattn-c/polyattn.h"
#include <stdlib.h>
/* Seconds are the caller's to measure. */
int loop(polyattn_kernel *(*compile)(const char *, size_t, const char *, const polyattn_compile_options *, polyattn_error **),
         int (*run)(const polyattn_kernel *, const polyattn_tensor *, size_t, int, polyattn_error **),
         const char *text, size_t length, float **data, long count) {
  static polyattn_kernel *kernel;
  int64_t sizes[] = {1, 1, 2, 64};
  polyattn_tensor tensors[4];
  for (int i = 0; i < 4; ++i)
    tensors[i] = polyattn_dense(data[i], POLYATTN_F32, 4, sizes);
  if (!kernel)
    kernel = compile(text, length, "spec", NULL, NULL);
  int status = !kernel;
  while (count--)
    status |= run(kernel, tensors, 4, 1, NULL);
  return status;
}
"""


def from_c(spec, arrays):
    """A function that makes so many calls."""
    include = pathlib.Path(__file__).resolve().parents[3] / "include"
    folder = tempfile.TemporaryDirectory()
    source, library = (pathlib.Path(folder.name) / name for name in ("loop.c", "loop.so"))
    source.write_text(LOOP)
    subprocess.check_call(["cc", "-O2", "-shared", "-fPIC", f"-I{include}", str(source), "-o", str(library)])
    loop = ctypes.CDLL(str(library)).loop
    ours = ctypes.CDLL(str(pathlib.Path(polyattn.__file__).with_name("libpolyattn.so.1")))
    data = (ctypes.c_void_p * 4)(*(x.ctypes.data for x in arrays))
    text = spec.text.encode()

    def run(count, keep=folder):
        assert not loop(ours.polyattn_compile_text, ours.polyattn_kernel_run, text, ctypes.c_size_t(len(text)), data,
                        ctypes.c_long(count))  # fmt: skip

    return run


def repeated(call):
    def run(count):
        for _ in range(count):
            call()

    return run


def ways():
    spec = polyattn.library.linear(d=64)
    kernel = polyattn.compile(spec)
    arrays = [np.ones((1, 1, 2, 64), "f4") for _ in range(4)]
    *inputs, out = arrays
    yield "C", from_c(spec, arrays)
    yield "kernel on NumPy, `out` given", repeated(lambda: kernel(*inputs, out=out, threads=1))
    yield "kernel on NumPy", repeated(lambda: kernel(*inputs, threads=1))
    try:
        import torch

        import polyattn.torch as pt
    except ImportError:
        return
    torch.set_num_threads(1)
    *tensors, result = map(torch.from_numpy, arrays)
    yield "kernel on tensors, `out` given", repeated(lambda: kernel(*tensors, out=result, threads=1))
    yield "kernel on tensors", repeated(lambda: kernel(*tensors, threads=1))
    attention = pt.load(spec)

    def inferring(count):
        with torch.inference_mode():
            for _ in range(count):
                attention(*tensors)

    yield "`polyattn.torch`, inference mode", inferring
    yield "`polyattn.torch`", repeated(lambda: attention(*tensors))
    learned = [one.clone().requires_grad_() for one in tensors]
    yield "`polyattn.torch`, gradients wanted", repeated(lambda: attention(*learned))

    def cast_by_autocast(inputs):
        def run(count):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                for _ in range(count):
                    attention(*inputs)

        return run

    yield "`polyattn.torch`, three casts by autocast", cast_by_autocast(tensors)
    yield "`polyattn.torch`, the same, gradients wanted", cast_by_autocast(learned)

    from polyattn.torch._decode import decode

    pools = torch.zeros(1, 2, 64, 64), torch.zeros(1, 2, 64)
    numbers = torch.zeros(1, dtype=torch.int32), torch.ones(1, dtype=torch.int64), torch.ones(1, dtype=torch.int32)

    def stepping(count):
        with torch.inference_mode():
            for _ in range(count):
                decode(attention._handle, [*tensors, *numbers], list(pools))

    yield "`polyattn.torch`, a step of states, inference mode", stepping
    compiled = torch.compile(attention, fullgraph=True)
    yield "`polyattn.torch` under torch.compile", repeated(lambda: compiled(*tensors))


def main():
    found = dict(ways())
    best = dict.fromkeys(found, float("inf"))
    for name, run in found.items():
        run(100)
    for _ in range(ROUNDS):
        for name, run in found.items():
            begin = time.perf_counter()
            run(CALLS)
            best[name] = min(best[name], (time.perf_counter() - begin) / CALLS * 1e6)
    print("| called by | us | us over C |\n|---|---|---|")
    for name, time_of in best.items():
        print(f"| {name} | {time_of:.1f} | {time_of - best['C']:.1f} |")


if __name__ == "__main__":
    main()
