#!/usr/bin/env python3
"""Launches kernels of polyattn through Triton's CompiledKernel, and checks what they computed.

    examples/triton/launch.py specs/linear.mlir --entry linear --dtype bf16 --sizes B=2,T=1000,H=4
    examples/triton/launch.py ... --segments 4      in two kernels (docs/GPU.md, Segments)
    examples/triton/launch.py ... --dry-run         only say what would be launched

Needs a CUDA device, PyTorch, and Triton 3.5 or newer: before, its launchers pass one pointer after
the arguments, and our kernels end in two. Where something of that is missing, a line says so and
the exit status is 77; where numbers are wrong, 1. --dry-run needs Python's library alone.
polyattn-compile is taken from PATH, else from build/bin.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from types import SimpleNamespace

import description as kernels

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MISSING = 77  # What test runners take for "skipped".


def polyattn_compile(options, *more):
    program = shutil.which("polyattn-compile") or os.path.join(ROOT, "build", "bin", "polyattn-compile")
    dtype = ["--dtype", options.dtype] if options.dtype else []
    command = [program, options.spec, "--entry", options.entry, *dtype, "--target", options.target, *more]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    except OSError as error:
        raise kernels.CallError(str(error)) from error
    if done.returncode != 0:
        raise kernels.CallError(done.stderr.strip().replace("polyattn-compile: error: ", ""))
    return done.stdout


def order_of(descriptions, options):
    """The kernels to launch, in the plan's order: with one segment there is nothing to sum up."""
    entry = next(d for d in descriptions if d["polyattn"]["entry"] == options.entry)
    kernels.check_version(entry)
    plan = entry["polyattn"]["plan"]
    is_cut = options.segments != 1
    if is_cut and not any(choice["choose"] == "segments" for choice in plan["choices"]):
        raise kernels.CallError(f"--segments: {options.entry} has one segment always")
    return [next(d for d in descriptions if d["name"] == stage["function"])
            for stage in plan["stages"] if is_cut or stage["kind"] != "sums_segments"]


def make_tensors(main, options, allocate):
    """The caller's tensors and the workspaces; `allocate` gives a pointer."""
    described = main["polyattn"]["tensors"]
    shapes = kernels.bind_shapes(main, options.sizes)
    spaces = kernels.workspaces(main, shapes, options.segments)
    tensors = []
    for tensor, shape in zip(described, shapes):
        # Sequences show that strides need not be dense.
        outside = tensor["shape"][1:2] in (["T"], ["Tk"]) and len(shape) == 4
        strides = kernels.heads_outside(shape) if outside else kernels.dense(shape)
        tensors.append((tensor["name"], tensor["dtype"], shape, strides))
    tensors += [(name, dtype, shape, kernels.dense(shape)) for name, dtype, shape in spaces]
    return shapes, [kernels.Tensor(*tensor, allocate(*tensor)) for tensor in tensors]


def dry_run(options):
    descriptions = order_of(json.loads(polyattn_compile(options, "--emit", "json", "-o", "-")), options)
    shapes, tensors = make_tensors(descriptions[-1], options, lambda name, *_: f"&{name}")
    for d in descriptions:
        grid = kernels.grid(d, shapes, options.segments)
        workspace = grid[0] * d["num_ctas"] * d["global_scratch_size"]
        print(f"{d['name']}: grid {grid[0]} {grid[1]} {grid[2]}, block {32 * d['num_warps']}, "
              f"shared {d['shared']} bytes, workspace {workspace} bytes")
        for i, argument in enumerate(kernels.arguments(d, tensors)):
            print(f"  {i:3} {argument.type:6} {argument.value!s:12} {argument.meaning}")
        for meaning in ("workspace", "profile, not read"):
            print(f"      *i8    Triton's     {meaning}")


def import_all():
    """PyTorch and Triton, or why nothing can be launched."""
    try:
        import torch
        import triton
    except ImportError as error:
        return None, None, str(error)
    version = tuple(int(number) for number in triton.__version__.split(".")[:2])
    if version < (3, 5):
        return None, None, f"Triton {triton.__version__}: expected 3.5 or newer"
    if not torch.cuda.is_available():
        return None, None, "PyTorch sees no CUDA device"
    return torch, triton, None


def load(triton, folder, description, signature):
    """Triton's own object for three files of its cache.

    Its constructor wants what a compilation would hand it: the source, of which the launcher reads
    the types of the arguments and which are constants, and the files by name. Loading, and more than
    48 KiB of shared memory, are its affair. So far tried without a device only: 3.5.1, 3.6.0, 3.7.1,
    3.8.0 and 3.9.0.
    """
    name = description["name"]
    files = {f"{name}.{kind}": os.path.join(folder, f"{name}.{kind}") for kind in ("json", "ptx", "cubin")}
    source = SimpleNamespace(signature=dict(enumerate(signature)), constants={})
    return triton.compiler.CompiledKernel(source, files, description["hash"])


