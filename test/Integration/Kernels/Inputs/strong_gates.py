"""Runs an entry with gates from -1e-4 to -1e30 and resets of minus infinity, side by side, and compares
with the oracle: `strong_gates.py SPEC ENTRY --random SIZES [--gate VALUE] [--by-condition] -- OPTIONS`. With
`--gate` all of the entry's gates are that number. With `--by-condition` rows that f32 determines badly are
judged as `polyattn-run --check` does it.
"""
import argparse
import json
import math
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import npy  # noqa: E402
from tools import call, error_of  # noqa: E402

TOLERANCE, ROW_TOLERANCE = 2e-6, 2e-5  # of a tensor, and of its worst row


def mixed_gate(rng):
    kind = rng.random()
    if kind < 0.05:
        return -math.inf
    if kind < 0.15:
        return -10.0 ** rng.uniform(2, 30)
    if kind < 0.3:
        return -rng.uniform(80, 300)
    return -10.0 ** rng.uniform(-4, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("spec")
    parser.add_argument("entry")
    parser.add_argument("--random", required=True)
    parser.add_argument("--gate", type=float)
    parser.add_argument("--by-condition", action="store_true")
    split = sys.argv.index("--")
    arguments, options = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1:]
    spec, entry = arguments.spec, arguments.entry
    described = json.loads(call("polyattn-run", spec, "--entry", entry, "--describe", "--json"))
    described = described["entries"][0]
    gates = [a["name"] for a in described["arguments"] if a["role"] == "decay"]
    assert gates, "no tensor of gates"
    rng = random.Random(7)
    worst = worst_row = 0
    with tempfile.TemporaryDirectory() as folder:
        def path(name):
            return os.path.join(folder, name + ".npy")

        def run(prefix, *more):
            names = [result["name"] for result in described["results"]]
            call("polyattn-run", spec, "--entry", entry, *more,
                 *[f"--output={name}={path(prefix + name)}" for name in names])
            return {name: npy.read(path(prefix + name)) for name in names}

        run("any-", f"--random={arguments.random}", "--save-inputs", folder)
        for name in gates:
            tensor = npy.read(path(name))
            for i in range(len(tensor.numbers)):
                tensor.numbers[i] = mixed_gate(rng) if arguments.gate is None else arguments.gate
            npy.write(path(name), tensor)
        inputs = [f"--input={a['name']}={path(a['name'])}" for a in described["arguments"]]
        if arguments.by_condition:
            print(call("polyattn-run", spec, "--entry", entry, *inputs, *options, "--check",
                       f"--tolerance={TOLERANCE}"))
            return
        expected = run("oracle-", *inputs, "--target", "reference")
        got = run("got-", *inputs, *options)
        for name, right in expected.items():
            width = right.shape[-1]
            worst = max(worst, error_of(got[name].numbers, right.numbers))
            for at in range(0, len(right.numbers), width):
                row = error_of(got[name].numbers[at:at + width], right.numbers[at:at + width])
                worst_row = max(worst_row, row if not math.isnan(row) else math.inf)
    print(f"@{entry}: {worst:.1e}, in a row {worst_row:.1e}")
    sys.exit(not (worst <= TOLERANCE and worst_row <= ROW_TOLERANCE))


if __name__ == "__main__":
    main()
