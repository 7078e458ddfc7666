"""The attention of the demo: LLoPS, a learned low-rank polynomial sketch. This is all that a user writes."""

from __future__ import annotations

import polyattn
from polyattn.builder import Matrix, Sequence, Vector, Weight, attend, by_sum


@polyattn.attention(arguments={name: Sequence[32] for name in "qkv"} | {name: Weight[32, 64] for name in "ab"})
def llops(q: Vector, k: Vector, v: Vector, a: Matrix, b: Matrix) -> Vector:
    def phi(x: Vector) -> Vector:
        return ((x @ a) * (x @ b)) ** 2

    return attend(phi(q), phi(k), v, normalizer=by_sum(eps=1e-6))
