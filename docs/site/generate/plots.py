"""Plots of the gallery, from measurements in benchmarks/results."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402

RESULTS = Path("benchmarks/results/peers-znver4.json")
BASELINES = ("eager", "eager_stock", "compiled", "fla", "jax")
# Readable on white and on black.
OURS, BEST, SOFTMAX, TEXT = "#e0452c", "#7a7a7a", "#a8a8a8", "#808080"


def draw(source: Path, system: str, path: Path) -> str:
    """Time per position against length on one thread. Returns what it shows."""
    results = json.loads((source / RESULTS).read_text(encoding="utf-8"))
    rows = sorted((row for row in results["rows"] if (row["system"], row["direction"], row["threads"]) == (system, "forward", 1)),
                  key=lambda row: row["T"])  # fmt: skip
    if not rows:
        raise SystemExit(f"gallery.toml: {RESULTS} has no system '{system}'")
    lengths = [row["T"] for row in rows]
    best = [min(row[name] for name in BASELINES if row.get(name)) for row in rows]
    per_position = lambda times: [time * 1e3 / length for time, length in zip(times, lengths)]
    at = len(rows) // 2
    finding = (f"{best[at] / rows[at]['polyattn']:.1f} times as fast as the best of PyTorch, torch.compile, JAX and "
               f"flash-linear-attention at T = {lengths[at]:,}.")  # fmt: skip

    colors = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), TEXT)
    with pyplot.rc_context({"font.size": 10, "svg.fonttype": "none", "svg.hashsalt": system, **colors}):
        figure, axes = pyplot.subplots(figsize=(6.2, 2.8))
        lines = [("polyattn", per_position([row["polyattn"] for row in rows]), lengths, OURS, 2.4, "-"),
                 ("best baseline", per_position(best), lengths, BEST, 1.6, "-")]  # fmt: skip
        soft = [row for row in rows if row.get("softmax")]
        lines.append(
            (
                "softmax attention",
                [row["softmax"] * 1e3 / row["T"] for row in soft],
                [row["T"] for row in soft],
                SOFTMAX,
                1.4,
                "--",
            )
        )
        for name, times, places, color, width, style in lines:
            axes.plot(places, times, color=color, lw=width, ls=style, marker="o", ms=4)
            axes.annotate(name, (places[-1], times[-1]), (6, 0), textcoords="offset points", color=color, va="center")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.minorticks_off()
        axes.set_xticks(lengths, [f"{length // 1024}k" for length in lengths])
        low, high = axes.get_ylim()
        axes.set_yticks([tick for tick in (0.3, 1, 3, 10, 30, 100, 300) if low < tick < high])
        axes.yaxis.set_major_formatter("{x:g}")
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlabel("sequence length T")
        axes.set_ylabel("µs per position")
        axes.set_title(f"one thread, 4 heads, f32, causal forward, {results['machine']['model']} ({results['machine']['cpu']})",
                       loc="left", fontsize=9)  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, bbox_inches="tight", transparent=True, metadata={"Date": None})
        pyplot.close(figure)
    return finding
