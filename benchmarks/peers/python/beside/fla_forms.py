"""flash-linear-attention's functions that run on a processor: its plain PyTorch ones, where they mean the same system."""

from fla.ops.based.naive import naive_chunk_based, naive_parallel_based
from fla.ops.linear_attn.naive import naive_chunk_linear_attn, naive_recurrent_linear_attn
from fla.ops.rebased.naive import naive_parallel_rebased

# All scores in memory; token by token in a loop of Python.
LONGEST_DIRECT, LONGEST_RECURRENT = 4096, 512


def over_features(name, maps, eps):
    """Linear attention of features that the caller has; its normalizer adds 1e-10 to sums."""
    if eps is not None and eps > 1e-3:
        return

    def bind(function):
        def call(q, k, v, w):
            query, key = (maps.features(x.transpose(1, 2), side, w).transpose(1, 2) for x, side in ((q, "q"), (k, "k")))
            o = function(query, key, v, scale=1.0, normalize=eps is not None)
            return o[0] if isinstance(o, tuple) else o

        return call

    yield "chunk_linear_attn", bind(naive_chunk_linear_attn), 64, None
    yield "recurrent_linear_attn", bind(naive_recurrent_linear_attn), 1, LONGEST_RECURRENT


def by_heads(function, q, k, v, **options):
    return function(*(x.transpose(1, 2) for x in (q, k, v)), **options).transpose(1, 2)


def of_based(maps):
    def parallel(q, k, v, w):
        return by_heads(naive_parallel_based, maps.inner(q, "q", w), maps.inner(k, "k", w), v, scale=1.0)

    def chunk(q, k, v, w):
        return by_heads(naive_chunk_based, q @ w["w_q"], k @ w["w_k"], v)  # divides by 4 itself

    yield "parallel_based", parallel, 1, LONGEST_DIRECT
    yield "chunk_based", chunk, 256, None


def of_power():
    yield "parallel_rebased", lambda q, k, v, w: by_heads(naive_parallel_rebased, q, k, v), 1, LONGEST_DIRECT


def forms(name, maps, eps, length):
    """By name, functions of q, k, v [B, T, H, d] and weights; those that take this length."""
    if name == "based":
        found = list(of_based(maps))
    elif name == "power":
        found = list(of_power())
    else:
        found = list(over_features(name, maps, eps))
    if not found:
        raise LookupError("none of its functions is this attention")
    fitting = {one: call for one, call, multiple, longest in found if length % multiple == 0 and length <= (longest or length)}
    if not fitting:
        raise LookupError("its functions keep all scores, and are tried up to T = " f"{max(one[3] or 0 for one in found):,}")
    return fitting


def step(maps, eps, q, k, v, w, states):
    """A token of each sequence; `states` are what an earlier one has returned."""
    if eps is not None and eps > 1e-3:
        raise LookupError("none of its functions is this attention")
    query, key = (maps.features(x.transpose(1, 2), side, w).transpose(1, 2) for x, side in ((q, "q"), (k, "k")))
    return naive_recurrent_linear_attn(query, key, v, 1.0, states, output_final_state=True, normalize=eps is not None)
