"""Sequences that go on in pools: states are updated in the caller's arrays, which are the results."""

import numpy as np
import pytest

import polyattn
from polyattn import CallError, SpecError, library

SPEC = """
polyattn.attention @plain(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x6xf32>)
    -> (o: tensor<?x?x?x6xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %z = read %v : tensor<?x?x?x6xf32> -> [6]
  %o = attend query %x key %y value %z causal normalize <none> : [8], [8], [6]
  return %o : [6]
}
polyattn.attention @all(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x6xf32>)
    -> (o: tensor<?x?x?x6xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %z = read %v : tensor<?x?x?x6xf32> -> [6]
  %o = attend query %x key %y value %z full normalize <none> : [8], [8], [6]
  return %o : [6]
}
"""


def numbers(*values, dtype="i4"):
    return np.array(values, dtype)


def sequences(batches=2, positions=9, heads=3):
    random = np.random.default_rng(4)
    return [random.standard_normal((batches, positions, heads, d)).astype("f4") for d in (8, 8, 6)]


def test_states_go_on_in_the_callers_pool():
    kernel = polyattn.compile(SPEC, entry="plain", direction="decode")
    assert kernel.entry == "plain__decode"
    q, k, v = sequences()
    whole = polyattn.compile(SPEC, entry="plain")(q, k, v)
    pool = np.full((5, 3, 8, 6), np.nan, "f4")
    slots = numbers(4, 1)
    for begin, end in ((0, 6), (6, 7), (7, 8), (8, 9)):
        part = [x[:, begin:end] for x in (q, k, v)]
        first, lengths = numbers(begin, begin, dtype="i8"), numbers(end - begin, end - begin)
        o, final = kernel(*part, pool, slots, first, lengths)
        assert final is pool
        assert np.abs(o - whole[:, begin:end]).max() <= 1e-5 * np.abs(whole).max()
    assert np.isnan(pool[[0, 2, 3]]).all() and np.isfinite(pool[[1, 4]]).all()


def test_the_oracle_decodes_as_well():
    q, k, v = sequences()
    pool = np.random.default_rng(6).standard_normal((3, 3, 8, 6)).astype("f4")
    rest = numbers(2, -1), numbers(3, 0, dtype="i8"), numbers(9, 4)
    exact, state = polyattn.reference(SPEC, "plain", direction="decode")(q, k, v, pool.copy(), *rest)
    o, final = polyattn.compile(SPEC, "plain", direction="decode")(q, k, v, state=pool, slots=rest[0],
                                                                   first_position=rest[1], lengths=rest[2])
    assert final is pool and state.dtype == np.float64
    assert np.abs(o - exact).max() <= 1e-5 * np.abs(exact).max() and not o[1].any()
    assert np.abs(final - state).max() <= 1e-5 * np.abs(state).max()


def test_an_out_that_is_the_argument_is_fine_and_no_other():
    kernel = polyattn.compile(SPEC, entry="plain", direction="decode")
    q, k, v = sequences(batches=1, positions=1)
    pool = np.zeros((2, 3, 8, 6), "f4")
    rest = numbers(0), numbers(0, dtype="i8"), numbers(1)
    o, final = kernel(q, k, v, pool, *rest, out={"final": pool})
    assert final is pool and pool[0].any()
    with pytest.raises(CallError, match="result 'final': expected the memory of argument 'state'"):
        kernel(q, k, v, pool, *rest, out={"final": np.zeros_like(pool)})
    # A view of the same memory is that memory.
    o, final = kernel(q, k, v, pool, *rest, out={"final": pool[:]})
    assert np.shares_memory(final, pool)


