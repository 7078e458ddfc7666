"""PyTorch's threads, for calls of kernels.

They spin for milliseconds after each operation of PyTorch's, where threads of our own would have to wait for a processor.
"""

from __future__ import annotations

import os

import torch

from .._polyattn import Team

TEAM = Team.of_library(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))
"""None where PyTorch has no OpenMP: calls have threads of our own then."""
