"""Random wrong calls: each is an exception of one line, nothing is written, and the process lives."""

import numpy as np
import pytest
import wrong_arguments
from test_decode import SPEC, numbers, sequences

import polyattn
from polyattn import CallError, library

CALLS = 400
SLOTS = 4  # the argument of `decode`


def forward():
    kernel = polyattn.compile(SPEC, "plain")
    return kernel, sequences(), ()


def packed():
    kernel = polyattn.compile(SPEC, "plain", packed=True)
    return kernel, [*sequences(1), numbers(0, 4, 9)], (3,)


def decode():
    kernel = polyattn.compile(SPEC, "plain", direction="decode")
    rest = numbers(3, 1), numbers(0, 5, dtype="i8"), numbers(9, 4)
    return kernel, [*sequences(), np.ones((5, 3, 8, 6), "f4"), *rest], (SLOTS, 6)


def training():
    kernel = polyattn.compile(library.linear(d=8), direction="training")
    return kernel, [np.abs(x[..., :1].repeat(8, -1)) for x in sequences()], ()


def other_shape(array, rng):
    return wrong_arguments.other_shape(array, rng, np.concatenate)


def other_dtype(array, rng):
    return array.astype(rng.choice([x for x in ("f8", "f2", "i2", "u4", "?", "c8", "O", ">f4", "S3") if x != array.dtype]))


def other_strides(array, rng):
    kind = rng.integers(3)
    if kind == 0:
        return np.repeat(array, 2, -1)[..., ::2]
    if kind == 1:
        memory = np.zeros(array.nbytes + 1, "u1")[1:]
        memory[:] = array.reshape(-1).view("u1")
        return memory.view(array.dtype).reshape(array.shape)
    return array[..., ::-1]


def no_array(array, rng):
    return [None, 3.0, "array", [1.0], object, b"1234", {}][rng.integers(7)]


def break_argument(arguments, results, checked, rng):
    i = rng.integers(len(arguments))
    # Vectors without a size of the batch may have any strides.
    changes = [other_shape, other_dtype, no_array, other_strides][: 4 - (arguments[i].ndim == 1 and i == 3)]
    change = rng.choice(changes)
    arguments[i] = change(arguments[i], rng)
    return change.__name__, i


def break_result(arguments, results, checked, rng):
    i = rng.integers(len(results))
    kind = rng.integers(6)
    if kind == 0:
        results[i].flags.writeable = False
    elif kind == 1:
        results[i] = np.broadcast_to(results[i][:, :1], results[i].shape)  # read-only, and its elements overlap
    elif kind == 2:
        results[i] = arguments[rng.integers(3)]
    else:
        results[i] = (other_shape, other_dtype, other_strides)[kind - 3](results[i], rng)
    return "result", int(kind), i


def break_number(arguments, results, checked, rng):
    """Ends, slots and lengths out of range. Slots below 0 are none."""
    i = rng.choice(checked)
    numbers = arguments[i] = arguments[i].copy()
    numbers[rng.integers(len(numbers))] = rng.choice([-(2**31), -2, 10, 77, 2**31 - 1][2 * (i == SLOTS) :])
    return "number", numbers, int(i)


def count(arguments, results, checked, rng):
    if rng.integers(2):
        arguments.pop()
    else:
        arguments.append(arguments[0])
    return "count", None


@pytest.mark.parametrize("make", [forward, packed, decode, training])
def test_kernels(make, rng):
    kernel, arguments, checked = make()
    good = kernel(*(x.copy() for x in arguments))
    good = list(good) if isinstance(good, tuple) else [good]
    places = {i for i, one in enumerate(kernel.signature.arguments) if one.shape[0] == "P"}
    for _ in range(CALLS):
        given = [x.copy() for x in arguments]
        results = [np.full_like(x, 7) for x in good]
        ways = [break_argument, break_result, count] + [break_number] * bool(checked)
        if places:  # states are results where they are
            results = results[:1]
        what = rng.choice(ways)(given, results, checked, rng)
        if any(given[i].shape[1:] == arguments[i].shape[1:] != () for i in places & {what[-1]} if what[0] == "other_shape"):
            continue  # other slots
        arrays = [x for x in (*given, *results) if isinstance(x, np.ndarray)]
        before = [x.copy() for x in arrays]
        out = {one.name: x for one, x in zip(kernel.signature.results, results)}
        try:
            kernel(*given, out=out)
        except CallError as error:
            assert "\n" not in str(error), what
        else:
            pytest.fail(f"{kernel.entry}: nothing was said of {what}")
        assert all(np.array_equal(x, y) for x, y in zip(arrays, before)), what
    assert all(np.array_equal(x, y) for x, y in zip(good, as_list(kernel(*(x.copy() for x in arguments)))))


def as_list(results):
    return list(results) if isinstance(results, tuple) else [results]
