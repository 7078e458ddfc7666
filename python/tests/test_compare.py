"""polyattn.compare: what it measures, what it says where it cannot, and wrong calls."""

import re

import pytest

import polyattn

torch = pytest.importorskip("torch")

SHORT = {"length": 130, "heads": 2, "seconds": 0.0, "threads": 1, "compiled": False}


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_a_comparison_is_printed_and_returned(dtype, capsys):
    threads = torch.get_num_threads()
    found = polyattn.compare(polyattn.library.linear(d=16), batch=2, dtype=dtype, **SHORT)
    assert torch.get_num_threads() == threads
    assert capsys.readouterr().out == f"{found}\n"
    assert [row.direction for row in found.rows] == ["forward", "forward + backward", "decode"]
    for row in found.rows:
        assert not row.absent
        assert set(row.seconds) == {"polyattn", "eager"} and all(one > 0 for one in row.seconds.values())
    assert str(found).startswith(f"@linear: B=2 T=130 H=2, {dtype}, 1 thread of ")
    assert re.search(r"^forward +[\d.e+-]+ +[\d.e+-]+ \([\d.]+x\) +-$", str(found), re.M)
    assert re.search(r"^forward, PyTorch, eager: (direct|(chunked|looped) \d+)$", str(found), re.M)


def test_torch_compile_gets_a_form_without_a_loop():
    found = polyattn.compare(polyattn.library.linear(d=16), directions=["forward"], **SHORT | {"compiled": True, "length": 128})
    (row,) = found.rows
    assert "compiled" in row.seconds or row.absent["compiled"]  # it needs a C++ compiler
    if "compiled" in row.seconds:
        assert not row.forms["compiled"].startswith("looped")


def test_grouped_heads_decays_and_positions():
    for spec in (polyattn.library.retnet(d=16), polyattn.library.power(d=8, gated=True)):
        found = polyattn.compare(spec, kv_heads=1, **SHORT)
        assert all(set(row.seconds) == {"polyattn", "eager"} for row in found.rows), str(found)
        assert "H=2 Hkv=1" in found.about


def test_what_cannot_be_compared_is_said():
    """States in the signature, and a direction that does not exist."""
    states = polyattn.library.linear(d=16, states=True)
    with pytest.raises(polyattn.CallError, match="compare: expected a spec without states in its signature"):
        polyattn.compare(states, **SHORT)
    found = polyattn.compare(polyattn.library.flatten_vision(d=16), **SHORT)
    decode = found.rows[-1]
    assert not decode.seconds and decode.absent["polyattn"]
    assert re.search(r"^decode +- +- +-$", str(found), re.M)
    assert f"decode, polyattn: not compared, {decode.absent['polyattn']}" in str(found)


def test_wrong_results_are_not_timed(monkeypatch):
    """Each form that gives something else is refused, with the size of the difference."""
    from polyattn.torch._eager import Attend

    divide = Attend.divide
    monkeypatch.setattr(Attend, "divide", lambda *given: divide(*given) * 1.01)
    (row,) = polyattn.compare(polyattn.library.linear(d=16), directions=["forward"], **SHORT).rows
    assert set(row.seconds) == {"polyattn"}
    assert "direct: results differ from polyattn's by 1.0e-02" in row.absent["eager"]


@pytest.mark.parametrize(
    "options, expected",
    [
        ({"directions": ["back"]}, "directions: expected some of forward, both, decode, got 'back'"),
        ({"seconds": -1}, "seconds: expected a number from 0 on, got -1"),
        ({"seconds": "long"}, "seconds: expected a number from 0 on, got 'long'"),
        ({"length": 0}, "length: expected "),
        ({"heads": 3, "kv_heads": 2}, "kv_heads: expected a divisor of 3 heads, got 2"),
        ({"dtype": "f64"}, "dtype: expected f32, bf16 or f16, got f64"),
        ({"compiled": "yes"}, "compiled: expected True or False, got 'yes'"),
        ({"threads": 0}, "threads: expected "),
    ],
)
def test_wrong_options(options, expected):
    with pytest.raises(polyattn.CallError) as error:
        polyattn.compare(polyattn.library.linear(d=16), **SHORT | options)
    assert str(error.value).startswith(expected)


def test_specs_that_are_wrong_have_their_diagnostics():
    with pytest.raises(polyattn.SpecError):
        polyattn.compare("polyattn.attention @a() -> () {\n  nonsense\n}\n", **SHORT)
