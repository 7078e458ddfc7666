"""Layers in a model of Hugging Face's transformers, whose generate() carries their states."""

import copy
import pickle

import pytest

import polyattn

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
from torch import nn  # noqa: E402
from transformers import DynamicCache, PreTrainedConfig, PreTrainedModel  # noqa: E402
from transformers.modeling_outputs import CausalLMOutputWithPast  # noqa: E402

import polyattn.torch.nn as pn  # noqa: E402
from polyattn.torch import hf  # noqa: E402

LAYERS = {"Linear": pn.Linear, "RetNet": lambda *sizes: pn.RetNet(*sizes, first_position=True)}


class Config(PreTrainedConfig):
    model_type = "polyattn_test"

    def __init__(self, attention="Linear", **named):
        self.attention, self.num_hidden_layers, self.hidden_size, self.vocab_size = attention, 2, 32, 50
        super().__init__(**named)


class Model(PreTrainedModel, hf.GenerationMixin):
    config_class = Config

    def __init__(self, config):
        super().__init__(config)
        self.words = nn.Embedding(config.vocab_size, config.hidden_size)
        self.attentions = nn.ModuleList(
            hf.CachedAttention(LAYERS[config.attention](config.hidden_size, 2), i) for i in range(config.num_hidden_layers)
        )
        self.norm = nn.LayerNorm(config.hidden_size)
        self.head = nn.Linear(config.hidden_size, config.vocab_size)
        self.widths = []
        self.post_init()

    def forward(self, input_ids=None, attention_mask=None, past_key_values=None, use_cache=True, **others):
        self.widths.append(input_ids.shape[1])
        x = self.words(input_ids)
        for one in self.attentions:
            x = x + one(self.norm(x), attention_mask, past_key_values if use_cache else None)[0]
        return CausalLMOutputWithPast(logits=self.head(x), past_key_values=past_key_values)


class ModelWithCache(Model):
    """By the argument's other name, which is transformers' own in some versions."""

    def forward(self, input_ids=None, attention_mask=None, cache=None, use_cache=True, **others):
        return super().forward(input_ids, attention_mask, cache, use_cache)


class ModelWithout(Model):
    def forward(self, input_ids=None, attention_mask=None, **others):
        return super().forward(input_ids, attention_mask)


@pytest.fixture(params=LAYERS)
def model(request, rng):
    torch.manual_seed(int(rng.integers(2**31)))
    model = Model(Config(request.param, bos_token_id=1, eos_token_id=None, pad_token_id=0)).eval()
    # What it was made with is not to be the same for all prompts.
    for one in model.parameters():
        one.data = one.data + 0.3 * torch.randn_like(one)
    return model


def prompts(*lengths, columns=None, left=True):
    columns = columns or max(lengths)
    words, mask = torch.zeros(len(lengths), columns, dtype=torch.long), torch.zeros(len(lengths), columns, dtype=torch.long)
    for i, length in enumerate(lengths):
        at = slice(columns - length, columns) if left else slice(length)
        words[i, at], mask[i, at] = torch.randint(2, 50, (length,)), 1
    return words, mask


@pytest.mark.parametrize("options", [{}, {"num_beams": 3}], ids=["greedy", "beams"])
@torch.no_grad()
def test_generate(model, options):
    """The same words as without a cache, which is for one word at a time."""
    words, mask = prompts(9, 9)
    options = dict(attention_mask=mask, max_new_tokens=8, do_sample=False, **options)
    found = model.generate(words, **options)
    assert model.widths == [9] + [1] * 7
    assert torch.equal(found, model.generate(words, use_cache=False, **options))


@torch.no_grad()
def test_names_of_the_cache(model):
    words, mask = prompts(9, 9)
    options = dict(attention_mask=mask, max_new_tokens=8, do_sample=False)
    expected = model.generate(words, **options)
    other = ModelWithCache(model.config).eval()
    other.load_state_dict(model.state_dict())
    assert torch.equal(other.generate(words, **options), expected) and other.widths == [9] + [1] * 7
    with pytest.raises(polyattn.CallError, match="forward takes past_key_values or cache"):
        ModelWithout(model.config).generate(words, **options)


@torch.no_grad()
def test_sampling(model):
    words, mask = prompts(5, 5)
    found = []
    for use_cache in (True, False):
        torch.manual_seed(0)
        found.append(model.generate(words, attention_mask=mask, max_new_tokens=6, do_sample=True,
                                    num_return_sequences=3, use_cache=use_cache))  # fmt: skip
    assert found[0].shape == (6, 11) and torch.equal(*found)


