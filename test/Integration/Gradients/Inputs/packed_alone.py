"""Gradients of packed sequences against those of each sequence in a call of its own: `packed_alone.py SPEC ENTRY LENGTHS OPTION...`,
with all sizes but T and N in the options. What has no positions, gradients of weights, is the sum of all calls."""
import json
import os
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "Kernels", "Inputs"))
import npy  # noqa: E402
from tools import call, error_of  # noqa: E402

TOLERANCE = 2e-6  # of f32: states and sums of one are in the same blocks as those of the other

spec, entry, lengths, *options = sys.argv[1:]
lengths = [int(length) for length in lengths.split(",")]
at = options.index("--random") + 1
heads, options = options[at], options[:at - 1] + options[at + 1:]
run = ["polyattn-run", spec, "--entry", entry]
described = json.loads(call(*run, "--direction", "backward", "--describe", "--json"))["entries"][0]
training = json.loads(call(*run, "--direction", "training", "--describe", "--json"))["entries"][0]
saved = [a["name"] for a in described["arguments"] if a["role"] == "saved"]
results = [result["name"] for result in described["results"]]
sequences = {t["name"] for t in described["arguments"] + described["results"] if t["dims"][1:2] in (["T"], ["Tk"])}


with tempfile.TemporaryDirectory() as folder:
    def path(name):
        return os.path.join(folder, name + ".npy")

    def backward(sizes, arguments, *more):
        """All gradients of these arguments by name, of a forward call with the same."""
        for name, array in arguments.items():
            npy.write(path("in_" + name), array)
        inputs = [f"--input={name}={path('in_' + name)}" for name in arguments]
        forward = [i for i in inputs if i.split("=")[1] in {a["name"] for a in training["arguments"]} | {"cu_seqlens"}]
        call(*run, *more, "--direction", "training", *options, f"--random={sizes}", *forward,
             *(f"--output={name}={path(name)}" for name in saved))
        call(*run, *more, "--direction", "backward", *options, f"--random={sizes}", *inputs,
             *(f"--input={name}={path(name)}" for name in saved), *(f"--output={name}={path(name)}" for name in results))
        return {name: npy.read(path(name)) for name in results}

    total = sum(lengths)
    sizes = f"B=1,T={total},{heads}"
    call(*run, "--direction", "backward", *options, f"--random={sizes}", "--save-inputs", folder)
    arguments = {a["name"]: npy.read(path(a["name"])) for a in described["arguments"] if a["role"] != "saved"}
    offsets = npy.Array([len(lengths) + 1], [sum(lengths[:i]) for i in range(len(lengths) + 1)], "i")
    packed = backward(f"T={total},{heads}", arguments | {"cu_seqlens": offsets}, "--packed")
    alone, first = {name: [] for name in results}, 0
    for length in lengths:
        part = {name: array.cut(1, first, first + length) if name in sequences else array for name, array in arguments.items()}
        first += length
        for name, array in backward(f"B=1,T={length},{heads}", part).items():
            if name in sequences or not alone[name]:
                alone[name] = alone[name] + list(array.numbers)
            else:
                alone[name] = [x + y for x, y in zip(alone[name], array.numbers)]
for name in results:
    error = error_of(packed[name].numbers, alone[name])
    print(f"@{entry}: {name}: {error:.1e}")
    assert error <= TOLERANCE, (name, error)
