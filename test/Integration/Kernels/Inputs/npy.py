"""Reads and writes row-major .npy files of f32, i32 and i64 with Python's own library, and reads
bf16 and f16."""
import array
import ast
import math
import struct


CODES = {"<f4": "f", "<i4": "i", "<i8": "q"}


class Array:
    def __init__(self, shape, numbers, code="f"):
        self.shape = tuple(shape)
        self.numbers = array.array(code, numbers)
        assert len(self.numbers) == math.prod(self.shape)

    def block(self, axis):
        """Elements of one index of `axis`, and how often that axis is run through."""
        inner = math.prod(self.shape[axis + 1:])
        return inner, math.prod(self.shape[:axis])

    def cut(self, axis, begin, end):
        inner, outer = self.block(axis)
        size = self.shape[axis] * inner
        numbers = array.array(self.numbers.typecode)
        for i in range(outer):
            numbers += self.numbers[i * size + begin * inner:i * size + end * inner]
        return Array(self.shape[:axis] + (end - begin,) + self.shape[axis + 1:], numbers,
                     numbers.typecode)

    def at(self, *index):
        """The numbers under leading indices: a row where all but the last are given."""
        inner = math.prod(self.shape[len(index):])
        start = 0
        for i, size in zip(index, self.shape):
            start = start * size + i
        return self.numbers[start * inner:(start + 1) * inner]

    def put(self, index, value):
        start = 0
        for i, size in zip(index, self.shape):
            start = start * size + i
        self.numbers[start] = value


def read(path):
    with open(path, "rb") as file:
        content = file.read()
    assert content[:8] == b"\x93NUMPY\x01\x00"
    start = 10 + int.from_bytes(content[8:10], "little")
    header = ast.literal_eval(content[10:start].decode())
    assert not header["fortran_order"]
    if header["descr"] == "<V2":  # bf16: the upper half of an f32
        halves = content[start:]
        words = b"".join(b"\0\0" + halves[i:i + 2] for i in range(0, len(halves), 2))
        numbers = array.array("f", words)
    elif header["descr"] == "<f2":
        numbers = array.array("f", struct.unpack(f"<{(len(content) - start) // 2}e", content[start:]))
    else:
        numbers = array.array(CODES[header["descr"]])
        numbers.frombytes(content[start:])
    return Array(header["shape"], numbers, numbers.typecode)


def write(path, value):
    descr = {code: descr for descr, code in CODES.items()}[value.numbers.typecode]
    header = repr({"descr": descr, "fortran_order": False, "shape": value.shape}).encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        file.write(value.numbers.tobytes())
