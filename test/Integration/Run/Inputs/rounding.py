"""Runs an entry in bf16 on the same numbers as a kernel for sm_80, emulated, as the tile kernel of that
kernel, interpreted with the precision of its products, and by the oracle: `rounding.py SHARE SPEC ENTRY`.
The kernel must be nearer to its tile kernel than SHARE times its distance to the oracle."""
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "Kernels", "Inputs"))
import npy  # noqa: E402


def main():
    share, spec, entry = float(sys.argv[1]), sys.argv[2], sys.argv[3]
    with tempfile.TemporaryDirectory() as folder:
        def run(target):
            path = os.path.join(folder, target + ".npy")
            segments = [] if target == "reference" else ["--segments", "1"]
            subprocess.run(["polyattn-run", spec, "--entry", entry, "--storage", "bf16", *segments,
                            "--random", "B=1,T=200,H=4", "--target", target, "--output", f"o={path}"],
                           check=True, stdout=subprocess.DEVNULL)
            return npy.read(path).numbers

        kernel, program, right = run("emulator-sm_80"), run("tile-sm_80"), run("reference")

    def distance(numbers):
        squares = sum((a - b) ** 2 for a, b in zip(kernel, numbers))
        return math.sqrt(squares / sum(b * b for b in right))

    rounding, rest = distance(right), distance(program)
    print(f"@{entry}: the kernel is {rounding:.2e} from the oracle, {rest:.2e} from its tile kernel")
    sys.exit(0 if rest <= share * rounding else 1)


main()
