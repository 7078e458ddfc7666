"""Small tasks that ask what a sequence has said before: batches of inputs [n, T], and of labels, which are -100 where nothing is asked."""

import dataclasses
from typing import Callable

import torch

NOTHING = -100


@dataclasses.dataclass(frozen=True)
class Task:
    """`draw(n, generator, held_out)` gives inputs and labels. `chance` is the accuracy of a guess, None where no guess is uniform.
    A task whose inputs contain later labels is only for attentions that do not see later positions."""

    name: str
    vocabulary: int
    length: int
    chance: float | None
    has_later_labels: bool
    draw: Callable[[int, torch.Generator, bool], tuple[torch.Tensor, torch.Tensor]]


def _choices(n, size, count, generator):
    """`count` different numbers below `size`, for each of n rows in random order."""
    return torch.rand(n, size, generator=generator).argsort(1)[:, :count]


def recall(pairs, keys, values):
    """Associative recall (Arora et al. 2024): pairs of a key and a value, then all keys in another order. Their values are asked."""

    def draw(n, generator, held_out):
        key = _choices(n, keys, pairs, generator)
        value = keys + torch.randint(values, (n, pairs), generator=generator)
        context = torch.stack([key, value], -1).flatten(1)
        order = _choices(n, pairs, pairs, generator)
        labels = torch.full_like(context, NOTHING)
        return torch.cat([context, key.gather(1, order)], 1), torch.cat([labels, value.gather(1, order)], 1)

    return Task("recall", keys + values, 3 * pairs, 1 / values, False, draw)


def copying(tokens, kinds, noise):
    """Selective copying (Gu and Dao 2023): tokens at random places between blanks. At the end they are asked in their order."""

    def draw(n, generator, held_out):
        value = 2 + torch.randint(kinds, (n, tokens), generator=generator)
        place = _choices(n, noise + tokens, tokens, generator).sort(1)[0]
        context = torch.zeros(n, noise + tokens, dtype=torch.long).scatter_(1, place, value)
        labels = torch.full_like(context, NOTHING)
        return torch.cat([context, torch.ones_like(value)], 1), torch.cat([labels, value], 1)

    return Task("copying", kinds + 2, noise + 2 * tokens, 1 / kinds, False, draw)


def induction(length, kinds):
    """Induction heads, as PolySketchFormer's appendix F has them: a special token comes once, and again at the end. The token that
    followed it is asked."""

    def draw(n, generator, held_out):
        text = torch.randint(kinds, (n, length), generator=generator)
        place = torch.randint(length - 3, (n, 1), generator=generator)
        text.scatter_(1, place, kinds)
        labels = torch.full_like(text, NOTHING)
        labels[:, -1:] = text.gather(1, place + 1)
        text[:, -1] = kinds
        return text, labels

    return Task("induction", kinds + 1, length, 1 / kinds, False, draw)


def following_bytes(data, length):
    """The next byte of a text, whose last tenth is held out."""
    split = len(data) * 9 // 10
    parts = data[:split], data[split:]

    def draw(n, generator, held_out):
        part = parts[held_out]
        starts = torch.randint(len(part) - length - 1, (n,), generator=generator).tolist()
        rows = torch.stack([part[start : start + length + 1] for start in starts]).long()
        return rows[:, :-1], rows[:, 1:]

    return Task("bytes", 256, length, None, True, draw)
