"""PyTorch's columns: ours through polyattn.torch, eager, compiled, softmax and flash-linear-attention's, in one process."""

import functools
import platform
import time

import torch

from . import cases, systems, torch_systems
from .timing import TOLERANCE, Call, Results, Shortlist, fastest, reason_of

LONGEST_SOFTMAX = 8192
STATE_EVERY = 64  # positions, what polyattn's gradients in one sweep keep states after


def arrays(found):
    return [x.detach().numpy() for x in ([found] if isinstance(found, torch.Tensor) else found)]


def call_of(function, inputs, factors=None, form=""):
    """A call, or with `factors` one that ends with the gradients of all inputs."""
    if factors is None:
        run = functools.partial(function, *inputs)
    else:
        inputs = [x.detach().requires_grad_() for x in inputs]

        def run():
            return torch.autograd.grad(function(*inputs), inputs, factors)

    return Call(run, lambda: arrays(run()), form)


def best_of(forms, results, failed):
    """The names of all that ran, the fastest first; one reason if none did."""
    times = fastest(forms, results, failed)
    if not times:
        raise RuntimeError(next(iter(failed.values()), "no form for this length"))
    return times


class Sequences:
    """A sequence of any length: results, or gradients of all inputs."""

    def __init__(self, request, shortlist):
        self.name, self.length, self.direction = request["system"], request["T"], request["direction"]
        self.shortlist, self.wanted = shortlist, request.get("forms", {})
        self.system, self.maps = cases.SYSTEMS[self.name], systems.MAPS[self.name](torch_systems.TORCH)
        self.inputs = [torch.from_numpy(x) for x in cases.draw(self.name, 1, self.length)]
        self.factors = None
        if self.direction == "both":
            self.factors = torch.from_numpy(cases.draw_factors(self.name, 1, self.length))
        self.results = Results(request["expected"], TOLERANCE[self.direction == "both"])
        self.functions, self.times = {}, {}

    def call(self, function, form=""):
        return call_of(function, self.inputs, self.factors, form)

    def bind(self, form, maps, *length):
        def function(q, k, v, *w):
            return form(maps, self.system.eps, *length, q, k, v, cases.named(self.name, w))

        return function

    def polyattn(self):
        import polyattn.torch as pt
        from polyattn import library

        spec = self.system.spec(library)
        call = self.call(pt.load(spec))
        self.results.check(call.results())
        if self.direction != "both":
            return call
        forms = {"two sweeps": call, f"states every {STATE_EVERY}": self.call(pt.load(spec, state_every=STATE_EVERY))}
        best = next(iter(best_of(forms, self.results, {})))
        forms[best].form = best
        return forms[best]

    def make_functions(self):
        """Forms by their names. `chunked` and `direct` are those that a compiler is given: others are loops of Python."""
        loops = {}
        for i, maps in enumerate(self.maps.ways()):
            way = ", other features" * (i > 0)
            for length in (one for one in cases.CHUNKS if one < self.length):
                if self.length % length == 0:
                    self.functions[f"chunked {length}{way}"] = self.bind(systems.chunked, maps, length)
                loops[f"looped {length}{way}"] = self.bind(torch_systems.looped, maps, length)
                if self.direction == "both":
                    loops[f"checkpointed {length}{way}"] = self.bind(torch_systems.checkpointed, maps, length)
            if self.length <= cases.LONGEST_DIRECT[self.direction] and (i == 0 or self.maps.score is None):
                self.functions[f"direct{way}"] = self.bind(systems.direct, maps)
        self.batched = list(self.functions)
        self.functions |= loops

    def eager(self):
        self.make_functions()
        key, names = (self.name, self.direction), list(self.functions)
        names = [self.wanted["eager"]] if "eager" in self.wanted else self.shortlist.of(key, names)
        self.times = best_of({one: self.call(self.functions[one]) for one in names}, self.results, {})
        self.shortlist.learn(key, self.length, self.times, self.batched)
        best = next(iter(self.times))
        return self.call(self.functions[best], best)

    def compiled(self):
        """torch.compile of the fastest eager form that is no loop of Python, for just these sizes."""
        best = next((one for one in self.times if one in self.batched), None)
        if best is None:
            raise RuntimeError("no form without a loop of Python for this length and memory")
        call = self.call(torch.compile(self.functions[best], fullgraph=True, dynamic=False), best)
        self.results.check(call.results())
        return call

    def softmax(self):
        if self.length > LONGEST_SOFTMAX:
            raise RuntimeError(f"takes time that grows with T^2, and is called up to T = {LONGEST_SOFTMAX:,}")

        def function(q, k, v):
            q, k, v = (x.transpose(1, 2) for x in (q, k, v))
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)

        return call_of(function, self.inputs[:3], self.factors)

    def fla(self):
        from . import fla_forms

        def bind(function):
            return lambda q, k, v, *w: function(q, k, v, cases.named(self.name, w))

        found = fla_forms.forms(self.name, self.maps, self.system.eps, self.length)
        forms = {one: self.call(bind(function), one) for one, function in found.items()}
        return forms[next(iter(best_of(forms, self.results, {})))]


