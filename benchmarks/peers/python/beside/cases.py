"""What is compared: systems of polyattn.library, their sizes and inputs. Knows no framework, so that every child can read it."""

from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np

HEADS = 4
DECODE_BATCH = 16  # 64 states with four heads
# Lengths for which there are aims.
AIM_LENGTHS = (2048, 32768)
DECODE_AIM = 4.0  # over eager PyTorch
# Chunks that are tried, and up to where all scores at once are: those of four heads are a gigabyte at T = 8192, and gradients
# keep several of that size.
CHUNKS = (64, 128, 256)
LONGEST_DIRECT = {"forward": 8192, "both": 4096}
DIRECTIONS = ("forward", "both", "decode")


@dataclass(frozen=True)
class System:
    """`spec` of polyattn.library; `eps` beside the sum that divides, None: nothing divides; `aim` over the best peer."""

    spec: Callable[[Any], Any]
    d: int = 64
    weights: dict[str, tuple[int, ...]] = field(default_factory=dict)
    eps: float | None = None
    aim: float | None = None


def llops(d, m, aim):
    weights = {f"theta_{side}{i}": (d, m) for side in "qk" for i in (1, 2)}
    return System(lambda library: library.llops(d=d, m=m, p=2), d, weights, aim=aim)


SYSTEMS = {
    "linear": System(lambda library: library.linear(d=64), eps=1e-6, aim=3.0),
    "based": System(
        lambda library: library.based(d=64, r=16, per_head=False), weights={f"w_{side}": (64, 16) for side in "qk"}, eps=1e-12, aim=3.0,
    ),
    "polysketch": System(
        lambda library: library.polysketch(d=64, r=32, p=4),
        weights={"gamma": (64,), "beta": (64,), "g1": (64, 32), "g2": (64, 32)}, eps=1.0, aim=2.5,
    ),
    "power": System(lambda library: library.power(d=64, p=2), eps=1e-6, aim=2.2),
    "hedgehog": System(
        lambda library: library.hedgehog(d=64), weights={f"w_{side}": (HEADS, 64, 64) for side in "qk"}, eps=1e-6, aim=2.2,
    ),
    "llops64": llops(64, 64, 1.9),
    "llops128": llops(128, 256, 1.45),
    "performer": System(lambda library: library.performer(d=64, m=256), weights={"w": (64, 256)}, eps=1e-6),
}  # fmt: skip


def draw_weight(rng, name, shape):
    numbers = rng.standard_normal(shape, dtype=np.float32)
    if name == "gamma":
        return 1 + numbers / 10
    if name == "beta":
        return numbers / 10
    return numbers * np.float32(shape[-2] ** -0.5)


def draw(name, batch, length, seed=0):
    """q, k, v [B, T, H, d], then the weights: the same numbers in every child."""
    system, rng = SYSTEMS[name], np.random.default_rng(seed)
    sequences = [rng.standard_normal((batch, length, HEADS, system.d), dtype=np.float32) / 2 for _ in range(3)]
    rng = np.random.default_rng(seed + 1)  # weights do not depend on the length
    return sequences + [draw_weight(rng, one, shape) for one, shape in system.weights.items()]


def draw_factors(name, batch, length):
    """What the output is multiplied by before it is summed up, where gradients are wanted."""
    return np.random.default_rng(2).standard_normal((batch, length, HEADS, SYSTEMS[name].d), dtype=np.float32)


def draw_tokens(name):
    """Two tokens of each sequence, with the weights: the first begins the states, the second goes on."""
    first, second = draw(name, DECODE_BATCH, 1), draw(name, DECODE_BATCH, 1, seed=7)
    return first, second[:3] + first[3:]


def named(name, weights):
    return dict(zip(SYSTEMS[name].weights, weights))
