"""One sequence over several processes, each of which has a segment of it.

    context = polyattn.torch.distributed.context_parallel(group)
    o, state, state_z = context(attention, q, k, v, state, state_z)

Segments compose through states: each rank computes what its segment adds to them, all ranks exchange that once, and each begins
with what the segments before its own add up to. Backwards the same goes for gradients of states, from the last segment to the first.
"""

from __future__ import annotations

import hashlib
from typing import Any

import torch
import torch.distributed as dist

from .._errors import CallError
from . import _recipes
from ._attention import Attention
from ._numbers import to_int64
from ._operators import call_kernel, cast_by_roles
from ._segments import Cut, Part, cut_batch, cut_packed
from ._sequences import OFFSETS, check_offsets

__all__ = ["ContextParallel", "context_parallel"]

_FAILED = 1


class Plan:
    """The kernels of one attention, and which of their tensors are states. `packed` is that of packed sequences, where they are."""

    def __init__(self, recipe: _recipes.Recipe, storage: str, packed: _recipes.Recipe | None) -> None:
        self.recipe, self.storage = recipe, storage
        self.whole = recipe if packed is None else packed
        self.forward = self.whole.kernel(storage)
        self.states = self._compile("states")
        about = self.forward.describe()
        names = {part: [one["name"] for one in about[part] if one["role"] == "state"] for part in ("arguments", "results")}
        self.initial, self.final = names["arguments"], names["results"]
        decays = [one.name for one in self.states.signature.arguments if one.name.startswith("decay_before")]
        self.has_decay = bool(decays)
        self.first = next((i for i, one in enumerate(about["arguments"]) if one["role"] == "first_position"), None)
        attends = sum(len(one["shape"]) == 4 for one in about["arguments"] if one["role"] == "state")
        entry = recipe.signature().name
        if not self.initial or len(self.initial) != len(self.final):
            raise CallError(
                f"{entry}: expected initial and final states, by which segments of a sequence compose, as those of "
                f"polyattn.library.linear(states=True), got {len(self.initial)} initial and {len(self.final)} final ones"
            )
        if len(decays) > (attends == 1):
            raise CallError(f"{entry}: expected one attend where there is a decay, got {attends}")

    def _compile(self, direction: str) -> Any:
        return self.recipe._compile((self.storage, direction), dtype=self.storage, direction=direction)

    def gradient_states(self) -> Any:
        return self._compile("gradient_states")

    def backward(self, wrt: int) -> Any:
        return self.whole.half(self.storage, "backward", wrt)

    def kernels_backwards(self, wrt: int) -> tuple[Any, Any]:
        """The kernels that gradients call."""
        return self.gradient_states(), self.backward(wrt)

    def added(self, known: dict[str, Any], part: Part) -> tuple[list[Any], Any]:
        """What a part adds to states that begin with zeros, and its decay."""
        if self.has_decay:
            shape = known[self.initial[0]][part.rows].shape[:2]
            known = known | {"decay_before": torch.ones(*shape, 1, dtype=torch.float32)}
        found = _of_part(self.states, known, part)
        return [found[name] for name in self.final], found.get("decay")


def _by_names(kernel: Any, known: dict[str, Any]) -> list[Any]:
    return call_kernel(kernel, [known[one.name] for one in kernel.signature.arguments])


def _of_part(kernel: Any, known: dict[str, Any], part: Part) -> dict[str, Any]:
    """The results by their names for the positions and sequences of a part."""
    given = {one.name: known[one.name] for one in kernel.signature.arguments}
    for one in kernel.signature.arguments:
        if one.name != "decay_before":
            given[one.name] = part.of(one.shape, given[one.name])
    return dict(zip([one.name for one in kernel.signature.results], _by_names(kernel, given)))


def _add(decay: Any, before: Any, after: Any) -> Any:
    """after + decay before, in f32. What does not pass does not count, be it infinite."""
    if decay is None:
        return after + before
    factor = decay.reshape(decay.shape[:2] + (1,) * (before.dim() - 2))
    return after + torch.where(factor == 0, 0.0, factor * before)


def _outside_graphs(function: Any) -> Any:
    """`function` as torch.compile leaves it alone. This imports torch._dynamo, which takes seconds."""
    reason = (
        "polyattn's context_parallel is no part of a graph: ranks agree in each call on what they exchange next, and a graph "
        "may change that order; leave out fullgraph=True, or compile what is around it"
    )
    try:
        return torch.compiler.disable(function, reason=reason)
    except TypeError:  # before PyTorch 2.8
        return torch.compiler.disable(function)


