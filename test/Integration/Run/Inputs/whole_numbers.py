"""`whole_numbers.py FILE DESCR NUMBERS...`: a vector in NumPy's format, DESCR being `<i4` or `<i8`."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Kernels/Inputs"))
import npy  # noqa: E402

numbers = [int(number) for number in sys.argv[3:]]
npy.write(sys.argv[1], npy.Array([len(numbers)], numbers, npy.CODES[sys.argv[2]]))
