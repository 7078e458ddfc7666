"""Any attention as a program of PyTorch's operations, for comparisons: what a user would write by hand, in several forms.

It is made from the spec's text and shares no code with kernels or with the reference.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, Callable

import torch
from torch import Tensor

from .._kernels import Signature
from .._polyattn import print_ir
from .._specs import Spec, source_of
from ._features import Dense, Features, NoForm, Relative, features_of, rope
from ._lines import Body, Line, attributes_of, clauses_of, read


def by_heads(x: Tensor) -> Tensor:
    """[B, T, H, d] from [B, H, T, d], and back."""
    return x.transpose(1, 2)


class Attend:
    """The line that attends, read once."""

    def __init__(self, line: Line) -> None:
        self.clauses, given = clauses_of(line), line.attributes
        kind = re.search(r" (causal|anticausal|full) normalize <(\w+)(?:, )?(.*?)>", line.words)
        if kind is None or {"initial", "state"} & set(self.clauses) or "final_state" in given:
            raise NoForm("states in the signature")
        self.mask, self.normalizer, self.options = kind[1], kind[2], attributes_of(kind[3])
        self.is_interleaved = given.get("grouping") == "interleaved"
        self.block: int | None = given.get("block")
        self.slides = "sliding" in given
        self.window: int | None = given.get("window")
        self.score_scale: float = given.get("score_scale", 1.0)
        self.factors: list[float] | None = given.get("decay_factors")
        self.has_decay = "decay" in self.clauses or self.factors is not None
        self.result = line.results[0]

    def divide(self, numerator: Tensor, total: Tensor | None, count: Any, largest: Tensor | None = None) -> Tensor:
        """By the denominator. `total` [..., T, 1] are the sums of scores, `count` the numbers of visible keys."""
        options = self.options
        if options.get("reduce") == "mean":
            numerator, total = numerator / count, None if total is None else total / count
        if total is None:
            return numerator
        denominator = total
        if "guard_below" in options:
            denominator = total + options["guard_add"] * (total.abs() <= options["guard_below"])
        if self.normalizer == "bias":
            denominator = denominator + options["bias"]
        elif options.get("eps_mode") == "row_max":
            if largest is None:
                raise NoForm("eps_mode row_max needs all scores of a row")
            denominator = denominator + options["eps"] * largest
        else:
            denominator = denominator + options["eps"]
        if "min_denom" in options:
            floor = torch.full_like(denominator, options["min_denom"])
            denominator = torch.where(denominator.abs() < floor, floor.copysign(denominator), denominator)
        return numerator / denominator

    @property
    def divides(self) -> bool:
        return self.normalizer != "none"

    @property
    def is_softmax(self) -> bool:
        return self.normalizer == "softmax"

    def seen(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Which keys each query sees."""
        lag = rows[:, None] - columns
        seen = {"causal": lag >= 0, "anticausal": lag <= 0, "full": torch.ones_like(lag, dtype=torch.bool)}[self.mask]
        return seen if self.window is None else seen & (lag.abs() < self.window)


def _softmax_rows(scores: Tensor, seen: Tensor, value: Tensor) -> Tensor:
    """Means of values, weighted by the exponentials of the scores that are seen; zero where none is. No score is too large: what a
    row's largest one leaves is at most 0."""
    scores = scores.masked_fill(~seen, -torch.inf)
    largest = scores.detach().amax(-1, keepdim=True)
    weights = (scores - largest.where(largest > -torch.inf, 0)).exp()
    total = weights.sum(-1, keepdim=True)
    return weights @ value / total.where(total > 0, 1)


def _convolved(x: Tensor, filters: Tensor, reversed: bool = False, circular: bool = False) -> Tensor:
    """Rows [B, H, T, d], convolved by transforms with filters [H, L, d] or [L, d]; of one column for all channels alike."""
    length, dtype = x.shape[2], torch.promote_types(x.dtype, torch.float32)  # transforms of 16 bits do not exist on processors
    spectrum = torch.fft.rfft(filters[..., :length, :].to(dtype), 2 * length, -2)
    product = torch.fft.rfft(x.to(dtype), 2 * length, -2) * (spectrum.conj() if reversed else spectrum)
    y = torch.fft.irfft(product, 2 * length, -2).to(x.dtype)
    return y[:, :, :length] + y[:, :, length:] if circular else y[:, :, :length]


