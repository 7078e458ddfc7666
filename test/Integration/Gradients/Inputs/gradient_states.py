"""The gradients of a segment's initial states are those of the whole backward call in which the gradients in final states are zero:
`gradient_states.py SPEC ENTRY... -- OPTIONS` compares both, of kernels that share nothing but what is saved."""
import json
import math
import os
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "Kernels", "Inputs"))
import npy  # noqa: E402
from tools import call, error_of  # noqa: E402

TOLERANCE = 1e-5  # of f32


def describe(run, direction):
    return json.loads(call(*run, "--direction", direction, "--describe", "--json"))["entries"][0]


def compare(spec, entry, options):
    run = ["polyattn-run", spec, "--entry", entry]
    backward, segment = (describe(run, direction) for direction in ("backward", "gradient_states"))
    training = describe(run, "training")
    sizes = dict(part.split("=") for part in options[options.index("--random") + 1].split(","))
    sizes.setdefault("Hkv", sizes["H"])
    with tempfile.TemporaryDirectory() as folder:
        def path(name):
            return os.path.join(folder, name + ".npy")

        saved = [a["name"] for a in segment["arguments"] if a["role"] == "saved"]
        kept = [f"--output={name}={path(name)}" for name in saved]
        call(*run, "--direction", "training", *options, *kept)
        given = [f"--input={name}={path(name)}" for name in saved]
        finals = []
        for result in training["results"]:
            if result["role"] == "state":
                shape = [int(sizes.get(size, size)) for size in result["dims"]]
                npy.write(path(result["name"]), npy.Array(shape, [0] * math.prod(shape)))
                finals.append(f"--input=d_{result['name']}={path(result['name'])}")
        states = [r["name"] for r in segment["results"]]
        assert states and {r["name"] for r in backward["results"]} >= set(states), (states, backward["results"])
        call(*run, "--direction", "gradient_states", *options, *given, "--check",
             *(f"--output={name}={path('segment_' + name)}" for name in states))
        call(*run, "--direction", "backward", "--target", "reference", *options, *finals,
             *(f"--output={name}={path('whole_' + name)}" for name in states))
        for name in states:
            error = error_of(*(npy.read(path(part + name)).numbers for part in ("segment_", "whole_")))
            print(f"{entry}: {name}: {error:.1e}")
            assert error <= TOLERANCE, (entry, name, error)


split = sys.argv.index("--")
for entry in sys.argv[2:split]:
    compare(sys.argv[1], entry, sys.argv[split + 1:])
