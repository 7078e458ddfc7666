"""Loads libpolyattn as plug-ins do, and compiles a spec: load.py LIBRARY SPEC.

f16 for a processor without conversions calls functions that no library of a bare Python shows; and
LLVM's own library is opened before and after, for the world to see."""

import ctypes
import ctypes.util
import os
import sys

library, spec, llvm, order = sys.argv[1:]
visible = os.RTLD_NOW | os.RTLD_GLOBAL


def open_llvm():
    other = ctypes.CDLL(llvm, mode=visible)
    other.LLVMContextCreate.restype = ctypes.c_void_p
    other.LLVMContextDispose.argtypes = [ctypes.c_void_p]
    other.LLVMContextDispose(other.LLVMContextCreate())
    return other


if order == "local":
    polyattn = ctypes.CDLL(library, mode=os.RTLD_NOW | os.RTLD_LOCAL)
elif order == "first":
    polyattn = ctypes.CDLL(library, mode=visible)
    open_llvm()
else:
    open_llvm()
    polyattn = ctypes.CDLL(library, mode=visible)


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("rank", ctypes.c_int32), ("dtype", ctypes.c_int32),
                ("sizes", ctypes.c_int64 * 6), ("strides", ctypes.c_int64 * 6)]


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("entry", ctypes.c_char_p),
                ("target", ctypes.c_char_p), ("cache_directory", ctypes.c_char_p),
                ("optimize_ir", ctypes.c_int32)]


polyattn.polyattn_compile_file.restype = ctypes.c_void_p
polyattn.polyattn_error_message.restype = ctypes.c_char_p
polyattn.polyattn_error_message.argtypes = [ctypes.c_void_p]
polyattn.polyattn_kernel_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                                         ctypes.c_int, ctypes.c_void_p]
polyattn.polyattn_kernel_destroy.argtypes = [ctypes.c_void_p]

POSITIONS, WIDTH = 100, 64
ONE = 0x3C00
arrays = [(ctypes.c_uint16 * (POSITIONS * WIDTH))(*([ONE] * POSITIONS * WIDTH)) for _ in range(4)]
arrays[3] = (ctypes.c_uint16 * (POSITIONS * WIDTH))()
tensors = (Tensor * 4)()
for tensor, array in zip(tensors, arrays):
    tensor.data = ctypes.addressof(array)
    tensor.rank, tensor.dtype = 4, 2
    tensor.sizes[:4] = [1, POSITIONS, 1, WIDTH]
    tensor.strides[:4] = [POSITIONS * WIDTH, WIDTH, WIDTH, 1]

error = ctypes.c_void_p()
options = Options(ctypes.sizeof(Options), b"linear", b"x86-64", b"", 0)
kernel = polyattn.polyattn_compile_file(spec.encode(), ctypes.byref(options), ctypes.byref(error))
if not kernel:
    sys.exit(polyattn.polyattn_error_message(error).decode())
if polyattn.polyattn_kernel_run(kernel, tensors, 4, 2, ctypes.byref(error)) != 0:
    sys.exit(polyattn.polyattn_error_message(error).decode())
polyattn.polyattn_kernel_destroy(kernel)
wrong = sum(number != ONE for number in arrays[3])
print(f"{order}: the mean of ones is one, but for {wrong} of {len(arrays[3])} numbers")
