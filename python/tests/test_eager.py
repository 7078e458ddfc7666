"""Attentions in PyTorch's operations, which `polyattn.compare` measures: each form gives what the reference gives."""

import functools
import re

import numpy as np
import pytest
from conftest import SPECS

import polyattn

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from polyattn.torch._compare import inputs_of  # noqa: E402
from polyattn.torch._eager import Eager  # noqa: E402
from polyattn.torch._features import NoForm  # noqa: E402

ENTRIES = [
    (path.name, entry)
    for path in sorted(SPECS.glob("*.mlir"))
    for entry in re.findall(r"^polyattn\.attention @(\w+)", path.read_text(), re.M)
]


def close(found, expected):
    assert found.shape == expected.shape
    error = np.linalg.norm(found - expected) / max(np.linalg.norm(expected), 1e-30)
    assert error < 1e-6, error  # arguments of a reference have the spec's dtype


def inputs(signature, length, heads=4, kv_heads=2, batch=2):
    torch.seed()
    heads_of = {one.shape[2] for one in signature.arguments if one.role in ("query", "key", "value")}
    kv_heads = heads if len(heads_of) == 1 else kv_heads
    return [x.double() if x.is_floating_point() else x for x in inputs_of(signature, batch, length, heads, kv_heads, torch.float32)]


@pytest.mark.parametrize("file, entry", ENTRIES)
def test_forms_give_what_the_reference_gives(file, entry):
    """Every spec of the repository that has no states in its signature."""
    reference = polyattn.reference(SPECS / file, entry, dtype="f32")
    signature = reference.signature
    has_states = any(one.role == "state" for one in signature.arguments)
    if has_states or entry in ("based_window", "eps_on_sums", "exponentials", "mamba2_head", "polaformer"):  # which go on after attends
        with pytest.raises(NoForm, match="states in the signature" if has_states else "a result that is computed after the attends"):
            Eager(SPECS / file, entry, signature)
        return
    eager = Eager(SPECS / file, entry, signature)
    if file == "long-convolution.mlir":
        for length in (1, 64):
            tensors = inputs(signature, length)
            close(eager.direct(*tensors).numpy(), reference(*(x.numpy() for x in tensors)))
        with pytest.raises(NoForm, match="convolutions have no states here"):
            eager.looped(16, *tensors)
        return
    block = eager.attend.block or 0
    length = 2 * block if 0 < block <= 64 else 64
    tensors = inputs(signature, length, batch=1, kv_heads=4 if eager.attend.factors else 2)
    expected = reference(*(x.numpy() for x in tensors))
    tried = 0
    for form in (eager.direct, eager.chunked, eager.looped):
        name = form.__name__
        if name != "direct":
            form = functools.partial(form, block if 0 < block <= 64 else 16 if name == "chunked" else 25)
        try:
            found = form(*tensors)
        except NoForm as error:
            assert name != "direct", error
            continue
        close(found.numpy(), expected)
        tried += 1
    assert tried >= 1


@pytest.mark.parametrize(
    "make",
    [
        lambda library: library.linear(d=16), lambda library: library.based(d=16, r=4), lambda library: library.retnet(d=16),
        lambda library: library.power(d=8, gated=True), lambda library: library.hedgehog(d=8), lambda library: library.fast_rope(d=8, p=2),
    ],
)  # fmt: skip
def test_tokens_continue_states(make):
    spec = make(polyattn.library)
    reference = polyattn.reference(spec)
    eager = Eager(spec, None, reference.signature)
    tensors = inputs(reference.signature, 20)
    expected = reference(*(x.numpy() for x in tensors))
    state, sums = eager.states(tensors)
    parts = []
    for i in range(20):
        one = [x[:, i : i + 1] if "T" in about.shape else x for x, about in zip(tensors, reference.signature.arguments)]
        parts.append(eager.token(i, state, sums, *one))
    close(torch.cat(parts, 1).numpy(), expected)


def test_ops_that_no_spec_of_the_repository_has():
    """Options of normalizers, masks, scales of scores and decays of heads, against the reference."""
    from polyattn import builder as b

    d = 8
    arguments = {name: b.Sequence[d] for name in "qkv"} | {"w": b.HeadWeight[d], "g": b.HeadDecay}

    def attends():
        yield lambda q, k, v, w, g: b.attend(b.exp(q), b.exp(k), v, normalizer=b.by_sum(1e-3, eps_mode="row_max"), score_scale=0.3)
        yield lambda q, k, v, w, g: b.attend(q / w, k * w, v, mask="anticausal", normalizer=b.none(), decay=g)
        yield lambda q, k, v, w, g: b.attend(
            q, k, v, signed_scores=True, normalizer=b.by_sum(1e-3, min_denom=0.5, guard_below=1.0, guard_add=0.2, reduce="mean")
        )
        yield lambda q, k, v, w, g: b.attend(
            b.tensor(q, b.concat(k_of(q), b.constant(q, 2.0))), b.tensor(k, b.concat(k_of(k), b.constant(k, 2.0))), v + w,
            normalizer=b.none(), decay_factors=[0.9, 0.8, 0.7, 1.0],
        )  # fmt: skip

    def k_of(x):
        return b.is_above(b.l2_norm(x, eps=1e-6), 0.1) + b.silu(x) * b.sign(x) - b.log(abs(x) + 2.0) * b.cos(b.total(x))

    for make in attends():
        spec = polyattn.attention(make, name="mine", arguments=arguments)
        reference = polyattn.reference(spec)
        eager = Eager(spec, None, reference.signature)
        tensors = inputs(reference.signature, 100, kv_heads=4)
        expected = reference(*(x.numpy() for x in tensors))
        close(eager.direct(*tensors).numpy(), expected)
        try:
            close(eager.looped(32, *tensors).numpy(), expected)
        except NoForm:
            assert eager.attend.mask != "causal" or eager.attend.options.get("eps_mode") == "row_max"


@pytest.mark.parametrize("lags", [1, 5, 300])
@pytest.mark.parametrize("circular", [False, True])
@pytest.mark.parametrize("reversed", [False, True])
@pytest.mark.parametrize("per_channel, per_head", [(True, True), (True, False), (False, True), (False, False)])
def test_convolutions(lags, circular, reversed, per_channel, per_head):
    """Every form of a filter, also of one lag. One of a row for each head does not exist."""
    if lags == 1 and per_head and per_channel:
        return
    spec = polyattn.library.long_convolution(
        5, lags=lags, circular=circular, reversed=reversed, per_channel=per_channel, per_head=per_head
    )
    reference = polyattn.reference(spec)
    eager = Eager(spec, None, reference.signature)
    for length in (1, 7, 90):
        tensors = inputs(reference.signature, length)
        close(eager.direct(*tensors).numpy(), reference(*(x.numpy() for x in tensors)))
    assert eager.direct(*(x.bfloat16() for x in tensors)).dtype == torch.bfloat16
