#!/usr/bin/env python3
"""Sketches of a polynomial kernel, (q . k)^p, of equal feature dimension: Table 3 of the LLoPS paper, beside its theorems' bounds.

    examples/python/fit_sketch.py [--steps 600] [--features 64] [--drawn]

Queries and keys are those of a two-layer model that tasks.py trains on associative recall with the exact kernel, as in the paper. With
--drawn they are random: most of their length lies in a few directions, and they are not centered. The sketches:

    PSF        PolySketchFormer's random tree
    networks   of two layers
    LLoPS      products of p learned projections
    products   those nearest to the optimum's weights, column by column (Theorem 3.4), not learned
    optimum    the truncated SVD of the scores, which no sketch can beat (Theorem 3.1)

The table has the norm of all errors over the norm of all scores for each layer, over pairs that no method has learned from. Sketches
learn to make it small (the paper's equation 6), and the optimum is its bound. The last column is the paper's measure, the mean of
|sketch - kernel| / |kernel|. It says little where most scores of a layer are near zero. The learned weights also go into a kernel of
polyattn, beside exact polynomial attention.
"""

import argparse
import sys

import torch
from torch import nn

import polyattn
import polyattn.torch as pt
import recall_tasks
import sketch_bounds
import tasks


def drawn_sampler(d, generator):
    """Draws vectors of one layer: a mean, and a spectrum that falls; q and k have their own."""
    shape = dict(generator=generator)
    spectrum = torch.arange(1.0, d + 1) ** -1.0
    direction = torch.randn(d, **shape)
    mixes = [torch.linalg.qr(torch.randn(d, d, **shape))[0] for _ in range(2)]

    def draw(count, unseen=False):
        found = [(torch.randn(count, d, **shape) * spectrum) @ mix for mix in mixes]
        return [0.5 * x + direction / direction.norm() * 1.5 for x in found]

    return draw


@torch.no_grad()
def trained_samplers(p, d, steps, seed):
    """For each layer of a model with the exact kernel, sum over j of (q . k)^p v_j: draws its queries and keys, and says how good it is.

    Scores are scaled to 1 on average, which changes no relative error.
    """
    task = recall_tasks.recall(pairs=16, keys=32, values=32)
    settings = dict(seed=seed, width=d, heads=1, steps=steps, batch=64, rate=5e-3)

    def tell(step, loss):
        if sys.stderr.isatty():
            print(f"\r\033[Kp = {p}: model, step {step}/{steps}, loss {loss:.2f}", end="", file=sys.stderr, flush=True)

    with torch.enable_grad():
        model, _ = tasks.train(tasks.layer_of(f"Power(p={p}, eps=None)"), task, settings, tell)
    accuracy, _ = tasks.evaluate(model, task, 512)
    print(f"p = {p}: the model with the exact kernel recalls {100 * accuracy:.1f}%", flush=True)
    inputs = [[] for _ in model.blocks]
    for block, kept in zip(model.blocks, inputs):
        block.attention.register_forward_pre_hook(lambda _, given, kept=kept: kept.append(given[0]))
    model(task.draw(256, torch.Generator().manual_seed(seed + 2), False)[0])

    def sampler(block, x):
        vectors = [one.flatten(0, 2) for one in block.attention.project(x)[:2]]
        scale = ((vectors[0][:2000] @ vectors[1][:2000].T) ** p).abs().mean() ** (-0.5 / p)
        split = len(vectors[0]) * 3 // 4

        def draw(count, unseen=False):
            parts = [one[split:] if unseen else one[:split] for one in vectors]
            return [scale * one[torch.randint(len(one), (count,))] for one in parts]

        return draw

    return [sampler(block, kept[0]) for block, kept in zip(model.blocks, inputs)]


