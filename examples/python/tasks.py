#!/usr/bin/env python3
"""Small tasks for two-layer models with any layer of polyattn.torch.nn: accuracy against the size of the states.

    examples/python/tasks.py [--quick] [--task recall,copying,induction,bytes] [--layer 'LLoPS(m=64)' Softmax ...]

The tasks are associative recall, selective copying, induction heads, and the next byte of this repository's documents. Softmax, FNet
and Nystroem are baselines of plain PyTorch. All models of a task have the same sizes and see the same batches.

Every model that is trained goes into a file, --results. The same command goes on from there after it was interrupted. At the end stand
a table and a plot, accuracy against bytes of states. --quick takes about two minutes.
"""

import argparse
import ast
import inspect
import json
import math
import os
import pathlib
import re
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

import baselines
import chart
import polyattn
import polyattn.torch.nn as pn
import recall_tasks
from polyattn.demo.model import Block, Softmax
from polyattn.demo.training import descend

ROOT = pathlib.Path(__file__).resolve().parents[2]

KINDS = {name: getattr(pn, name) for name in pn.__all__ if name not in ("Attention", "StateCache", "States")}
KINDS |= {"Softmax": Softmax, "FNet": baselines.FNet, "Nystroem": baselines.Nystroem}

LAYERS = [
    *(f"LLoPS(m={m}, p=2, squared=True)" for m in (4, 8, 16, 64)),
    *(f"LLoPS(m=8, p={p}, squared=True)" for p in (1, 3)),
    *(f"Based(r={r})" for r in (1, 2, 3, 4)),
    "PolySketch(r=2)", "PolySketch(r=4)", "PolySketch(r=4, learned=True, local=None)",
    "Linear()", "Hedgehog()", "Performer(m=16)", "Power(p=2)", "Softmax()", "FNet()", "Nystroem()",
]  # fmt: skip
QUICK_LAYERS = [
    "LLoPS(m=16, p=2, squared=True)", "LLoPS(m=64, p=2, squared=True)", "Based(r=4)", "Linear()", "Softmax()", "FNet()",
    "Nystroem()",
]  # fmt: skip
SIZES = {
    "recall": dict(pairs=24, keys=32, values=32), "copying": dict(tokens=8, kinds=14, noise=40),
    "induction": dict(length=64, kinds=16), "bytes": dict(length=96),
}  # fmt: skip
QUICK_SIZES = {
    "recall": dict(pairs=8, keys=16, values=16), "copying": dict(tokens=4, kinds=8, noise=16),
    "induction": dict(length=32, kinds=16), "bytes": dict(length=64),
}  # fmt: skip
BATCH = {"recall": 64, "copying": 64, "induction": 32, "bytes": 32}


