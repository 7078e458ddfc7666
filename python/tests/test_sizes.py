"""Sizes of specs in the short form, chosen by their callers: numbers against a formula in f64, and every wrong size refused."""

import importlib
import pickle

import numpy as np
import pytest
from conftest import SPECS

import polyattn
from polyattn import CallError, SpecError

TEXT = """polyattn.attention @llops<d = 8, m = 16>(q, k, v: seq[d], a, b: weight[d, m]) {
  map phi(x) = project(x, a) * project(x, b)
  return attend(phi(q), phi(k), v) causal normalize none
}
polyattn.attention @other<d = 8>(q, k, v: seq[d]) {
  return attend(q, k, v) causal normalize none
}
"""


def arguments(rng, d, m):
    vectors = [rng.standard_normal((2, 30, 3, d)).astype("f4") for _ in range(3)]
    return [*vectors, *(rng.standard_normal((d, m)).astype("f4") for _ in range(2))]


def formula(q, k, v, a, b):
    q, k, v, a, b = (x.astype("f8") for x in (q, k, v, a, b))
    phi_q, phi_k = ((x @ a) * (x @ b) for x in (q, k))
    scores = np.tril(np.einsum("bihm,bjhm->bhij", phi_q, phi_k))
    return np.einsum("bhij,bjhe->bihe", scores, v)


def close(found, expected):
    assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("sizes", [{"d": 4}, {"m": 5}, {"d": np.int64(6), "m": 10}, {}])
def test_numbers(rng, sizes):
    given = arguments(rng, sizes.get("d", 8), sizes.get("m", 16))
    kernel = polyattn.compile(TEXT, "llops", sizes=sizes)
    assert kernel.signature.arguments[3].shape == given[3].shape
    close(kernel(*given), formula(*given))
    close(polyattn.reference(TEXT, "llops", sizes=sizes)(*given), formula(*given))
    assert pickle.loads(pickle.dumps(kernel)).signature == kernel.signature


def test_the_cache_knows_sizes(rng, tmp_path):
    for d in (4, 6, 4):
        given = arguments(rng, d, 16)
        close(polyattn.compile(TEXT, "llops", sizes={"d": d}, cache=tmp_path)(*given), formula(*given))


def test_a_file_of_the_repository():
    kernel = polyattn.compile(SPECS / "llops.mlir", "llops", sizes={"d": 64, "m": 1024}, direction="backward", wrt=["theta_q1"])
    assert [one.shape for one in kernel.signature.results] == [(64, 1024)]


def test_torch(rng):
    torch = pytest.importorskip("torch")
    layers, load = importlib.import_module("polyattn.torch.nn"), importlib.import_module("polyattn.torch").load
    sizes = {"d": 4, "m": 6}
    given = arguments(rng, **sizes)
    attention = load(TEXT, "llops", sizes=sizes)
    tensors = [torch.from_numpy(x).requires_grad_() for x in given]
    o = attention(*tensors)
    close(o.detach().numpy(), formula(*given))
    o.square().sum().backward()
    exact = [torch.from_numpy(x).double().requires_grad_() for x in given]
    phi_q, phi_k = ((x @ exact[3]) * (x @ exact[4]) for x in exact[:2])
    scores = torch.einsum("bihm,bjhm->bhij", phi_q, phi_k).tril()
    torch.einsum("bhij,bjhe->bihe", scores, exact[2]).square().sum().backward()
    for one, two in zip(tensors, exact):
        close(one.grad.numpy(), two.grad.numpy())
    # Each choice of sizes has kernels of its own, and goes where its attention goes.
    again = pickle.loads(pickle.dumps(attention))
    assert again.signature == attention.signature != load(TEXT, "llops").signature
    close(again(*tensors).detach().numpy(), formula(*given))
    layer = layers.Attention(TEXT, 24, 3, entry="llops", sizes={"d": 8, "m": 5})
    assert layer.a.shape == (8, 5) and layer(torch.randn(1, 9, 24)).shape == (1, 9, 24)


def test_compare():
    pytest.importorskip("torch")
    found = polyattn.compare(TEXT, "llops", sizes={"m": 4}, length=64, directions=["forward"], seconds=0, compiled=False)
    assert "polyattn" in found.rows[0].seconds and "eager" in found.rows[0].seconds


@pytest.mark.parametrize("sizes, said", [
    ("d=4", "sizes: expected a dictionary such as {'d': 64}, got str"),
    ({1: 2}, "sizes: expected names of sizes, got 1"),
    ({"d,m": 2}, "sizes: expected names of sizes, got 'd,m'"),
    ({"d": 0}, "sizes: 'd': expected a whole number from 1 to 2147483647, got 0"),
    ({"d": -4}, "sizes: 'd': expected a whole number from 1 to 2147483647, got -4"),
    ({"d": 2**40}, f"sizes: 'd': expected a whole number from 1 to 2147483647, got {2**40}"),
    ({"d": 4.0}, "sizes: 'd': expected a whole number from 1 to 2147483647, got 4.0"),
    ({"d": "4"}, "sizes: 'd': expected a whole number from 1 to 2147483647, got '4'"),
    ({"d": True}, "sizes: 'd': expected a whole number from 1 to 2147483647, got True"),
    ({"d": None}, "sizes: 'd': expected a whole number from 1 to 2147483647, got None"),
])  # fmt: skip
def test_what_is_no_size(sizes, said):
    pytest.importorskip("torch")
    for call in (polyattn.compile, polyattn.reference, importlib.import_module("polyattn.torch").load, polyattn.compare):
        with pytest.raises(CallError) as info:
            call(TEXT, "llops", sizes=sizes)
        assert str(info.value) == said


@pytest.mark.parametrize("entry, sizes, said", [
    ("llops", {"dd": 4}, "the entry 'llops' has no size 'dd'; did you mean 'd'?"),
    ("llops", {"rank": 4}, "the entry 'llops' has no size 'rank', expected d, m"),
    ("other", {"m": 4}, "the entry 'other' has no size 'm'"),
    ("llops", {"d": 100000}, "has at most 65536"),
])  # fmt: skip
def test_what_the_entry_refuses(entry, sizes, said):
    with pytest.raises(SpecError) as info:
        polyattn.compile(TEXT, entry, sizes=sizes)
    assert said in str(info.value) and info.value.diagnostics[0].line >= 1


def test_a_built_spec_has_no_sizes():
    with pytest.raises(SpecError, match="the entry 'linear' has no size 'd'"):
        polyattn.compile(polyattn.library.linear(d=8), "linear", sizes={"d": 4})


def test_files_of_the_package():
    files = {path.stem: path.read_text() for path in SPECS.glob("*.mlir")}
    for name, text in files.items():
        assert polyattn.spec_path(name).read_text() == text
    for name in ("llop", "../llops", "llops.mlir", 3, None):
        with pytest.raises(CallError, match="name: expected one of .*llops.*, got"):
            polyattn.spec_path(name)
