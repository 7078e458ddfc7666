#!/usr/bin/env python3
"""A small language model over bytes, with the attention of your choice.

    examples/python/train_lm.py [--attention linear,softmax] [--steps 300] [--save FOLDER] [FILE...]

Reads the documents of this repository, or any files. Prints losses in bits per byte beside what a model without context gets
(the entropy of single bytes), keeps them in FOLDER/losses.json and losses.svg beside each model's weights, and ends with a sample. All models
have the same sizes and see the same batches. An attention whose gradients are not compiled yet says so, with the line of its spec. Samples are
made byte by byte from the attentions' states, at a cost that does not depend on how long they are.
"""

import argparse
import json
import pathlib
import sys
import time
import types

import torch
from torch import nn
from torch.nn import functional as F

import polyattn
import polyattn.torch.nn as pn

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Softmax(nn.Module):
    """PyTorch's own attention, between the same projections."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.o_proj = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).movedim(-3, 0).transpose(2, 3)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(o.transpose(1, 2).flatten(-2))


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


class Block(nn.Module):
    def __init__(self, attention, width, heads):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        # Bytes just before this one, which attentions without positions do not know.
        self.recent = nn.Conv1d(width, width, 4, groups=width)
        self.attention = attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, state=None):
        """With a state, x is what comes next in a sequence: what a block keeps of it is of one size."""
        h = self.norms[0](x)
        before = state.before if state else h.new_zeros(h.shape[0], 3, h.shape[2])
        h = torch.cat([before, h], dim=1)
        if state:
            state.before = h[:, -3:]
        h = self.recent(h.mT).mT
        x = x + (self.attention.step(h, state.states) if state else self.attention(h))
        return x + self.mlp(self.norms[1](x))

    def new_state(self, batch):
        before = torch.zeros(batch, 3, self.recent.in_channels)
        return types.SimpleNamespace(before=before, states=self.attention.new_states(batch))


class Model(nn.Module):
    def __init__(self, attention, width=128, heads=4, depth=2):
        super().__init__()
        self.bytes = nn.Embedding(256, width)
        self.blocks = nn.ModuleList([Block(attention, width, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)

    def forward(self, text, states=None):
        x = self.bytes(text)
        for block, state in zip(self.blocks, states or [None] * len(self.blocks)):
            x = block(x, state)
        return self.norm(x) @ self.bytes.weight.T * self.bytes.weight.shape[1] ** -0.5


def batch(data, length, generator):
    starts = torch.randint(len(data) - length - 1, (8,), generator=generator).tolist()
    rows = torch.stack([data[start : start + length + 1] for start in starts]).long()
    return rows[:, :-1], rows[:, 1:]


def train(name, data, options):
    torch.manual_seed(options.seed)
    model = Model(ATTENTIONS[name])
    generator = torch.Generator().manual_seed(options.seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=options.steps)
    losses, begin = [], time.perf_counter()
    for step in range(options.steps):
        text, following = batch(data, options.length, generator)
        loss = F.cross_entropy(model(text).flatten(0, 1), following.flatten()) / torch.tensor(2.0).log()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if sys.stderr.isatty():
            print(f"\r{name}: {step + 1}/{options.steps}, {loss.item():.2f} bits per byte", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return model, losses, time.perf_counter() - begin


@torch.no_grad()
def sample(model, start, count, length):
    """Text that goes on from `start`, and the seconds of each half of its bytes.

    With states a byte takes the same time wherever it is. Softmax, which has none, reads the last `length` bytes for each.
    """
    has_states = all(hasattr(block.attention, "new_states") for block in model.blocks)
    states = [block.new_state(1) for block in model.blocks] if has_states else None
    text = list(start.encode())
    ends = [time.perf_counter()]
    for i in range(count):
        new = text if i == 0 else text[-1:]
        logits = model(torch.tensor([new if has_states else text[-length:]]), states)[0, -1]
        text.append(int(torch.multinomial((logits / 0.7).softmax(-1), 1)))
        if i + 1 in (count // 2, count):
            ends.append(time.perf_counter())
    return bytes(text).decode(errors="replace"), [b - a for a, b in zip(ends, ends[1:])]


COLORS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#e07b00", "#00808b")


def plot(curves, plain):
    """An SVG of losses over steps, each the mean of some, between none and what single bytes have."""
    width, height, left, top = 640, 360, 50, 20
    means = {}
    for name, losses in curves.items():
        size = max(1, len(losses) // 40)
        means[name] = [sum(part) / len(part) for part in (losses[j : j + size] for j in range(0, len(losses), size))]
    most = 1.05 * min(8.0, max(plain, *(max(one) for one in means.values())))  # 8: every byte as likely

    def at(share, bits):
        return f"{left + share * width:.1f},{top + height * (1 - min(bits / most, 1)):.1f}"

    def line(points, style):
        return f'<polyline points="{" ".join(points)}" fill="none" {style}/>'

    def text(place, words, style=""):
        x, y = place.split(",")
        return f'<text x="{x}" y="{y}" {style}>{words}</text>'

    gray = 'stroke="#999999" stroke-dasharray="4"'
    parts = [line([at(0, most), at(0, 0), at(1, 0)], 'stroke="black"'), line([at(0, plain), at(1, plain)], gray)]
    parts += [text(at(0.5, 1.02 * plain), "single bytes"), text(at(0.45, -0.09 * most), "steps")]
    parts += [text(at(-0.04, bits), bits) for bits in range(int(most) + 1)]
    steps = max(map(len, curves.values()))
    parts += [text(at(0.96, -0.05 * most), steps), text(at(0.2, 0.96 * most), "bits per byte")]
    for i, (name, one) in enumerate(means.items()):
        color = COLORS[i % len(COLORS)]
        share = len(curves[name]) / steps / len(one)
        points = [at((j + 0.5) * share, x) for j, x in enumerate(one)]
        parts.append(line(points, f'stroke="{color}" stroke-width="2"'))
        parts.append(text(at(0.84, most * (0.95 - 0.05 * i)), name, f'fill="{color}"'))
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 80}" height="{height + 70}" font-family="sans-serif" '
        f'font-size="13">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


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
    shares = torch.bincount(data, minlength=256) / len(data)
    plain = (torch.special.entr(shares).sum() / torch.tensor(2.0).log()).item()
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
            (options.save / "losses.svg").write_text(plot(curves, plain))
        text, halves = sample(model, "The ", options.sample, options.length)
        print(text)
        each = ", ".join(f"{2e6 * seconds / options.sample:.0f}" for seconds in halves)
        print(f"{name}: us per byte of the sample's halves: {each}")


if __name__ == "__main__":
    main()
