"""A strong gate between two weak ones, `reset.py SPEC STATE -- OPTIONS`: with gates 0, x, -0.3, ones for
queries, keys and values and a state of STATE before them, the third row is 1 + e^-0.3 whatever x < -130 is.
"""
import math
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import npy  # noqa: E402


def main():
    split = sys.argv.index("--")
    spec, state = sys.argv[1], float(sys.argv[2])
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        def give(name, shape, numbers):
            path = os.path.join(folder, name + ".npy")
            npy.write(path, npy.Array(shape, numbers))
            return f"--input={name}={path}"

        for x in [-200, -1e5, -1e8, -1e30, -math.inf]:
            inputs = [give(name, (1, 3, 1, 1), [1, 1, 1]) for name in "qkv"]
            inputs += [give("g", (1, 3, 1), [0, x, -0.3]), give("s", (1, 1, 1, 1), [state])]
            out, final = os.path.join(folder, "o.npy"), os.path.join(folder, "final.npy")
            command = ["polyattn-run", spec, *inputs, f"--output=o={out}", f"--output=final={final}"]
            done = subprocess.run(command + sys.argv[split + 1:], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                sys.exit(done.stdout)
            right = 1 + math.exp(-0.3)
            rows, state_after = npy.read(out).numbers, npy.read(final).numbers[0]
            wrong = max(abs(rows[2] - right), abs(state_after - right), abs(rows[1] - 1))
            print(f"{x}: {rows[2]:.7f}, error {wrong:.1e}")
            failed |= not wrong <= 2e-6 * right
    sys.exit(failed)


if __name__ == "__main__":
    main()
