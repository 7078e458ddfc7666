"""Attentions without maps of their own weights, of all head sizes: what functions of other libraries compute."""

from __future__ import annotations

import math
from typing import Any, Callable

import torch

from .. import builder as b
from .._literals import Mask
from .._specs import Spec
from ..library._common import build, sequences
from ._recipes import Family, register

Shapes = list[tuple[list[Any], Any]]


def _outputs(inputs: list[Any]) -> Shapes:
    q, _, v = inputs[:3]
    return [([*q.shape[:-1], v.shape[-1]], q.dtype)]


def _outputs_and_states(number: int) -> Callable[[list[Any]], Shapes]:
    """Final states have the shapes of the initial ones, which come last but for the ends of packed sequences."""

    def shapes(inputs: list[Any]) -> Shapes:
        states = [one for one in inputs[3:] if one.is_floating_point()][-number:]
        return [*_outputs(inputs), *((list(one.shape), torch.float32) for one in states)]

    return shapes


def inner_products(
    d: int, dv: int, *, scale: float | None, normalize: bool = False, states: bool = False,
    decay: str | None = None, mask: Mask = "causal",
) -> Spec:  # fmt: skip
    """Queries and keys are features already. scale None: 1 / sqrt d; normalize: FLA's, with 1e-10 beside the sum."""
    arguments = sequences(d, dv)
    if decay:
        arguments |= {"g": b.Decay} if decay == "token" else {"g_gamma": b.HeadDecay}
    if states:
        arguments["initial_state"] = b.State[d, dv]
        if normalize:
            arguments["initial_z"] = b.StateNormalizer[d]

    def body(
        q: Any, k: Any, v: Any, g: Any = None, g_gamma: Any = None, initial_state: Any = None, initial_z: Any = None
    ) -> Any:
        return b.attend(
            q, k, v, mask=mask, normalizer=b.by_sum(1e-10) if normalize else b.none(), signed_scores=normalize,
            score_scale=d**-0.5 if scale is None else scale, decay=g_gamma if g is None else g,
            gate_heads="kv" if decay else None, initial=initial_state, initial_normalizer=initial_z, final_state=states,
        )  # fmt: skip

    return build("inner_products", "f32", arguments, body)


def taylor(d: int, dv: int, *, scale: float | None, normalize: bool) -> Spec:
    """1 + s + s^2 / 2 of s = scale <q, k>."""
    factor = math.sqrt(d**-0.5 if scale is None else scale)

    def phi(x: Any) -> Any:
        h = x * factor
        return b.concat(1, h, b.sym(h, 2) * math.sqrt(0.5))

    def body(q: Any, k: Any, v: Any) -> Any:
        return b.attend(phi(q), phi(k), v, normalizer=b.by_sum(1e-6) if normalize else b.none())

    return build("taylor", "f32", sequences(d, dv), body)


def power(
    d: int, dv: int, *, degree: int, scale: float | None, eps: float | None, gated: bool = False
) -> Spec:
    """(scale <q, k>)^degree; eps None: no normalizer."""
    factor = (d**-0.5 if scale is None else scale) ** degree

    def body(q: Any, k: Any, v: Any, log_G: Any = None) -> Any:
        query, key = (b.sym(x, degree) for x in (q, k))
        return b.attend(
            query, key, v, normalizer=b.none() if eps is None else b.by_sum(eps), score_scale=factor,
            decay=log_G, gate_heads="kv" if gated else None,
        )  # fmt: skip

    gate = {"log_G": b.Decay} if gated else {}
    return build("power", "f32", sequences(d, dv) | gate, body)


_SYSTEMS: dict[str, Callable[..., Spec]] = {
    "inner_products": inner_products, "taylor": taylor, "power": power,
}  # fmt: skip


_handles: dict[tuple[str, tuple[tuple[str, Any], ...], bool], int] = {}


def handle_of(system: str, options: tuple[tuple[str, Any], ...], is_packed: bool = False) -> int:
    """The number of a system with options, for polyattn::forward. It is a hash, which takes longer than a small kernel."""
    found = _handles.get((system, options, is_packed))
    if found is None:
        found = _handles[system, options, is_packed] = _register(system, dict(options), is_packed)
    return found


def _register(system: str, given: dict[str, Any], is_packed: bool) -> int:
    shapes: Callable[[list[Any]], Shapes] = _outputs
    if given.get("states"):
        shapes = _outputs_and_states(2 if given.get("normalize") else 1)
    return register(Family(system, given, _SYSTEMS[system], shapes, is_packed)).handle


# torch.compiler.assume_constant_result sets this, and imports torch._dynamo for it, which takes seconds.
handle_of._dynamo_marked_constant = True  # type: ignore[attr-defined]
