"""Training pairs: what the forward half keeps, the backward half takes, and gradients are those of the oracle."""

import numpy as np
import pytest

import polyattn
from polyattn import CallError
from polyattn import builder as b

SPEC = """
polyattn.attention @gated(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>)
    -> (gated_o: tensor<?x?x?x8xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %z = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %x key %y value %z causal normalize <none> : [8], [8], [8]
  %g = hadamard %o, %x : [8], [8]
  return %g : [8]
}
"""


def test_a_pair_gives_the_gradients():
    random = np.random.default_rng(5)
    q, k, v, direction, d_o = random.standard_normal((5, 2, 40, 3, 8)).astype("f4")
    forward = polyattn.compile(SPEC, direction="training")
    backward = polyattn.compile(SPEC, direction="backward", wrt=["q", "v"])
    assert forward.entry == "gated__forward" and backward.entry == "gated__backward"
    o, kept = forward(q, k, v)
    d_q, d_v = backward(q, k, v, kept, d_gated_o=d_o)
    oracle = polyattn.reference(SPEC)
    assert np.abs(o - oracle(q, k, v)).max() <= 1e-5 * np.abs(o).max()
    step = 1e-3
    for gradient, arguments in ((d_q, lambda t: (q + t * direction, k, v)), (d_v, lambda t: (q, k, v + t * direction))):
        more, less = (np.sum(d_o.astype("f8") * oracle(*(x.astype("f4") for x in arguments(t)))) for t in (step, -step))
        slope = np.sum(gradient.astype("f8") * direction)
        assert abs((more - less) / (2 * step) - slope) <= 1e-2 * abs(slope) + 1e-2


def test_a_kernel_says_what_its_tensors_are():
    def tensors_of(wrt):
        about = polyattn.compile(SPEC, direction="backward", wrt=wrt).describe()
        assert about["direction"] == "backward"
        return {tensor["name"]: tensor for tensor in about["arguments"] + about["results"]}

    tensors = tensors_of(["q"])
    assert tensors["output0"]["saved_from"] == "output0" and tensors["output0"]["role"] == "saved"
    assert tensors["d_gated_o"]["gradient_of"] == "gated_o"
    assert tensors["d_q"]["gradient_of"] == "q" and "d_k" not in tensors
    # The query gates the output, so only its gradient reads the output before the gate.
    tensors = tensors_of(["k"])
    assert tensors["d_k"]["gradient_of"] == "k" and "output0" not in tensors


def test_results_are_paired_with_arguments_by_what_they_are_gradients_of():
    spec = SPEC.replace("%v: tensor<?x?x?x8xf32>)", "%v: tensor<?x?x?x8xf32>, %unused: tensor<8x4xf32>)")
    for wrt, named in ((["unused", "v"], ["v"]), (["v", "unused", "q"], ["q", "v"]), (None, ["q", "k", "v"])):
        about = polyattn.compile(spec, direction="backward", wrt=wrt).describe()
        assert [one["gradient_of"] for one in about["results"]] == named
    with pytest.raises(polyattn.NoGradientError, match="no result depends on what it is differentiated by"):
        polyattn.compile(spec, direction="backward", wrt=["unused"])


def test_no_gradient_is_an_error_of_its_own():
    """Callers that can go on without gradients told it by its words. It stays one where lines of Python take those of the spec's place."""

    @polyattn.attention
    def unused(q: b.Sequence[8], k: b.Sequence[8], v: b.Sequence[8], u: b.Weight[8, 4]):
        return b.attend(q, k, v, normalizer=b.none())

    for direction in ("training", "backward"):
        with pytest.raises(polyattn.NoGradientError, match="no result depends on"):
            polyattn.compile(unused, direction=direction, wrt=["u"])
    with pytest.raises(polyattn.SpecError, match="row_max") as refused:
        spec = SPEC.replace("normalize <none>", "normalize <sum, eps = 1.0e-6, eps_mode = row_max> {signed_scores}")
        polyattn.compile(spec, direction="backward")
    assert not isinstance(refused.value, polyattn.NoGradientError)


def test_a_pair_is_saved_as_one_library(tmp_path):
    polyattn.compile(SPEC, direction="training").save(tmp_path, "pair")
    header = (tmp_path / "pair.h").read_text()
    assert "int polyattn_gated_forward(" in header and "int polyattn_gated_backward(" in header


