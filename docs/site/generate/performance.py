"""How fast polyattn is, in ten lines and three plots."""

from __future__ import annotations

from pathlib import Path

from .page import Page, write as write_page

SYSTEMS = {
    "linear": "linear (elu + 1)",
    "based": "BASED",
    "hedgehog": "Hedgehog",
    "llops64": "LLoPS, d = 64",
    "llops128": "LLoPS, d = 128",
    "polysketch": "PolySketch, p = 4",
    "power": "power, p = 2",
}
LENGTH = 8192


def _range(ratios: dict[str, float]) -> str:
    return f"{min(ratios.values()):.2f} to {max(ratios.values()):.2f} times as fast"


def write(source: Path, site: Path) -> list[Page]:
    from . import plots  # matplotlib, which checks without a site do without

    measured = plots.Measured(source)
    at = lambda direction, length: {
        name: measured.ratio(next(row for row in measured.of(system, direction) if row["T"] == length))
        for system, name in SYSTEMS.items()
    }
    forward, both, decode = at("forward", LENGTH), at("both", LENGTH), at("decode", 1)
    plots.panels(measured, SYSTEMS, site / "forward.svg")
    plots.bars(both, "times as fast as the best baseline", site / "training.svg")
    plots.bars(decode, "times as fast as the best baseline", site / "decode.svg")
    text = f"""
All numbers of this page are measured on one thread of an {measured.machine}, in f32, with 4 heads. A baseline is
{plots.THE_BASELINES}, each in the fastest form that was found for it.
[Baselines](/docs/Peers.md) says how, and has two threads as well.

## Forward

**{_range(forward)} as the best baseline at T = {LENGTH:,}.** From some length on, time per position is
constant, and softmax attention's grows.

![Time per position against sequence length, a panel per attention](forward.svg)

## Training

**{_range(both)} as the best baseline at T = {LENGTH:,}**, forward and backward together.

![Ratios of training](training.svg)

## Decoding

**{_range(decode)} as the best baseline**, a token of each of 16 sequences.

![Ratios of decoding](decode.svg)

## GPUs

Kernels for NVIDIA GPUs were measured on one H200 and are not tuned. Forward kernels are fast for cheap maps, backward
kernels are slow. [Running on a GPU](/docs/CUDA.md) has the numbers.

## More

- [Benchmarks](/docs/Benchmarks.md): fractions of peak, threads, time to compile, long sequences
- [GPU kernels](/docs/Kernels.md): registers, shared memory and occupancy
- `polyattn-run SPEC --entry ENTRY --random B=1,T=8192,H=4 --bench` measures on your machine
"""
    return [write_page(site, "performance", "How fast", "ten lines and three plots.", text)]
