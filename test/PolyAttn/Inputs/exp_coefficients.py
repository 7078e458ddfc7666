"""The factors of specs/fast-rope.mlir are the roots that scripts/exp-polynomial prints.

    exp_coefficients.py SCRIPT SPEC
"""
import re
import subprocess
import sys

script, spec = sys.argv[1:]
text = open(spec).read()
entries = re.findall(r"@(\w+)<.*?map exp_(\d+)\(x\) \{(.*?)\n  \}", text, re.S)
for entry, degree, body in entries:
    printed = subprocess.run([sys.executable, script, "--degree", degree], stdout=subprocess.PIPE, text=True, check=True)
    roots = [float(root) for root in re.findall(r"root (\S+)", printed.stdout)]
    factors = [float(number) for number in re.findall(r"\b\d\.\d{6,}", body)]
    assert len(roots) == len(factors) == int(degree) + 1, (roots, factors)
    for root, factor in zip(roots, factors):
        assert abs(root - factor) < 1e-9, (entry, root, factor)
    print(f"{entry}: {printed.stdout.splitlines()[0]}")
