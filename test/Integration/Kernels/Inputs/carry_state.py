"""Runs an entry on a whole sequence and on two pieces of it, the second from the state that the
first ended in, and compares: `carry_state.py SPEC ENTRY CUT T -- OPTIONS` cuts before position CUT.
Results that states come out of are called after the arguments they go into, final_... for ....
Where the entry has a first position the second piece is told where it begins. Under the anticausal
mask, which `carry_state.py --anticausal ...` gives the spec's attends, the second piece is the first
to run, and hands its state to the other.
"""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import npy  # noqa: E402
from masks import anticausal  # noqa: E402
from tools import call, error_of  # noqa: E402

TOLERANCE = 1e-5  # of f32, as for polyattn-run --check


def main():
    reverse = sys.argv[1] == "--anticausal"
    if reverse:
        del sys.argv[1]
    split = sys.argv.index("--")
    spec, entry, cut, length = sys.argv[1:split]
    cut, length, options = int(cut), int(length), sys.argv[split + 1:]
    described = json.loads(call("polyattn-run", spec, "--entry", entry, "--describe", "--json"))
    described = described["entries"][0]
    states = [a["name"] for a in described["arguments"] if a["role"] == "state"]
    results = [r["name"] for r in described["results"]]
    finals = [r["name"] for r in described["results"] if r["role"] == "state"]
    assert states and len(states) == len(finals)
    with tempfile.TemporaryDirectory() as folder:
        if reverse:
            spec = anticausal(spec, folder)
        run = ["polyattn-run", spec, "--entry", entry] + options

        def path(name):
            return os.path.join(folder, name + ".npy")

        def outputs(prefix):
            return [f"--output={name}={path(prefix + name)}" for name in results]

        call(*run, f"--random=B=2,T={length},H=4,Hkv=2", "--save-inputs", folder,
             *outputs("whole-"))
        # In the order in which they run.
        pieces = [(cut, length), (0, cut)] if reverse else [(0, cut), (cut, length)]
        inputs = [[], []]
        for argument in described["arguments"]:
            name = argument["name"]
            tensor = npy.read(path(name))
            for piece, (begin, end) in enumerate(pieces):
                given = path(name)
                if "T" in argument["dims"]:
                    given = path(f"{piece}-{name}")
                    npy.write(given, tensor.cut(argument["dims"].index("T"), begin, end))
                elif begin > 0 and argument["role"] == "first_position":
                    given = path(f"{piece}-{name}")
                    later = [first + cut for first in tensor.numbers]
                    npy.write(given, npy.Array(tensor.shape, later, tensor.numbers.typecode))
                elif piece == 1 and name in states:
                    given = path("0-out-" + finals[states.index(name)])
                inputs[piece].append(f"--input={name}={given}")
        for piece in range(2):
            call(*run, *inputs[piece], *outputs(f"{piece}-out-"))

        errors = []
        for result in described["results"]:
            whole = npy.read(path("whole-" + result["name"]))
            assert any(whole.numbers)
            second = npy.read(path("1-out-" + result["name"]))
            if "T" not in result["dims"]:
                errors.append(error_of(second.numbers, whole.numbers))
                continue
            first = npy.read(path("0-out-" + result["name"]))
            axis = result["dims"].index("T")
            for piece, (begin, end) in zip((first, second), pieces):
                if begin != end:
                    errors.append(error_of(piece.numbers, whole.cut(axis, begin, end).numbers))
    print(f"@{entry}: {' '.join(f'{error:.1e}' for error in errors)}")
    sys.exit(not all(error <= TOLERANCE for error in errors))


if __name__ == "__main__":
    main()
