"""The steps of the demo, whose results are there whenever it ends."""

from __future__ import annotations

import argparse
import itertools

import torch

import polyattn.torch.nn as pn

from . import generation, training
from .attention import llops
from .generation import Writer
from .model import Model, Softmax, entropy
from .plot import Panel, means, svg
from .screen import Screen

OURS, THEIRS = "LLoPS", "softmax"
ATTENTIONS = {OURS: lambda width, heads: pn.Attention(llops, width, heads), THEIRS: Softmax}
SECONDS = 1.0  # of measuring at each length


class Course:
    """Trains two models, lets them read, and lets them write."""

    def __init__(self, options: argparse.Namespace, text: bytes, name: str) -> None:
        torch.set_num_threads(options.threads)
        self.options, self.name, self.screen = options, name, Screen()
        data = torch.frombuffer(bytearray(text), dtype=torch.uint8)
        split = len(data) - len(data) // 20
        #: What the models learn from, and what they are judged by.
        self.data, self.unseen = data[:split], data[split:]
        self.runs: dict[str, training.Run] = {}
        self.rates: dict[str, list[tuple[int, float]]] = {one: [] for one in ATTENTIONS}

    def run(self) -> None:
        """Trains both models, then lets both write, and shows each step."""
        self._train()
        with torch.inference_mode():
            self._write(self._read())

    def _train(self) -> None:
        options, say = self.options, self.screen.say
        say(f"text: {self.name}, {len(self.data):,} bytes, {entropy(self.data):.2f} bits per byte by their frequencies alone")
        for name, attention in ATTENTIONS.items():
            torch.manual_seed(options.seed)
            self.runs[name] = training.Run(Model(attention))
        count = sum(one.numel() for one in self.runs[OURS].model.parameters())
        say(f"models: {count:,} parameters, on {options.threads} thread{'s' * (options.threads > 1)}; compiling the kernels of {OURS}")
        for block in self.runs[OURS].model.blocks:
            block.attention.attention.warm()
        generator = torch.Generator().manual_seed(options.seed)
        training.train(self.runs, self.data, options.seconds, generator, self.screen)
        for name, run in self.runs.items():
            bits = training.evaluate(run.model, self.unseen, torch.Generator().manual_seed(options.seed))
            say(f"{name + ':':9}{len(run.losses)} steps in {run.seconds:.1f} s, {bits:.2f} bits per byte of a text that it has not seen")

    def _read(self) -> dict[str, Writer]:
        """The writers after the context, and rates on the way."""
        context, seed = self.options.context, self.options.seed
        text = self.data.repeat(-(-context // len(self.data)))[:context]
        writers = {name: Writer(run.model, seed) for name, run in self.runs.items()}
        self.screen.say("\nbytes per second after a text of")
        for begin, end in itertools.pairwise([0, *generation.stops(context)]):
            for name, writer in writers.items():
                self.screen.now(f"{end:>9,} bytes: {name} reads", is_long=True)
                writer.read(text[begin:end])
            found = generation.rates_of({name: one.fork() for name, one in writers.items()}, SECONDS, self._counter(end))
            for name, rate in found.items():
                self.rates[name].append((end, rate))
            self.screen.say(_line(end, found))
        return writers

    def _write(self, writers: dict[str, Writer]) -> None:
        context, left = self.options.context, self.options.write
        while left:
            count = min(left, generation.WRITE)
            rates = {name: writer.write(count) for name, writer in writers.items()}
            left -= count
            self.screen.now(f"writing, {left} bytes left, bytes per second: {_counted(rates)}")
        for name, writer in writers.items():
            text = writer.written.decode(errors="replace")
            self.screen.say(f"\n{name} after {context:,} bytes continues:\n{text}")

    def _counter(self, length: int) -> generation.Counter:
        return lambda rates: self.screen.now(_line(length, rates))

    def close(self) -> None:
        """The plot of what there is."""
        self.screen.clear()
        losses = {name: means(run.losses) for name, run in self.runs.items()}
        if not any(losses.values()):
            return
        train = Panel("Both learn from the same batches", "steps", "bits per byte", losses,
                      {"frequencies of bytes": entropy(self.data)})  # fmt: skip
        write = Panel("Softmax reads all of the text for each byte", "bytes of text before", "bytes written per second",
                      {name: [(float(x), y) for x, y in found] for name, found in self.rates.items()}, is_logarithmic=True)  # fmt: skip
        self.options.output.write_text(svg(self._finding(), [train, write]))
        self.screen.say(f"\nplot: {self.options.output}")

    def _finding(self) -> str:
        ours, theirs = self.rates[OURS], self.rates[THEIRS]
        if not theirs:
            return "A model over bytes with a LLoPS attention, and one with softmax attention"
        context, rate = theirs[-1]
        times = dict(ours)[context] / rate
        return f"After a text of {context:,} bytes, {OURS} writes {times:.1f} times as many bytes per second as softmax attention"


def _counted(rates: dict[str, float]) -> str:
    return ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items())


def _line(length: int, rates: dict[str, float]) -> str:
    return f"{length:>9,} bytes: {_counted(rates)}"