class Vectors:
    """The operands of an attend for given tensors, with as many heads of keys as of queries. Logarithms of decays are [B, H, T], or of each
    feature [B, H, T, D]."""

    def __init__(self, attend: Attend, values: dict[str, Any]) -> None:
        one = {word: [values[name] for name in names] for word, names in attend.clauses.items()}
        self.query, key, value = (one[word][0] for word in ("query", "key", "value"))
        query = self.query.dense() if isinstance(self.query, Dense) else _first(self.query)
        heads = max(query.shape[1], value.dense().shape[1])

        def spread(x: Tensor) -> Tensor:
            groups = heads // x.shape[1] if x.shape[1] else 1
            return x if groups == 1 else x.repeat(1, groups, *[1] * (x.dim() - 2)) if attend.is_interleaved else x.repeat_interleave(groups, 1)

        self.key, self.value = key.map(spread), spread(value.dense())
        self.local = (one["local"][0], one["local"][1].map(spread)) if "local" in one else None
        self.decay = None
        if attend.has_decay:
            batch, length = query.shape[0], query.shape[2]
            given = torch.tensor(attend.factors, dtype=query.dtype).log() if attend.factors else one["decay"][0]
            logarithms = given[None, :, None].expand(batch, -1, length) if given.dim() == 1 else given.transpose(1, 2)
            self.decay = spread(logarithms)

    @property
    def features_decay(self) -> bool:
        """Whether each feature has a decay of its own, so that no score is a product times a number."""
        return self.decay is not None and self.decay.dim() == 4


def _decayed_scores(query: Tensor, key: Tensor, past: Tensor) -> Tensor:
    """Scores of queries and keys [B, H, T, D] whose features decay each by itself; `past` are the sums of their logarithms."""
    between = (past[:, :, :, None] - past[:, :, None]).clamp(max=0).exp()
    return torch.einsum("bhid,bhijd,bhjd->bhij", query, between.to(query), key)


def _first(features: Features) -> Tensor:
    """Some numbers of composed features, for their sizes."""
    if isinstance(features, Relative):
        heads = features.table.shape[0] if features.table.dim() > 1 else 1
        return features.positions.expand(1, heads, -1, -1)
    parts = [getattr(features, name) for name in ("base", "a", "b") if hasattr(features, name)] or getattr(features, "parts", [])
    if parts:
        return max((_first(one) for one in parts), key=lambda x: x.numel())
    return features.dense()


