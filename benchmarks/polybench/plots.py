"""Plots of results: docs/plots, and those of the site's gallery. Drawing needs matplotlib, titles need nothing.

A plot's title is its finding, computed from the results; the line below it says what was measured.
"""
import contextlib
import os
import re
from dataclasses import dataclass
from statistics import median
from typing import Callable

from .baselines import PEERS, best_peer, ratio
from .tools import ROOT, load_json

RESULTS = os.path.join(ROOT, "benchmarks", "results")
PEERS_RESULTS = os.path.join(RESULTS, "peers-znver4.json")
CPU_RESULTS = os.path.join(RESULTS, "znver4.json")
TASKS_RESULTS = os.path.join(RESULTS, "small-tasks.json")
BASELINES = "the best of PyTorch, torch.compile, JAX and flash-linear-attention"
SYSTEMS = {
    "linear": "linear (elu + 1)", "based": "BASED", "polysketch": "PolySketch, p = 4", "power": "power, p = 2",
    "hedgehog": "Hedgehog", "llops64": "LLoPS, d = 64", "llops128": "LLoPS, d = 128",
}  # fmt: skip
ENTRIES = {
    "linear_d64": "linear, d = 64", "based_d64": "BASED, d = 64", "power_d64_p2": "power, p = 2",
    "polysketch_d64_r32": "PolySketch, r = 32", "polysketch_d64_r32_b1024": "PolySketch, blocks of 1,024",
    "llops_d64_m1024": "LLoPS, d = 64, m = 1,024", "llops_d128_m256": "LLoPS, d = 128, m = 256",
}  # fmt: skip
LENGTH = 8192
# Readable on white and on black.
OURS, BEST, PALE, TEXT = "#e0452c", "#767676", "#b0b0b0", "#767676"
LIBRARIES = {"jax": ("JAX, jit", "#7d76c0"), "compiled": ("torch.compile", "#d99a00"),
             "eager": ("PyTorch, eager", "#5f9f1f"), "fla": ("FLA on a CPU", "#8a8a8a")}  # fmt: skip
COLORS = ("#e0452c", "#2f85c8", "#3f9c4a", "#9467bd", "#d07f00", "#008f98", "#a0695c", "#d3659f", "#8a8f1a", "#6a6ad6")
TICKS = (0.1, 0.3, 1, 3, 10, 30, 100, 300)


# What is drawn ---------------------------------------------------------------------------------------------------------------


class Peers:
    """Results of benchmarks/peers/python/run; times are in milliseconds."""

    def __init__(self, path=PEERS_RESULTS):
        results = load_json(path)
        self.path, self.rows = path, results.get("rows", [])
        facts = results.get("machine", {})
        self.machine = f"{facts.get('model')} ({facts.get('cpu')})"

    def of(self, system, direction="forward", threads=1):
        """Rows by length."""
        wanted = (system, direction, threads)
        found = sorted((one for one in self.rows if (one["system"], one["direction"], one["threads"]) == wanted),
                       key=lambda one: one["T"])
        if not found:
            raise LookupError(f"{os.path.relpath(self.path)}: expected rows of {wanted}")
        return found

    def at(self, system, direction="forward", length=LENGTH):
        return next(row for row in self.of(system, direction) if row["T"] == length)

    def ratio(self, row):
        """How many times as fast as the best baseline."""
        return ratio(row, best_peer(row))

    def ratios(self, direction="forward"):
        """By the names of systems; decoding has one token."""
        length = 1 if direction == "decode" else LENGTH
        return {name: self.ratio(self.at(system, direction, length)) for system, name in SYSTEMS.items()}


def fractions(results):
    """Median fraction of the peak, by entry."""
    return {name: median(run["fraction_of_peak"] for run in results["speed"][entry]["f32"] if run)
            for entry, name in ENTRIES.items()}


def times_per_position(results):
    """Microseconds by entry and length, from the first length that has whole blocks."""
    return {name: [(int(length), row["chosen"] / int(length) * 1e6)
                   for length, row in results["forms"][entry].items() if int(length) >= 64 and "chosen" in row]
            for entry, name in ENTRIES.items()}