@pytest.mark.parametrize("options", [{}, {"num_beams": 2}], ids=["greedy", "beams"])
@torch.no_grad()
def test_padding_changes_nothing(model, options):
    """Prompts of several lengths in one batch, padded before them, go on as each alone."""
    words, mask = prompts(9, 3, 1)
    options = dict(max_new_tokens=6, do_sample=False, **options)
    found = model.generate(words, attention_mask=mask, **options)
    for i, length in enumerate((9, 3, 1)):
        alone = model.generate(words[i : i + 1, 9 - length :], attention_mask=mask[i : i + 1, 9 - length :], **options)
        assert torch.equal(found[i, 9:], alone[0, length:])


@pytest.mark.parametrize("left", [True, False])
def test_padding_of_a_batch_for_training(model, left):
    """On either side, with results and gradients of each sequence alone."""
    words, mask = prompts(9, 3, columns=12, left=left)
    logits = model(words, mask, use_cache=False).logits
    for i, length in enumerate((9, 3)):
        at = slice(12 - length, 12) if left else slice(length)
        alone = model(words[i : i + 1, at], use_cache=False).logits
        assert torch.allclose(logits[i, at], alone[0], atol=1e-4)
    logits[mask.bool()].square().mean().backward()
    assert model.words.weight.grad.isfinite().all() and model.words.weight.grad.any()


@torch.no_grad()
def test_refusals(model):
    words, mask = prompts(9, 9)
    mask[0, 4] = 0
    with pytest.raises(polyattn.CallError, match="attention_mask: expected padding before or behind"):
        model.generate(words, attention_mask=mask, max_new_tokens=2)
    with pytest.raises(polyattn.CallError, match=r"attention_mask: expected .2, 9., 0 for padding, got .2, 1, 9, 9."):
        model(words, torch.ones(2, 1, 9, 9), use_cache=False)
    with pytest.raises(polyattn.CallError, match="past_key_values: expected a StateCache"):
        model(words, past_key_values=object())
    with pytest.raises(polyattn.CallError, match="past_key_values: expected a StateCache of more than 1 layers"):
        model(words, past_key_values=hf.StateCache(1))
    cache = hf.StateCache(2)
    model(words, past_key_values=cache)
    assert cache.get_seq_length() == 9
    with pytest.raises(polyattn.CallError, match="expected the states of 1 rows, got 2"):
        model(words[:1], past_key_values=cache)


def llama():
    """A model with a cache of keys and values, which can be cropped."""
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = dict(hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, vocab_size=50)
    return LlamaForCausalLM(LlamaConfig(**sizes, bos_token_id=1, eos_token_id=None, pad_token_id=0)).eval()


TAKES_BACK = {
    "crop": (lambda model, words: after(model, words).crop(-2), "crop: .* no token can be taken back"),
    "crop to a length": (lambda model, words: after(model, words).crop(4), "crop: .* no token can be taken back"),
    "drafts of a model": (lambda model, words: generated(model, words, assistant_model=llama()), "stateful models"),
    "drafts from the prompt": (lambda model, words: generated(model, words, prompt_lookup_num_tokens=3), "stateful models"),
    "drafts of its first layers": (lambda model, words: generated(model, words, assistant_early_exit=1), "stateful models"),
    "drafts for another model": (
        lambda model, words: generated(llama(), words, assistant_model=model), "assistant_model: .*Model, whose states cannot be taken back"
    ),
}  # fmt: skip


def after(model, words):
    cache = hf.StateCache(2)
    model(words, past_key_values=cache)
    return cache


def generated(model, words, **options):
    return model.generate(words[:1], max_new_tokens=4, do_sample=False, **options)


@pytest.mark.parametrize("way", TAKES_BACK)
@torch.no_grad()
def test_no_token_is_taken_back(model, way):
    """Every way that transformers has to a crop of the cache says so, and why."""
    call, message = TAKES_BACK[way]
    assert not hf.StateCache(2).is_croppable
    with pytest.raises(ValueError, match=message):
        call(model, prompts(9, 9)[0])


@torch.no_grad()
def test_copies_of_a_cache(model):
    """A prompt is read once and goes on twice, here and from a file."""
    words = prompts(12, 12)[0]
    cache, wanted = after(model, words[:, :9]), model(words, use_cache=False).logits[:, 9:]
    for one in (copy.deepcopy(cache), pickle.loads(pickle.dumps(cache)), cache):
        assert torch.allclose(model(words[:, 9:], past_key_values=one).logits, wanted, atol=1e-4)
        assert one.get_seq_length() == 12


