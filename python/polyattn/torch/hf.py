"""Attention layers in models of Hugging Face's transformers: a cache of states that `generate()` carries.

    class Block(nn.Module):
        def __init__(self, config, index):
            self.attention = hf.CachedAttention(polyattn.torch.nn.Linear(config.hidden_size, heads=4), index)

        def forward(self, x, attention_mask=None, past_key_values=None):
            return x + self.attention(x, attention_mask, past_key_values)[0]

    class Model(PreTrainedModel, hf.GenerationMixin): ...

Needs transformers 5; `import polyattn.torch` does not.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

import torch
import transformers
from torch import nn
from transformers.cache_utils import Cache, CacheLayerMixin

from .._errors import CallError
from ._packing import ARGUMENTS, find_packing, positions_of, whole_numbers
from ._states import States
from .nn import Attention

# What a model's forward calls the cache. transformers 5.24 says the second, earlier ones the first.
_NAMES = ("past_key_values", "cache")
_NAME = _NAMES["cache" in inspect.signature(transformers.GenerationMixin.prepare_inputs_for_generation).parameters]

__all__ = ["CachedAttention", "GenerationMixin", "StateCache"]


class _StateLayer(CacheLayerMixin):  # type: ignore[misc, unused-ignore]
    """The states of one layer, a slot for each row of the batch, in place of keys and values."""

    def __init__(self) -> None:
        super().__init__()
        self.states: States | None = None
        self.seen = 0  # positions of the batch, padding included

    def lazy_initialization(self, key_states: Any, value_states: Any) -> None:
        pass

    def update(self, key_states: Any, value_states: Any, *args: Any, **kwargs: Any) -> Any:
        raise CallError("polyattn: expected a layer that takes states, got one that stores keys and values")

    def get_seq_length(self) -> int:
        return self.seen

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.seen + query_length, 0

    def get_max_length(self) -> int:
        return -1

    get_max_cache_shape = get_max_length  # its name in earlier versions, 5.12 for one

    def reset(self) -> None:
        self.states, self.seen = None, 0

    def _select(self, rows: torch.Tensor) -> None:
        if self.states is not None:
            self.states = self.states.gather(rows)

    def reorder_cache(self, beam_idx: torch.Tensor) -> None:
        self._select(beam_idx)

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        self._select(indices)

    def batch_repeat_interleave(self, repeats: int) -> None:
        if self.states is not None:
            self._select(torch.arange(len(self.states)).repeat_interleave(repeats))

    def crop(self, tokens: int) -> None:
        """Versions of transformers count the tokens that go or those that stay. Neither is possible."""
        raise CallError(
            f"crop: expected a cache of keys and values, got states, of which no token can be taken back (crop({tokens})); "
            "decode without drafts, or keep a copy.deepcopy of the cache before each"
        )


class StateCache(Cache):  # type: ignore[misc, unused-ignore]
    """The `past_key_values` of a model with `layers` layers with states."""

    def __init__(self, layers: int) -> None:
        super().__init__(layers=[_StateLayer() for _ in range(layers)])


#: Arguments that change nothing of what an attention computes.
_WITHOUT_EFFECT = ("use_cache", "num_items_in_batch", "output_hidden_states", "output_router_logits", "return_dict")
#: Why the others that models pass are refused.
_REASONS = {
    "position_embeddings": "as positions are the layer's own (RetNet, FastRoPE, Lightning and XPos have some)",
    "output_attentions": "as linear attention has no weights of pairs",
    "head_mask": "as linear attention has no weights of pairs",
    "is_causal": "as the layer's spec has the mask",
    "encoder_hidden_states": "as queries, keys and values are of the same sequence",
    "past_key_value": "as the cache is past_key_values or cache",
    "layer_past": "as the cache is past_key_values or cache",
}


def _sequence_arguments(others: dict[str, Any]) -> dict[str, Any]:
    """Those that say where sequences are. What is neither honoured nor without effect is refused."""
    given = {name: one for name, one in others.items() if one is not None and name not in _WITHOUT_EFFECT}
    for name, one in given.items():
        if name not in (*ARGUMENTS, "cache_position") and not (name == "output_attentions" and one is False):
            reason = _REASONS.get(name, "as CachedAttention does not know it")
            came = repr(one) if isinstance(one, (bool, int, float, str)) else type(one).__name__
            raise CallError(f"{name}: expected None, {reason}; got {came}")
    return {name: one for name, one in given.items() if name != "output_attentions"}


def _one_of(masks: dict[str, Any]) -> Any:
    """Models with layers of several types may pass all of their masks."""
    if "linear_attention" not in masks and len(masks) > 1:
        raise CallError(f"attention_mask: expected one mask, or one named linear_attention, got {', '.join(masks)}")
    return masks["linear_attention"] if "linear_attention" in masks else next(iter(masks.values()), None)


def _rotated(x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
    """Column (t + by) % T of each row at t."""
    columns = torch.arange(x.shape[1], device=x.device)
    at = (columns + by[:, None]) % x.shape[1]
    return x.take_along_dim(at[..., None], 1)


class CachedAttention(nn.Module):
    """A layer of polyattn.torch.nn with transformers' arguments: the layer `index` of a model.

    attention_mask is [batch, columns], with a cache also for the columns of earlier calls. 0 is padding before, after or between
    sequences. Padding does not change the results of a sequence, and its own result is zero. Several numbers in the mask,
    position_ids that start again, seq_idx or offsets (cu_seqlens, cu_seq_lens_q, cu_seq_lens_k) are several sequences in a
    row, which do not see each other. A layer with first_position starts each sequence at its position_ids. Unsupported arguments
    are refused.

    With past_key_values (or cache), each row continues one sequence. If a model calls one layer in several places, each place
    needs its own CachedAttention with its own index; these may share the layer.
    """

    def __init__(self, layer: Attention, index: int) -> None:
        super().__init__()
        self.layer, self.index = layer, index

    def forward(
        self, hidden_states: torch.Tensor, attention_mask: Any = None, past_key_values: Any = None,
        cache: Any = None, **others: Any,
    ) -> tuple[torch.Tensor, None]:  # fmt: skip
        """The layer over hidden_states, [batch, columns, width], and None for the weights of scores, which do not exist.

        With a cache, `past_key_values` or `cache`, columns continue its sequences and update its states. `attention_mask`,
        [batch, columns], is 0 at padding.
        """
        x = hidden_states
        if not isinstance(x, torch.Tensor) or x.dim() != 3:
            came = list(x.shape) if isinstance(x, torch.Tensor) else type(x).__name__
            raise CallError(f"hidden_states: expected a tensor [batch, columns, width], got {came}")
        if past_key_values is not None and cache is not None and past_key_values is not cache:
            raise CallError("cache: expected None beside past_key_values, as both are the cache, got another one")
        cache = cache if past_key_values is None else past_key_values
        named = _sequence_arguments(others)
        own = None if cache is None else self._own(cache, x)
        mask = _columns(attention_mask, x, own)
        _check_cache_position(named.pop("cache_position", None), x, own)
        return (self._alone(x, mask, named) if own is None else self._go_on(x, own, mask, named)), None

    def _alone(self, x: torch.Tensor, mask: torch.Tensor | None, named: dict[str, Any]) -> torch.Tensor:
        """Sequences that begin and end here."""
        packing, first = find_packing(x, mask, named), None
        if "position_ids" in named and "first_position" in [one.name for one in self.layer.attention.signature.arguments]:
            positions = positions_of(named["position_ids"], x)
            first = positions[:, 0] if packing is None else positions.flatten()[packing.at][packing.first()]
            first = first if x.shape[1] and len(first) else None
        if packing is None:
            y: torch.Tensor = self.layer(x, first)
            return y
        return packing.unpack(self.layer(packing.pack(x), first, packing.offsets()))

    def _own(self, cache: Any, x: torch.Tensor) -> _StateLayer:
        """What the cache has for this layer."""
        if not isinstance(cache, StateCache) or self.index >= len(cache.layers):
            raise CallError(
                f"past_key_values: expected a StateCache of more than {self.index} layers, got {type(cache).__name__}"
            )
        own: _StateLayer = cache.layers[self.index]
        if own.states is not None and len(own.states) != x.shape[0]:
            raise CallError(f"past_key_values: expected the states of {x.shape[0]} rows, got {len(own.states)}")
        behind = [i for i, one in enumerate(cache.layers) if one.states is not None and one.seen < own.seen]
        if behind:
            raise CallError(
                f"past_key_values: expected each layer once in a pass of the model, got layer {self.index} after {own.seen} columns "
                f"and layer {behind[0]} after {cache.layers[behind[0]].seen}; {_ONE_INDEX_EACH}"
            )
        return own

    def _go_on(
        self, x: torch.Tensor, own: _StateLayer, mask: torch.Tensor | None, named: dict[str, Any]
    ) -> torch.Tensor:
        """One sequence in each row, which goes on. The cache changes only where the step has worked."""
        packing, lengths, first = find_packing(x, mask, named), None, x.new_zeros(x.shape[0], dtype=torch.long)
        states = self.layer.new_states(x.shape[0], x.device) if own.states is None else own.states
        if packing is not None:
            rows, starts = packing.at // x.shape[1], packing.first()
            if len(starts) > len(rows[starts].unique()):
                raise CallError("past_key_values: expected one sequence in each row, which its state goes on with, got several")
            first[rows[starts]] = packing.at[starts] % x.shape[1]
            lengths = torch.bincount(rows, minlength=x.shape[0])
        if "position_ids" in named:
            _check_positions(positions_of(named["position_ids"], x), states.positions, own.seen, first, lengths)
        if lengths is None:
            y = self.layer.step(x, states)
        else:
            y = _rotated(self.layer.step(_rotated(x, first), states, lengths=lengths), -first)
            y = y.masked_fill((mask == 0)[..., None], 0) if mask is not None else y
        own.states = states
        own.seen += x.shape[1]
        return y


_ONE_INDEX_EACH = "where a model calls a layer in several places, each needs a CachedAttention with an index of its own"


def _columns(mask: Any, x: torch.Tensor, own: _StateLayer | None) -> torch.Tensor | None:
    """The part of attention_mask that is about the columns of x."""
    mask = _one_of(mask) if isinstance(mask, dict) else mask
    if mask is None:
        return None
    (batch, length), seen = x.shape[:2], 0 if own is None else own.seen
    widths = f"[{batch}, {length}]" + f" or [{batch}, {seen + length}]" * (seen > 0)
    if not isinstance(mask, torch.Tensor) or mask.dim() != 2:
        came = list(mask.shape) if isinstance(mask, torch.Tensor) else type(mask).__name__
        raise CallError(
            f"attention_mask: expected {widths}, 0 for padding, got {came}; a mask of pairs of columns cannot be honoured"
        )
    if mask.shape[0] not in (1, batch) or mask.shape[1] not in (length, seen + length):
        raise CallError(f"attention_mask: expected {widths}, got {list(mask.shape)}")
    if own is not None and own.states is not None and mask.shape[1] == seen + length:
        positions = own.states.positions
        before = mask[:, :seen].ne(0).sum(1).expand(batch).to(positions.device)
        if not torch.equal(before, positions):
            raise CallError(
                f"attention_mask: expected {positions.tolist()} positions in the {seen} columns that the states have seen, got "
                f"{before.tolist()}; what a state has seen cannot be masked"
            )
    return whole_numbers("attention_mask", mask[:, mask.shape[1] - length :], x)


def _check_cache_position(given: Any, x: torch.Tensor, own: _StateLayer | None) -> None:
    if given is None:
        return
    seen = 0 if own is None else own.seen
    columns = torch.arange(seen, seen + x.shape[1])
    if not isinstance(given, torch.Tensor) or given.is_floating_point() or not torch.equal(given.cpu().long(), columns):
        raise CallError(
            f"cache_position: expected the columns {seen} to {seen + x.shape[1] - 1}, as the cache has seen {seen}, got {given}"
        )


def _check_positions(
    given: torch.Tensor, positions: torch.Tensor, seen: int, first: torch.Tensor, lengths: torch.Tensor | None
) -> None:
    """Positions count as states do, without padding, or as columns do. A state has no others."""
    found = given.take_along_dim(first[:, None], 1)[:, 0] if given.shape[1] else positions
    is_right = (found == positions) | (found == seen + first)
    if lengths is not None:
        is_right |= lengths == 0
    if not bool(is_right.all()):
        raise CallError(
            f"position_ids: expected rows that go on at {positions.tolist()}, as their states do, got {found.tolist()}"
        )


class GenerationMixin(transformers.GenerationMixin):  # type: ignore[misc, unused-ignore]
    """`generate()` with a StateCache: greedy, sampling, beams. No assisted decoding, because states cannot be rolled back."""

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        cls._is_stateful = True  # over PreTrainedModel's, whichever base comes first

    def _prepare_cache_for_generation(
        self, generation_config: Any, model_kwargs: dict[str, Any], *others: Any, **named: Any
    ) -> None:
        if generation_config.is_assistant:
            raise CallError(
                "assistant_model: expected a model whose cache of keys and values can be cropped, got "
                f"{type(self).__name__}, whose states cannot be taken back"
            )
        if not generation_config.use_cache or model_kwargs.get(_NAME) is not None:
            super()._prepare_cache_for_generation(generation_config, model_kwargs, *others, **named)
            return
        if generation_config.cache_implementation is not None:
            raise CallError(
                "cache_implementation: expected None, as the cache of states has one form, got "
                f"{generation_config.cache_implementation!r}"
            )
        model_kwargs[_NAME] = StateCache(1 + max(_places(self)))

    @functools.wraps(transformers.GenerationMixin.prepare_inputs_for_generation)  # whose parameters `generate` looks at
    def prepare_inputs_for_generation(self, input_ids: Any, *arguments: Any, **named: Any) -> dict[str, Any]:
        """transformers' own, with the cache under the name that the model's forward has for it. One that went into `**others`
        would be lost without a word, and each word come from the last one alone."""
        inputs: dict[str, Any] = super().prepare_inputs_for_generation(input_ids, *arguments, **named)
        if _NAME in inputs:
            _check_seen(inputs[_NAME], named, input_ids, inputs)
            expected = [one for one in _NAMES if one in inspect.signature(self.forward).parameters]  # type: ignore[attr-defined, unused-ignore]
            if not expected:
                raise CallError(f"forward: expected a model whose forward takes {' or '.join(_NAMES)}")
            inputs[expected[0]] = inputs.pop(_NAME)
        return inputs


def _places(model: Any) -> dict[int, str]:
    """The name of the CachedAttention of each index of the cache."""
    found: dict[int, str] = {}
    for name, one in model.named_modules(remove_duplicate=False):
        if isinstance(one, CachedAttention):
            if one.index in found:
                places = f"{found[one.index]} and {name}"
                raise CallError(f"CachedAttention: expected one place for index {one.index}, got {places}; {_ONE_INDEX_EACH}")
            found[one.index] = name
    if not found:
        raise CallError(f"GenerationMixin: expected a model with hf.CachedAttention, got {type(model).__name__} without any")
    return found


def _check_seen(cache: Any, given: dict[str, Any], words: Any, inputs: dict[str, Any]) -> None:
    """Each layer has seen the columns before this pass. One that is called twice in a pass has seen more."""
    now = inputs["input_ids"] if inputs.get("input_ids") is not None else inputs.get("inputs_embeds")
    mask = inputs.get("attention_mask")
    if isinstance(mask, torch.Tensor) and mask.dim() == 2:
        words = mask
    elif given.get("inputs_embeds") is not None:
        return  # `words` are those after them
    if not isinstance(cache, StateCache) or words is None or now is None:
        return
    before = words.shape[1] - now.shape[1]
    for i, one in enumerate(cache.layers):
        if one.states is not None and one.seen != before:
            raise CallError(f"past_key_values: expected layer {i} after {before} columns, got {one.seen}; {_ONE_INDEX_EACH}")
