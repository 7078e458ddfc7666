"""Attentions with positions: RetNet, xPos, Lightning attention, and scores by distance."""

from __future__ import annotations

from typing import Any, Callable, Literal

from .. import builder as b
from .._errors import CallError
from .._literals import Beyond
from .._whole import whole_number
from ..builder import Spec
from ._common import build, from_file, one_of, sequences


def retnet(
    d: int = 64, dv: int | None = None, *, decay_factors: list[float] | None = None,
    first_position: bool = False, dtype: str = "f32", name: str = "retnet",
) -> Spec:  # fmt: skip
    """RetNet (Sun et al. 2023). Decays are an argument, log g per head, or `decay_factors`, one number per head.

    first_position: an argument of that name says where in its sequence a call begins.
    """

    def body(
        q: Any, k: Any, v: Any, freqs: Any, log_decay: Any = None, first_position: Any = None
    ) -> Any:
        query = b.rope(q, freqs, layout="interleaved")
        key = b.rope(k * d**-0.5, freqs, layout="interleaved")
        return b.attend(
            query, key, v, normalizer=b.none(), decay=log_decay, decay_factors=decay_factors,
            gate_heads="kv",
        )  # fmt: skip

    arguments = sequences(d, dv) | {"freqs": b.Weight[d // 2]}
    if decay_factors is None:
        arguments["log_decay"] = b.HeadDecay
    if first_position:
        arguments["first_position"] = b.FirstPosition
    return build(name, dtype, arguments, body)


def xpos(
    d: int = 64, dv: int | None = None, *, sizes: Literal["table", "token"] = "table", states: bool = False,
    first_position: bool = False, dtype: str = "f32", name: str = "xpos",
) -> Spec:  # fmt: skip
    """xPos (Sun et al. 2022): rotated, and scaled by vectors, for each side one: zeta^t for queries and zeta^-t for keys at t.

    sizes: "table", a vector for each position of the call, [T, 1, d]; "token", for each token and head, [B, T, H, d]. Only
    differences of t count, so t may be counted from any position. 36,000 positions from there zeta^-t leaves f32: a longer
    sequence is computed in segments with states, which are multiplied by zeta^n when t is counted from n positions later. That is
    what `polyattn.torch.nn.XPos` does.
    first_position: as in retnet.
    """
    one_of("sizes", sizes, ("table", "token"))

    def body(
        q: Any, k: Any, v: Any, freqs: Any, size_q: Any, size_k: Any, state: Any = None, first_position: Any = None
    ) -> Any:
        def phi(x: Any, size: Any) -> Any:
            return b.hadamard(b.rope(x, freqs, layout="half"), size)

        return b.attend(
            phi(q, size_q), phi(k, size_k), v, normalizer=b.none(), initial=state, final_state=states
        )

    size = b.Table[d] if sizes == "table" else b.Sequence[d]
    more = {"freqs": b.Weight[d // 2], "size_q": size, "size_k": size}
    if states:
        more["state"] = b.State[d, dv or d]
    if first_position:
        more["first_position"] = b.FirstPosition
    return build(name, dtype, sequences(d, dv) | more, body)


def lightning(
    d: int = 64, dv: int | None = None, *, rotary: int | None = None,
    first_position: bool = False, dtype: str = "f32", name: str = "lightning",
) -> Spec:  # fmt: skip
    """Lightning attention: a root-mean-square norm with a gain, silu, rotary positions on some channels.

    first_position: as in retnet.
    """
    dims = d // 2 if rotary is None else rotary

    def body(
        q: Any, k: Any, v: Any, gain: Any, freqs: Any, log_decay: Any, first_position: Any = None
    ) -> Any:
        def phi(x: Any) -> Any:
            inverse = (b.squared_norm(x) * (1.0 / d) + 1e-6) ** -0.5
            unit = b.hadamard(x, inverse)
            return b.rope(b.silu(unit * gain), freqs, layout="half", dims=dims)

        return b.attend(
            phi(q), phi(k), v, normalizer=b.none(), decay=log_decay, gate_heads="kv"
        )

    more = {"gain": b.Weight[d], "freqs": b.Weight[dims // 2], "log_decay": b.HeadDecay}
    if first_position:
        more["first_position"] = b.FirstPosition
    return build(name, dtype, sequences(d, dv) | more, body)


def relative(
    d: int = 64, dv: int | None = None, m: int = 256, *, feature_map: Literal["favor", "elu", "squares"] = "favor",
    distances: int = 128, mask: Literal["causal", "full"] = "causal", two_sided: bool | None = None,
    beyond: Beyond = "last", log: bool = True, per_head: bool = True, eps: float = 1e-6,
    dtype: str = "f32", name: str = "relative",
) -> Spec:  # fmt: skip
    """Kernelized attention with relative positions (Luo et al. 2021): scores of a feature map times a number of the distance.

    feature_map: favor, m positive random features of vectors of unit length (w holds their directions); elu, elu + 1; squares, squares
        of scores.
    distances: how many the table has, from 0 on; two-sided it has as many on either side, 2 distances - 1 numbers.
    two_sided: another number for a key behind the query than for one before it; where it is None as the mask is full.
    beyond: what larger distances count as: the last number, or zero; with error longer sequences are refused.
    log: the table b has the logarithms of these numbers, else the table c has the numbers, and rows whose scores are negative are not
        refused.
    per_head: a table for each head.
    """
    one_of("feature_map", feature_map, ("favor", "elu", "squares"))
    one_of("mask", mask, ("causal", "full"))
    sides = mask == "full" if two_sided is None else bool(two_sided)
    if sides and mask != "full":
        raise CallError("two_sided: expected mask='full', where queries see keys on both sides")
    count = 2 * whole_number("distances", distances) - 1 if sides else whole_number("distances", distances)
    table = "b" if log else "c"

    def favor(x: Any, w: Any) -> Any:
        h = b.l2_norm(x, eps=1e-6)
        return b.exp(b.add(h @ w, b.squared_norm(h) * -0.5)) * m**-0.5

    maps: dict[str, Callable[..., Any]] = {
        "favor": favor, "elu": lambda x: b.elu_plus_one(x), "squares": lambda x: b.sym(x, 2),
    }  # fmt: skip

    def body(q: Any, k: Any, v: Any, **others: Any) -> Any:
        score = b.relative(others[table], beyond=beyond, log=log, two_sided=sides)
        weights = [others["w"]] if "w" in others else []
        query, key = (b.tensor(score, maps[feature_map](x, *weights)) for x in (q, k))
        return b.attend(query, key, v, mask=mask, normalizer=b.by_sum(eps), signed_scores=not log)

    more: dict[str, Any] = {"w": b.Weight[d, m]} if feature_map == "favor" else {}
    more[table] = b.HeadWeight[count] if per_head else b.Weight[count]
    return build(name, dtype, sequences(d, dv) | more, body)


def relative_rope(
    d: int = 8, dv: int | None = None, *, places: tuple[tuple[int, int], ...] = ((0, 0), (0, 1), (1, 0), (2, 3)),
    distances: int = 512, dtype: str = "f32", name: str = "relative_rope",
) -> Spec:  # fmt: skip
    """Definition 1.1 of "Fast RoPE Attention" (Alman and Song 2025) with a polynomial of degree 2 for exp: scores P(q^T W(i - j) k).

    places: the rows and columns of W that have numbers, a table `w<row><column>` of the distance for each; distances from `distances` on
        count as 0.
    """
    if not places or len(set(places)) != len(places):
        raise CallError(f"places: expected different pairs of a row and a column, got {places!r}")

    def body(q: Any, k: Any, v: Any, **tables: Any) -> Any:
        scores = [b.relative(table, beyond="zero") for table in tables.values()]
        x = b.concat(*(b.tensor(score, q[i]) for score, (i, _) in zip(scores, places)))
        y = b.concat(*(b.tensor(score, k[j]) for score, (_, j) in zip(scores, places)))

        def phi(s: Any) -> Any:
            return b.concat(1.0134232833691079, s * 1.0554046585996855, b.sym(s, 2) * 0.68509215015205138)

        return b.attend(phi(x), phi(y), v, normalizer=b.by_sum(0.0))

    tables = {f"w{i}{j}": b.HeadWeight[distances] for i, j in places}
    return build(name, dtype, sequences(d, 64 if dv is None else dv) | tables, body)


def toeplitz(dv: int = 64, *, distances: int = 512, dtype: str = "f32", name: str = "toeplitz") -> Spec:
    """The token mixing of Toeplitz neural networks (Qin et al. 2023): o_i = sum of c(i - j) v_j over keys j <= i, c of each head."""
    return from_file("relative", "toeplitz", {"dv": dv, "distances": distances}, dtype, name)


def exponentials(
    d: int = 64, dv: int | None = None, *, coefficients: tuple[float, ...] = (0.4, 0.3, 0.2, 0.1),
    feature_map: Literal["elu", "squares", "none"] = "elu", eps: float = 1e-6, dtype: str = "f32", name: str = "exponentials",
) -> Spec:  # fmt: skip
    """Scores of a feature map times a sum of exponentials of the distance, sum of a_r g_r^(i - j): each term is a state with a decay of its own.

    coefficients: the numbers a_r, one for each term. The logarithms of g_r are arguments g1, g2, ..., per query head.
    feature_map: elu, elu + 1; squares, squares of scores; none, the scores themselves, which are not normalized.
    eps: what is added to the sum of the scores.
    """
    one_of("feature_map", feature_map, ("elu", "squares", "none"))
    if not coefficients:
        raise CallError("coefficients: expected at least one number, got none")
    maps: dict[str, Callable[..., Any]] = {"elu": b.elu_plus_one, "squares": lambda x: b.sym(x, 2), "none": lambda x: x}
    width = d if dv is None else dv

    def body(q: Any, k: Any, v: Any, **decays: Any) -> Any:
        query, key = (maps[feature_map](x) for x in (q, k))
        rows = v if feature_map == "none" else b.concat(v, 1.0)
        terms = [
            b.attend(query, key, rows, normalizer=b.none(), decay=decay, gate_heads="q") * coefficient
            for decay, coefficient in zip(decays.values(), coefficients)
        ]
        total = b.add(*terms) if len(terms) > 1 else terms[0]
        return total if feature_map == "none" else b.hadamard(total[:width], (total[width] + eps) ** -1)

    more = {f"g{i + 1}": b.HeadDecay for i in range(len(coefficients))}
    return build(name, dtype, sequences(d, dv) | more, body)
