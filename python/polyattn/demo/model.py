"""A language model over bytes with any attention, and the softmax attention that it is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

import torch
from torch import nn
from torch.nn import functional as F


@dataclass
class Cache:
    """Keys and values of all positions so far, [B, heads, capacity, size], of which `length` are filled."""

    keys: torch.Tensor
    values: torch.Tensor
    length: int = 0

    def append(self, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """All keys and values. Memory doubles when it is full, so that a token copies none on average."""
        end = self.length + k.shape[2]
        if end > self.keys.shape[2]:
            self.keys, self.values = (
                torch.cat([old[:, :, : self.length], new.new_empty(*new.shape[:2], 2 * end - self.length, new.shape[3])], 2)
                for old, new in ((self.keys, k), (self.values, v))
            )
        self.keys[:, :, self.length : end], self.values[:, :, self.length : end] = k, v
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]


class Softmax(nn.Module):
    """PyTorch's own attention between projections. It continues sequences as layers of polyattn.torch.nn do, from a `Cache`."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.o_proj = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)

    def project(self, x: torch.Tensor) -> Any:
        """Queries, keys and values, [B, heads, T, size]."""
        return self.qkv(x).unflatten(-1, (3, self.heads, -1)).movedim(-3, 0).transpose(2, 3)

    def combine(self, o: torch.Tensor) -> torch.Tensor:
        """The result [B, T, width] from the attention's, [B, heads, T, size]."""
        y: torch.Tensor = self.o_proj(o.transpose(1, 2).flatten(-2))
        return y

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Causal softmax attention over x, [B, T, width]; the result has the same shape."""
        q, k, v = self.project(x)
        return self.combine(F.scaled_dot_product_attention(q, k, v, is_causal=True))

    def new_states(self, batch: int) -> Cache:
        """An empty cache of keys and values for `batch` sequences."""
        weight = self.qkv.weight
        empty = weight.new_empty(batch, self.heads, 0, weight.shape[1] // self.heads)
        return Cache(empty, empty.clone())

    def step(self, x: torch.Tensor, cache: Cache) -> torch.Tensor:
        """The next positions, after those of the cache."""
        q, k, v = self.project(x)
        before = cache.length
        k, v = cache.append(k, v)
        mask = None if x.shape[1] == 1 else torch.ones(x.shape[1], cache.length, dtype=torch.bool).tril(before)
        return self.combine(F.scaled_dot_product_attention(q, k, v, mask))


@dataclass
class BlockState:
    """The inputs of the last three positions, and the states of the attention."""

    before: torch.Tensor
    states: Any


class Block(nn.Module):
    """An attention and two layers of neurons, each after a norm."""

    def __init__(self, attention: Callable[[int, int], nn.Module], width: int, heads: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        # Bytes just before this one, which attentions without positions do not know.
        self.recent = nn.Conv1d(width, width, 4, groups=width)
        self.attention: Any = attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor, state: BlockState | None = None) -> torch.Tensor:
        """With a state, x continues its sequence."""
        h = self.norms[0](x)
        before = state.before if state else h.new_zeros(h.shape[0], 3, h.shape[2])
        h = torch.cat([before, h], dim=1)
        if state:
            state.before = h[:, -3:]
        h = self.recent(h.mT).mT
        x = x + (self.attention.step(h, state.states) if state else self.attention(h))
        y: torch.Tensor = x + self.mlp(self.norms[1](x))
        return y

    def new_state(self, batch: int) -> BlockState:
        """The state of this block before the first byte of `batch` sequences."""
        return BlockState(torch.zeros(batch, 3, self.recent.in_channels), self.attention.new_states(batch))


class Model(nn.Module):
    """Bytes [B, T] to the logits of the bytes after them, [B, T, 256]."""

    def __init__(self, attention: Callable[[int, int], nn.Module], width: int = 128, heads: int = 4, depth: int = 2) -> None:
        super().__init__()
        self.bytes = nn.Embedding(256, width)
        self.blocks = nn.ModuleList([Block(attention, width, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)

    def forward(self, text: torch.Tensor, states: list[BlockState] | None = None) -> torch.Tensor:
        """With states, the text continues their sequences."""
        x = self.bytes(text)
        for i, block in enumerate(self.blocks):
            x = block(x, states[i] if states else None)
        logits: torch.Tensor = self.norm(x) @ self.bytes.weight.T * self.bytes.weight.shape[1] ** -0.5
        return logits

    def new_states(self, batch: int) -> list[BlockState]:
        """A state per block, before the first byte of `batch` sequences."""
        return [block.new_state(batch) for block in self.blocks]


def bits_per_byte(model: Model, text: torch.Tensor) -> torch.Tensor:
    """The mean over texts [B, T + 1], whose last byte is only predicted."""
    losses = F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
    return losses / torch.tensor(2.0).log()


def entropy(data: torch.Tensor) -> float:
    """Bits per byte of a model that knows how often each byte is there, and nothing else."""
    shares = torch.bincount(data, minlength=256) / len(data)
    return float(torch.special.entr(shares).sum() / torch.tensor(2.0).log())


def draw(data: torch.Tensor, length: int, generator: torch.Generator, count: int = 8) -> torch.Tensor:
    """`count` pieces of a text, [count, length + 1]."""
    starts = torch.randint(len(data) - length, (count,), generator=generator).tolist()
    return torch.stack([data[start : start + length + 1] for start in starts]).long()
