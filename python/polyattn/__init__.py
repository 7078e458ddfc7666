"""polyattn: attention specs, compiled and run on arrays.

    kernel = polyattn.compile("linear.mlir", entry="linear")
    o = kernel(q, k, v)

docs/Python.md of the project has the rest.
"""

from importlib.metadata import version as _version

from ._comparison import Comparison, compare
from ._errors import CallError, Diagnostic, NoGradientError, SpecError
from ._kernels import Kernel, Reference, Signature, Tensor, compile, reference
from ._library_files import spec_path
from . import library
from .builder import Spec, attention, feature_map

__version__ = _version("polyattn")

__all__ = [
    "CallError",
    "Comparison",
    "Diagnostic",
    "Kernel",
    "NoGradientError",
    "Reference",
    "Signature",
    "Spec",
    "SpecError",
    "Tensor",
    "attention",
    "compare",
    "compile",
    "feature_map",
    "library",
    "reference",
    "spec_path",
]