class ContextParallel:
    """The result of context_parallel: a function of an attention and the tensors of this rank's segment."""

    def __init__(self, group: Any) -> None:
        self.group = group
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)
        self._plans: dict[Any, Plan] = {}
        # Decorated here and not at the class: only processes that share a sequence pay for torch._dynamo.
        self._call_outside_graphs = _outside_graphs(self._call)

    def __call__(self, attention: Attention, *tensors: Any, cu_seqlens: Any = None, **named: Any) -> Any:
        """The results of this rank's positions; final states are those after its last one.

        Initial states are those before the whole sequence, the same on all ranks, and so are first positions. Where one rank
        requires gradients all do, and all call backward. Those of weights are this segment's share, those of initial states
        are on the first rank: their sums over the ranks are the gradients.

        With `cu_seqlens`, the same on all ranks, the ranks have the positions of N sequences one behind the other, [1, T, H, d], and
        states and first positions are those of each. A final state is that after this rank's positions of the sequence, or
        the initial one where it has none; its gradient counts on the last rank that has some.
        """
        return self._call_outside_graphs(attention, tensors, cu_seqlens, named)

    def _call(self, attention: Attention, tensors: tuple[Any, ...], cu_seqlens: Any, named: dict[str, Any]) -> Any:
        failure: Exception | None = None
        plan, inputs, storage = None, [], ""
        wants = False
        try:
            inputs = attention._in_order(tensors, named)
            self._check(attention, inputs)
            if torch.is_autocast_enabled("cpu"):
                inputs = cast_by_roles(attention._handle, inputs)
            storage = _recipes.storage_of(inputs)
            wants = torch.is_grad_enabled() and any(one.requires_grad for one in inputs)
            if cu_seqlens is not None:
                self._check_packed(attention, inputs, cu_seqlens)
            plan = self._plan(attention, inputs, storage, cu_seqlens is not None)
            if wants:
                plan.whole.half(storage, "backward", _wrt(inputs))
        except Exception as error:
            failure = error
        lengths = self._agree(failure, attention, inputs, storage, wants, cu_seqlens)
        assert plan is not None
        cut = cut_batch(self.rank, self.size)
        if cu_seqlens is not None:
            cut = cut_packed(attention._entry, to_int64(cu_seqlens), lengths, self.rank)
        if plan.first is not None:
            inputs[plan.first] = inputs[plan.first] + (sum(lengths[: self.rank]) if cut.seen is None else cut.seen)
        results = _Segment.apply(self, plan, cut, wants, *inputs)
        return results[0] if len(results) == 1 else results

    def _check(self, attention: Attention, inputs: list[Any]) -> None:
        if len(inputs) != len(attention._names):
            raise CallError(
                f"{attention._entry}: expected {len(attention._names)} arguments "
                f"({', '.join(attention._names)}), got {len(inputs)}"
            )
        for name, one in zip(attention._names, inputs):
            if not isinstance(one, torch.Tensor) or one.device.type != "cpu":
                raise CallError(f"{attention._entry}: argument '{name}': expected a tensor in the processor's memory")
        if OFFSETS in attention._names:
            raise CallError(
                f"{attention._entry}: argument '{OFFSETS}': expected a spec of whole sequences, whose states compose; "
                f"context_parallel packs it itself, with {OFFSETS} of all ranks"
            )

    def _check_packed(self, attention: Attention, inputs: list[Any], ends: Any) -> None:
        who = attention._entry
        check_offsets(who, ends, inputs[0])
        for one in attention.signature.arguments:
            if one.shape[:1] == ("T",):
                raise CallError(
                    f"{who}: argument '{one.name}': expected no table of positions with {OFFSETS}: its rows are those of "
                    "sequences that begin on this rank, and others go on here"
                )

    def _packed(self, attention: Attention) -> _recipes.Recipe:
        return _recipes.find(attention._packed)

    def _plan(self, attention: Attention, inputs: list[Any], storage: str, is_packed: bool) -> Plan:
        recipe = attention._recipe.of(inputs)
        key = (recipe.handle, storage, is_packed)
        if key not in self._plans:
            self._plans[key] = Plan(recipe, storage, self._packed(attention) if is_packed else None)
        return self._plans[key]

    def _agree(
        self, failure: Exception | None, attention: Attention, inputs: list[Any], storage: str, wants: bool, ends: Any
    ) -> list[int]:
        """The positions of all ranks, once all can compute and do the same: what one refuses, all do."""
        length = 0
        if failure is None:
            sizes = [
                [size for size, named in zip(one.shape, about.shape) if named not in ("T", "Tk")]
                for one, about in zip(inputs, attention.signature.arguments)
            ]
            length = next(
                (size for one, about in zip(inputs, attention.signature.arguments)
                 for size, named in zip(one.shape, about.shape) if named == "T"), 0)  # fmt: skip
            text = repr([attention._handle, storage, sizes, wants, None if ends is None else ends.tolist()])
            identity = int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")
            own = [0, length, identity]
        else:
            own = [_FAILED, 0, 0]
        all_ranks = [one.tolist() for one in self.exchange(torch.tensor(own))]
        if failure is not None:
            raise failure
        for rank, one in enumerate(all_ranks):
            if one[0] == _FAILED:
                raise CallError(f"context_parallel: rank {rank} has refused its arguments")
            if one[2] != own[2]:
                raise CallError(
                    f"context_parallel: expected one attention, dtype, {OFFSETS} and sizes but the positions on all ranks, and "
                    f"gradients on all or none; those of rank {rank} differ from those of rank {self.rank}"
                )
        return [one[1] for one in all_ranks]

    def exchange(self, own: Any) -> list[Any]:
        """The tensors of all ranks. A rank that is gone is an error, at once or after the group's timeout."""
        all_ranks = [torch.empty_like(own) for _ in range(self.size)]
        try:
            dist.all_gather(all_ranks, own.contiguous(), group=self.group)
        except RuntimeError as error:
            raise RuntimeError(f"context_parallel: rank {self.rank} has lost another rank: {error}") from error
        return all_ranks

    def exchange_states(self, states: list[Any], decay: Any) -> tuple[list[list[Any]], list[Any]]:
        """The states of all ranks and their decays, in one message."""
        parts = states if decay is None else [*states, decay]
        if any(one.dtype != torch.float32 for one in parts):
            raise CallError("context_parallel: expected states of f32")
        flat = self.exchange(torch.cat([one.reshape(-1) for one in parts]))
        split = [one.split([part.numel() for part in parts]) for one in flat]
        shaped = [[one.reshape(part.shape) for one, part in zip(row, parts)] for row in split]
        count = len(states)
        return [row[:count] for row in shaped], [row[count] if decay is not None else None for row in shaped]


