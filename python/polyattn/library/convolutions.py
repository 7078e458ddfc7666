"""Long convolutions along positions, with filters that are arguments: Hyena, H3 and Toeplitz neural networks.

Sequences are [B, T, H, d]. Row n of a filter is what a vector is multiplied by, element by element, n positions later. Time grows as
T log T, with gradients of all arguments. These attentions take all positions of a call at once: they do not decode, have no states, and
refuse packed sequences.
"""

from __future__ import annotations

from typing import Any

from .. import builder as b
from .._whole import whole_number
from ..builder import Argument, Spec
from ._common import build, from_file


def _filter(lags: int, d: int | None, per_head: bool) -> Argument:
    """[H, lags, d], without H for all heads alike, and without d for all channels alike."""
    shape = (lags,) if d is None else (lags, d)
    found: Argument = b.HeadWeight[shape] if per_head else b.Weight[shape]
    return found


def _numbered(stem: str, count: int) -> list[str]:
    """One name has no number: `h`, or else `h1`, `h2`."""
    return [stem] if count == 1 else [f"{stem}{i + 1}" for i in range(count)]


def hyena(
    d: int = 64, *, lags: int = 4096, order: int = 2, per_head: bool = True, dtype: str = "f32", name: str = "hyena"
) -> Spec:
    """The operator of Hyena (Poli et al. 2023, definition 3.1), after its projections and short convolutions.

    Of order 2 it is q * (h conv (k * v)), and of order 3 q * (h2 conv (r * (h1 conv (k * v)))). As in the authors' code, the innermost
    convolution of the definition is the short one of the projections, so there are order - 1 filters.

    Arguments: q, gates r (r1, r2, ... of order 4 and more, where r1 is the innermost), k and v [B, T, H, d], then filters h (h1, h2, ...
    from order 3 on) [H, lags, d].

    d: channels of a head.
    lags: positions that a filter reaches, this one included; larger distances count as 0.
    order: gates and projections of the paper, order + 1 sequences; at least 2.
    per_head: filters of each head; else [lags, d] for all heads.
    """
    count = whole_number("order", order, 2)
    gates, filters = _numbered("r", count - 2), _numbered("h", count - 1)

    def body(**given: Any) -> Any:
        row = given["k"] * given["v"]
        for gate, h in zip([*gates, "q"], filters):
            row = given[gate] * b.convolve(row, given[h])
        return row

    arguments: dict[str, Argument] = {one: b.Sequence[d] for one in ["q", *gates, "k", "v"]}
    return build(name, dtype, arguments | {h: _filter(lags, d, per_head) for h in filters}, body)


def h3(d: int = 32, *, shift: int = 4, lags: int = 512, dtype: str = "f32", name: str = "h3") -> Spec:
    """H3 (Fu et al. 2023, section 3.1), of heads of one channel: q * (h conv (v * (s conv k))).

    Arguments: q, k and v [B, T, H, d], the filter of the shift s [H, shift, d], and h [H, lags, d] of the diagonal state space: row n is
    C A^n B of each channel.

    d: channels of a head, which do not mix.
    shift, lags: positions that the filters reach; larger distances count as 0.
    """
    return from_file("long-convolution", "h3", {"d": d, "shift": shift, "lags": lags}, dtype, name)


def toeplitz_network(
    d: int = 48, *, lags: int = 512, per_head: bool = False, dtype: str = "f32", name: str = "toeplitz_network"
) -> Spec:
    """The token mixing of Toeplitz neural networks (Qin et al. 2023, equation 7) over all positions.

    Arguments: v [B, T, H, d], then the filters `before` and `after` [lags, d]: row n of `before` multiplies the vector n positions
    earlier, and row n of `after` the one n positions later. Both have a row for the position itself; they add up.

    `toeplitz` is the causal form with one number for each lag and head.

    d: channels of a head.
    lags: positions that each filter reaches; larger distances count as 0.
    per_head: filters of each head, [H, lags, d].
    """

    def body(v: Any, before: Any, after: Any) -> Any:
        return b.convolve(v, before) + b.convolve(v, after, reversed=True)

    filters = {one: _filter(lags, d, per_head) for one in ("before", "after")}
    return build(name, dtype, {"v": b.Sequence[d]} | filters, body)


def long_convolution(
    d: int = 64, *, lags: int = 4096, per_channel: bool = True, per_head: bool = True, reversed: bool = False, circular: bool = False,
    dtype: str = "f32", name: str = "long_convolution",
) -> Spec:  # fmt: skip
    """One convolution: y_i = sum over j <= i of h(i - j) v_j, element by element, as S4 and its successors have for the whole sequence.

    Arguments: v [B, T, H, d] and the filter h [H, lags, d].

    d: channels of a head.
    lags: positions that the filter reaches; larger distances count as 0.
    per_channel: else one number of each lag for all channels, [H, lags].
    per_head: else one filter for all heads, without H.
    reversed: the sum is over j >= i, of h(j - i) v_j.
    circular: the sum is over all j, and the lag is the remainder of i - j, or of j - i if reversed, by T.
    """

    def body(v: Any, h: Any) -> Any:
        return b.convolve(v, h, reversed=reversed, circular=circular)

    h = _filter(lags, d if per_channel else None, per_head)
    return build(name, dtype, {"v": b.Sequence[d], "h": h}, body)
