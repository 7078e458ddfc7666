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
    """What `past_key_values` is for a model of `layers` layers with states."""

    def __init__(self, layers: int) -> None:
        super().__init__(layers=[_StateLayer() for _ in range(layers)])


def _padding(mask: Any, length: int) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Where each row's positions begin among `length` columns, and how many there are; None where all count."""
    if isinstance(mask, dict):
        mask = mask.get("linear_attention", next(iter(mask.values()), None))
    if mask is None:
        return None
    if mask.dim() != 2 or mask.shape[1] < length:
        raise CallError(
            f"attention_mask: expected [batch, {length}] or more columns, of padding alone, got {list(mask.shape)}"
        )
    counts = mask[:, -length:].ne(0)
    if counts.all():
        return None
    first, number = counts.int().argmax(1), counts.sum(1)
    columns = torch.arange(length, device=mask.device)
    inside = (columns >= first[:, None]) & (columns < (first + number)[:, None])
    if not torch.equal(inside, counts):
        raise CallError("attention_mask: expected padding before or behind a sequence, got some inside")
    return first, number


def _rotated(x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
    """Column (t + by) % T of each row at t."""
    columns = torch.arange(x.shape[1], device=x.device)
    at = (columns + by[:, None]) % x.shape[1]
    return x.take_along_dim(at[..., None], 1)


class CachedAttention(nn.Module):
    """A layer of polyattn.torch.nn under transformers' arguments: the layer `index` of a model.

    Padding comes as attention_mask [batch, columns], before or behind the sequences: it changes no state, positions count without
    it, and what comes out there means nothing.
    """

    def __init__(self, layer: Attention, index: int) -> None:
        super().__init__()
        self.layer, self.index = layer, index

    def forward(
        self, hidden_states: torch.Tensor, attention_mask: Any = None, past_key_values: Any = None,
        cache: Any = None, **others: Any,
    ) -> tuple[torch.Tensor, None]:  # fmt: skip
        past_key_values = cache if past_key_values is None else past_key_values
        padding = _padding(attention_mask, hidden_states.shape[1])
        x = hidden_states if padding is None else _rotated(hidden_states, padding[0])
        if past_key_values is None:
            y = self.layer(x)  # which sees nothing of what is behind a sequence
        else:
            y = self._go_on(x, past_key_values, None if padding is None else padding[1])
        return (y if padding is None else _rotated(y, -padding[0])), None

    def _go_on(self, x: torch.Tensor, cache: Any, lengths: Any) -> torch.Tensor:
        if not isinstance(cache, StateCache) or self.index >= len(cache.layers):
            raise CallError(
                f"past_key_values: expected a StateCache of more than {self.index} layers, got {type(cache).__name__}"
            )
        own = cache.layers[self.index]
        if own.states is None:
            own.states = self.layer.new_states(x.shape[0], x.device)
        if len(own.states) != x.shape[0]:
            raise CallError(f"past_key_values: expected the states of {x.shape[0]} rows, got {len(own.states)}")
        y = self.layer.step(x, own.states, lengths=lengths)
        own.seen += x.shape[1]
        return y


class GenerationMixin(transformers.GenerationMixin):  # type: ignore[misc, unused-ignore]
    """`generate()` with a StateCache: greedy, sampling, beams. Not assisted decoding, as a state cannot be taken back."""

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
        layers = [one for one in self.modules() if isinstance(one, CachedAttention)]  # type: ignore[attr-defined, unused-ignore]
        model_kwargs[_NAME] = StateCache(1 + max(one.index for one in layers))

    @functools.wraps(transformers.GenerationMixin.prepare_inputs_for_generation)  # whose parameters `generate` looks at
    def prepare_inputs_for_generation(self, *arguments: Any, **named: Any) -> dict[str, Any]:
        """transformers' own, with the cache under the name that the model's forward has for it. One that went into `**others`
        would be lost without a word, and each word come from the last one alone."""
        inputs: dict[str, Any] = super().prepare_inputs_for_generation(*arguments, **named)
        if _NAME in inputs:
            expected = [one for one in _NAMES if one in inspect.signature(self.forward).parameters]  # type: ignore[attr-defined, unused-ignore]
            if not expected:
                raise CallError(f"forward: expected a model whose forward takes {' or '.join(_NAMES)}")
            inputs[expected[0]] = inputs.pop(_NAME)
        return inputs