def test_tensors_of_another_forward_call_are_refused():
    backward = polyattn.compile(SPEC, direction="backward")
    q, k, v, kept = np.zeros((4, 1, 5, 2, 8), "f4")
    other = np.zeros((1, 6, 2, 8), "f4")
    with pytest.raises(CallError, match="argument 'output0': expected shape .* with T = 5 as in 'q'"):
        backward(q, k, v, other, kept)
    with pytest.raises(CallError, match="result 'd_k': expected memory of its own, got that of result 'd_q'"):
        backward(q, k, v, kept, kept, out={"d_q": other[:, :5], "d_k": other[:, :5]})


def test_gradients_of_weights_are_added_up():
    random = np.random.default_rng(9)
    spec = polyattn.library.llops(d=8, dv=8, m=16, p=2)
    forward = polyattn.compile(spec, direction="training")
    alone, adding = (polyattn.compile(spec, direction="backward", accumulate=on) for on in (False, True))
    names = [one.name for one in forward.signature.arguments]
    shapes = {"q": (2, 30, 2, 8), "k": (2, 30, 2, 8), "v": (2, 30, 2, 8)}
    batches = [random.standard_normal((4, 2, 30, 2, 8)).astype("f4") for _ in range(3)]
    weights = {name: random.standard_normal((8, 16)).astype("f4") for name in names if name not in shapes}
    sums = {f"sum_d_{name}": np.zeros((8, 16), "f4") for name in weights}
    expected = {name: np.zeros((8, 16), "f4") for name in weights}
    for q, k, v, d_o in batches:
        given = {"q": q, "k": k, "v": v, **weights, "d_o": d_o}
        kept = dict(zip((one.name for one in forward.signature.results), _tuple(forward(**_only(given, forward)))))
        results = alone(**_only({**given, **kept}, alone))
        for one, gradient in zip(alone.signature.results, results):
            if one.name.removeprefix("d_") in expected:
                expected[one.name.removeprefix("d_")] += gradient
        added = adding(**_only({**given, **kept, **sums}, adding))
        for one, gradient in zip(adding.signature.results, added):
            if one.name.removeprefix("d_") in weights:
                assert gradient is sums[f"sum_{one.name}"]
    for name, total in expected.items():
        assert np.array_equal(sums[f"sum_d_{name}"], total)
    with pytest.raises(CallError, match="accumulate: expected direction training or backward with it"):
        polyattn.compile(spec, accumulate=True)


def test_gradients_from_states_after_blocks():
    random = np.random.default_rng(11)
    spec = polyattn.library.linear(d=8, dv=8)
    q, d_o = random.standard_normal((2, 1, 70, 4, 8)).astype("f4")
    k, v = random.standard_normal((2, 1, 70, 2, 8)).astype("f4")
    kernels = [
        [polyattn.compile(spec, direction=direction, state_every=every) for direction in ("training", "backward")]
        for every in (None, 16)
    ]
    gradients = []
    for forward, backward in kernels:
        kept = dict(zip((one.name for one in forward.signature.results), forward(q, k, v)))
        given = {"q": q, "k": k, "v": v, "d_o": d_o, **kept}
        gradients.append(backward(**_only(given, backward)))
    assert [one.name for one in kernels[1][0].signature.results] == ["o", "o_factors", "o_states"]
    assert kernels[1][0].signature.results[2].shape == ("B", "T", "Hkv", 9)
    for two_sweeps, one_sweep in zip(*gradients):
        assert np.linalg.norm(two_sweeps - one_sweep) < 1e-5 * np.linalg.norm(two_sweeps)
    for wrong in (0, 1025, -1, 2**70, True, "64", 1.5):
        with pytest.raises(CallError, match="state_every: expected 1 to 1024 positions, or None"):
            polyattn.compile(spec, direction="training", state_every=wrong)
    with pytest.raises(CallError, match="state_every: expected direction training or backward with it"):
        polyattn.compile(spec, state_every=16)
    with pytest.raises(polyattn.SpecError, match="its features are products"):
        polyattn.compile(polyattn.library.power(d=8, dv=8, p=2), direction="training", state_every=16)


def _tuple(results):
    return results if isinstance(results, tuple) else (results,)


def _only(tensors, kernel):
    return {one.name: tensors[one.name] for one in kernel.signature.arguments}
