"""Models that train on the same batches until a time is over."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import torch

from .model import Model, bits_per_byte, draw
from .screen import Screen, bar

LENGTH, COUNT = 128, 4  # bytes of a text, texts of a batch: many small steps learn more in a minute than few large ones
RATE = 3e-3


def descend(model: torch.nn.Module, optimizer: torch.optim.Optimizer, loss: torch.Tensor) -> float:
    """One step of the optimizer, with gradients of a norm of at most 1. Gives the loss."""
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return float(loss.detach())


@dataclass
class Run:
    """A model, its optimizer, and its losses in bits per byte with the seconds of each step."""

    model: Model
    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=RATE)

    def step(self, text: torch.Tensor, rate: float) -> None:
        """One step of training on a batch of bytes, [B, T], at this learning rate; keeps its loss and its time."""
        begin = time.perf_counter()
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.losses.append(descend(self.model, self.optimizer, bits_per_byte(self.model, text)))
        self.seconds += time.perf_counter() - begin

    def mean(self) -> float:
        """Of the last losses."""
        last = self.losses[-max(1, len(self.losses) // 20) :]
        return sum(last) / len(last)


def rate_at(share: float) -> float:
    """Up in the first twentieth of the time, then down along a cosine."""
    return RATE * min(1.0, 0.05 + 20 * share) * (0.55 + 0.45 * math.cos(math.pi * min(share, 1.0)))


def train(runs: dict[str, Run], data: torch.Tensor, seconds: float, generator: torch.Generator, screen: Screen) -> None:
    """Steps of all runs in turn. Each has as many when the time is over."""
    begin = time.monotonic()
    passed = 0.0
    while passed < seconds or not all(run.losses for run in runs.values()):
        text = draw(data, LENGTH, generator, COUNT)
        for run in runs.values():
            run.step(text, rate_at(passed / seconds))
        passed = time.monotonic() - begin
        losses = ", ".join(f"{name} {run.mean():.2f}" for name, run in runs.items())
        screen.now(f"training {bar(passed / seconds)} {min(passed, seconds):.0f} of {seconds:g} s, bits per byte: {losses}", is_long=True)


@torch.no_grad()
def evaluate(model: Model, data: torch.Tensor, generator: torch.Generator) -> float:
    """Bits per byte of a text that the model has not seen."""
    return sum(float(bits_per_byte(model, draw(data, LENGTH, generator))) for _ in range(8)) / 8
