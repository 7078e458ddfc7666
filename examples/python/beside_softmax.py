#!/usr/bin/env python3
"""Linear attentions beside softmax attention: how near their results are, their weights as a picture, and memory against the length.

    examples/python/beside_softmax.py [--plot weights.svg] [--memory]

The first table has cosines and mean squared errors of results, softmax attention as the measure. Performer and random Fourier features
estimate its scores with 16 to 512 features; elu + 1 and relu have as many features as a head has channels, and do not estimate it.
Medians over several draws of inputs and directions. --plot draws the weights of one head. --memory adds a table of bytes in one head: the state
that decoding keeps, and the most memory that a call takes beyond its inputs.
"""

import argparse
import ctypes
import pathlib
import statistics

import torch
from torch.nn import functional as F

import chart
import polyattn
import polyattn.torch as pt
import polyattn.torch.nn as pn

M_MMAP_THRESHOLD = -3  # of malloc.h
FEATURES = (16, 32, 64, 128, 256, 512)


def attentions(d, dv):
    """Name -> number of features -> a causal attention of queries, keys and values, whose directions are drawn in each call."""

    def estimated(system, kind, per_direction, **options):
        def make(features):
            directions = kind(d, 1, m=features // per_direction, **options)
            attention = pt.load(system(d, dv, features // per_direction, **options))

            def call(q, k, v):
                directions.reset_parameters()
                return attention(q, k, v, directions.w)

            return call

        return make

    return {
        "Performer": estimated(polyattn.library.performer, pn.Performer, 1),
        "RFF": estimated(polyattn.library.rff, pn.RFF, 2, softmax=True),
        "elu + 1": lambda _: pt.load(polyattn.library.linear(d, dv)),
        "relu": lambda _: pt.load(polyattn.library.linear(d, dv, feature_map="relu")),
    }


def softmax(q, k, v):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)


def inputs(length, d, scale):
    """Scores q . k / sqrt d of standard deviation scale^2."""
    return [scale * torch.randn(1, length, 1, d) for _ in range(2)]


@torch.no_grad()
def quality(attention, length, d, scale, draws):
    """The median cosine of rows and the median squared error: signed estimates have draws whose sums nearly vanish."""
    cosines, squares = [], []
    for _ in range(draws):
        q, k = inputs(length, d, scale)
        v = torch.randn(1, length, 1, d)
        found, wanted = attention(q, k, v), softmax(q, k, v)
        cosines.append(F.cosine_similarity(found, wanted, dim=-1).mean().item())
        squares.append((found - wanted).square().mean().item())
    return statistics.median(cosines), statistics.median(squares)


@torch.no_grad()
def weights_plot(d, scale, length=32):
    """Weights as squares: values of their own channel each give the weights themselves."""
    q, k = inputs(length, d, scale)
    v, systems = torch.eye(length)[None, :, None], attentions(d, length)
    shown = {"softmax": softmax(q, k, v), "elu + 1": systems["elu + 1"](d)(q, k, v), "relu": systems["relu"](d)(q, k, v)}
    shown |= {f"Performer, {n}": systems["Performer"](n)(q, k, v) for n in (16, 64, 512)}
    panels = []
    for i, (name, weights) in enumerate(shown.items()):
        axes = chart.Axes(20 + 200 * (i % 3), 40 + 210 * (i // 3), 160, 160, (0, length), (0, length))
        axes.text(0, length, name, down=-8)
        largest = weights[0, :, 0].amax(-1)  # each row by its largest weight
        for row in range(length):
            for column in range(row + 1):
                share = min(max((weights[0, row, 0, column] / largest[row]).item(), 0), 1)
                axes.square(column, length - row, f"rgb({', '.join([str(round(255 * (1 - share)))] * 2)}, 255)")
        panels.append(axes)
    return chart.document(620, 450, panels)


def peak(call):
    """The most memory that a call takes beyond what there was, in bytes; the kernel counts it (Linux)."""
    status, reset = pathlib.Path("/proc/self/status"), pathlib.Path("/proc/self/clear_refs")

    def read(name):
        return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith(name))

    reset.write_text("5")
    before = read("VmRSS:")
    result = call()
    del result
    return max(read("VmHWM:") - before, 0)


@torch.no_grad()
def memory(lengths, d):
    """Rows of bytes: lengths, states of both, peaks of linear attention, of PyTorch's fused and of its plain softmax attention."""
    # Otherwise large buffers that were freed are used again, and a call seems to take none.
    ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 64 * 1024)
    linear = pt.load(polyattn.library.linear(d, d))
    state = sum(4 * one.numel() for one in pn.Linear(d, 1).new_states(1).pools.values())

    def plain(q, k, v):
        scores = (q[0, :, 0] @ k[0, :, 0].T * d**-0.5).masked_fill_(torch.ones(len(q[0]), len(q[0])).triu(1).bool(), -torch.inf)
        return scores.softmax(-1) @ v[0, :, 0]

    for length in lengths:
        tensors = [torch.randn(1, length, 1, d) for _ in range(3)]
        calls = [lambda one=one: one(*tensors) for one in (linear, softmax, plain)]
        for call in calls[:2]:
            call()
        yield length, state, 2 * 4 * length * d, *map(peak, calls)


def size(count):
    units = ["B", "KiB", "MiB", "GiB"]
    while count >= 1024 and len(units) > 1:
        count, units = count / 1024, units[1:]
    return f"{count:.1f} {units[0]}" if count % 1 and count < 100 else f"{count:.0f} {units[0]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--channels", type=int, default=64, help="of a head")
    parser.add_argument("--scale", type=float, default=0.5, help="scores have the standard deviation SCALE^2")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", type=pathlib.Path, metavar="FILE.svg")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--lengths", type=lambda x: [int(one) for one in x.split(",")], default=[1024, 4096, 8192], metavar="T,...")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    d = options.channels
    print("| attention | features | cosine | mean squared error |\n|---|---|---|---|")
    for name, make in attentions(d, d).items():
        for features in FEATURES if name in ("Performer", "RFF") else (d,):
            cosine, square = quality(make(features), options.length, d, options.scale, options.draws)
            print(f"| {name} | {features} | {cosine:.3f} | {square:.4f} |", flush=True)
    if options.plot:
        options.plot.write_text(weights_plot(d, options.scale))
    if options.memory:
        print("\n| T | state, linear | state, softmax | call, linear | call, fused softmax | call, plain softmax |\n|---|---|---|---|---|---|")
        for length, *counts in memory(options.lengths, d):
            print(f"| {length:,} | " + " | ".join(map(size, counts)) + " |", flush=True)


if __name__ == "__main__":
    main()
