"""Where all values are the same, a mean of them does not depend on queries, keys and weights:
`constant_values.py SPEC ENTRY OPTION...` says how far their gradients are from zero, relative to what a normalizer without its
part of them would give."""
import json
import math
import os
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "Kernels", "Inputs"))
import npy  # noqa: E402
from tools import call  # noqa: E402

TOLERANCE = 1e-5

spec, entry, *options = sys.argv[1:]
run = ["polyattn-run", spec, "--entry", entry]
described = json.loads(call(*run, "--direction", "backward", "--describe", "--json"))["entries"][0]
results = [result["name"] for result in described["results"]]


def size(path):
    return math.sqrt(sum(x * x for x in npy.read(path).numbers))


with tempfile.TemporaryDirectory() as folder:
    def path(name):
        return os.path.join(folder, name + ".npy")

    def sizes(name, *inputs):
        call(*run, "--direction", "backward", *options, *inputs, *(f"--output={r}={path(name + r)}" for r in results))
        return {r: size(path(name + r)) for r in results}

    random = sizes("random-")
    call(*run, *options, "--save-inputs", folder)
    values = npy.read(path("v"))
    npy.write(path("v"), npy.Array(values.shape, [0.7] * len(values.numbers)))
    constant = sizes("constant-", f"--input=v={path('v')}")
for name in results:
    if name == "d_v":
        assert constant[name] > 0.1 * random[name], (name, constant[name], random[name])
    else:
        print(f"@{entry}: {name}: {constant[name] / random[name]:.1e}")
        assert constant[name] <= TOLERANCE * random[name], (name, constant[name], random[name])
