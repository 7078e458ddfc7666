#!/usr/bin/env python3
"""A small language model over bytes, with the attention of your choice.

    examples/python/train_lm.py [--attention linear,softmax] [--steps 300] [--save FOLDER] [FILE...]

Reads the documents of this repository, or any files. Prints losses in bits per byte beside what a model without context gets
(the entropy of single bytes), keeps them in FOLDER/losses.json with each model's weights, and ends with a sample. All models have
the same sizes and see the same batches. An attention whose gradients are not compiled yet says so, with the line of its spec.
"""

import argparse
import json
import pathlib
import sys
import time

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

    def forward(self, x):
        h = self.norms[0](x)
        h = self.recent(F.pad(h.mT, (3, 0))).mT
        x = x + self.attention(h)
        return x + self.mlp(self.norms[1](x))


class Model(nn.Module):
    def __init__(self, attention, width=128, heads=4, depth=2):
        super().__init__()
        self.bytes = nn.Embedding(256, width)
        self.blocks = nn.Sequential(*(Block(attention, width, heads) for _ in range(depth)), nn.LayerNorm(width))

    def forward(self, text):
        return self.blocks(self.bytes(text)) @ self.bytes.weight.T * self.bytes.weight.shape[1] ** -0.5


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
    text = list(start.encode())
    for _ in range(count):
        logits = model(torch.tensor([text[-length:]]))[0, -1]
        text.append(int(torch.multinomial((logits / 0.7).softmax(-1), 1)))
    return bytes(text).decode(errors="replace")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--attention", default="linear,power,softmax", type=lambda x: x.split(","))
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
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
    print(f"{len(data)} bytes; single bytes: {torch.special.entr(shares).sum() / torch.tensor(2.0).log():.2f} bits per byte")
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
        print(sample(model, "The ", 120, options.length))


if __name__ == "__main__":
    main()
