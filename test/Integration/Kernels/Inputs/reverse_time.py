"""Runs a causal entry, and the same entry with anticausal attends on tensors that are reversed in
time, and compares: `reverse_time.py SPEC ENTRY T -- OPTIONS`.

The decay between two positions is that of what lies between them: the gate of position t stands at
T - t in the other order of time. The first gate, which decays the initial state of a causal attend,
has no place there, and is 0 here.
"""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import npy  # noqa: E402
from carry_state import TOLERANCE  # noqa: E402
from masks import anticausal  # noqa: E402
from tools import call, error_of  # noqa: E402


def reversed_in(tensor, axis, shift=0):
    """The tensor with what is at t at (T - 1 - t + shift) mod T."""
    length = tensor.shape[axis]
    inner, outer = tensor.block(axis)
    numbers = npy.array.array(tensor.numbers.typecode)
    for i in range(outer):
        for t in range(length):
            start = (i * length + (length - 1 - t + shift) % length) * inner
            numbers += tensor.numbers[start:start + inner]
    return npy.Array(tensor.shape, numbers, tensor.numbers.typecode)


def without_first(tensor, axis):
    inner, outer = tensor.block(axis)
    for i in range(outer):
        for j in range(inner):
            tensor.numbers[i * tensor.shape[axis] * inner + j] = 0
    return tensor


def main():
    split = sys.argv.index("--")
    spec, entry, length = sys.argv[1:split]
    length, options = int(length), sys.argv[split + 1:]
    described = json.loads(call("polyattn-run", spec, "--entry", entry, "--describe", "--json"))
    described = described["entries"][0]
    with tempfile.TemporaryDirectory() as folder:
        def path(name):
            return os.path.join(folder, name + ".npy")

        other = anticausal(spec, folder)
        call("polyattn-run", spec, "--entry", entry, "--target", "reference",
             f"--random=B=2,T={length},H=4,Hkv=2", "--save-inputs", folder)
        inputs = [[], []]
        for argument in described["arguments"]:
            name = argument["name"]
            tensor = npy.read(path(name))
            if "T" in argument["dims"]:
                axis, decays = argument["dims"].index("T"), argument["role"] == "decay"
                if decays and length:
                    tensor = without_first(tensor, axis)
                npy.write(path(name), tensor)
                # A gate of 0 stays where it is: at the first position.
                npy.write(path("reversed-" + name), reversed_in(tensor, axis, int(decays)))
                inputs[1].append(f"--input={name}={path('reversed-' + name)}")
            else:
                inputs[1].append(f"--input={name}={path(name)}")
            inputs[0].append(f"--input={name}={path(name)}")
        results = [result["name"] for result in described["results"]]
        for run, given, prefix in [(spec, inputs[0], "a-"), (other, inputs[1], "b-")]:
            call("polyattn-run", run, "--entry", entry, *options, *given,
                 *[f"--output={name}={path(prefix + name)}" for name in results])
        errors = []
        for result in described["results"]:
            expected, got = (npy.read(path(p + result["name"])) for p in ("a-", "b-"))
            if "T" in result["dims"]:
                got = reversed_in(got, result["dims"].index("T"))
            if expected.numbers:
                errors.append(error_of(got.numbers, expected.numbers))
    print(f"@{entry}: {' '.join(f'{error:.1e}' for error in errors)}")
    sys.exit(not all(error <= TOLERANCE for error in errors))


if __name__ == "__main__":
    main()