class _Segment(torch.autograd.Function):
    """One rank's part of a call. Between its kernels are collectives, of which autograd knows nothing."""

    @staticmethod
    def forward(ctx: Any, context: ContextParallel, plan: Plan, cut: Cut, wants: bool, *inputs: Any) -> Any:
        names = [one.name for one in plan.recipe.signature().arguments]
        known = {name: one.detach() for name, one in zip(names, inputs)}
        if cut.ends is not None:
            known[OFFSETS] = cut.ends
        all_states, decays = context.exchange_states(*plan.added(known, cut.last))
        before = [known[name][cut.first.rows] for name in plan.initial]
        for rank in cut.before:
            before = [_add(decays[rank], *pair) for pair in zip(before, all_states[rank])]
        for name, one in zip(plan.initial, before):
            known[name] = _with_rows(known[name], cut.first, one)
        if not wants:
            return tuple(_by_names(plan.forward, known))
        ctx.wrt = _wrt(inputs)
        ctx.context, ctx.plan, ctx.cut, ctx.decays = context, plan, cut, decays
        half = plan.whole.half(plan.storage, "training", ctx.wrt)
        results = _by_names(half, known)
        count = len(plan.forward.signature.results)
        read = {one.name for kernel in plan.kernels_backwards(ctx.wrt) for one in kernel.signature.arguments}
        given = dict(zip([one.name for one in half.signature.results], results))
        known |= {name: one for name, one in given.items() if name in read}
        ctx.names = list(known), list(given)[:count]
        ctx.save_for_backward(*known.values())
        return tuple(results[:count])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        context, plan, cut, decays = ctx.context, ctx.plan, ctx.cut, ctx.decays
        names, results = ctx.names
        known = dict(zip(names, ctx.saved_tensors))
        known |= {f"d_{name}": one for name, one in zip(results, gradients)}  # zeros where nobody took one
        decay = decays[context.rank] if cut.is_whole or not plan.has_decay else plan.added(known, cut.first)[1]
        own = list(_of_part(plan.gradient_states(), known, cut.first).values())
        own = [_add(decay, known[f"d_{name}"][cut.first.rows], one) for name, one in zip(plan.final, own)]
        all_gradients, _ = context.exchange_states(own, None)
        after = [torch.zeros_like(one) for one in own]
        for rank in reversed(cut.after):
            after = [_add(decays[rank], *pair) for pair in zip(after, all_gradients[rank])]
        for name, of_later in zip(plan.final, after):
            of_final = known[f"d_{name}"]
            known[f"d_{name}"] = _with_rows(of_final, cut.last, of_final[cut.last.rows] + of_later)
        found = _by_names(plan.backward(ctx.wrt), known)
        names = [about.name for about in plan.recipe.signature().arguments]
        given: list[Any] = [None] * len(names)
        for place, one in zip(plan.whole.pair(plan.storage, ctx.wrt).places, found):
            one = one.to(known[names[place]].dtype)
            if names[place] in plan.initial and cut.before:
                one = _with_rows(one, cut.first, torch.zeros_like(one[cut.first.rows]))  # another rank has it
            given[place] = one
        return (None, None, None, None, *given)


def _wrt(inputs: Any) -> int:
    return sum(1 << i for i, one in enumerate(inputs) if one.requires_grad)


def _with_rows(x: Any, part: Part, rows: Any) -> Any:
    """A copy with other rows where the part's sequences are."""
    if part.rows == slice(None):
        return rows
    x = x.clone()
    x[part.rows] = rows
    return x


def context_parallel(group: Any = None) -> ContextParallel:
    """Calls of attentions whose sequences are split over the ranks of a process group, in their order.

    Each rank has its own positions, of any number, and makes the same calls: `context(attention, q, k, v, ..., state)`. The
    attention has initial and final states. The positions of a rank start at a multiple of a local block.
    """
    if not dist.is_available() or not dist.is_initialized():
        raise CallError("context_parallel: expected torch.distributed with a process group; call init_process_group first")
    return ContextParallel(group)
