"""The factors of specs/fast-rope.mlir are the roots that scripts/exp-polynomial prints.

    exp_coefficients.py SCRIPT SPEC
"""
import re
import subprocess
import sys

script, spec = sys.argv[1:]
text = open(spec).read()
for degree, width in re.findall(r"feature_map @exp_(\d+)_(\d+)\(", text):
    printed = subprocess.run([sys.executable, script, "--degree", degree], stdout=subprocess.PIPE, text=True, check=True)
    roots = [float(root) for root in re.findall(r"root (\S+)", printed.stdout)]
    body = re.search(rf"@exp_{degree}_{width}\(.*?\n}}", text, re.S).group(0)
    factors = [float(number) for number in re.findall(r"%c\d = .*?(?:value|factor) = ([0-9.e-]+)", body)]
    assert len(roots) == len(factors) == int(degree) + 1, (roots, factors)
    for root, factor in zip(roots, factors):
        assert abs(root - factor) < 1e-9, (degree, width, root, factor)
    print(f"exp_{degree}_{width}: {printed.stdout.splitlines()[0]}")
