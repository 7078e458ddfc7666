"""Runs an entry of functions.mlir on queries of a given size and compares with the oracle, number
by number: `functions.py SPEC ENTRY LOW HIGH [TOLERANCE] -- OPTIONS` draws magnitudes evenly in their
logarithm and signs at random. Some rows are zero where the function takes that.
"""
import json
import math
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import npy  # noqa: E402
from tools import call  # noqa: E402

TOLERANCE = 2e-6  # of each number
LENGTH, WIDTH = 70, 8


def main():
    split = sys.argv.index("--")
    spec, entry = sys.argv[1:3]
    low, high, tolerance = map(float, [*sys.argv[3:split], TOLERANCE][:3])
    described = json.loads(call("polyattn-run", spec, "--entry", entry, "--describe", "--json"))
    names = [argument["name"] for argument in described["entries"][0]["arguments"]]
    rng = random.Random(11)
    shape, count = (1, LENGTH, 1, WIDTH), LENGTH * WIDTH
    zeros = {5, 64} if entry in ("powers", "unit", "layer", "sine", "cosine", "gelu_erf", "gelu_tanh") else set()

    def query(i):
        if i // WIDTH in zeros:
            return 0
        return rng.choice([-1, 1]) * math.exp(rng.uniform(math.log(low), math.log(high)))

    # Key and value j are the unit vector j, for the first ones: element c of a row is what the
    # function gave for the query's element c, alone.
    unit = [float(i // WIDTH == i % WIDTH) for i in range(count)]
    tensors = {"q": npy.Array(shape, [query(i) for i in range(count)]),
               "k": npy.Array(shape, unit), "v": npy.Array(shape, unit),
               "e": npy.Array((WIDTH,), [0, 1, 2, 3, 65, 66, 100, 7])}
    with tempfile.TemporaryDirectory() as folder:
        def path(name):
            return os.path.join(folder, name + ".npy")

        inputs = []
        for name in names:
            npy.write(path(name), tensors[name])
            inputs.append(f"--input={name}={path(name)}")
        run = ["polyattn-run", spec, "--entry", entry, *inputs]
        call(*run, "--target", "reference", f"--output=o={path('right')}")
        call(*run, *sys.argv[split + 1:], f"--output=o={path('got')}")
        right, got = npy.read(path("right")).numbers, npy.read(path("got")).numbers
    worst = 0
    for i in range(WIDTH * (WIDTH - 1), count):  # rows that see all of these keys
        error = abs(got[i] - right[i]) / max(abs(right[i]), 1e-30)
        worst = max(worst, error if not math.isnan(error) else math.inf)
    print(f"@{entry} in [{low:g}, {high:g}]: {worst:.1e}")
    sys.exit(not worst <= tolerance)


if __name__ == "__main__":
    main()