def family(layer):
    """A layer without its first option, which is its size: LLoPS(m=64, p=2) is one of LLoPS(p=2)."""
    return re.sub(r"\(\w+=[^,)]*(, )?", "(", layer).removesuffix("()")


def span(ratios):
    return f"{min(ratios.values()):.2f} to {max(ratios.values()):.2f} times as fast as"


def title_of_length(results):
    factors = [max(late) / min(late) for points in times_per_position(results).values()
               for late in [[time for length, time in points if length >= LENGTH]]]
    longest = max(length for points in times_per_position(results).values() for length, _ in points)
    return (f"From {LENGTH:,} to {longest:,} positions, time per position "
            f"changes by at most {100 * (max(factors) - 1):.0f}%")


def title_of_fractions(results):
    found = fractions(results).values()
    return f"Forward kernels reach {100 * min(found):.0f}% to {100 * max(found):.0f}% of one thread's peak"


def title_of_tasks(results):
    least = {}
    for run in results["runs"]:
        if run["task"] == "recall" and run["state_bytes"] and run["accuracy"] >= 0.99:
            name = family(run["layer"])
            least[name] = min(least.get(name, run["state_bytes"]), run["state_bytes"])
    kib = {name: f"{size / 1024:.0f} KiB" for name, size in least.items()}
    return (f"99% of recall takes {kib['Based']} of state with BASED, {kib['Hedgehog']} with Hedgehog, "
            f"{kib['LLoPS(p=2, squared=True)']} with LLoPS")


# How it is drawn -------------------------------------------------------------------------------------------------------------


def has_matplotlib():
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