def linear_attention(torch, q, k, v, causal):
    """The entries of specs/linear.mlir by their definition: every score, in f64."""
    q, k, v = (x.double() for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[2] // k.shape[2], dim=2) for x in (k, v))
    phi_q, phi_k = (torch.nn.functional.elu(x) + 1 for x in (q, k))
    scores = torch.einsum("bthd,bshd->bhts", phi_q, phi_k)
    if causal:
        scores = scores.tril()
    return torch.einsum("bhts,bshd->bthd", scores / (scores.sum(-1, keepdim=True) + 1e-6), v)


# Entries that can be compared, and whether they are causal; the relative error that a dtype allows.
REFERENCES = {"linear": True, "linear_full": False}
ALLOWED = {"f32": 1e-5, "bf16": 1e-2, "f16": 1e-2}


def launch(torch, triton, options):
    if options.entry not in REFERENCES:
        raise kernels.CallError(f"--entry {options.entry}: nothing to compare with, expected one of "
                                + ", ".join(REFERENCES))
    dtypes = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}

    def allocate(name, dtype, shape, strides):
        # Results, too, so that what a kernel leaves out is wrong.
        return torch.empty_strided(shape, strides, dtype=dtypes[dtype], device="cuda").normal_()

    # Triton asks for a workspace at each launch, and lets go of it once the kernel is in the stream.
    # That is late enough: whoever PyTorch's allocator gives it to next comes later in this stream.
    # What it gives is aligned to 512 bytes.
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    with tempfile.TemporaryDirectory() as folder:
        # Triton brings ptxas along.
        ptxas = os.path.join(os.path.dirname(triton.__file__), "backends", "nvidia", "bin", "ptxas")
        polyattn_compile(options, "--ptxas", ptxas, "-o", folder)
        described = [json.load(open(os.path.join(folder, name)))
                     for name in sorted(os.listdir(folder)) if name.endswith(".json")]
        descriptions = order_of(described, options)
        shapes, tensors = make_tensors(descriptions[-1], options, allocate)
        loaded = []  # They unload themselves: not before they have run.
        for d in descriptions:
            arguments = kernels.arguments(d, tensors)
            loaded.append(load(triton, folder, d, [argument.type for argument in arguments]))
            loaded[-1][kernels.grid(d, shapes, options.segments)](*(a.value for a in arguments))
        torch.cuda.synchronize()
    q, k, v, o = (tensor.pointer for tensor in tensors[:4])
    causal, allowed = REFERENCES[options.entry], ALLOWED[options.dtype or "f32"]
    expected = linear_attention(torch, q, k, v, causal)
    error = ((o.double() - expected).norm() / expected.norm()).item()
    passed = error <= allowed
    print(f"@{options.entry} for {options.target} on {torch.cuda.get_device_name()}: "
          f"relative error {error:.2e}, allowed {allowed:.0e}: {'passed' if passed else 'FAILED'}")
    return 0 if passed else 1


def parse_sizes(text):
    sizes = {}
    for part in text.split(","):
        name, _, number = part.partition("=")
        if name not in ("B", "T", "Tk", "H", "Hkv") or not number.isdigit():
            raise argparse.ArgumentTypeError(f"expected B=2,T=1000,H=4[,Tk=..][,Hkv=..], got '{text}'")
        sizes[name] = int(number)
    return sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spec", nargs="?", default=os.path.join(ROOT, "specs", "linear.mlir"))
    parser.add_argument("--entry", default="linear")
    parser.add_argument("--dtype", choices=ALLOWED, help="of the sequences (default: what the spec says)")
    parser.add_argument("--target", help="such as sm_90 (default: the device; sm_90 for --dry-run)")
    parser.add_argument("--sizes", type=parse_sizes, default="B=2,T=1000,H=4")
    parser.add_argument("--segments", type=int, default=1)
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args()
    if options.segments < 1:
        parser.error("--segments: expected a number from 1 on")
    try:
        if options.dry_run:
            options.target = options.target or "sm_90"
            return dry_run(options)
        torch, triton, reason = import_all()
        if reason:
            print(f"examples/triton/launch.py: nothing to launch: {reason}", file=sys.stderr)
            return MISSING
        options.target = options.target or "sm_{}{}".format(*torch.cuda.get_device_capability())
        return launch(torch, triton, options)
    except kernels.CallError as error:
        print(f"examples/triton/launch.py: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
