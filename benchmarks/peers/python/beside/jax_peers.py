"""JAX's column: the same forms, compiled by jit. The process may use as many processors as threads before this is imported."""

import functools

import jax
import numpy as np

from . import cases, jax_systems, systems
from .timing import TOLERANCE, Call, Results, Shortlist, fastest, reason_of


def arrays(found):
    return [np.asarray(x) for x in jax.tree.leaves(found)]


def best_of(forms, results):
    failed = {}
    times = fastest(forms, results, failed)
    if not times:
        raise RuntimeError(next(iter(failed.values()), "no form for this length"))
    return times


def sequences(request, shortlist):
    name, length, direction = request["system"], request["T"], request["direction"]
    system, ways = cases.SYSTEMS[name], systems.MAPS[name](jax_systems.JAX).ways()
    inputs = [jax.numpy.asarray(x) for x in cases.draw(name, 1, length)]
    factors = jax.numpy.asarray(cases.draw_factors(name, 1, length)) if direction == "both" else None

    def call(form, maps, *chunk):
        def function(q, k, v, *w):
            return form(maps, system.eps, *chunk, q, k, v, cases.named(name, w))

        if direction == "both":

            def loss(factors, *inputs):
                return (function(*inputs) * factors).sum()

            gradients = jax.jit(jax.value_and_grad(loss, argnums=tuple(range(1, len(inputs) + 1))))
            run = functools.partial(gradients, factors, *inputs)
            return Call(lambda: jax.block_until_ready(run()), lambda: arrays(run()[1]))
        run = functools.partial(jax.jit(function), *inputs)
        return Call(lambda: run().block_until_ready(), lambda: arrays(run()))

    forms = {}
    for i, maps in enumerate(ways):
        way = ", other features" * (i > 0)
        for chunk in (one for one in cases.CHUNKS if one < length and length % one == 0):
            again = [jax_systems.checkpointed] if direction == "both" else []
            for form in (systems.chunked, jax_systems.scanned, *again):
                forms[f"{form.__name__} {chunk}{way}"] = (form, maps, chunk)
        if length <= cases.LONGEST_DIRECT[direction] and (i == 0 or maps.score is None):
            forms[f"direct{way}"] = (systems.direct, maps)
    calls = {one: call(*forms[one]) for one in shortlist.of((name, direction), list(forms))}
    times = best_of(calls, Results(request["expected"], TOLERANCE[direction == "both"]))
    shortlist.learn((name, direction), length, times)
    best = next(iter(times))
    calls[best].form = best
    return calls[best]


def tokens(request, shortlist):
    name = request["system"]
    system = cases.SYSTEMS[name]
    first, second = ([jax.numpy.asarray(x) for x in one] for one in cases.draw_tokens(name))

    def call(step, maps, form):
        function = jax.jit(
            lambda q, k, v, w, state, sums: step(maps, system.eps, q, k, v, w, state, sums), donate_argnums=(4, 5)
        )
        keys, weights = jax.numpy.swapaxes(first[1], 1, 2), cases.named(name, first[3:])
        width = jax.eval_shape(lambda k, w: maps.features(k, "k", w), keys, weights).shape[-1]
        states = [None, None]

        def go_on(given):
            o, *states[:] = function(*given[:3], cases.named(name, given[3:]), *states)
            return o.block_until_ready()

        def results():
            states[:] = [
                jax.numpy.zeros((cases.DECODE_BATCH, cases.HEADS, *size), "float32")
                for size in ((width, system.d), (1, width))
            ]  # fmt: skip
            go_on(first)
            return arrays(go_on(second))

        return Call(lambda: go_on(second), results, form)

    forms = {}
    for i, maps in enumerate(systems.MAPS[name](jax_systems.JAX).ways()):
        for step in jax_systems.STEPS:
            form = step.__name__ + ", other features" * (i > 0)
            forms[form] = call(step, maps, form)
    return forms[next(iter(best_of(forms, Results(request["expected"], TOLERANCE[0]))))]


class Peers:
    def __init__(self, options):
        self.shortlist = Shortlist()

    def hello(self):
        jax.config.update("jax_platforms", "cpu")
        return {"versions": {"JAX": jax.__version__}}

    def prepare(self, request, trying):
        """The call by its column, or why there is none."""
        jax.clear_caches()
        if "jax" in request["skip"]:
            return {}, {}
        trying("jax")
        try:
            return {"jax": (tokens if request["direction"] == "decode" else sequences)(request, self.shortlist)}, {}
        except Exception as error:
            return {}, {"jax": reason_of(error)}
