"""PyTorch's tensors on a GPU, in calls of polyattn.torch: part of benchmarks/gpu/run, for machines with both.

Every check computes the same on the processor, and on the GPU on a stream of its own, after work that takes that stream a while: a
call that ran on another stream, or too early, would read tensors that are not there yet.
"""
import contextlib

TOLERANCE = {"float32": 1e-4, "bfloat16": 2e-2}


def missing():
    """Why nothing can be checked here, or None."""
    try:
        import torch

        if not torch.cuda.is_available():
            return "torch: it sees no GPU"
        import polyattn.torch  # noqa: F401
    except Exception as error:  # A broken installation is a missing one, too.
        return f"polyattn.torch: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    return None


def error_of(found, expected):
    found, expected = found.double().cpu(), expected.double().cpu()
    return float((found - expected).norm() / expected.norm().clamp_min(1e-30))


@contextlib.contextmanager
def busy_stream():
    """A stream that has work before what the block puts on it."""
    import torch

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        matrix = torch.randn(4096, 4096, device="cuda")
        for _ in range(20):
            matrix = matrix @ matrix * 1e-3
        yield
    torch.cuda.current_stream().wait_stream(stream)


def inputs_of(attention, dtype, sizes, seed):
    """Tensors for all arguments on the processor, small where they are weights."""
    import torch
    from polyattn.torch import _recipes

    generator = torch.Generator().manual_seed(seed)
    inputs = []
    storage = {torch.float32: "f32", torch.bfloat16: "bf16"}[dtype]
    for argument in _recipes.find(attention._handle).signature(storage).arguments:
        shape = [sizes.get(size, size) for size in argument.shape]
        one = torch.randn(shape, generator=generator) * (1 if len(shape) == 4 else 0.1)
        inputs.append(one.to(_recipes.DTYPES[argument.dtype]))
    return inputs


def check_calls(attention, dtype, sizes, seed, with_gradients):
    """The largest error of results and gradients."""
    import torch

    here = inputs_of(attention, dtype, sizes, seed)
    if with_gradients:
        here = [one.requires_grad_() for one in here]
    expected = attention(*here)
    factors = torch.randn(expected.shape).to(dtype)
    with busy_stream():
        there = [one.detach().to("cuda", non_blocking=True).requires_grad_(with_gradients) for one in here]
        found = attention(*there)
        gradients = torch.autograd.grad(found, there, factors.to("cuda")) if with_gradients else []
    torch.cuda.synchronize()
    errors = [error_of(found.detach(), expected.detach())]
    if with_gradients:
        expected_gradients = torch.autograd.grad(expected, here, factors)
        errors += [error_of(*pair) for pair in zip(gradients, expected_gradients)]
    return max(errors)


def check_packed():
    """Sequences one behind the other, one of them empty, with gradients."""
    import torch

    import polyattn.torch as pt

    attention = pt.load(library().linear(d=64))
    ends = torch.tensor([0, 70, 70, 300])
    here = inputs_of(attention, torch.float32, {"B": 1, "T": 300, "H": 4, "Hkv": 4}, seed=5)
    factors = torch.randn(1, 300, 4, 64)

    def gradients(device):
        own = [one.to(device).requires_grad_() for one in here]
        o = attention(*own, cu_seqlens=ends.to(device))
        return [o.detach(), *torch.autograd.grad(o, own, factors.to(device))]

    return max(error_of(*pair) for pair in zip(gradients("cuda"), gradients("cpu")))


def check_generation():
    """A layer's prompts of several lengths and steps after them."""
    import copy

    import torch

    import polyattn.torch as pt

    torch.manual_seed(6)
    layer = pt.nn.Linear(256, 4)
    x = torch.randn(3, 45, 256)
    slots, lengths = torch.tensor([5, 0, 2]), torch.tensor([40, 20, 7])

    def generate(device):
        own = copy.deepcopy(layer).to(device)
        with torch.no_grad():
            states = own.new_states(8)
            found = [own.prefill(x[:, :40].to(device), states, slots.to(device), lengths.to(device))]
            found += [own.step(x[:, t : t + 1].to(device), states, slots.to(device)) for t in range(40, 45)]
        return torch.cat(found, dim=1)

    return error_of(generate("cuda"), generate("cpu"))


def check_graph():
    """A call and a step of decoding in a captured graph, replayed with other numbers in the same tensors."""
    import torch

    import polyattn.torch as pt
    from polyattn.torch._decode import decode

    attention = pt.load(library().linear(d=64))
    there = [torch.randn(2, 200, 4, 64, device="cuda") for _ in range(3)]
    token = [torch.randn(2, 1, 4, 64, device="cuda") for _ in range(3)]
    pools = [torch.zeros(2, 4, 64, 64, device="cuda"), torch.zeros(2, 4, 64, device="cuda")]
    whose = [torch.arange(2, device="cuda", dtype=torch.int32), torch.ones(2, device="cuda", dtype=torch.int64),
             torch.ones(2, device="cuda", dtype=torch.int32)]  # fmt: skip

    def work():
        with torch.no_grad():
            return attention(*there), decode(attention._handle, [*token, *whose], pools)

    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = work()
    errors = []
    for _ in range(2):
        for one in [*there, *token]:
            one.normal_()
        before = [one.clone() for one in pools]
        graph.replay()
        found, after = [one.clone() for one in captured], [one.clone() for one in pools]
        for one, old in zip(pools, before):
            one.copy_(old)
        errors += [error_of(*pair) for pair in zip([*found, *after], [*work(), *pools])]
    return max(errors)


def library():
    import polyattn

    return polyattn.library


def check(report, fail):
    """Calls `report` and `fail` with a line for each check."""
    import torch

    import polyattn.torch as pt

    systems = {
        "linear": library().linear(d=64),
        "power": library().power(d=32, p=2),
        "llops": library().llops(d=64, dv=64, m=128, p=2),
    }
    sizes = {"B": 2, "T": 300, "H": 4, "Hkv": 4}
    checks = [("packed, with gradients", "float32", check_packed), ("generation", "float32", check_generation),
              ("a captured graph", "float32", check_graph)]  # fmt: skip
    for seed, (name, spec) in enumerate(systems.items()):
        attention = pt.load(spec)
        for dtype in (torch.float32, torch.bfloat16):
            for with_gradients in (False, True):
                what = f"{name} {str(dtype)[6:]}{' with gradients' if with_gradients else ''}"
                given = (attention, dtype, sizes, seed, with_gradients)
                checks.append((what, str(dtype)[6:], lambda given=given: check_calls(*given)))
    for what, dtype, one in checks:
        try:
            error = one()
        except Exception as exception:  # The others are checked all the same.
            fail(what, f"{type(exception).__name__}: {(str(exception).splitlines() or [''])[0]}")
            continue
        if error <= TOLERANCE[dtype]:
            report(f"{what}: {error:.1e}")
        else:
            fail(what, f"expected a relative error of at most {TOLERANCE[dtype]}, got {error:.1e}")
