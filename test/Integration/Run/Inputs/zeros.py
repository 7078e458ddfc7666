"""`zeros.py FILE SIZES...`: a tensor of zeros in f32."""
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Kernels/Inputs"))
import npy  # noqa: E402

sizes = [int(size) for size in sys.argv[2:]]
npy.write(sys.argv[1], npy.Array(sizes, [0.0] * math.prod(sizes), npy.CODES["<f4"]))
