"""Layers as PyTorch's modules: cast, saved, loaded, copied, made without memory, shown."""

import copy
import inspect
import math
import pickle

import pytest
from test_torch_layers import LAYERS

import polyattn

torch = pytest.importorskip("torch")
import polyattn.torch as pt  # noqa: E402
import polyattn.torch.nn as pn  # noqa: E402

ALL = {**LAYERS, "PolaFormer": lambda **kw: pn.PolaFormer(48, 6, **kw)}
DTYPES = [torch.bfloat16, torch.float16]
FAMILIES = [getattr(pn, name) for name in pn.__all__ if name not in ("Attention", "StateCache", "States")]


def numbers(rng, *shape):
    return torch.from_numpy(rng.standard_normal(shape).astype("f4"))


@pytest.fixture
def default_dtype(request):
    torch.set_default_dtype(request.param)
    yield request.param
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("name", ALL)
@torch.no_grad()
def test_cast_there_and_back(name, rng):
    """The weights put back, the layer is what it was: nothing else was rounded."""
    layer, x = ALL[name](), numbers(rng, 2, 300, 48)
    for dtype in DTYPES:
        other = copy.deepcopy(layer).to(dtype).float()
        other.load_state_dict(layer.state_dict())
        assert torch.equal(other(x), layer(x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ALL)
@torch.no_grad()
def test_layers_in_16_bits(name, dtype, rng):
    """Off by little more than what rounding the weights and x alone does, which a map of degree 16 multiplies by about 16."""
    layer, x = ALL[name](), numbers(rng, 2, 30, 48)
    rounded = copy.deepcopy(layer).to(dtype)
    exact, y, yardstick = layer(x), rounded(x.to(dtype)), copy.deepcopy(rounded).float()(x.to(dtype).float())

    def error(found):
        # Row by row: most features of DPFP are zero, so that the denominator of a row may nearly vanish. Its error is then a hundred
        # times the others'.
        errors = (found - exact).norm(dim=-1) / exact.norm(dim=-1)
        assert errors.isfinite().all()
        return errors.flatten().quantile(0.9)

    # Seen in 120 draws of each: at most 4.2 with gates, which add up over the positions, else 1.9.
    assert y.dtype == dtype and error(y) <= 6 * error(yardstick)


@pytest.mark.parametrize("default_dtype", [torch.bfloat16, torch.float16, torch.float64], indirect=True)
@pytest.mark.parametrize("name", ALL)
@torch.no_grad()
def test_layers_that_are_made_under_another_default(name, default_dtype):
    """As loaders make them: weights have that dtype, constants and states f32."""
    layer = ALL[name]()
    assert {one.dtype for one in layer.state_dict().values()} == {default_dtype}
    assert all(layer.constant(one).dtype == torch.float32 for one in layer._constants)
    torch.set_default_dtype(torch.float32)
    for one in layer._constants:
        assert torch.equal(layer.constant(one), ALL[name]().constant(one))
    if default_dtype == torch.float64:
        return  # kernels have none
    torch.set_default_dtype(default_dtype)
    x = torch.randn(1, 5, 48)
    y = layer(x)
    assert y.dtype == default_dtype and y.isfinite().all()
    if name != "PolaFormer":
        states = layer.new_states(1)
        assert {pool.dtype for pool in states.pools.values()} == {torch.float32}
        assert (layer.prefill(x, states) - y).norm() <= 0.1 * y.norm()


@pytest.mark.parametrize("kind", [pn.RetNet, pn.Lightning, pn.FastRoPE, pn.XPos])
@torch.no_grad()
def test_checkpoints_that_have_constants(kind, rng):
    """Constants were buffers once, and rounded with the model in bf16: such checkpoints load, and say nothing of the constants."""
    layer, x = kind(48, 6), numbers(rng, 1, 500, 48)
    saved = layer.state_dict()
    assert not {"freqs", "log_decay"} & set(saved)
    names = [one for one in ("freqs", "log_decay") if hasattr(layer, one)]
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        old = saved | {name: getattr(layer, name).to(dtype) for name in names}
        other = kind(48, 6)
        other.load_state_dict(old)
        assert torch.equal(other(x), layer(x))
        parent = torch.nn.ModuleList([kind(48, 6)])
        parent.load_state_dict({f"0.{name}": one for name, one in old.items()})
        assert torch.equal(parent[0](x), layer(x))
    for name in names:
        other = saved | {name: getattr(layer, name) * 1.5}
        with pytest.raises(RuntimeError, match=f"{name}: the checkpoint has other numbers; make the layer with constants="):
            kind(48, 6).load_state_dict(other)
        own = kind(48, 6, constants={name: getattr(layer, name) * 1.5})
        own.load_state_dict(other)
        assert not torch.equal(own(x), layer(x)) and torch.equal(getattr(own, name), getattr(layer, name) * 1.5)


@torch.no_grad()
def test_a_checkpoint_in_bf16_in_a_model_in_f32(rng):
    layer, x = pn.RetNet(48, 6), numbers(rng, 1, 2000, 48)
    small = {name: one.bfloat16() for name, one in layer.state_dict().items()}
    other, wanted = pn.RetNet(48, 6), copy.deepcopy(layer)
    other.load_state_dict(small)
    for one in wanted.parameters():
        one.copy_(one.bfloat16())
    assert torch.equal(other(x), wanted(x))


@torch.no_grad()
def test_constants_of_ones_own(rng):
    layer = pn.RetNet(48, 6, constants={"log_decay": [-1.0] * 6})
    assert layer.log_decay.tolist() == [-1.0] * 6 and layer.freqs[0] == 1
    assert torch.equal(layer(numbers(rng, 1, 3, 48)), layer(numbers(rng, 1, 3, 48))) is False
    layer.log_decay.fill_(3)  # a copy
    assert layer.log_decay.tolist() == [-1.0] * 6
    for make, words in (
        (lambda: pn.RetNet(48, 6, constants={"log_decay": [-1.0]}), "'log_decay': expected numbers of shape .6., got .1."),
        (lambda: pn.RetNet(48, 6, constants={"log_decay": "no"}), "'log_decay': expected numbers of shape .6., got str"),
        (lambda: pn.RetNet(48, 6, constants={"decays": [-1.0] * 6}), "which are freqs, log_decay; got 'decays'"),
        (lambda: setattr(layer, "freqs", layer.freqs), "freqs: is no buffer that can be replaced; make the layer with"),
    ):
        with pytest.raises(polyattn.CallError, match=words):
            make()
    assert not hasattr(pn.RetNet(48, 2, decay_factors=[0.5, 0.75]), "log_decay")


@pytest.mark.parametrize("name", ALL)
@torch.no_grad()
def test_copies(name, rng):
    layer, x = ALL[name](), numbers(rng, 1, 20, 48)
    y = layer(x)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(other(x), y)
        for one in other.parameters():
            one.zero_()
        other.reset_parameters()
        assert other.q_proj.weight.any() and torch.equal(layer(x), y)


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("name", ALL)
@torch.no_grad()
def test_layers_that_are_made_without_memory(name, one_by_one, rng):
    """`to_empty` gives memory that holds anything; `reset_parameters`, of the layer or of each module as FSDP does, what it begins with."""
    made = ALL[name]()
    with torch.device("meta"):
        layer = ALL[name]()
    assert all(one.is_meta for one in layer.state_dict().values())
    layer.to_empty(device="cpu")
    for one in layer.state_dict().values():
        one.fill_(float("nan"))
    for one in layer.modules() if one_by_one else [layer]:
        one.reset_parameters()
    for one, other in zip(layer.state_dict().values(), made.state_dict().values()):
        # Of the same distribution: random numbers of the same size, and the same others. The smallest random tensors have 16 numbers,
        # whose deviations differ by a factor of four once in a million draws, and their means by six errors as rarely. Heads that begin
        # with the same numbers are one draw.
        spreads = [float(each.std(correction=0)) for each in (one, other)]
        assert max(spreads) <= (4.0 if one.numel() < 256 else 1.6) * min(spreads) + 1e-6
        draws = min(one.unique().numel(), other.unique().numel())
        assert abs(float(one.mean() - other.mean())) <= 6 * math.sqrt(2 / draws) * max(spreads) + 1e-6
    assert layer(numbers(rng, 1, 9, 48)).isfinite().all()
    if isinstance(layer, pn.LLoPS):
        assert all(torch.equal(one, getattr(layer, key.replace("_q", "_k"))) for key, one in layer.named_parameters() if "theta_q" in key)


def test_fully_sharded_layers_that_are_made_without_memory(rng):
    """FSDP's order: shard on the device `meta`, get memory, reset each module; parameters are DTensors by then."""
    dist = pytest.importorskip("torch.distributed")
    fsdp = pytest.importorskip("torch.distributed.fsdp")
    if not (dist.is_available() and dist.is_gloo_available() and hasattr(fsdp, "fully_shard")):
        pytest.skip("PyTorch without gloo or fully_shard")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        mesh = dist.device_mesh.init_device_mesh("cpu", (1,))
        for name in ("LLoPS", "Performer", "PolaFormer", "RetNet", "joint Hedgehog"):
            with torch.device("meta"):
                layer = ALL[name]()
            fsdp.fully_shard(layer, mesh=mesh)
            layer.to_empty(device="cpu")
            for one in layer.modules():
                one.reset_parameters()
            if name == "joint Hedgehog":
                assert torch.equal(layer.w_q.full_tensor()[0], torch.eye(8)) and not layer.b_q.full_tensor().any()
            layer(numbers(rng, 1, 9, 48)).sum().backward()
            assert all(one.grad is not None for one in layer.parameters())
    finally:
        dist.destroy_process_group()


def test_constants_in_graphs_and_modes(rng):
    """A constant that was first seen in inference mode or while tracing is one of PyTorch's own tensors later."""
    layer, x = pn.RetNet(48, 6), numbers(rng, 1, 9, 48)
    with torch.inference_mode():
        y = layer(x)
    layer(x).sum().backward()
    layer = copy.deepcopy(layer)
    compiled = torch.compile(layer, fullgraph=True)
    assert torch.allclose(compiled(x), y, atol=1e-6) and torch.allclose(layer(x), y, atol=1e-6)
    exported = torch.export.export(layer, (x,)).module()
    assert torch.allclose(exported(x), y, atol=1e-6)
    other = copy.deepcopy(layer).to("meta").requires_grad_(False)
    assert other(x.to("meta")).shape == y.shape


@polyattn.feature_map
def gated(x, a, b):
    return polyattn.builder.relu(x @ a) * polyattn.builder.relu(x @ b)


def test_a_parameter_named_b_is_not_born_dead(rng):
    """docs/Python.md's example: zeros in `b` were zeros of every result and gradient."""
    b = polyattn.builder

    @polyattn.attention
    def mine(
        q: b.Sequence[16], k: b.Sequence[16], v: b.Sequence[16], a: b.HeadWeight[16, 32], b: b.HeadWeight[16, 32],
        gain: b.Weight[32], bias: b.Weight[32], beta: b.Weight[32], shift: b.HeadWeight[32], freqs: b.HeadWeight[16],
    ):  # fmt: skip
        def phi(x):
            x = polyattn.builder.layer_norm(gated(x, a, b), gain, beta, eps=1e-5) + bias
            return polyattn.builder.relu(polyattn.builder.rope(x, freqs, layout="half")) + shift

        return polyattn.builder.attend(phi(q), phi(k), v, normalizer=polyattn.builder.by_sum(1e-6), signed_scores=True)

    layer = pt.nn.Attention(mine, 48, heads=3)
    assert {one.name: one.role for one in layer.attention.signature.arguments[3:]} == {
        "a": "weight", "b": "weight", "gain": "gain", "bias": "vector", "beta": "vector", "shift": "vector",
        "freqs": "frequencies",
    }  # fmt: skip
    assert abs(layer.b.std() * 4 - 1) < 0.2 and bool((layer.gain == 1).all())
    assert not any(one.any() for one in (layer.bias, layer.beta, layer.shift))
    assert "freqs" not in dict(layer.named_parameters()) and layer.constant("freqs").shape == (3, 16)
    layer(numbers(rng, 1, 20, 48)).square().mean().backward()
    assert all(layer.get_parameter(name).grad.any() for name in ("a", "b", "q_proj.weight"))


def test_equal_gains_would_stay_equal():
    """Two gains of one vector have the same gradient where they are the same."""
    layer = pn.Attention(polyattn.library.fpa_diagonal(8), 48, 6)
    assert not torch.allclose(layer.g1, layer.g2) and abs(layer.g1.mean() - 1) < 0.2
    vision = polyattn.library.flatten_vision(8)
    with pytest.raises(polyattn.CallError, match="argument 'position'"):
        pn.Attention(vision, 48, 6)(torch.zeros(1, 4, 48))  # a table of the caller's


@pytest.mark.parametrize("p", [2, 3, 4])
@torch.no_grad()
def test_llops_begins_inside_float16(p, rng):
    """3,000 positions of variance 1; rows were thousands of times their values, and left float16 in row 346."""
    x = numbers(rng, 1, 3000, 512)
    layer = pn.LLoPS(512, heads=8, p=p, m=64)
    with torch.autocast("cpu", dtype=torch.float16):
        assert layer(x).isfinite().all()
    q, k, v = layer.project(x)
    o = layer.attention(q, k, v, *[getattr(layer, name) for name in layer._others])
    assert o.abs().max() < 1000 * v.abs().max()


@torch.no_grad()
def test_rff_begins_well_conditioned(rng):
    x = numbers(rng, 2, 500, 256)
    layer = pn.RFF(256, heads=4)
    y = layer(x)
    assert (layer.bfloat16()(x.bfloat16()) - y).norm() < 0.1 * y.norm()


@pytest.mark.parametrize("kind", FAMILIES)
def test_options_are_seen(kind):
    """By help(), by editors, by repr, and one that is not there by Python itself."""
    parameters = inspect.signature(kind).parameters
    assert all(one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) for one in parameters.values())
    assert all(one.annotation is not one.empty and one.annotation != "Any" for one in parameters.values())
    words = kind.__doc__.split("Args:")[1]
    assert all(name in words for name in parameters), [name for name in parameters if name not in words]
    layer = kind(48, 6)
    said = repr(layer).split("\n")[1]
    shown = set(parameters) - {"width", "bias", "state_every", "constants"}
    assert all(f"{name}=" in said for name in shown), said
    with pytest.raises(TypeError, match="unexpected keyword argument 'dtpye'"):
        kind(48, 6, dtpye="f32")


