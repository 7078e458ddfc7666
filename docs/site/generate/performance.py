"""How fast polyattn is, in ten lines and three plots."""

from __future__ import annotations

from pathlib import Path

from . import benchmarks
from .page import Page, write as write_page


def write(source: Path, site: Path) -> list[Page]:
    plots = benchmarks.plots(source)
    peers = plots.Peers()
    spans = {direction: plots.span(peers.ratios(direction)) for direction in ("forward", "both", "decode")}
    text = f"""
All numbers of this page are measured on one thread of an {peers.machine}, in f32, with 4 heads. A baseline is
{plots.BASELINES}, each in the fastest form that was found for it.
[Baselines](/docs/Peers.md) says how, and has two threads as well.

## Forward

**{spans['forward']} the best baseline at T = {plots.LENGTH:,}.** From some length on, time per position is
constant, and softmax attention's grows.

![Time per position against sequence length, a panel per attention](/docs/plots/forward.svg)

## Training

**{spans['both']} the best baseline at T = {plots.LENGTH:,}**, forward and backward together.

![Ratios of training](/docs/plots/training.svg)

## Decoding

**{spans['decode']} the best baseline**, a token of each of 16 sequences.

![Ratios of decoding](/docs/plots/decode.svg)

## GPUs

Kernels for NVIDIA GPUs were measured on one H200 and are not tuned. Forward kernels are fast for cheap maps, backward
kernels are slow. [Running on a GPU](/docs/CUDA.md) has the numbers.

## More

- [Benchmarks](/docs/Benchmarks.md): fractions of peak, threads, time to compile, long sequences
- [GPU kernels](/docs/Kernels.md): registers, shared memory and occupancy
- `polyattn-run SPEC --entry ENTRY --random B=1,T=8192,H=4 --bench` measures on your machine
"""
    return [write_page(site, "performance", "How fast", "ten lines and three plots.", text)]
