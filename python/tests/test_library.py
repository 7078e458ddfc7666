"""The library and the builder: every entry of specs/ is rebuilt and means the same, op by op."""

import re

import numpy as np
import pytest
from conftest import SPECS

import polyattn
from polyattn import _polyattn, library
from polyattn._specs import source_of

GATES = [1 - 2.0 ** (-5 - h) for h in range(4)]
REBUILT = {
    "based": {
        "based": library.based(),
        "based_tensor": library.based(per_head=False, symmetric=False),
        "based_dv112": library.based(dv=112, per_head=False),
    },
    "elementwise-power": {
        "elementwise_power": library.elementwise_power(),
        "flatten": library.flatten(),
        "flatten_vision": library.flatten_vision(),
    },
    "fast-rope": {
        "fast_rope_p4_d8": library.fast_rope(),
        "fast_rope_p2_d8": library.fast_rope(p=2),
        "fast_rope_p2_d16": library.fast_rope(d=16, p=2),
        "fast_rope_p4_d16": library.fast_rope(d=16),
        "fast_rope_full": library.fast_rope(mask="full"),
    },
    "fpa": {
        "fpa_n2": library.fpa(),
        "fpa_n3": library.fpa(widths=(4, 8, 12)),
        "fpa_shared": library.fpa(per_head=False),
        "fpa_head_widths": library.fpa(masked=True),
        "fpa_even": library.fpa(widths=(20, 20)),
        "fpa_coordinates": library.fpa_coordinates(),
        "fpa_diagonal": library.fpa_diagonal(),
        "fpa_rank1": library.fpa_rank1(),
    },
    "gla": {
        "gla": library.gla(score_scale=0.125),
        "gla_states": library.gla(score_scale=0.125, states=True),
        "gla_normalized": library.gla(32, 48, feature_map="elu", eps=1e-6, gate_heads="kv"),
        "gla_squares": library.gla(16, 64, feature_map="squares", gate_heads="q"),
    },
    "hedgehog": {
        "hedgehog": library.hedgehog(),
        "hedgehog_joint": library.hedgehog(form="joint"),
        "hedgehog_exp": library.hedgehog(form="exp"),
    },
    "linear": {
        "linear": library.linear(),
        "linear_full": library.linear(mask="full"),
        "linear_interleaved": library.linear(grouping="interleaved"),
        "linear_states": library.linear(states=True),
        "linear_gated": library.linear(decay="token", states=True),
        "linear_query_gates": library.linear(decay="token", gate_heads="q"),
        "linear_head_decay": library.linear(decay="head"),
    },
    "llops": {
        "llops": library.llops(),
        "llops_p4": library.llops(p=4),
        "llops_rank2": library.llops(rank=2),
        "llops_non_negative": library.llops(squared=True),
        "llops_full": library.llops(mask="full"),
        "llops_states": library.llops(states=True),
    },
    "long-convolution": {
        "hyena": library.hyena(),
        "hyena_3": library.hyena(d=32, lags=1024, order=3),
        "h3": library.h3(),
        "toeplitz_network": library.toeplitz_network(),
        "circular": library.long_convolution(d=16, lags=256, per_channel=False, circular=True),
    },
    "mamba2": {
        "mamba2": library.mamba2(),
        "mamba2_head": library.mamba2(steps=True, skip=True),
        "mamba2_states": library.mamba2(states=True),
    },
    "performer": {
        "performer": library.performer(),
        "performer_stabilized": library.performer(form="stabilized"),
        "performer_guarded": library.performer(form="guarded"),
    },
    "polaformer": {
        "polaformer_same": library.polaformer_half(),
        "polaformer_opposite": library.polaformer_half(same=False),
        "polaformer": library.polaformer(),
    },
    "polynomial-exact": {f"polynomial_p{p}": library.polynomial(p=p) for p in (2, 4, 8)},
    "polysketch-learned": {
        "polysketch_learned": library.polysketch_learned(local=None),
        "polysketch_learned_local": library.polysketch_learned(),
        "polysketch_learned_local_b64": library.polysketch_learned(local=64),
    },
    "polysketch-random": {
        "polysketch_p4": library.polysketch(),
        "polysketch_p4_local": library.polysketch(local=1024),
        "polysketch_p4_local_b64": library.polysketch(local=64),
        "polysketch_p8": library.polysketch(p=8),
        "polysketch_p8_local_b64": library.polysketch(p=8, local=64),
    },
    "power": {
        "power": library.power(),
        "power_tpow": library.power(symmetric=False),
        "power_tspow": library.power(block=16),
        "power_gated": library.power(block=16, gated=True),
        "power_p3": library.power(d=16, dv=64, p=3, eps=None),
    },
    "relative": {
        "relative": library.relative(),
        "relative_full": library.relative(mask="full"),
        "relative_distance": library.relative(
            d=32, dv=64, feature_map="squares", distances=64, mask="full", two_sided=False, per_head=False
        ),
        "relative_window": library.relative(feature_map="elu", distances=256, beyond="zero", log=False),
        "relative_rope": library.relative_rope(),
        "toeplitz": library.toeplitz(),
        "exponentials": library.exponentials(),
    },
    "relu": {"relu": library.linear(feature_map="relu")},
    "retnet": {
        "retnet_3b": library.retnet(d=256, dv=428),
        "retnet_4_heads": library.retnet(dv=128, decay_factors=GATES),
    },
    "rff": {"rff": library.rff(), "rff_softmax": library.rff(softmax=True)},
    "window": {
        "softmax": library.softmax_attention(),
        "softmax_window": library.softmax_attention(window=64),
        "softmax_full": library.softmax_attention(mask="full"),
        "softmax_relative": library.softmax_attention(distances=128),
        "based_window": library.based_window(),
        "shared_window": library.shared_window(),
        "sliding_window": library.shared_window(sliding=True),
    },
    "variants": {
        "dpfp_attention": library.dpfp(),
        "triangle_attention": library.triangle(),
        "summed_attention": library.summed(),
        "xpos_attention": library.xpos(),
        "lightning_attention": library.lightning(),
        "eps_on_sums": library.eps_on_sums(),
    },
    "bench": {
        name: build(**sizes)
        for name, build, sizes in (
            ("llops_d64_m1024", library.llops, dict(d=64, m=1024)),
            ("llops_d128_m256", library.llops, dict(d=128, m=256)),
            ("polysketch_d64_r32_b1024", library.polysketch, dict(local=1024)),
            ("polysketch_d64_r32", library.polysketch, dict(local=64)),
            ("power_d64_p2", library.power, dict()),
            ("based_d64", library.based, dict(per_head=False)),
            ("linear_d64", library.linear, dict()),
        )
    },
}