class Model(nn.Module):
    def __init__(self, layer, task, width=32, heads=2, depth=2):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(task.vocabulary, width), nn.Embedding(task.length, width)
        self.blocks = nn.ModuleList([Block(layer, width, heads) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, task.vocabulary)
        nn.init.normal_(self.tokens.weight, std=0.5)
        nn.init.normal_(self.positions.weight, std=0.02)

    def forward(self, text):
        x = self.tokens(text) + self.positions.weight[: text.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    def state_bytes(self):
        """Of one sequence, in f32; None where states grow with the length, or where there are none."""
        try:
            return sum(4 * pool.numel() for block in self.blocks for pool in block.attention.new_states(1).pools.values())
        except (AttributeError, polyattn.SpecError):
            return None


def layer_of(text):
    """A function of width and heads from a name with options, such as LLoPS(m=64)."""
    try:
        call = ast.parse(text, mode="eval").body
        name, given = (call.func, call.keywords) if isinstance(call, ast.Call) else (call, [])
        if getattr(call, "args", None):
            raise ValueError
        kind, options = KINDS[name.id], {one.arg: ast.literal_eval(one.value) for one in given}
    except (SyntaxError, ValueError, AttributeError):
        raise ValueError(f"--layer: expected a name with options by name, such as 'LLoPS(m=64)', got '{text}'") from None
    except KeyError:
        raise ValueError(f"--layer: expected one of {', '.join(KINDS)}, got '{name.id}'") from None
    known = [one for one in inspect.signature(kind).parameters if one not in ("width", "heads")]
    for one in options:
        if one not in known:
            raise ValueError(f"--layer: {name.id}: expected options among {', '.join(known) or 'none'}, got '{one}'")
    try:
        kind(32, 2, **options)
    except ValueError as error:  # those of polyattn are
        raise ValueError(f"--layer: {text}: {str(error).splitlines()[0]}") from None
    return lambda width, heads: kind(width, heads, **options)


@torch.no_grad()
def sees_later_positions(model, task):
    text, _ = task.draw(2, torch.Generator().manual_seed(0), False)
    other = text.clone()
    other[:, -1] = (other[:, -1] + 1) % task.vocabulary
    return not torch.allclose(model(text)[:, :-1], model(other)[:, :-1], atol=1e-4)


@torch.no_grad()
def evaluate(model, task, count):
    """Accuracy and loss of sequences that no training has seen, in nats."""
    text, labels = task.draw(count, torch.Generator().manual_seed(2**31), True)
    logits, asked = model(text), labels != recall_tasks.NOTHING
    hits = (logits.argmax(-1) == labels)[asked].float().mean().item()
    return hits, F.cross_entropy(logits[asked], labels[asked]).item()


def train(layer, task, settings, tell=lambda step, loss: None):
    """A trained model and its losses; (None, []) if it sees the labels."""
    torch.manual_seed(settings["seed"])
    model = Model(layer, task, settings["width"], settings["heads"])
    if task.has_later_labels and sees_later_positions(model, task):
        return None, []
    generator = torch.Generator().manual_seed(settings["seed"] + 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings["rate"])
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, settings["rate"], total_steps=settings["steps"])
    losses = []
    for step in range(settings["steps"]):
        text, labels = task.draw(settings["batch"], generator, False)
        loss = F.cross_entropy(model(text).flatten(0, 1), labels.flatten(), ignore_index=recall_tasks.NOTHING)
        losses.append(descend(model, optimizer, loss))
        schedule.step()
        tell(step + 1, losses[-1])
    return model, losses


class Results:
    """What is trained so far, in a file that is whole at any time."""

    def __init__(self, path):
        self.path, self.runs = path, []
        if path.exists():
            try:
                self.runs = json.loads(path.read_text())["runs"]
                [(run["task"], run["layer"], run["settings"], run["accuracy"]) for run in self.runs]
            except (ValueError, KeyError, TypeError, OSError):
                raise ValueError(f"--results: expected a file that this program wrote, got {path}") from None

    def find(self, task, layer, settings):
        wanted = (task, layer, settings)
        return next((run for run in self.runs if (run["task"], run["layer"], run["settings"]) == wanted), None)

    def add(self, run):
        self.runs.append(run)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_name(self.path.name + ".part")
        part.write_text(json.dumps({"runs": self.runs}, indent=1))
        os.replace(part, self.path)


class Progress:
    """A bar on a terminal: models that are ready, the one in work, and the time that the rest will take."""

    def __init__(self, count):
        self.count, self.ready, self.trained, self.begin = count, 0, 0, time.monotonic()

    def tell(self, words, share):
        if not sys.stderr.isatty():
            return
        done = self.ready + share
        full = int(24 * done / self.count)
        here = self.trained + share
        left = (time.monotonic() - self.begin) / max(here, 0.05) * (self.count - done)
        bar = "#" * full + "." * (24 - full)
        print(f"\r\033[K[{bar}] {self.ready + 1}/{self.count} {words}, {left / 60:.1f} min left", end="", file=sys.stderr)

    def finish(self, was_trained):
        self.ready, self.trained = self.ready + 1, self.trained + was_trained
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def run(name, layer, task, settings, progress, save):
    begin = time.perf_counter()

    def tell(step, loss):
        progress.tell(f"{task.name}, {name}: step {step}/{settings['steps']}, loss {loss:.2f}", step / settings["steps"])

    found = {"task": task.name, "layer": name, "settings": settings, "accuracy": None, "loss": None}
    model, losses = train(layer, task, settings, tell)
    if model is None:
        return found
    found["accuracy"], found["loss"] = evaluate(model, task, settings["tests"])
    found |= {
        "state_bytes": model.state_bytes(), "parameters": sum(one.numel() for one in model.parameters()), "losses": losses,
        "seconds": round(time.perf_counter() - begin, 1),
    }  # fmt: skip
    if save:
        save.mkdir(parents=True, exist_ok=True)
        torch.save(model.state_dict(), save / f"{task.name}-{name}.pt")
    return found


def table(runs, tasks, layers):
    """Markdown: accuracies in percent, for bytes with bits of the loss."""
    yield "| layer | state bytes | " + " | ".join(f"{one}, %" for one in tasks) + " |"
    yield "|---|---|" + "---|" * len(tasks)
    for name in layers:
        own = {run["task"]: run for run in runs if run["layer"] == name}
        sizes = [run["state_bytes"] for run in own.values() if run.get("state_bytes")]
        cells = []
        for task in tasks:
            one = own.get(task)
            cell = "-" if one is None or one["accuracy"] is None else f"{100 * one['accuracy']:.1f}"
            if task == "bytes" and cell != "-":
                cell += f" ({one['loss'] / math.log(2):.2f} bits)"
            cells.append(cell)
        yield f"| `{name}` | {f'{sizes[0]:,}' if sizes else '-'} | " + " | ".join(cells) + " |"


def family(layer):
    """A layer without its first option, which is its size: LLoPS(m=64, p=2) is one of LLoPS(p=2)."""
    return re.sub(r"\(\w+=[^,)]*(, )?", "(", layer).removesuffix("()")


def plot(runs, tasks):
    """A panel per task: accuracy against bytes of states, a line per family of layers; dashes without states of fixed size."""
    sizes = [run["state_bytes"] for run in runs if run.get("state_bytes")] or [1024]
    low, high = min(sizes) / 1.5, max(sizes) * 1.5
    families = list(dict.fromkeys(family(run["layer"]) for run in runs))
    color = {one: chart.COLORS[i % len(chart.COLORS)] for i, one in enumerate(families)}
    panels = []
    for i, (name, task) in enumerate(tasks.items()):
        axes = chart.Axes(60 + 440 * (i % 2), 30 + 310 * (i // 2), 350, 230, (low, high), (0, 1), log=True)
        powers = [2**n for n in range(math.ceil(math.log2(low)), int(math.log2(high)) + 1, 2)]
        axes.ticks({x: f"{x // 1024} KiB" if x >= 1024 else f"{x} B" for x in powers}, {y / 4: f"{25 * y}%" for y in range(5)})
        axes.text(low, 1, f"{name}: accuracy against state", right=4, down=-10, style='font-weight="bold"')
        if task.chance:
            axes.dashes(task.chance, chart.GRAY)
        for one in families:
            own = [run for run in runs if (run["task"], family(run["layer"])) == (name, one) and run["accuracy"] is not None]
            points = sorted((run["state_bytes"], run["accuracy"]) for run in own if run["state_bytes"])
            if len(points) > 1:
                axes.curve(points, color[one])
            for point in points:
                axes.dot(*point, color[one])
            for run in own:
                if not run["state_bytes"]:
                    axes.dashes(run["accuracy"], color[one])
        panels.append(axes)
    legend = chart.Axes(890, 40, 1, 17 * len(families), (0, 1), (0, len(families)))
    legend.parts.clear()
    fixed = {family(run["layer"]) for run in runs if run.get("state_bytes")}
    for i, one in enumerate(families):
        legend.text(0, len(families) - i, f"{'&#9679;' if one in fixed else '- -'} {one}", style=f'fill="{color[one]}"')
    legend.text(0, 0, "- - chance", style=f'fill="{chart.GRAY}"')
    return chart.document(930 + 8 * max(map(len, families)), 30 + 310 * ((len(tasks) + 1) // 2), [*panels, legend])


class Parser(argparse.ArgumentParser):
    def error(self, message):
        """One line, without the usage."""
        self.exit(2, f"{self.prog}: error: {message}\n")


def whole(text):
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got '{text}'")
    return int(text)


def options_of():
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller tasks, fewer layers and steps")
    parser.add_argument("--task", default=",".join(SIZES), type=lambda x: x.split(","), help="all unless given")
    parser.add_argument("--layer", nargs="+", metavar="LAYER", help="a layer and its options: 'LLoPS(m=64, p=4)'")
    parser.add_argument("--steps", type=whole, help="600, with --quick 200")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=whole, default=1, help="the models are small")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("tasks.json"), help="tasks.json unless given")
    parser.add_argument("--plot", type=pathlib.Path, help="an SVG file; the results' name with .svg unless given")
    parser.add_argument("--save", type=pathlib.Path, metavar="FOLDER", help="keep the weights of models here")
    options = parser.parse_args()
    try:
        for name in options.task:
            if name not in SIZES:
                raise ValueError(f"--task: expected some of {', '.join(SIZES)}, got '{name}'")
        options.layers = {name: layer_of(name) for name in options.layer or (QUICK_LAYERS if options.quick else LAYERS)}
        options.found = Results(options.results)
    except ValueError as error:
        parser.error(str(error))
    options.plot = options.plot or options.results.with_suffix(".svg")
    return options


def tasks_of(names, is_quick):
    sizes = QUICK_SIZES if is_quick else SIZES
    files = sorted(ROOT.glob("docs/*.md"))
    data = torch.frombuffer(bytearray(b"".join(one.read_bytes() for one in files)), dtype=torch.uint8)
    make = {**vars(recall_tasks), "bytes": lambda length: recall_tasks.following_bytes(data, length)}
    return {name: make[name](**sizes[name]) for name in names}


def main():
    options = options_of()
    torch.set_num_threads(options.threads)
    sizes = QUICK_SIZES if options.quick else SIZES
    tasks = tasks_of(options.task, options.quick)
    common = {"seed": options.seed, "steps": options.steps or (200 if options.quick else 600), "width": 32, "heads": 2}
    common |= {"rate": 1e-2, "tests": 256} if options.quick else {"rate": 5e-3, "tests": 1024}
    progress, runs = Progress(len(tasks) * len(options.layers)), []
    for task in tasks.values():
        settings = common | {"batch": 32 if options.quick else BATCH[task.name], "sizes": sizes[task.name]}
        for name, layer in options.layers.items():
            found = options.found.find(task.name, name, settings)
            is_new = found is None
            if is_new:
                found = run(name, layer, task, settings, progress, options.save)
                options.found.add(found)
            runs.append(found)
            progress.finish(is_new)
            words = "sees later positions, and so the labels" if found["accuracy"] is None else f"{100 * found['accuracy']:.1f}%"
            print(f"{task.name}, {name}: {words}{'' if is_new else ' (from the results)'}", flush=True)
    print("\n".join(["", *table(runs, tasks, options.layers)]))
    options.plot.write_text(plot(runs, tasks))
    print(f"\n{options.results}, {options.plot}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nstopped: the same command goes on from the results")
