"""Runs the microbenchmarks on this machine's GPU by CUDA's driver, which is all that is needed."""
import ctypes
import struct

from polybench import tools

CAPACITY = 1 << 31
ROUNDS = 3
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


class Card:
    def __init__(self, cubin):
        try:
            self.driver = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise tools.Failure("libcuda.so.1", f"there is no usable CUDA driver: {error}") from error
        device, context, self.module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        name = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", name, 100, device)
        self.name = name.value.decode()
        self.call("cuModuleLoad", ctypes.byref(self.module), cubin.encode())
        self.out, self.data = ctypes.c_uint64(), ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(self.out), ctypes.c_size_t(4096))
        self.call("cuMemAlloc_v2", ctypes.byref(self.data), ctypes.c_size_t(CAPACITY))
        self.events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in self.events:
            self.call("cuEventCreate", ctypes.byref(event), 0)

    def call(self, name, *arguments):
        if status := getattr(self.driver, name)(*arguments):
            text = ctypes.c_char_p()
            self.driver.cuGetErrorString(status, ctypes.byref(text))
            raise tools.Failure(name, (text.value or str(status).encode()).decode())

    def fill(self, row):
        """Zeros, or at each step of a chain the address of the next one."""
        self.call("cuMemsetD8_v2", self.data, ctypes.c_ubyte(0), ctypes.c_size_t(row.size))
        place = 0
        for _ in range(row.repetitions + 1 if row.chain else 0):
            following = (place + row.chain) % row.size & ~7
            self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(self.data.value + place),
                      struct.pack("<Q", self.data.value + following), ctypes.c_size_t(8))
            place = following

    def measure(self, row):
        """Clocks of one thing, and the clock in GHz that the events imply at least."""
        self.fill(row)
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), self.module, row.kernel.encode())
        self.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, row.shared)
        arguments = [self.out, self.data, ctypes.c_uint32(row.repetitions), *map(ctypes.c_uint32, row.arguments)]
        pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.cast(ctypes.pointer(argument), ctypes.c_void_p)
                                                       for argument in arguments))
        return min(self.launch(function, row, pointers) for _ in range(ROUNDS))

    def launch(self, function, row, pointers):
        begin, end = self.events
        self.call("cuEventRecord", begin, None)
        self.call("cuLaunchKernel", function, row.ctas, 1, 1, row.threads, 1, 1, row.shared, None, pointers, None)
        self.call("cuEventRecord", end, None)
        self.call("cuCtxSynchronize")
        words, milliseconds = ctypes.create_string_buffer(8), ctypes.c_float()
        self.call("cuMemcpyDtoH_v2", words, self.out, ctypes.c_size_t(8))
        self.call("cuEventElapsedTime", ctypes.byref(milliseconds), begin, end)
        clocks, things = struct.unpack("<II", words.raw)
        return clocks / things, clocks / milliseconds.value / 1e6
