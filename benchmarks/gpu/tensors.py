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

    generator = torch.Generator().manual_seed(seed)
    inputs = []
    for argument in attention.signature.arguments:
        shape = [sizes.get(size, size) for size in argument.shape]
        one = torch.randn(shape, generator=generator) * (1 if len(shape) == 4 else 0.1)
        inputs.append(one.to(dtype) if len(shape) == 4 else one.to(getattr(torch, {"bf16": "bfloat16"}.get(
            argument.dtype, "float32"))))
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


def check(report, fail):
    """Calls `report` and `fail` with a line for each check."""
    import torch

    import polyattn
    import polyattn.torch as pt

    systems = {
        "linear": polyattn.library.linear(d=64),
        "power": polyattn.library.power(d=32, p=2),
        "llops": polyattn.library.llops(d=64, dv=64, m=128, p=2),
    }
    sizes = {"B": 2, "T": 300, "H": 4, "Hkv": 4}
    for seed, (name, spec) in enumerate(systems.items()):
        attention = pt.load(spec)
        for dtype in (torch.float32, torch.bfloat16):
            for with_gradients in (False, True):
                what = f"{name} {str(dtype)[6:]}{' with gradients' if with_gradients else ''}"
                try:
                    error = check_calls(attention, dtype, sizes, seed, with_gradients)
                except Exception as exception:  # The others are checked all the same.
                    fail(what, f"{type(exception).__name__}: {(str(exception).splitlines() or [''])[0]}")
                    continue
                tolerance = TOLERANCE[str(dtype)[6:]]
                if error <= tolerance:
                    report(f"{what}: {error:.1e}")
                else:
                    fail(what, f"expected a relative error of at most {tolerance}, got {error:.1e}")