def test_head_sizes():
    with pytest.raises(polyattn.CallError, match="heads: expected a divisor of the width 64, or head_dim given, got 5 heads"):
        pn.Linear(64, heads=5)
    with pytest.raises(polyattn.CallError, match="heads: expected a divisor of the width 64, or value_dim given, got 5 heads"):
        pn.ReBased(64, heads=5)
    assert pn.Linear(64, heads=5, head_dim=8, value_dim=4)(torch.zeros(1, 2, 64)).shape == (1, 2, 64)


def test_kernels_of_dropped_layers_are_freed():
    """All that stays is a recipe, by which a graph or a backward call that is still to come compiles again."""
    from polyattn.torch import _recipes

    layer = pn.Linear(24, 2, eps=0.0123)
    recipe = layer.attention._recipe
    x = torch.randn(1, 5, 24, requires_grad=True)
    other = copy.deepcopy(layer)
    y = layer(x)
    with torch.no_grad():
        layer.step(x, layer.new_states(1))
    kernels = list(recipe._kernels.values())
    assert len(kernels) >= 2
    del layer
    assert list(recipe._kernels.values()) == kernels
    del other, kernels
    assert not recipe._kernels and _recipes.find(recipe.handle) is recipe
    y.sum().backward()
    assert x.grad.isfinite().all()


def test_a_file_of_a_spec_may_go(tmp_path, qkv):
    """The attention was made of what the file said then."""
    path = tmp_path / "one.mlir"
    path.write_text(str(polyattn.library.linear(64)))
    attention = pt.load(path)
    path.write_text("nonsense {")
    tensors = [torch.from_numpy(one) for one in qkv]
    again = pickle.loads(pickle.dumps(attention))
    assert torch.equal(again(*tensors), attention(*tensors)) and again._handle == attention._handle