@torch.no_grad()
def test_a_prompt_in_parts(model):
    words, mask = prompts(9, 4)
    options = dict(attention_mask=mask, max_new_tokens=6, do_sample=False)
    found = model.generate(words, prefill_chunk_size=4, **options)
    assert torch.equal(found, model.generate(words, **options))
    cache = hf.StateCache(2)
    first = model.generate(words, past_key_values=cache, **{**options, "max_new_tokens": 2})
    more = torch.cat([mask, torch.ones(2, 2, dtype=mask.dtype)], 1)
    assert torch.equal(model.generate(first, past_key_values=cache, attention_mask=more, max_new_tokens=4, do_sample=False), found)


@torch.no_grad()
def test_other_caches_are_refused(model):
    words = prompts(9, 9)[0]
    for options, message in (
        ({"cache_implementation": "static"}, "cache_implementation: expected None, .*'static'"),
        ({"past_key_values": DynamicCache()}, "past_key_values: expected a StateCache"),
    ):
        with pytest.raises(polyattn.CallError, match=message):
            generated(model, words, **options)


class ForwardingModel(Model):
    """With everything that it was given, as transformers' own do."""

    def forward(self, input_ids=None, attention_mask=None, past_key_values=None, **others):
        x = self.words(input_ids)
        for one in self.attentions:
            x = x + one(self.norm(x), attention_mask, past_key_values, **others)[0]
        return CausalLMOutputWithPast(logits=self.head(x), past_key_values=past_key_values)


@torch.no_grad()
def test_a_model_that_passes_its_arguments_on(model):
    words, mask = prompts(9, 4)
    other = ForwardingModel(model.config).eval()
    other.load_state_dict(model.state_dict())
    options = dict(attention_mask=mask, max_new_tokens=6, do_sample=False, position_ids=(mask.cumsum(1) - 1).clamp(min=0))
    for more in ({}, {"num_beams": 2}):
        assert torch.equal(other.generate(words, **options, **more), model.generate(words, **options, **more))


class LoopedModel(Model):
    """The first layer three times, in one place."""

    def forward(self, input_ids=None, attention_mask=None, past_key_values=None, use_cache=True, **others):
        x, one = self.words(input_ids), self.attentions[0]
        for _ in range(3):
            x = x + one(self.norm(x), None, past_key_values if use_cache else None)[0]
        return CausalLMOutputWithPast(logits=self.head(x), past_key_values=past_key_values)


@torch.no_grad()
def test_a_layer_in_several_places(model):
    """One state would be the state of all of them."""
    words = prompts(9, 9)[0]
    looped = LoopedModel(model.config).eval()
    with pytest.raises(polyattn.CallError, match="expected layer 0 after 9 columns, got 27; where a model calls a layer in several"):
        generated(looped, words)
    model.attentions[1] = model.attentions[0]
    with pytest.raises(polyattn.CallError, match="expected one place for index 0, got attentions.0 and attentions.1"):
        generated(model, words)
    # The layer itself may be shared.
    model.attentions[1] = hf.CachedAttention(model.attentions[0].layer, 1)
    found = generated(model, words)
    assert torch.equal(found, generated(model, words, use_cache=False))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@torch.no_grad()
def test_from_pretrained_in_16_bits(model, dtype, tmp_path):
    """Weights have the dtype, RetNet's frequencies and decays are f32 and not rounded; and a checkpoint in 16 bits loads in f32."""
    model.save_pretrained(tmp_path / "f32")
    loaded, expected = Model.from_pretrained(tmp_path / "f32", dtype=dtype), copy.deepcopy(model).to(dtype)
    words = prompts(20, 20)[0]
    assert {one.dtype for one in loaded.parameters()} == {dtype}
    assert torch.equal(loaded(words).logits, expected(words).logits)
    found = loaded.generate(words, max_new_tokens=4, do_sample=False)
    assert torch.equal(found, expected.generate(words, max_new_tokens=4, do_sample=False))
    loaded.save_pretrained(tmp_path / "small")
    again = Model.from_pretrained(tmp_path / "small", dtype=torch.float32)
    for one in model.parameters():
        one.copy_(one.to(dtype))
    assert torch.equal(again(words).logits, model(words).logits)