class Tokens:
    """A token of each of many sequences, whose states go on in place."""

    def __init__(self, request, shortlist):
        self.name, self.wanted = request["system"], request.get("forms", {})
        self.system, self.maps = cases.SYSTEMS[self.name], systems.MAPS[self.name](torch_systems.TORCH)
        self.first, self.second = ([torch.from_numpy(x) for x in one] for one in cases.draw_tokens(self.name))
        self.results = Results(request["expected"], TOLERANCE[0])
        self.way = 0

    def polyattn(self):
        import polyattn.torch as pt
        from polyattn import library
        from polyattn.torch._decode import decode, kernel_of

        handle = pt.load(self.system.spec(library))._handle
        signature = kernel_of(handle, "f32").signature
        arguments = list(zip(signature.arguments, signature.pools))
        batch, sizes = cases.DECODE_BATCH, {"P": cases.DECODE_BATCH, "H": cases.HEADS, "Hkv": cases.HEADS}
        pools = [torch.zeros([sizes.get(x, x) for x in one.shape]) for one, is_pool in arguments if is_pool]
        numbers = {"slots": torch.arange(batch, dtype=torch.int32), "lengths": torch.ones(batch, dtype=torch.int32)}

        def inputs_of(tokens, position):
            given = cases.named(self.name, tokens[3:]) | numbers
            given["first_position"] = torch.full((batch,), position)
            return tokens[:3] + [given[one.name] for one, is_pool in arguments[3:] if not is_pool]

        begin, go_on = inputs_of(self.first, 0), inputs_of(self.second, 1)

        def results():
            decode(handle, begin, pools)
            return arrays(decode(handle, go_on, pools))

        call = Call(lambda: decode(handle, go_on, pools), results, "a pool of states")
        self.results.check(call.results())
        return call

    def call(self, function, maps, form):
        """`function` is one of STEPS, as it is or compiled; states are its own."""
        q, k, v, *weights = self.first
        width = maps.features(k.transpose(1, 2), "k", cases.named(self.name, weights)).shape[-1]
        state = torch.zeros(cases.DECODE_BATCH, cases.HEADS, width, v.shape[-1])
        sums = torch.zeros(cases.DECODE_BATCH, cases.HEADS, 1, width)

        def go_on(tokens):
            return function(maps, self.system.eps, *tokens[:3], cases.named(self.name, tokens[3:]), state, sums)

        def results():
            state.zero_(), sums.zero_()
            go_on(self.first)
            return arrays(go_on(self.second))

        return Call(lambda: go_on(self.second), results, form)

    def eager(self):
        forms, ways = {}, {}
        for i, maps in enumerate(self.maps.ways()):
            for step in torch_systems.STEPS:
                name = step.__name__ + ", other features" * (i > 0)
                forms[name], ways[name] = self.call(step, maps, name), maps
        if "eager" in self.wanted:
            forms = {self.wanted["eager"]: forms[self.wanted["eager"]]}
        best = next(iter(best_of(forms, self.results, {})))
        self.maps = ways[best]
        return forms[best]

    def compiled(self):
        """The fastest of the steps, compiled, with the features that are eager's best."""
        forms = {
            step.__name__: self.call(torch.compile(step, fullgraph=True, dynamic=False), self.maps, step.__name__)
            for step in torch_systems.STEPS
        }  # fmt: skip
        return forms[next(iter(best_of(forms, self.results, {})))]

    def softmax(self):
        raise LookupError("has no state of fixed size")

    def fla(self):
        from . import fla_forms

        states = [None]

        def go_on(tokens):
            o, states[0] = fla_forms.step(
                self.maps, self.system.eps, *tokens[:3], cases.named(self.name, tokens[3:]), states[0]
            )
            return o

        def results():
            states[0] = None
            go_on(self.first)
            return arrays(go_on(self.second))

        call = Call(lambda: go_on(self.second), results, "recurrent_linear_attn")
        self.results.check(call.results())
        return call


def rates():
    """What tells one way of MKL from another: GF/s of two kinds of products, and exponentials per nanosecond."""

    def shortest(call):
        call()
        times = []
        for _ in range(30):
            begin = time.perf_counter()
            call()
            times.append(time.perf_counter() - begin)
        return min(times)

    def product(count, size):
        a, b = torch.randn(2, count, size, size)
        o = torch.empty_like(a)
        return 2e-9 * count * size**3 / shortest(lambda: torch.bmm(a, b, out=o))

    x = torch.randn(1 << 16)
    y = torch.empty_like(x)
    return {"product": product(1, 512), "products": product(256, 64), "exp": 1e-9 * len(x) / shortest(lambda: torch.exp(x, out=y))}


class Peers:
    def __init__(self, options):
        torch.set_num_threads(options["threads"])
        self.columns, self.shortlist, self.mode = options["columns"], Shortlist(), None

    def hello(self):
        versions = {"Python": platform.python_version(), "PyTorch": torch.__version__}
        if "polyattn" in self.columns:
            import polyattn
            import polyattn.torch  # noqa: F401

            versions["polyattn"] = polyattn.__version__
        if "fla" in self.columns:
            from importlib import metadata

            try:
                versions["fla-core"] = metadata.version("fla-core")
            except metadata.PackageNotFoundError:
                pass  # each of its cells says so
        return {"versions": versions, "mkl": rates()}

    def prepare(self, request, trying):
        """Calls by column, and why others are not there."""
        torch._dynamo.reset()
        if self.mode:
            self.mode.__exit__(None, None, None)
        self.mode = torch.inference_mode() if request["direction"] != "both" else torch.enable_grad()
        self.mode.__enter__()
        problem = (Tokens if request["direction"] == "decode" else Sequences)(request, self.shortlist)
        calls, failed = {}, {}
        for column in (one for one in self.columns if one not in request["skip"]):
            trying(column)
            try:
                calls[column] = getattr(problem, column)()
            except Exception as error:
                failed[column] = reason_of(error)
        return calls, failed