class Eager:
    """A spec's attention. `direct`, `chunked` and `looped` are functions of its arguments; `token` continues states."""

    def __init__(self, spec: Spec, entry: str | None, signature: Signature, all_products: bool = False) -> None:
        self._source, self._all_products = (spec, entry, signature), all_products
        text = print_ir(source_of(spec, entry), "spec")
        # Entries after passes would have others; this one is as its author wrote it.
        self.body, self.maps = read(text)
        self.signature = signature
        lines = [line for body in (self.body, *self.maps.values()) for line in body.lines]
        self._has_positions = any(line.op in ("rope", "relative") for line in lines)
        self.roles = {f"%{one.name}": one for one in signature.arguments}
        returned = next(line for line in self.body.lines if line.op == "return")
        self._convolves = any(line.op == "convolve" for line in self.body.lines)
        if self._convolves:
            reads = [line for line in self.body.lines if line.op == "read"]
            self._filters_of_lags = {  # one number for each, of all channels
                line.results[0] for line in reads if sum(isinstance(size, int) for size in self.roles[line.operands[0]].shape) == 1
            }
            if len(returned.operands) > 1:
                raise NoForm("several results")
            self._result = returned.operands[0]
            return
        self.attend = Attend(next(line for line in self.body.lines if line.op == "attend"))
        if returned.operands != (self.attend.result,):
            raise NoForm("a result that is computed after the attends")

    def _read(self, name: str, tensor: Tensor) -> Any:
        """An argument as ops have it."""
        about = self.roles[name]
        shape = about.shape
        if about.role in ("query", "key", "value"):
            return Dense(by_heads(tensor))
        if "T" in shape or "Tk" in shape:  # a vector of each position, [T, heads, d]
            return Dense(tensor.transpose(0, 1)[None])
        is_of_heads = bool(shape) and isinstance(shape[0], str)
        return tensor[:, None] if is_of_heads and tensor.dim() == 2 else tensor

    def _run(self, body: Body, values: dict[str, Any], positions: Tensor) -> dict[str, Any]:
        for line in body.lines:
            if line.op in ("attend", "return", "yield"):
                continue
            given = [values[name] for name in line.operands]
            if line.op == "read":
                found = self._read(line.operands[0], given[0])
            elif line.op == "apply":
                found = self._apply(line, given, positions)
            elif line.op == "constant":
                found = Dense(torch.full((1, 1, 1, line.attributes["width"]), line.attributes["value"], dtype=values["dtype"]))
            elif line.op == "weight_product":
                found = given[0] @ given[1]
            elif line.op == "rope":
                found = Dense(rope(given[0].dense(), given[1], positions, **line.attributes))
            elif line.op == "convolve":
                filters = torch.atleast_2d(given[1]).mT if line.operands[1] in self._filters_of_lags else given[1]
                found = Dense(_convolved(given[0].dense(), filters, **line.attributes))
            elif line.op == "relative":
                table = given[0].exp() if "log" in line.attributes else given[0]
                found = Relative(table, positions, line.attributes["beyond"] == "last", "two_sided" in line.attributes)
            else:
                found = features_of(line.op, given, line.attributes, self._all_products)
            values[line.results[0]] = found
        return values

    def _apply(self, line: Line, given: list[Any], positions: Tensor) -> Any:
        """A feature map. Its operands may be arguments of the attention."""
        name = re.search(r"@(\w+)", line.words)
        assert name
        body = self.maps[name[1]]
        operands = [one if isinstance(one, Features) or place not in self.roles else self._read(place, one)
                    for place, one in zip(line.operands, given)]  # fmt: skip
        values: dict[str, Any] = dict(zip(body.arguments, operands))
        values["dtype"] = next(one.dtype for one in (x.dense() if isinstance(x, Features) else x for x in operands))
        self._run(body, values, positions)
        return values[next(one for one in body.lines if one.op == "yield").operands[0]]

    def vectors(self, tensors: tuple[Tensor, ...], first: int = 0) -> Vectors:
        """The operands of the attend, from position `first` on."""
        values = self._values(tensors, first)
        return Vectors(self.attend, {name: Dense(by_heads(x)) if self._is_sequence(name, x) else x for name, x in values.items()})

    def _values(self, tensors: tuple[Tensor, ...], first: int = 0) -> dict[str, Any]:
        values: dict[str, Any] = {f"%{one.name}": x for one, x in zip(self.signature.arguments, tensors)}
        if self.body.shared:
            sizes = {size: n for one, x in zip(self.signature.arguments, tensors) for size, n in zip(one.shape, x.shape)}
            for name in self.body.shared:
                values[name] = values[name].repeat_interleave(sizes["H"] // sizes["Hkv"], 2)
        values["dtype"] = tensors[0].dtype
        length = tensors[0].shape[1]
        if self._has_positions and any(self._is_sequence(name, x) and x.shape[1] != length for name, x in values.items()):
            raise NoForm("positions, where there are not as many keys as queries")
        self.signature.check_limits({"T": first + length, "Tk": first + length})
        positions = torch.arange(first, first + length, dtype=torch.float64 if tensors[0].dtype == torch.float64 else torch.float32)
        return self._run(self.body, values, positions.view(-1, 1))

    def _is_sequence(self, name: str, x: Any) -> bool:
        """Arguments that the attend takes as they are."""
        return isinstance(x, torch.Tensor) and name in self.roles and self.roles[name].role in ("query", "key", "value")

    def direct(self, *tensors: Tensor) -> Tensor:
        """All scores at once, or all rows of a convolution."""
        if self._convolves:
            return by_heads(self._values(tensors)[self._result].dense())
        one, attend = self.vectors(tensors), self.attend
        decay = one.decay
        if decay is not None and one.features_decay:
            scores = _decayed_scores(one.query.dense(), one.key.dense(), decay.cumsum(2))
        else:
            scores = one.query.scores(one.key)
        rows, columns = (torch.arange(size) for size in scores.shape[-2:])
        if one.local:
            assert attend.block
            is_near = rows[:, None] // attend.block == columns // attend.block
            if attend.slides:
                is_near = (rows[:, None] - columns).abs() < attend.block
            scores = torch.where(is_near, one.local[0].scores(one.local[1]), scores)
        scores = scores * attend.score_scale
        if decay is not None and not one.features_decay:
            past = decay.cumsum(-1)
            distance = past[..., :, None] - past[..., None, :]
            scores = scores * (distance if attend.mask == "causal" else -distance).clamp(max=0).exp().to(scores)
        seen = attend.seen(rows, columns)
        if attend.is_softmax:
            return by_heads(_softmax_rows(scores, seen, one.value))
        if attend.mask != "full" or attend.window is not None:
            scores = scores.masked_fill(~seen, 0)
        counts = {"causal": rows + 1, "anticausal": len(rows) - rows, "full": torch.full_like(rows, len(columns))}[attend.mask]
        total = scores.sum(-1, keepdim=True) if attend.divides else None
        largest = scores.amax(-1, keepdim=True) if attend.options.get("eps_mode") == "row_max" else None
        return by_heads(attend.divide(scores @ one.value, total, counts[:, None], largest))

    def _check_states(self, has_local: int | None = None) -> None:
        if self._convolves:
            raise NoForm("convolutions have no states here")
        attend = self.attend
        if attend.mask != "causal":
            raise NoForm(f"the mask {attend.mask} has no states here")
        if attend.options.get("eps_mode") == "row_max":
            raise NoForm("eps_mode row_max needs all scores of a row")
        if attend.is_softmax:
            raise NoForm("a softmax has no states here")
        if attend.window is not None:
            raise NoForm("a window has no states here")
        if attend.slides:
            raise NoForm("a local window that slides has no states here")
        if attend.block is not None and attend.block != has_local:
            raise NoForm(f"exact blocks of {attend.block} positions")

    def _in_chunk(self, query: Features, key: Features, local: tuple[Features, Features] | None) -> Tensor:
        return (local[0].scores(local[1]) if local else query.scores(key)) * self.attend.score_scale

    def chunked(self, length: int, *tensors: Tensor) -> Tensor:
        """Scores inside chunks, states between them, all chunks at once."""
        self._check_states(length)
        one, attend = self.vectors(tensors), self.attend
        if one.decay is not None:
            raise NoForm("decays, whose chunks follow each other")
        size = tensors[0].shape[1]
        if size % length:
            raise NoForm(f"chunks of {length} of {size} positions")

        def cut(x: Tensor) -> Tensor:
            return x.expand(*x.shape[:2], size, -1).unflatten(2, (-1, length))

        def before(x: Tensor) -> Tensor:
            return torch.cat([torch.zeros_like(x[:, :, :1]), x.cumsum(2)[:, :, :-1]], 2)

        query, key, value = one.query.map(cut), one.key.map(cut), cut(one.value)
        local = (one.local[0].map(cut), one.local[1].map(cut)) if one.local else None
        scores = self._in_chunk(query, key, local).tril()
        q, k = query.dense() * attend.score_scale, key.dense()
        o = scores @ value + q @ before(k.mT @ value)
        total = scores.sum(-1, keepdim=True) + q @ before(k.sum(-2))[..., None] if attend.divides else None
        counts = torch.arange(1, size + 1).view(-1, length, 1)
        return by_heads(attend.divide(o, total, counts).flatten(2, 3))

    def looped(self, length: int, *tensors: Tensor) -> Tensor:
        """The same chunk after chunk, with decays."""
        self._check_states(length)
        one, attend = self.vectors(tensors), self.attend
        size, state, sums, parts = tensors[0].shape[1], 0.0, 0.0, []
        for begin in range(0, size, length):
            part = functools.partial(_part, begin=begin, end=min(begin + length, size), size=size)
            query, key, value = one.query.map(part), one.key.map(part), part(one.value)
            local = (one.local[0].map(part), one.local[1].map(part)) if one.local else None
            q, k, decay = query.dense() * attend.score_scale, key.dense(), one.decay
            kept = None
            if decay is not None and one.features_decay:
                past = decay[:, :, begin : begin + length].cumsum(2).to(q)
                scores = _decayed_scores(q, k, past).tril()
                q, k, kept = q * past.exp(), k * (past[:, :, -1:] - past).exp(), past[:, :, -1, :, None].exp()
            else:
                scores = self._in_chunk(query, key, local).tril()
            if decay is not None and not one.features_decay:
                past = decay[..., begin : begin + length].cumsum(-1)
                scores = scores * (past[..., :, None] - past[..., None, :]).clamp(max=0).exp().to(scores)
                q, k = q * past[..., None].exp().to(q), k * (past[..., -1:] - past)[..., None].exp().to(k)
                kept = past[..., -1, None, None].exp().to(q)
            next_state, next_sums = k.mT @ value, k.sum(-2, keepdim=True).mT
            if kept is None:
                next_state, next_sums = state + next_state, sums + next_sums
            else:
                next_state, next_sums = state * kept + next_state, sums * kept + next_sums
            o = scores @ value + (q @ state if begin else 0)
            total = scores.sum(-1, keepdim=True) + (q @ sums if begin else 0) if attend.divides else None
            parts.append(attend.divide(o, total, torch.arange(begin + 1, begin + 1 + value.shape[2])[:, None]))
            state, sums = next_state, next_sums
        return by_heads(torch.cat(parts, 2))

    def token(self, position: int, state: Tensor, sums: Tensor, *tensors: Tensor) -> Tensor:
        """One position of each sequence, whose states [B, H, D, dv] and sums [B, H, D, 1] continue in place."""
        self._check_states()
        one, attend = self.vectors(tensors, position), self.attend
        q, k = one.query.dense() * attend.score_scale, one.key.dense()
        if one.decay is not None:
            kept = (one.decay.mT if one.features_decay else one.decay[..., None]).exp().to(state)
            state.mul_(kept)
            sums.mul_(kept)
        state.addcmul_(k.mT, one.value)
        if attend.divides:
            sums.add_(k.mT)
        return by_heads(attend.divide(q @ state, q @ sums if attend.divides else None, position + 1))

    def states(self, tensors: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """States of new sequences, for `token`."""
        self._check_states()
        one = self.vectors(tensors)
        batch, heads = one.value.shape[:2]
        zeros = functools.partial(one.value.new_zeros, batch, heads, one.key.width)
        return zeros(one.value.shape[-1]), zeros(1)

    def ways(self) -> dict[str, Eager]:
        """This, and the same with other features, by the ends of their forms' names."""
        lines = [line for body in (self.body, *self.maps.values()) for line in body.lines]
        if any(line.op == "power" and "symmetric" in line.attributes for line in lines):
            return {"": self, ", all products": Eager(*self._source, all_products=True)}
        return {"": self}

    def forms(self, length: int, batch: int, heads: int, most: int = 1 << 28) -> Mapping[str, Callable[..., Tensor]]:
        """The functions that hold at most so many numbers at once, about, by name. `looped` ones are loops of Python."""
        found: dict[str, Callable[..., Tensor]] = {}
        # Where features decay each by itself a score is that many numbers on the way.
        of_decay = next((one.shape[-1] for one in self.signature.arguments if one.role == "decay" and len(one.shape) == 4), 1)
        numbers = batch * heads * int(of_decay)
        if numbers * length**2 <= most:
            found["direct"] = self.direct
        sizes = [self.attend.block] if self.attend.block else [size for size in (64, 128, 256) if numbers == batch * heads or numbers * size**2 <= most]
        for way, eager in self.ways().items():
            for size in (one for one in sizes if one < length):
                found[f"chunked {size}{way}"] = functools.partial(eager.chunked, size)
                found[f"looped {size}{way}"] = functools.partial(eager.looped, size)
        return found


def _part(x: Tensor, begin: int, end: int, size: int) -> Tensor:
    """Some positions; a vector that is the same at all of them stays."""
    return x[:, :, begin:end] if x.shape[2] == size else x