@contextlib.contextmanager
def canvas(path, title, note, **shape):
    """A figure and its axes, saved with the title above and the note below. Text stays text."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    colored = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    with pyplot.rc_context({"font.size": 10, "svg.fonttype": "none", "svg.hashsalt": "polyattn",
                            "axes.spines.top": False, "axes.spines.right": False, **dict.fromkeys(colored, TEXT)}):
        figure, axes = pyplot.subplots(**shape)
        yield figure, axes
        figure.tight_layout()
        if title:
            figure.text(0.005, 1.01, title, fontsize=11, fontweight="bold", va="bottom")
        if note:
            figure.text(0.005, -0.01, note, fontsize=8, va="top")
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        figure.savefig(path, bbox_inches="tight", transparent=True, metadata={"Date": None})
        pyplot.close(figure)


def log_axes(axes, lengths, label):
    """Lengths across, time per position up, with ticks that a reader can name."""
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.set_xticks(lengths, [f"{length // 1024}k" if length >= 1024 else str(length) for length in lengths])
    low, high = axes.get_ylim()
    # At least two ticks: a factor of at most 3.4 is between neighbors.
    axes.set_ylim(min(low, max(tick for tick in TICKS if tick <= high / 3.4) * 0.95), high)
    low, _ = axes.get_ylim()
    axes.set_yticks([tick for tick in TICKS if low < tick < high])
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylabel(label)


def name_line(axes, point, name, color):
    axes.annotate(name, point, (6, 0), textcoords="offset points", color=color, va="center")


def peer_lines(axes, rows, are_named):
    """Time per position against length: softmax attention, the best baseline, polyattn."""
    lines = (("softmax attention", [(row["T"], row["softmax"]) for row in rows if row.get("softmax")], PALE, 1.4, "--"),
             ("best baseline", [(row["T"], row[best_peer(row)]) for row in rows], BEST, 1.6, "-"),
             ("polyattn", [(row["T"], row["polyattn"]) for row in rows], OURS, 2.4, "-"))
    for name, points, color, width, style in lines:
        lengths, times = zip(*((length, time * 1e3 / length) for length, time in points))
        axes.plot(lengths, times, color=color, lw=width, ls=style, marker="o", ms=4)
        if are_named:
            name_line(axes, (lengths[-1], times[-1]), name, color)


def against_length(peers, system, path):
    """One system. Returns the title."""
    rows = peers.of(system)
    middle = rows[len(rows) // 2]
    title = f"{peers.ratio(middle):.2f} times as fast as the best baseline at T = {middle['T']:,}"
    note = f"Causal forward pass, 4 heads, f32, one thread of an {peers.machine}; measured."
    with canvas(path, title, note, figsize=(6.2, 2.8)) as (_, axes):
        peer_lines(axes, rows, are_named=True)
        log_axes(axes, [row["T"] for row in rows], "µs per position")
        axes.set_xlabel("sequence length T")
    return title


def draw_panels(peers, title, note, path):
    with canvas(path, title, note, nrows=2, ncols=4, figsize=(9.2, 4.6), sharex=True, sharey=True) as (_, grid):
        for axes, (system, name) in zip(grid.flat, SYSTEMS.items()):
            peer_lines(axes, peers.of(system), are_named=False)
            axes.set_title(name, loc="left", fontsize=10, fontweight="bold")
            axes.tick_params(labelbottom=True)
        # The panels share their axes.
        log_axes(grid[0, 0], [row["T"] for row in peers.of("linear")], "µs per position")
        grid[1, 0].set_ylabel("µs per position")
        legend = grid.flat[-1]
        legend.axis("off")
        for y, name, color, style in ((0.75, "polyattn", OURS, "-"), (0.5, "best baseline", BEST, "-"),
                                      (0.25, "softmax attention", PALE, "--")):
            legend.plot([0, 0.14], [y, y], color=color, ls=style, lw=2, transform=legend.transAxes, clip_on=False)
            legend.text(0.2, y, name, color=color, va="center", transform=legend.transAxes)


def draw_bars(values, form, reference, label, title, note, path):
    """A bar per name, with its value in words; a line at the value that they are compared with."""
    with canvas(path, title, note, figsize=(7.4, 0.36 * len(values) + 0.8)) as (_, axes):
        names = list(reversed(values))
        axes.axvline(reference, color=BEST, lw=1.2, zorder=0)
        axes.barh(names, [values[name] for name in names], color=OURS, height=0.6)
        for place, name in enumerate(names):
            axes.annotate(form(values[name]), (values[name], place), (-4, 0), textcoords="offset points",
                          ha="right", va="center", color="white")
        axes.set_xlabel(label)
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)


def draw_libraries(peers, title, note, path):
    with canvas(path, title, note, figsize=(8.6, 4.2)) as (_, axes):
        for y, system in enumerate(reversed(SYSTEMS)):
            row = peers.at(system)
            others = {one: row[one] / row["polyattn"] for one in PEERS if row.get(one)}
            axes.plot([1, max(others.values())], [y, y], color=PALE, alpha=0.5, lw=2, zorder=1)
            axes.scatter([1], [y], s=110, color=OURS, zorder=3)
            for one, times in others.items():
                axes.scatter([times], [y], s=70, color=LIBRARIES[one][1], zorder=2)
            axes.text(min(others.values()), y + 0.24, f"{peers.ratio(row):.2f}x", ha="center", fontsize=9.5)
        axes.set_xscale("log", base=2)
        axes.set_xlim(0.9, 40)
        axes.set_xticks([2**i for i in range(6)], [f"{2**i}x" for i in range(6)])
        axes.set_xlabel("time, relative to polyattn")
        axes.set_ylim(-0.6, len(SYSTEMS) - 0.3)
        axes.set_yticks(range(len(SYSTEMS)), list(reversed(SYSTEMS.values())))
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", color=PALE, alpha=0.3, zorder=0)
        dots = [axes.scatter([], [], s=110, color=OURS, label="polyattn")]
        dots += [axes.scatter([], [], s=70, color=color, label=name) for name, color in LIBRARIES.values()]
        axes.legend(handles=dots, loc="lower right", bbox_to_anchor=(1, 1), ncol=5, frameon=False, fontsize=9.5,
                    handletextpad=0.1, columnspacing=1.2)


def draw_length(results, title, note, path):
    with canvas(path, title, note, figsize=(8.2, 4.2)) as (_, axes):
        for color, (name, points) in zip(COLORS, times_per_position(results).items()):
            axes.plot(*zip(*points), color=color, lw=2)
            name_line(axes, points[-1], name, color)
        log_axes(axes, [4**n for n in range(3, 9)], "µs per position and head")
        axes.set_xlabel("sequence length T")


def draw_tasks(results, title, note, path):
    with canvas(path, title, note, ncols=2, figsize=(9.2, 4.2), sharex=True, sharey=True) as (figure, panels):
        for task, axes in zip(("recall", "copying"), panels):
            families = {}
            for run in (one for one in results["runs"] if one["task"] == task):
                families.setdefault(family(run["layer"]), []).append((run["state_bytes"], 100 * run["accuracy"]))
            colors = iter(COLORS)
            for name, points in families.items():
                if points[0][0]:
                    axes.plot(*zip(*sorted(points)), color=next(colors), lw=2, marker="o", ms=5, label=name)
            for style, (name, points) in zip(("--", "-.", ":"), ((n, p) for n, p in families.items() if not p[0][0])):
                axes.axhline(points[0][1], color=BEST, ls=style, lw=1.4, label=f"{name}, no fixed state")
            axes.set_xscale("log", base=2)
            axes.minorticks_off()
            axes.set_xticks([2**n for n in range(10, 17, 2)], [f"{2**n // 1024} KiB" for n in range(10, 17, 2)])
            axes.set_yticks(range(0, 101, 25), [f"{percent}%" for percent in range(0, 101, 25)])
            axes.set_title(task, loc="left", fontsize=10, fontweight="bold")
            axes.set_xlabel("state bytes of the model")
        panels[0].set_ylabel("accuracy")
        panels[1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, fontsize=9)


# The plots of docs/plots -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plot:
    """`draw` takes the data, the title, the note and the path."""

    title: Callable
    note: Callable
    draw: Callable


def ratio_bars(direction):
    return lambda peers, *rest: draw_bars(peers.ratios(direction), "{:.2f}x".format, 1,
                                          "times as fast as the best baseline", *rest)


def peers_note(words):
    return lambda peers: f"{words}, 4 heads, f32, one thread of an {peers.machine}; measured.\nBaseline: {BASELINES}."


def cpu_note(words):
    return lambda results: f"{words}, f32, one thread of an {results['machine']['model']} ({results['machine']['cpu']}); measured."


OF_PEERS = {
    "libraries": Plot(
        lambda peers: f"On one CPU thread polyattn is {span(peers.ratios())} the best of four libraries",
        lambda peers: f"Causal forward pass, T = {LENGTH:,}, 4 heads, f32, one thread of an {peers.machine}; measured. "
                      "Best form of each library: docs/Peers.md",
        draw_libraries),
    "forward": Plot(lambda peers: f"Forward is {span(peers.ratios())} the best baseline at T = {LENGTH:,}",
                    peers_note("Causal forward pass"), draw_panels),
    "training": Plot(lambda peers: f"Training is {span(peers.ratios('both'))} the best baseline at T = {LENGTH:,}",
                     peers_note("Causal, forward and backward"), ratio_bars("both")),
    "decode": Plot(lambda peers: f"Decoding is {span(peers.ratios('decode'))} the best baseline",
                   peers_note("One token of each of 16 sequences"), ratio_bars("decode")),
}  # fmt: skip
OF_CPU = {
    "fractions": Plot(title_of_fractions, cpu_note("Causal forward pass, T = 16,384, 4 heads"),
                      lambda results, *rest: draw_bars(fractions(results), "{:.0%}".format, 1,
                                                       "fraction of the multiply-add peak", *rest)),
    "length": Plot(title_of_length, cpu_note("Causal forward pass, one head"), draw_length),
}  # fmt: skip
OF_TASKS = {
    "small-tasks": Plot(title_of_tasks, lambda results: "Models of two layers, 600 steps, one seed; measured.", draw_tasks),
}  # fmt: skip


def planned(peers=PEERS_RESULTS, cpu=CPU_RESULTS):
    """Name, plot and data of each file of docs/plots."""
    for data, plots in ((Peers(peers), OF_PEERS), (load_json(cpu), OF_CPU), (load_json(TASKS_RESULTS), OF_TASKS)):
        for name, plot in plots.items():
            yield name, plot, data


def draw_all(folder, **results):
    """All plots; `results` are other files than the repository's. Returns what is missing, None if nothing."""
    if not has_matplotlib():
        return "no matplotlib"
    for name, plot, data in planned(**results):
        try:
            plot.draw(data, plot.title(data), plot.note(data), os.path.join(folder, f"{name}.svg"))
        except (LookupError, StopIteration) as error:
            return f"{name}: not everything is measured that it shows ({error})"
    return None
