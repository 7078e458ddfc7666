"""Plots of the site, from measurements in benchmarks/results."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402

RESULTS = Path("benchmarks/results/peers-znver4.json")
THE_BASELINES = "the best of PyTorch, torch.compile, JAX and flash-linear-attention"
# Readable on white and on black.
OURS, BEST, SOFTMAX, TEXT = "#e0452c", "#7a7a7a", "#a8a8a8", "#808080"
TICKS = (0.3, 1, 3, 10, 30, 100, 300)


class Measured:
    """Times of one file, in milliseconds."""

    def __init__(self, source: Path) -> None:
        results = json.loads((source / RESULTS).read_text(encoding="utf-8"))
        self.rows = results["rows"]
        # What counts as a baseline, and how ratios are taken: as in the tables of docs/Peers.md.
        sys.path[:0] = [str(source / "benchmarks"), str(source / "benchmarks/peers/python")]
        self.tables = importlib.import_module("beside.tables")
        self.machine = f"{results['machine']['model']} ({results['machine']['cpu']})"

    def of(self, system: str, direction: str = "forward", threads: int = 1) -> list[dict]:
        """By length."""
        wanted = (system, direction, threads)
        found = sorted((one for one in self.rows if (one["system"], one["direction"], one["threads"]) == wanted),
                       key=lambda one: one["T"])  # fmt: skip
        if not found:
            raise SystemExit(f"{RESULTS}: expected rows of {wanted}")
        return found

    def baseline(self, row: dict) -> float:
        return row[self.tables.best_peer(row)]

    def ratio(self, row: dict) -> float:
        """How many times as fast as the best baseline."""
        return self.tables.ratio(row, self.tables.best_peer(row))


def _save(figure: pyplot.Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, bbox_inches="tight", transparent=True, metadata={"Date": None})
    pyplot.close(figure)


def _style() -> object:
    colors = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), TEXT)
    return pyplot.rc_context({"font.size": 10, "svg.fonttype": "none", "svg.hashsalt": "polyattn", **colors})


def _lines(axes: Axes, measured: Measured, rows: list[dict], named: bool) -> None:
    """Time per position against length: softmax attention, the best baseline, polyattn."""
    softmax = [row for row in rows if row.get("softmax")]
    lines = [
        ("softmax attention", [(row["T"], row["softmax"]) for row in softmax], SOFTMAX, 1.4, "--"),
        ("best baseline", [(row["T"], measured.baseline(row)) for row in rows], BEST, 1.6, "-"),
        ("polyattn", [(row["T"], row["polyattn"]) for row in rows], OURS, 2.4, "-"),
    ]
    for name, points, color, width, style in lines:
        lengths, times = zip(*((length, time * 1e3 / length) for length, time in points))
        axes.plot(lengths, times, color=color, lw=width, ls=style, marker="o", ms=4)
        if named:
            axes.annotate(name, (lengths[-1], times[-1]), (6, 0), textcoords="offset points", color=color, va="center")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.set_xticks([row["T"] for row in rows], [f"{row['T'] // 1024}k" for row in rows])
    low, high = axes.get_ylim()
    # At least two ticks, without which nobody reads a length: a factor of at most 3 is between two of them.
    axes.set_ylim(min(low, max(tick for tick in TICKS if tick <= high / 3.4) * 0.95), high)
    low, _ = axes.get_ylim()
    axes.set_yticks([tick for tick in TICKS if low < tick < high])
    axes.yaxis.set_major_formatter("{x:g}")
    axes.spines[["top", "right"]].set_visible(False)


def against_length(measured: Measured, system: str, path: Path) -> str:
    """One system. Returns what the plot shows."""
    rows = measured.of(system)
    middle = rows[len(rows) // 2]
    with _style():
        figure, axes = pyplot.subplots(figsize=(6.2, 2.8))
        _lines(axes, measured, rows, named=True)
        axes.set_xlabel("sequence length T")
        axes.set_ylabel("µs per position")
        axes.set_title(f"one thread, 4 heads, f32, causal forward, {measured.machine}", loc="left", fontsize=9)
        _save(figure, path)
    return f"{measured.ratio(middle):.2f} times as fast as {THE_BASELINES} at T = {middle['T']:,}."


def panels(measured: Measured, systems: dict[str, str], path: Path) -> None:
    """A panel per system, on equal axes."""
    with _style():
        figure, grid = pyplot.subplots(2, 4, figsize=(9.2, 4.6), sharex=True, sharey=True)
        for axes, (system, name) in zip(grid.flat, systems.items()):
            _lines(axes, measured, measured.of(system), named=False)
            axes.set_title(name, loc="left", fontsize=10, fontweight="bold")
            axes.tick_params(labelbottom=True)
        legend = grid.flat[-1]
        legend.axis("off")
        for y, name, color, style in ((0.75, "polyattn", OURS, "-"), (0.5, "best baseline", BEST, "-"),
                                      (0.25, "softmax attention", SOFTMAX, "--")):  # fmt: skip
            legend.plot([0, 0.14], [y, y], color=color, ls=style, lw=2, transform=legend.transAxes, clip_on=False)
            legend.text(0.2, y, name, color=color, va="center", transform=legend.transAxes)
        for axes in grid[:, 0]:
            axes.set_ylabel("µs per position")
        figure.tight_layout()
        _save(figure, path)


def bars(ratios: dict[str, float], label: str, path: Path) -> None:
    """How many times as fast, per system; 1 is the best baseline."""
    with _style():
        figure, axes = pyplot.subplots(figsize=(6.2, 0.36 * len(ratios) + 0.8))
        names = list(reversed(ratios))
        axes.barh(names, [ratios[name] for name in names], color=OURS, height=0.6)
        axes.axvline(1, color=BEST, lw=1.2)
        for place, name in enumerate(names):
            axes.annotate(f"{ratios[name]:.2f}x", (ratios[name], place), (4, 0), textcoords="offset points", va="center")
        axes.set_xlabel(label)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        _save(figure, path)
