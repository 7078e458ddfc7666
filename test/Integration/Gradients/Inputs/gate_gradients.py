"""Gradients of an entry whose gates are from -1e-4 to -30, with some of -1e30 and resets of minus infinity
among them, against the oracle's: `gate_gradients.py SPEC ENTRY --random SIZES [--gate VALUE] [--only GRADIENT] --
OPTIONS`. With `--gate` all gates are that number. Every number of a gradient must be finite.
"""
import argparse
import json
import math
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Kernels/Inputs"))
import npy  # noqa: E402
from tools import call, error_of  # noqa: E402

TOLERANCE = 5e-5


def mixed_gate(rng):
    kind = rng.random()
    if kind < 0.02:
        return -math.inf
    if kind < 0.04:
        return -1e30
    if kind < 0.2:
        return -30.0
    return -10.0 ** rng.uniform(-4, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("spec")
    parser.add_argument("entry")
    parser.add_argument("--random", required=True)
    parser.add_argument("--gate", type=float)
    parser.add_argument("--only", help="the gradient that is compared")
    split = sys.argv.index("--")
    arguments, options = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1:]
    subject = ["polyattn-run", arguments.spec, "--entry", arguments.entry]
    described = json.loads(call(*subject, "--describe", "--json"))["entries"][0]
    gates = [a["name"] for a in described["arguments"] if a["role"] == "decay"]
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        def path(name):
            return os.path.join(folder, name + ".npy")

        def run(prefix, *more):
            call(*subject, "--direction", "backward", f"--random={arguments.random}", *inputs, *more,
                 *[f"--output={name}={path(prefix + name)}" for name in names])
            return {name: npy.read(path(prefix + name)).numbers for name in names}

        call(*subject, f"--random={arguments.random}", "--save-inputs", folder)
        for name in gates:
            tensor = npy.read(path(name))
            for i in range(len(tensor.numbers)):
                tensor.numbers[i] = mixed_gate(rng) if arguments.gate is None else arguments.gate
            npy.write(path(name), tensor)
        inputs = [f"--input={a['name']}={path(a['name'])}" for a in described["arguments"]]
        backward = json.loads(call(*subject, "--direction", "backward", "--describe", "--json"))["entries"][0]
        names = [result["name"] for result in backward["results"]]
        expected = run("oracle-", "--target", "reference")
        got = run("got-", *options)
    errors = {name: error_of(got[name], right) for name, right in expected.items()}
    print(f"@{arguments.entry}:", ", ".join(f"{name} {error:.1e}" for name, error in errors.items()))
    wrong = [name for name, error in errors.items() if not error <= TOLERANCE and arguments.only in (None, name)]
    infinite = [name for name, numbers in got.items() if not all(map(math.isfinite, numbers))]
    assert not wrong and not infinite, (wrong, infinite)


if __name__ == "__main__":
    main()