def meaning(spec, entry=None):
    """The program of a spec, inlined and simplified: a number for each op and its operands, whatever their order."""
    text = _polyattn.print_ir(source_of(spec, entry), "schedule")
    text = re.sub(r"#loc.*|loc\([^)]*\)", "", text)
    operations, values, head = [], {}, None
    for line in text.splitlines():
        if "polyattn.attention" in line:
            head = re.sub(r"@\w+", "", line.strip())
            continue
        found = re.match(r" *(?:(%[\w]+)(?::\d+)? = )?(.*\S)", line)
        if found is None or not head:
            continue
        # Operands by what they are; arguments keep their names.
        body = re.sub(r"(%\w+)(#\d+)?", lambda m: f"({values.get(m[1], m[1])}{m[2] or ''})", found[2])
        if found[1]:
            values[found[1]] = NUMBERS.setdefault(body, len(NUMBERS))
        else:
            operations.append(body)
    return head, operations


NUMBERS = {}


@pytest.mark.parametrize("file", sorted(x.stem for x in SPECS.glob("*.mlir")))
def test_every_spec_is_rebuilt(file):
    entries = re.findall(r"^polyattn\.attention @(\w+)", (SPECS / f"{file}.mlir").read_text(), re.M)
    assert set(REBUILT[file]) == set(entries)
    for entry, spec in REBUILT[file].items():
        assert meaning(spec) == meaning(SPECS / f"{file}.mlir", entry), entry


