"""Texts that grow: reading, writing, and how fast that is."""

from __future__ import annotations

import copy
import statistics
import time
from typing import Callable

import torch

from .model import Model

READ = 1024  # bytes at once
WRITE = 16  # bytes of a round
TEMPERATURE = 0.6


class Writer:
    """A model after some text."""

    def __init__(self, model: Model, seed: int) -> None:
        self.model, self.states = model, model.new_states(1)
        self.generator = torch.Generator().manual_seed(seed)
        self.logits = torch.zeros(256)
        self.written = bytearray()

    def read(self, text: torch.Tensor) -> None:
        """Takes the bytes of a text, [T], into the states, and keeps the logits of the next byte."""
        for part in text.long().split(READ):
            self.logits = self.model(part[None], self.states)[0, -1]

    def write(self, count: int) -> float:
        """Continues the text by `count` bytes. Returns bytes per second."""
        begin = time.perf_counter()
        for _ in range(count):
            shares = (self.logits / TEMPERATURE).softmax(-1)
            byte = torch.multinomial(shares, 1, generator=self.generator)
            self.written.append(int(byte))
            self.logits = self.model(byte[None], self.states)[0, -1]
        return count / (time.perf_counter() - begin)

    def fork(self) -> Writer:
        """Another after the same text."""
        other = copy.copy(self)
        other.states = copy.deepcopy(self.states)
        other.generator = torch.Generator().manual_seed(0)
        other.written = bytearray()
        return other


Counter = Callable[[dict[str, float]], None]


def rates_of(writers: dict[str, Writer], seconds: float, tell: Counter) -> dict[str, float]:
    """Bytes per second of each: the median of rounds in turn."""
    rounds: dict[str, list[float]] = {name: [] for name in writers}
    begin, done = time.monotonic(), 0
    while done < 3 or time.monotonic() - begin < seconds:
        for name, writer in writers.items():
            rounds[name].append(writer.write(WRITE))
        done += 1
        tell({name: statistics.median(found) for name, found in rounds.items()})
    return {name: statistics.median(found) for name, found in rounds.items()}


def stops(context: int) -> list[int]:
    """The lengths at which rates are measured: powers of two, and the context."""
    powers = [1 << i for i in range(8, context.bit_length()) if 1 << i < context]
    return [*powers[-7:], context]