class PSF(nn.Module):
    """PolySketchFormer's Algorithm 1, before its square: a tree of Gaussian projections, for any degree."""

    def __init__(self, d, m, p):
        super().__init__()
        self.halves = nn.ModuleList([PSF(d, m, p - p // 2), PSF(d, m, p // 2)] if p > 1 else [])
        for i, size in enumerate((p - p // 2, p // 2) if p > 1 else ()):
            self.register_buffer(f"g{i}", torch.randn(d if size == 1 else m, m))

    def forward(self, x):
        if not self.halves:
            return x
        first, second = (half(x) for half in self.halves)
        return (first @ self.g0) * (second @ self.g1) * self.g0.shape[-1] ** -0.5


class Network(nn.Sequential):
    def __init__(self, d, m, p):
        super().__init__(nn.Linear(d, 2 * m), nn.GELU(), nn.Linear(2 * m, m))


class LLoPS(nn.Module):
    """Products of p learned projections, which begin as random ones."""

    def __init__(self, d, m, p):
        super().__init__()
        self.theta = nn.ParameterList(torch.randn(d, m) * m ** (-0.5 / p) for _ in range(p))

    def forward(self, x):
        return torch.stack([x @ theta for theta in self.theta]).prod(0)


def fit(kind, d, m, p, draw, steps):
    one = kind(d, m, p)
    maps = nn.ModuleList([one, one if kind is PSF else kind(d, m, p)])
    if kind is LLoPS:
        maps[1].load_state_dict(maps[0].state_dict())
    if not list(maps.parameters()):
        return maps
    optimizer = torch.optim.Adam(maps.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        q, k = draw(256)
        exact = (q @ k.T) ** p
        loss = (maps[0](q) @ maps[1](k).T - exact).norm() / exact.norm()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(maps.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return maps


def scores_of_products(thetas, q, k):
    """The sketch whose projections are `thetas`, a list for each side."""
    q, k = (torch.stack([x.double() @ theta for theta in side]).prod(0) for x, side in zip((q, k), thetas))
    return q @ k.T


@torch.no_grad()
def attend(maps, d, m, p, draw):
    """The relative error of attention with the learned sketch, by kernels of both."""
    length = 1000
    q, k = (x[None, :, None].contiguous() for x in draw(length, unseen=True))
    v = torch.randn(1, length, 1, d)
    sketch = pt.load(polyattn.library.llops(d=d, m=m, p=p))
    exact = pt.load(polyattn.library.power(d=d, p=p, eps=None))
    found = sketch(q, k, v, *(theta for one in maps for theta in one.theta))
    wanted = exact(q, k, v) * d ** (p / 2)  # that one has a scale of 1 / sqrt d in its scores
    return ((found - wanted).norm() / wanted.norm()).item()


@torch.no_grad()
def measure(sketches, q, k, m, p):
    """Rows of the table, the relative error of the norm and the mean ratio; and how far products are from the optimum's weights."""
    exact = (q @ k.T) ** p
    best, weights = sketch_bounds.optimum(q, k, m, p)
    nearest = [sketch_bounds.nearest_products(w) for w in weights]
    found = {name: maps[0](q) @ maps[1](k).T for name, maps in sketches.items()}
    found |= {"products": scores_of_products([thetas for thetas, _ in nearest], q, k), "optimum": best}
    rows = {}
    for name, one in found.items():
        error = (one - exact).abs()
        rows[name] = ((error.norm() / exact.norm()).item(), (error / exact.abs().clamp_min(1e-3)).mean().item())
    return rows, [distance for _, distance in nearest]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--drawn", action="store_true", help="queries and keys of falling spectra, without a model")
    parser.add_argument("--layers", type=int, default=3, help="how many distributions of queries and keys, with --drawn")
    parser.add_argument("--model-steps", type=int, default=800, help="training steps of the model")
    parser.add_argument("--samples", type=int, default=1000, help="queries, and as many keys, that are not learned from")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1, help="the products are small")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    d, m = 32, options.features
    for p in (2, 3):
        if options.drawn:
            samplers = [drawn_sampler(d, torch.Generator().manual_seed(options.seed + i)) for i in range(options.layers)]
        else:
            samplers = trained_samplers(p, d, options.model_steps, options.seed)
        kinds = {"PSF": PSF, "networks": Network, "LLoPS": LLoPS}
        fitted = [{name: fit(kind, d, m, p, draw, options.steps) for name, kind in kinds.items()} for draw in samplers]
        measured = [measure(maps, *draw(options.samples, unseen=True), m, p) for maps, draw in zip(fitted, samplers)]
        print("| p | sketch | " + " | ".join(f"layer {i}" for i in range(len(samplers))) + " | mean | mean ratio |")
        print("|---|---|" + "---|" * (len(samplers) + 2))
        for name in measured[0][0]:
            each, ratios = zip(*(rows[name] for rows, _ in measured))
            cells = [*each, sum(each) / len(each), sum(ratios) / len(ratios)]
            print(f"| {p} | {name} | " + " | ".join(f"{x:.4f}" for x in cells) + " |", flush=True)
        distances = [f"{one:.3f}" for _, both in measured for one in both]
        print(f"p = {p}: distance of products from the optimum's weights, queries and keys of each layer: {', '.join(distances)}")
        print(f"attention with the LLoPS sketch of p = {p}: off by {attend(fitted[-1]['LLoPS'], d, m, p, samplers[-1]):.4f}", flush=True)


if __name__ == "__main__":
    main()
