"""Arrays that the native module does not know by itself, and reasons why one is none.

The native module reads the buffer protocol and DLPack. What is seldom is here: NumPy arrays of the types of
ml_dtypes, new arrays of other libraries than NumPy, and the words of a refusal.
"""

from __future__ import annotations

import math
import sys
from typing import Any, NoReturn

import numpy as np

from ._errors import CallError

# What results hold, under the names of NumPy and torch.
_FLOATS = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "f64": "float64"}
_LINE = 64  # bytes


def reinterpret(array: Any, who: str, is_result: bool, is_differentiated: bool, gpu: int = -1) -> Any:
    """An array of f16 over the same memory, which the native module can read; its elements are bf16."""
    if is_differentiated:
        raise CallError(
            f"{who}: expected a tensor without gradients, got one that requires them, "
            "which this call would lose; pass it .detach()ed"
        )
    if _is_torch(array) and array.is_neg():
        raise CallError(
            f"{who}: expected a tensor whose numbers are in memory, got one to be negated; "
            "pass it .resolve_neg()ed"
        )
    if gpu < 0 and isinstance(array, np.ndarray):
        _check_numpy(array, who, is_result)
        return array.view(np.float16)
    device = getattr(array, "__dlpack_device__", None)
    if device is None:
        kind = type(array).__name__
        raise CallError(f"{who}: expected an array (NumPy's, or one with __dlpack__), got {kind}")
    refuse(array, who, is_result, gpu)


def refuse(array: Any, who: str, is_result: bool, gpu: int) -> NoReturn:
    """Says what a call expects that cannot read an array, or for a result write it."""
    what = "a writable array" if is_result else "an array"
    raise CallError(
        f"{who}: expected {what} in {_memory_of(gpu)}, of f32, f16 or bf16 and at most 6 "
        f"dimensions, got {_describe(array)}"
    )


def _memory_of(gpu: int) -> str:
    return "the processor's memory" if gpu < 0 else f"the memory of GPU {gpu}"


def _check_numpy(array: np.ndarray[Any, Any], who: str, is_result: bool) -> None:
    """Raises unless it is an array of ml_dtypes' bfloat16, which neither DLPack nor buffers know."""
    if is_result and not array.flags.writeable:
        raise CallError(f"{who}: expected a writable array, got a read-only one")
    if not array.dtype.isnative:
        raise CallError(
            f"{who}: expected elements in the machine's byte order, got dtype {array.dtype.str}"
        )
    if array.ndim > 6:
        raise CallError(f"{who}: expected at most 6 dimensions, got {array.ndim}")
    if array.itemsize and any(stride % array.itemsize for stride in array.strides):
        raise CallError(f"{who}: expected strides of whole elements, got {array.strides} bytes")
    if array.dtype.name != "bfloat16":
        raise CallError(f"{who}: expected an array of f32, f16 or bf16, got {array.dtype}")


def _describe(array: Any) -> str:
    words = [type(array).__module__.split(".")[0], type(array).__name__]
    for name in ("dtype", "device", "shape"):
        value = getattr(array, name, None)
        if value is not None:
            words.append(f"{name} {tuple(value) if name == 'shape' else value}")
    return " ".join(words)


def exporter_of(kind: type) -> Any:
    """A function that makes a DLPack capsule of an array of this type and takes less time than its __dlpack__, or None.

    PyTorch's is in Python and takes 5 us, the function that it calls 0.3 us. It does not look at what __dlpack__ looks
    at: gradients, which are looked at before, and a negation that is not done yet."""
    torch = sys.modules.get("torch")
    if torch is None or kind not in (torch.Tensor, torch.nn.Parameter):
        return None
    to_dlpack = torch.utils.dlpack.to_dlpack

    def export(tensor: Any) -> Any:
        try:
            return None if tensor.is_neg() else to_dlpack(tensor)
        except (RuntimeError, BufferError):
            return None

    return export


def is_immutable(array: Any) -> bool:
    """Whether nothing may write the array, although its capsule may not say so: JAX's of jaxlib 0.10 do not."""
    return _is_jax(array)


def _is_torch(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _is_cupy(array: Any) -> bool:
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(array, cupy.ndarray)


def _is_jax(array: Any) -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(array, jax.Array)


def stream_of(array: Any, who: str, gpu: int) -> int:
    """The address of the stream on which the array's library computes on that GPU at present."""
    if not (_is_torch(array) or _is_cupy(array)):
        raise CallError(
            f"{who}: expected a tensor of PyTorch or an array of CuPy in {_memory_of(gpu)}, got {_describe(array)}"
        )
    if getattr(array.device, "type", "cuda") != "cuda":
        raise CallError(f"{who}: expected a tensor in {_memory_of(gpu)}, got {_describe(array)}")
    if _is_torch(array):
        stream: int = sys.modules["torch"].cuda.current_stream(gpu).cuda_stream
        return stream
    address: int = sys.modules["cupy"].cuda.get_current_stream().ptr
    return address


def workspace_like(array: Any, size: int) -> tuple[Any, int]:
    """So many bytes of GPU memory beside `array`, and their address. The library that has them gives them to others after
    what is on its current stream."""
    if size == 0:
        return None, 0
    if _is_torch(array):
        torch = sys.modules["torch"]
        memory = torch.empty(size, dtype=torch.uint8, device=array.device)
        return memory, memory.data_ptr()
    memory = sys.modules["cupy"].empty(size, "uint8")
    return memory, memory.data.ptr


def aligned_empty(shape: tuple[int, ...], dtype: Any) -> Any:
    """A new array of NumPy's that begins on a cache line. Its own begin 16 bytes behind a page where they are large, so that
    each of a kernel's vectors of 64 bytes would be in two lines."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(size + _LINE, np.uint8)
    begin = -memory.ctypes.data % _LINE
    return memory[begin : begin + size].view(dtype).reshape(shape)


def empty_like(array: Any, shape: tuple[int, ...], dtype: str, who: str) -> Any:
    """A new array for a result beside `array`: a tensor beside torch's, else NumPy's."""
    if _is_torch(array):
        wanted = getattr(sys.modules["torch"], _FLOATS[dtype])
        # Without a dtype PyTorch parses the call sooner.
        return array.new_empty(shape) if array.dtype is wanted else array.new_empty(shape, dtype=wanted)
    if _is_cupy(array):
        if dtype == "bf16":
            raise CallError(f"{who}: CuPy has no bf16; give `out`")
        return sys.modules["cupy"].empty(shape, _FLOATS[dtype])
    if dtype != "bf16":
        return aligned_empty(shape, _FLOATS[dtype])
    try:
        import ml_dtypes
    except ImportError:
        raise CallError(
            f"{who}: NumPy has no bf16 without the package ml_dtypes; install it, or give `out`"
        ) from None
    return aligned_empty(shape, ml_dtypes.bfloat16)


def as_array_of(array: Any, result: Any) -> Any:
    """The result as an array of the library that `array` is of, where we know how."""
    if _is_jax(array):
        return sys.modules["jax"].numpy.asarray(result)
    return result