def test_meaning_tells_specs_apart():
    linear = meaning(library.linear())
    for other in (library.linear(eps=1e-5), library.linear(feature_map="relu"), library.linear(dv=32)):
        assert meaning(other) != linear
    assert meaning(library.linear(name="other")) == linear


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_functions_whose_options_are_sizes_read_the_specs(dtype):
    """Of any sizes the text of the file, by the caller's name."""
    performer, toeplitz, h3 = dict(d=8, dv=6, m=10), dict(dv=6, distances=9), dict(d=5, shift=3, lags=9)
    for spec, name, file, entry, sizes in (
        (library.performer(**performer, dtype=dtype), "performer", "performer", "performer", performer),
        (library.performer(**performer, form="stabilized", dtype=dtype), "performer", "performer", "performer_stabilized", performer),
        (library.performer(**performer, form="guarded", dtype=dtype, name="mine"), "mine", "performer", "performer_guarded", performer),
        (library.toeplitz(**toeplitz, dtype=dtype), "toeplitz", "relative", "toeplitz", toeplitz),
        (library.h3(**h3, dtype=dtype), "h3", "long-convolution", "h3", h3),
    ):
        text = _polyattn.print_ir(source_of(SPECS / f"{file}.mlir", entry, dtype=dtype, sizes=sizes), "spec")
        ours = _polyattn.print_ir(source_of(spec), "spec")
        assert spec.name == name and f"@{name}(" in ours
        assert ours == text.replace(f"@{entry}(", f"@{name}(")


@pytest.mark.parametrize("name", library.__all__)
def test_other_sizes_run(rng, name):
    """Sizes of no spec: small ones, against the oracle."""
    sizes = {"fast_rope": dict(d=6), "polaformer_half": dict(d=8, dv=3), "eps_on_sums": dict(d=5, dv=7),
             "fpa": dict(d=8, widths=(2, 3, 4)), "fpa_coordinates": dict(d=8, widths=(3, 2)),
             "polaformer": dict(d=8, dv=6), "triangle": dict(d=6, dv=5), "llops": dict(d=8, dv=6, m=10),
             "elementwise_power": dict(d=8, m=6), "performer": dict(d=8, m=10), "rff": dict(d=8, m=10),
             "polysketch": dict(d=8, r=4), "polysketch_learned": dict(d=8, r=4, local=16),
             "based": dict(d=8, r=4), "relative": dict(d=8, m=10, distances=7), "relative_rope": dict(dv=6, distances=30),
             "toeplitz": dict(dv=6, distances=9), "hyena": dict(d=8, lags=9, order=4), "h3": dict(d=5, shift=3, lags=30),
             "toeplitz_network": dict(d=7, lags=9), "long_convolution": dict(d=8, lags=30, per_head=False, reversed=True), "based_window": dict(d=8, r=4, window=5), "shared_window": dict(d=8, block=8),
             "mamba2": dict(n=8, p=6, steps=True, skip=True), "softmax_attention": dict(d=8, dv=6, window=7, distances=3)}.get(name, dict(d=8, dv=6))  # fmt: skip
    spec = getattr(library, name)(**sizes)
    assert spec.name == name
    kernel = polyattn.compile(spec)
    heads = dict(B=1, T=20, Tk=20, H=2, Hkv=1 if name == "mamba2" else 2)
    arrays = []
    for tensor in kernel.signature.arguments:
        shape = [heads.get(size, size) for size in tensor.shape]
        array = rng.standard_normal(shape).astype("f4") / 2
        arrays.append(-abs(array) if tensor.name == "log_decay" else array)
    if name == "eps_on_sums":
        arrays[-1][:] = 1
    found, expected = kernel(*arrays), polyattn.reference(spec)(*arrays)
    assert np.isfinite(found).all()
    # A row that hardly anything determines has no digits: compare what most rows say.
    error = np.median(abs(found - expected)) / abs(expected).max()
    assert error < 1e-5


def test_library_refuses():
    for build in (
        lambda: library.polysketch(p=6),
        lambda: library.hedgehog(form="whole"),
        lambda: library.linear(decay="channel"),
        lambda: library.linear(d=0),
        lambda: library.performer(m=0),
        lambda: library.toeplitz(name="a b"),
        lambda: library.toeplitz(dtype="f8"),
        lambda: library.softmax_attention(mask="anticausal"),
        lambda: library.softmax_attention(window=0),
        lambda: library.softmax_attention(first_position=True),
        lambda: library.softmax_attention(beyond="zero"),
        lambda: library.softmax_attention(per_head=False),
        lambda: library.hyena(order=1),
        lambda: library.hyena(lags=0),
        lambda: library.h3(shift=0),
    ):
        with pytest.raises(polyattn.CallError, match="expected"):
            build()
