"""`relative_error.py GOT EXPECTED LIMIT`: two files of numbers differ by no more than LIMIT."""
import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import npy  # noqa: E402

got, expected = npy.read(sys.argv[1]), npy.read(sys.argv[2])
assert got.shape == expected.shape
square = sum((a - b) ** 2 for a, b in zip(got.numbers, expected.numbers))
error = math.sqrt(square / sum(b * b for b in expected.numbers))
print(f"relative error {error:.1e}")
sys.exit(not error <= float(sys.argv[3]))
