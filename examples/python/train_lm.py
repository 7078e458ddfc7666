#!/usr/bin/env python3
"""A small language model over bytes, with the attention of your choice.

    examples/python/train_lm.py [--attention linear,softmax] [--steps 300] [--save FOLDER] [FILE...]

Reads the documents of this repository, or any files. Prints losses in bits per byte beside what a model without context gets
(the entropy of single bytes), keeps them in FOLDER/losses.json and losses.svg beside each model's weights, and ends with a sample. All models
have the same sizes and see the same batches. An attention whose gradients are not compiled yet says so, with the line of its spec. Samples are
made byte by byte from the attentions' states, at a cost that does not depend on how long they are; softmax keeps all keys and
values instead. The model is the one of `python -m polyattn.demo` (polyattn/demo/model.py).
"""

import argparse
import json
import pathlib
import sys
import time

import torch

import polyattn
import polyattn.torch.nn as pn
from polyattn.demo.generation import Writer
from polyattn.demo.model import Model, Softmax, bits_per_byte, draw, entropy
from polyattn.demo.plot import Panel, means, svg
from polyattn.demo.training import descend

ROOT = pathlib.Path(__file__).resolve().parents[2]


ATTENTIONS = {
    "linear": pn.Linear,
    "power": pn.Power,
    "retnet": pn.RetNet,
    "llops": lambda width, heads: pn.LLoPS(width, heads, m=64, squared=True),
    "based": lambda width, heads: pn.Based(width, heads, r=8),
    "polysketch": lambda width, heads: pn.PolySketch(width, heads, r=16),
    "hedgehog": pn.Hedgehog,
    "softmax": Softmax,
}


def train(name, data, options):
    torch.manual_seed(options.seed)
    model = Model(ATTENTIONS[name])
    generator = torch.Generator().manual_seed(options.seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=options.steps)
    losses, begin = [], time.perf_counter()
    for step in range(options.steps):
        losses.append(descend(model, optimizer, bits_per_byte(model, draw(data, options.length, generator))))
        schedule.step()
        if sys.stderr.isatty():
            print(f"\r{name}: {step + 1}/{options.steps}, {losses[-1]:.2f} bits per byte", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return model, losses, time.perf_counter() - begin


@torch.no_grad()
def sample(model, start, count):
    """Text that continues `start`, and the microseconds per byte of its halves."""
    writer = Writer(model, seed=0)
    writer.read(torch.tensor(list(start.encode())))
    times = [1e6 / writer.write(part) for part in (count // 2, count - count // 2)]
    return start + writer.written.decode(errors="replace"), times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--attention", default="linear,power,softmax", type=lambda x: x.split(","))
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sample", type=int, default=400, metavar="BYTES")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--save", type=pathlib.Path)
    options = parser.parse_args()
    for name in options.attention:
        if name not in ATTENTIONS:
            parser.error(f"--attention: expected some of {', '.join(ATTENTIONS)}, got '{name}'")
    torch.set_num_threads(options.threads)
    files = options.files or sorted(ROOT.glob("docs/*.md"))
    data = torch.frombuffer(bytearray(b"".join(one.read_bytes() for one in files)), dtype=torch.uint8)
    plain = entropy(data)
    print(f"{len(data)} bytes; single bytes: {plain:.2f} bits per byte")
    curves = {}
    for name in options.attention:
        try:
            model, curves[name], seconds = train(name, data, options)
        except polyattn.SpecError as error:
            print(f"{name}: {str(error).splitlines()[0]}")
            continue
        last = curves[name][-max(1, options.steps // 10) :]
        print(f"{name}: {sum(last) / len(last):.2f} bits per byte after {options.steps} steps, {seconds:.0f} s", flush=True)
        if options.save:
            options.save.mkdir(parents=True, exist_ok=True)
            torch.save(model.state_dict(), options.save / f"{name}.pt")
            (options.save / "losses.json").write_text(json.dumps(curves))
            panel = Panel("", "steps", "bits per byte", {one: means(x) for one, x in curves.items()}, {"single bytes": plain})
            (options.save / "losses.svg").write_text(svg("Losses of models over bytes", [panel]))
        text, halves = sample(model, "The ", options.sample)
        print(text)
        print(f"{name}: us per byte of the sample's halves: {', '.join(f'{one:.0f}' for one in halves)}")


if __name__ == "__main__":
    main()
