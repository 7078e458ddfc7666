#!/usr/bin/env python3
"""Sketches of a polynomial kernel, (q . k)^p: a random one, small networks, and LLoPS, of equal feature dimension.

    examples/python/fit_sketch.py [--steps 600] [--features 256]

Queries and keys stand for those of a trained model: most of their length lies in a few directions, and they are not centered. The table
has the mean of |sketch - kernel| / |kernel| over pairs that no method has seen (the LLoPS paper's Table 3, on vectors of a
transformer there). Then the learned weights go into a kernel of polyattn, beside exact polynomial attention.
"""

import argparse

import torch
from torch import nn

import polyattn
import polyattn.torch as pt


def sampler(d, generator):
    """Draws vectors of one layer: a mean, and a spectrum that falls; q and k have their own."""
    shape = dict(generator=generator)
    spectrum = torch.arange(1.0, d + 1) ** -1.0
    direction = torch.randn(d, **shape)
    mixes = [torch.linalg.qr(torch.randn(d, d, **shape))[0] for _ in range(2)]

    def draw(count):
        found = [(torch.randn(count, d, **shape) * spectrum) @ mix for mix in mixes]
        return [0.5 * x + direction / direction.norm() * 1.5 for x in found]

    return draw


class Random(nn.Module):
    """PolySketchFormer's for a degree that is no power of two: products of Gaussian projections."""

    def __init__(self, d, m, p):
        super().__init__()
        self.register_buffer("g", torch.randn(p, d, m))

    def forward(self, x):
        return (x @ self.g).prod(0) * self.g.shape[-1] ** -0.5


class Network(nn.Sequential):
    def __init__(self, d, m, p):
        super().__init__(nn.Linear(d, 2 * m), nn.GELU(), nn.Linear(2 * m, m))


class LLoPS(nn.Module):
    """Products of p learned projections, which begin as the random ones."""

    def __init__(self, d, m, p):
        super().__init__()
        self.theta = nn.ParameterList(torch.randn(d, m) * m ** (-0.5 / p) for _ in range(p))

    def forward(self, x):
        return torch.stack([x @ theta for theta in self.theta]).prod(0)


def errors(maps, q, k, p):
    exact = (q @ k.T) ** p
    return ((maps[0](q) @ maps[1](k).T - exact) / exact.abs().clamp_min(1e-3)).abs()


def fit(kind, d, m, p, draw, steps):
    one = kind(d, m, p)
    maps = nn.ModuleList([one, one if kind is Random else kind(d, m, p)])
    if kind is LLoPS:
        maps[1].load_state_dict(maps[0].state_dict())
    if not list(maps.parameters()):
        return maps
    optimizer = torch.optim.Adam(maps.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        loss = errors(maps, *draw(256), p).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return maps


@torch.no_grad()
def attend(maps, d, m, p, draw):
    """The relative error of attention with the learned sketch, by kernels of both."""
    length = 1000
    q, k = (x[None, :, None].contiguous() for x in draw(length))
    v = torch.randn(1, length, 1, d)
    sketch = pt.load(polyattn.library.llops(d=d, m=m, p=p))
    exact = pt.load(polyattn.library.power(d=d, p=p, eps=None))
    found = sketch(q, k, v, *(theta for one in maps for theta in one.theta))
    wanted = exact(q, k, v) * d ** (p / 2)  # that one has a scale of 1 / sqrt d in its scores
    return ((found - wanted).norm() / wanted.norm()).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--features", type=int, default=256)
    parser.add_argument("--layers", type=int, default=3, help="how many distributions of queries and keys")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1, help="the products are small")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    d, m = 32, options.features
    samplers = [sampler(d, torch.Generator().manual_seed(options.seed + i)) for i in range(options.layers)]
    print("| p | sketch | " + " | ".join(f"layer {i}" for i in range(options.layers)) + " | mean |")
    print("|---|---|" + "---|" * (options.layers + 1))
    for p in (2, 3):
        for name, kind in (("random", Random), ("networks", Network), ("LLoPS", LLoPS)):
            fitted = [fit(kind, d, m, p, draw, options.steps) for draw in samplers]
            with torch.no_grad():
                found = [errors(maps, *draw(2000), p).mean().item() for maps, draw in zip(fitted, samplers)]
            print(f"| {p} | {name} | " + " | ".join(f"{x:.4f}" for x in [*found, sum(found) / len(found)]) + " |", flush=True)
        print(f"attention with that sketch of p = {p}: off by {attend(fitted[-1], d, m, p, samplers[-1]):.4f}", flush=True)


if __name__ == "__main__":
    main()