@pytest.mark.parametrize(
    "spec, most",
    [
        (library.linear(8, 6), 8),
        (library.power(8, 6, p=2), 8),
        (library.llops(8, 6, m=16, p=2), 8),
        (library.retnet(8, 6), 8),
        (library.shared_window(8, 6, m=4, block=5, sliding=True), 8),
        (library.based_window(8, 6, r=4, window=5), 4),
    ],
    ids=["linear", "power", "llops", "retnet", "sliding", "window"],
)
@pytest.mark.parametrize("batches", [2, 20])
def test_few_tokens_have_the_bits_of_one_after_another(spec, most, batches):
    """As a program that checks drafted tokens wants: it goes on as if they had come one by one."""
    decode = polyattn.compile(spec, direction="decode")
    random = np.random.default_rng(5)
    sizes = {"B": batches, "T": most, "H": 2, "Hkv": 2, "P": batches}
    given, pools = {}, {}
    for argument in decode.signature.arguments:
        if argument.name in ("slots", "first_position", "lengths"):
            continue
        tensor = random.standard_normal([sizes.get(size, size) for size in argument.shape]).astype("f4")
        (pools if argument.name.startswith(("state", "window_")) else given)[argument.name] = tensor
    first = random.integers(0, 40, batches)

    def call(begin, end, pools):
        parts = {name: x[:, begin:end] if name in ("q", "k", "v") else x for name, x in given.items()}
        numbers_of = {"slots": np.arange(batches, dtype="i4"), "first_position": first + begin,
                      "lengths": np.full(batches, end - begin, "i4")}  # fmt: skip
        return decode(**parts, **pools, **numbers_of)[0]

    alone = {name: pool.copy() for name, pool in pools.items()}
    rows = [call(i, i + 1, alone) for i in range(most)]
    assert np.array_equal(call(0, most, pools), np.concatenate(rows, 1))
    assert all(np.array_equal(pools[name], alone[name]) for name in pools)


def test_hostile_numbers_are_refused_and_nothing_is_written():
    kernel = polyattn.compile(SPEC, entry="plain", direction="decode")
    q, k, v = sequences(positions=1)
    pool = np.ones((2, 3, 8, 6), "f4")

    def call(slots=(0, 1), first=(3, 3), lengths=(1, 1), pool=pool):
        kernel(q, k, v, pool, numbers(*slots), numbers(*first, dtype="i8"), numbers(*lengths))

    for wrong, message in (
        (dict(slots=(0, 2)), "argument 'slots': expected a slot below P = 2, got 2 for batch 1"),
        (dict(slots=(1, 1)), "argument 'slots': expected another slot than that of batch 0, got 1 for batch 1"),
        (dict(slots=(0,)), "argument 'slots'"),
        (dict(lengths=(1, 2)), "argument 'lengths'"),
        (dict(first=(-1, 0)), "argument 'first_position'"),
        (dict(pool=np.ones((2, 3, 8, 5), "f4")), "argument 'state'"),
        (dict(pool=np.ones((2, 3, 8, 6), "f8")), "argument 'state'"),
    ):
        with pytest.raises(CallError, match=message):
            call(**wrong)
        assert (pool == 1).all()
    frozen = np.ones_like(pool)
    frozen.setflags(write=False)
    with pytest.raises(CallError, match="result 'final'"):
        call(pool=frozen)
    assert (frozen == 1).all()


def test_what_does_not_decode_says_why():
    with pytest.raises(SpecError, match="does not decode with this mask: a token would see later ones"):
        polyattn.compile(SPEC, entry="all", direction="decode")
    with pytest.raises(CallError, match="wrt: expected direction training or backward with it"):
        polyattn.compile(SPEC, entry="plain", direction="decode", wrt=["q"])


def test_packed_sequences_are_those_alone():
    q, k, v = sequences(batches=1, positions=20)
    offsets = numbers(0, 7, 7, 20)
    alone = polyattn.compile(SPEC, entry="plain")
    expected = np.concatenate([alone(*(x[:, a:b] for x in (q, k, v))) for a, b in ((0, 7), (7, 20))], axis=1)
    o = polyattn.compile(SPEC, entry="plain", packed=True)(q, k, v, offsets)
    assert np.abs(o - expected).max() <= 1e-5 * np.abs(expected).max()
    exact = polyattn.reference(SPEC, entry="plain", packed=True)(q, k, v, cu_seqlens=offsets)
    assert np.abs(o - exact).max() <= 1e-5 * np.abs(exact).max()
    kernel = polyattn.compile(SPEC, entry="plain", packed=True, direction="decode")
    pool = np.full((4, 3, 8, 6), np.nan, "f4")
    named = dict(cu_seqlens=offsets, state=pool, slots=numbers(2, -1, 0), first_position=numbers(0, 0, 0, dtype="i8"))
    o, final = kernel(q, k, v, **named)
    assert final is pool and np.abs(o - expected).max() <= 1e-5 * np.abs(expected).max()
    assert np.isfinite(pool[[0, 2]]).all() and np.isnan(pool[[1, 3]]).all()
    with pytest.raises(CallError, match="argument 'cu_seqlens': expected the last offset to be T = 20, got 19"):
        kernel(q, k, v, **{**named, "cu_seqlens": numbers(0, 7, 7, 19)})
