"""The peers of benchmarks/gpu/run, as far as they are installed."""
import importlib
import statistics

WANTED = {"torch": "PyTorch", "fla": "flash-linear-attention", "retention": "retention"}
modules, reasons = {}, {}
for module in WANTED:
    try:
        modules[module] = importlib.import_module(module)
    except Exception as error:  # A broken installation is a missing one, too.
        reasons[module] = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
torch = modules.get("torch")
if torch and not torch.cuda.is_available():
    reasons["torch"] = "it sees no GPU"
    torch = None


def missing():
    return [f"{name}: {reasons[module]}" for module, name in WANTED.items() if module in reasons]


def seconds_of(call, samples=20):
    """The median of calls after three for warming up, by events."""
    for _ in range(3):
        call()
    times = []
    for _ in range(samples):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) * 1e-3)
    return statistics.median(times)


def matrix_product(n=8192):
    """Operations per second that a library's bf16 product reaches here, or None."""
    if not torch:
        return None
    a, b = (torch.randn(n, n, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    return 2 * n**3 / seconds_of(lambda: a @ b)


def copy(size=1 << 31):
    """Bytes per second that a copy reads and writes, or None."""
    if not torch:
        return None
    source = torch.empty(size, device="cuda", dtype=torch.uint8).random_()
    target = torch.empty_like(source)
    return 2 * size / seconds_of(lambda: target.copy_(source))


def tensors(sizes, width=64, layout="BTHd"):
    shape = [{"B": sizes["B"], "T": sizes["T"], "H": sizes["H"], "d": width}[c] for c in layout]
    return [torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(3)]


def seconds_of_call(call, inputs, direction):
    """Of a call, or of its gradients alone."""
    if direction == "forward":
        return seconds_of(lambda: call(*inputs))
    inputs = [one.requires_grad_() for one in inputs]
    output = call(*inputs)
    output = output[0] if isinstance(output, tuple) else output
    factors = torch.randn_like(output)
    return seconds_of(lambda: torch.autograd.grad(output, inputs, factors, retain_graph=True))


def softmax(sizes, direction, width):
    """PyTorch's own choice of a fused kernel. Its operations are those below the diagonal, of two products forward and of the five
    that gradients need."""
    attend = torch.nn.functional.scaled_dot_product_attention
    products = 2 if direction == "forward" else 5
    flops = products * sizes["B"] * sizes["H"] * sizes["T"] ** 2 * width
    seconds = seconds_of_call(lambda q, k, v: attend(q, k, v, is_causal=True), tensors(sizes, width, "BHTd"), direction)
    return seconds, flops


def linear(sizes, direction):
    """linear_d64: elu(x) + 1, formed in PyTorch, and the normalizer."""
    attend = importlib.import_module("fla.ops.linear_attn").chunk_linear_attn
    phi = lambda x: torch.nn.functional.elu(x) + 1  # noqa: E731
    call = lambda q, k, v: attend(phi(q), phi(k), v, scale=1.0, normalize=True)  # noqa: E731
    return seconds_of_call(call, tensors(sizes), direction), None


def power(sizes, direction):
    """power_d64_p2, which retention computes with another normalizer."""
    attend = modules["retention"].power_retention
    return seconds_of_call(lambda q, k, v: attend(q, k, v, deg=2), tensors(sizes), direction), None


def attentions(sizes, direction):
    """Names, and functions that give the seconds of a call, or of its gradients alone, and its operations, or None where
    those depend on how the peer computes."""
    if not torch:
        return []
    listed = [("PyTorch softmax attention d=64", lambda: softmax(sizes, direction, 64)),
              ("PyTorch softmax attention d=128", lambda: softmax(sizes, direction, 128))]
    if "fla" in modules:
        listed.append(("flash-linear-attention linear d=64", lambda: linear(sizes, direction)))
    if "retention" in modules:
        listed.append(("retention power d=64 p=2", lambda: power(sizes, direction)))
    return listed
