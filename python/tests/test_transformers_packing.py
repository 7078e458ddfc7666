"""hf.CachedAttention where sequences lie beside padding or each other, against formulas in f64 with a mask of all pairs."""

import copy

import pytest

import polyattn
from polyattn import builder as b

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
from torch.nn import functional as F  # noqa: E402

import polyattn.torch.nn as pn  # noqa: E402
from polyattn.torch import hf  # noqa: E402

WIDTH, HEADS, LENGTH = 32, 2, 12
D = WIDTH // HEADS


def heads_of(layer, x):
    return [one(x).unflatten(-1, (HEADS, D)).transpose(1, 2) for one in (layer.q_proj, layer.k_proj, layer.v_proj)]


def together(o):
    return o.transpose(1, 2).flatten(-2)


def linear(layer, x, pairs):
    q, k, v = heads_of(layer, x)
    scores = (F.elu(q) + 1) @ (F.elu(k) + 1).transpose(-1, -2) * pairs
    return layer.o_proj(together(scores @ v / (scores.sum(-1, keepdim=True) + 1e-6)))


def pola_former(layer, x, pairs):
    q, k, v = heads_of(layer, x)
    factor, power = (one[:, None] for one in (F.softplus(layer.scale), 1 + 4 * layer.w.sigmoid()))
    (q_plus, q_minus), (k_plus, k_minus) = ([(s * one / factor).relu() ** power for s in (1, -1)] for one in (q, k))
    key, keys, halves = torch.cat([k_plus, k_minus], -1).transpose(-1, -2), pairs.sum(-1, keepdim=True).clamp(min=1), []
    for query, value in zip(([q_plus, q_minus], [q_minus, q_plus]), v.chunk(2, -1)):
        scores = torch.cat(query, -1) @ key * pairs
        halves.append(scores @ value / keys / (scores.sum(-1, keepdim=True) / keys + 1e-6))
    return layer.o_proj(together(torch.cat(halves, -1)) * layer.g_proj(x))


def full_llops(layer, x, pairs):
    """A mean over keys, without a denominator."""
    q, k, v = heads_of(layer, x)
    phi_q, phi_k = ((x @ getattr(layer, f"theta_{side}1")) * (x @ getattr(layer, f"theta_{side}2")) for x, side in ((q, "q"), (k, "k")))
    return layer.o_proj(together(phi_q @ phi_k.transpose(-1, -2) * pairs @ v / pairs.sum(-1, keepdim=True).clamp(min=1)))


def fast_rope(layer, x, pairs):
    """Positions begin anywhere, as scores have their differences only."""
    q, k, v = heads_of(layer, x)
    angles = torch.arange(x.shape[1])[:, None].double() * layer.freqs

    def rotated(x):
        (a, b), (cos, sin) = x.unflatten(-1, (-1, 2)).unbind(-1), (angles.cos(), angles.sin())
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)

    s = rotated(q) @ rotated(k).transpose(-1, -2) * q.shape[-1] ** -0.5
    scores = (1.0134232833691079**2 + 1.0554046585996855**2 * s + 0.68509215015205138**2 * s**2) * pairs
    return layer.o_proj(together(scores @ v / scores.sum(-1, keepdim=True).where(pairs.any(-1, keepdim=True), 1)))


def reversed_linear():
    """Rows see themselves and what comes later."""
    def body(q, k, v):
        return b.attend(b.elu_plus_one(q), b.elu_plus_one(k), v, mask="anticausal", normalizer=b.by_sum(1e-6), grouping="block")

    arguments = {"q": b.Sequence[D], "k": b.Sequence[D], "v": b.Sequence[D]}
    return polyattn.attention(body, name="reversed_linear", arguments=arguments)


#: How to make a layer, its formula, and which pairs of one sequence there are.
KINDS = {
    "causal Linear": (lambda: pn.Linear(WIDTH, HEADS), linear, torch.tril),
    "full Linear": (lambda: pn.Linear(WIDTH, HEADS, mask="full"), linear, lambda pairs: pairs),
    "anticausal Linear": (lambda: pn.Attention(reversed_linear(), WIDTH, HEADS), linear, torch.triu),
    "PolaFormer": (lambda: pn.PolaFormer(WIDTH, HEADS), pola_former, lambda pairs: pairs),
    "full LLoPS": (lambda: pn.LLoPS(WIDTH, HEADS, m=8, mask="full"), full_llops, lambda pairs: pairs),
    "full FastRoPE": (lambda: pn.FastRoPE(WIDTH, HEADS, head_dim=D, p=2, mask="full"), fast_rope, lambda pairs: pairs),
}

# Padding before, behind and on both sides, rows of nothing else, sequences beside each other with and without padding between them.
NUMBERS = {
    "padding": [[0] * 5 + [1] * 7, [1] * 9 + [0] * 3, [0, 0] + [1] * 6 + [0] * 4, [0] * 12, [1] * 12],
    "several in a row": [[1] * 4 + [2] * 8, [0, 1, 1, 1, 0, 2, 2, 2, 2, 3, 3, 0]],
}


def pairs_of(numbers, part):
    return part(((numbers[:, :, None] == numbers[:, None, :]) & (numbers[:, None, :] != 0)).double())[:, None]


@pytest.mark.parametrize("places", NUMBERS)
@pytest.mark.parametrize("kind", KINDS)
def test_padding_reaches_no_row(kind, places, rng):
    """Forwards and backwards, whatever the mask: under a full one, rows of padding would be keys of all others."""
    make, formula, part = KINDS[kind]
    torch.manual_seed(int(rng.integers(2**31)))
    layer, numbers = make(), torch.tensor(NUMBERS[places])
    exact = copy.deepcopy(layer).double()
    x = torch.randn(*numbers.shape, WIDTH, requires_grad=True)
    exact_x = x.detach().double().requires_grad_()
    found = hf.CachedAttention(layer, 0)(x, numbers)[0]
    wanted = formula(exact, exact_x, pairs_of(numbers, part))
    is_row = (numbers != 0)[..., None]
    assert not found[~is_row.expand_as(found)].any()
    assert (found - wanted * is_row).norm() <= 1e-5 * (wanted * is_row).norm()

    factors = torch.randn_like(wanted) * is_row
    (found * factors).sum().backward()
    (wanted * factors).sum().backward()
    assert not x.grad[numbers == 0].any()
    for one, its in zip([x, *layer.parameters()], [exact_x, *exact.parameters()]):
        assert (one.grad - its.grad).norm() <= 1e-4 * its.grad.norm()


ENDS = torch.tensor([0, 4, 10])
RESTARTING = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4, 5]])
WAYS = {
    "cu_seqlens": dict(cu_seqlens=ENDS),
    "cu_seq_lens_q": dict(cu_seq_lens_q=ENDS.int(), cu_seq_lens_k=ENDS.int(), max_length_q=6, max_length_k=6),
    "offsets with an empty sequence": dict(cu_seqlens=torch.tensor([0, 4, 4, 10])),
    "position_ids": dict(position_ids=RESTARTING),
    "seq_idx": dict(seq_idx=torch.tensor([[0] * 4 + [1] * 6], dtype=torch.int32)),
    "a mask of sequence numbers": dict(attention_mask=torch.tensor([[1] * 4 + [2] * 6])),
    "a mask of ones and position_ids": dict(attention_mask=torch.ones(1, 10), position_ids=RESTARTING),
    "positions that go on": dict(cu_seqlens=ENDS, position_ids=torch.arange(10)[None]),
    "all of them": dict(
        cu_seqlens=ENDS, cu_seq_lens_q=ENDS, cu_seq_lens_k=ENDS, max_length_q=6, max_length_k=9, position_ids=RESTARTING,
        seq_idx=torch.tensor([[3] * 4 + [1] * 6]), attention_mask=torch.tensor([[2] * 4 + [1] * 6]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@torch.no_grad()
def test_packing_is_not_ignored(way):
    """One sequence saw the other under every one of these."""
    layer, x = pn.Linear(WIDTH, HEADS), torch.randn(1, 10, WIDTH)
    numbers = torch.tensor([[1] * 4 + [2] * 6])
    wanted = linear(copy.deepcopy(layer).double(), x.double(), pairs_of(numbers, torch.tril))
    found = hf.CachedAttention(layer, 0)(x, **WAYS[way])[0]
    assert (found - wanted).norm() <= 1e-5 * wanted.norm()


@torch.no_grad()
def test_what_the_collator_of_packed_sequences_gives():
    """transformers' own, with all that it can return."""
    from transformers import DataCollatorWithFlattening

    collate = DataCollatorWithFlattening(return_flash_attn_kwargs=True, return_seq_idx=True, return_tensors="pt")
    batch = collate([{"input_ids": list(range(length))} for length in (4, 1, 5)])
    batch.pop("labels")
    layer, x = pn.Linear(WIDTH, HEADS), torch.randn(1, batch.pop("input_ids").shape[1], WIDTH)
    assert {"position_ids", "seq_idx", "cu_seq_lens_q", "max_length_k"} <= set(batch)
    wanted = torch.cat([layer(one) for one in x.split([4, 1, 5], 1)], 1)
    assert torch.allclose(hf.CachedAttention(layer, 0)(x, **batch)[0], wanted, atol=1e-5)


@torch.no_grad()
def test_positions_of_a_layer_that_asks_for_them(monkeypatch):
    """Each sequence's first one, of the columns that are no padding."""
    layer, seen = pn.RetNet(WIDTH, HEADS, first_position=True), []
    one, of_call = hf.CachedAttention(layer, 0), layer.of_call
    monkeypatch.setattr(layer, "of_call", lambda *given: seen.append(of_call(*given)) or seen[-1])
    x = torch.randn(2, 6, WIDTH)
    mask = torch.tensor([[0, 0, 1, 1, 1, 1], [1, 1, 1, 2, 2, 0]])
    one(x, position_ids=torch.arange(6)[None])
    one(x, position_ids=torch.arange(6)[None] + torch.tensor([[7], [0]]))
    one(x, mask, position_ids=torch.tensor([[1, 1, 0, 1, 2, 3], [5, 6, 7, 0, 1, 1]]))
    one(x, mask)
    assert [first.tolist() for first in seen] == [[0, 0], [7, 0], [0, 5, 0], [0, 0, 0]]


HIDDEN = torch.zeros(2, 6, WIDTH)
ONES = torch.ones(2, 6, dtype=torch.long)
REFUSED = {
    "position_embeddings": (dict(position_embeddings=(HIDDEN, HIDDEN)), "position_embeddings: expected None, as positions are"),
    "output_attentions": (dict(output_attentions=True), "output_attentions: expected None, as linear attention has no weights"),
    "head_mask": (dict(head_mask=torch.ones(2)), "head_mask: expected None"),
    "is_causal": (dict(is_causal=False), "is_causal: expected None, as the layer's spec has the mask; got False"),
    "encoder_hidden_states": (dict(encoder_hidden_states=HIDDEN), "encoder_hidden_states: expected None"),
    "past_key_value": (dict(past_key_value=object()), "past_key_value: expected None, as the cache is past_key_values"),
    "unknown": (dict(sliding_window=128), "sliding_window: expected None, as CachedAttention does not know it; got 128"),
    "4-d mask": (dict(attention_mask=torch.ones(2, 1, 6, 6)), r"attention_mask: expected \[2, 6\], 0 for padding, got \[2, 1, 6, 6\]"),
    "block mask": (dict(attention_mask=object()), "attention_mask: expected .*, got object; a mask of pairs"),
    "masks of other layers": (dict(attention_mask={"full_attention": None, "sliding_attention": ONES}), "or one named linear_attention"),
    "wide mask": (dict(attention_mask=torch.ones(2, 7)), r"attention_mask: expected \[2, 6\], got \[2, 7\]"),
    "additive mask": (dict(attention_mask=torch.full((2, 6), -1e9)), "attention_mask: expected whole numbers from 0 on"),
    "hole": (dict(attention_mask=torch.tensor([[1, 1, 0, 1, 1, 1]])), "expected padding before or behind a sequence, got some inside"),
    "number that comes again": (dict(attention_mask=torch.tensor([[1, 1, 2, 2, 1, 1]])), "expected each sequence in one piece"),
    "offsets of a batch": (dict(cu_seqlens=torch.tensor([0, 6])), "cu_seqlens: expected a batch of 1"),
    "positions with a gap": (dict(position_ids=torch.tensor([[0, 1, 2, 5, 6, 7]])), "position_ids: expected positions that go up by one"),
    "bools for positions": (dict(position_ids=torch.ones(1, 6, dtype=torch.bool)), "position_ids: expected whole numbers, got torch.bool"),
    "bools for offsets": (dict(cu_seqlens=torch.ones(2, dtype=torch.bool)), r"cu_seqlens: expected a tensor of N \+ 1 whole numbers, got torch.bool"),
    "positions between whole ones": (dict(position_ids=torch.arange(6)[None] + 0.5), "position_ids: expected whole numbers, got torch.float32"),
    "a longest of no number": (dict(max_length_q="6"), "max_length_q: expected a number, got str"),
    "a mask of another batch": (dict(attention_mask=torch.ones(3, 6)), r"attention_mask: expected \[2, 6\], got \[3, 6\]"),
    "positions of three axes": (dict(position_ids=torch.zeros(3, 2, 6)), r"position_ids: expected a tensor \[2, 6\]"),
    "arguments that disagree": (
        dict(position_ids=torch.tensor([[0, 1, 2, 0, 1, 2]]), seq_idx=torch.tensor([[0, 0, 1, 1, 1, 1]])),
        "position_ids: expected sequences that begin where seq_idx has them",
    ),
    "cache_position": (dict(cache_position=torch.arange(6) + 1), "cache_position: expected the columns 0 to 5"),
    "two caches": (dict(cache=hf.StateCache(1), past_key_values=hf.StateCache(1)), "cache: expected None beside past_key_values"),
    "offsets of another end": (
        dict(hidden_states=HIDDEN[:1], cu_seq_lens_q=torch.tensor([0, 5])), "cu_seq_lens_q: expected ascending numbers from 0 to 6"
    ),
    "keys of other sequences": (
        dict(hidden_states=HIDDEN[:1], cu_seq_lens_q=torch.tensor([0, 2, 6]), cu_seq_lens_k=torch.tensor([0, 3, 6])),
        "cu_seq_lens_k: expected sequences that begin where cu_seq_lens_q has them",
    ),
    "too short a longest": (
        dict(hidden_states=HIDDEN[:1], cu_seqlens=torch.tensor([0, 2, 6]), max_seqlen=3), "max_seqlen: expected at least 4"
    ),
    "offsets beside padding": (
        dict(hidden_states=HIDDEN[:1], cu_seqlens=torch.tensor([0, 6]), attention_mask=torch.tensor([[0, 1, 1, 1, 1, 1]])),
        "attention_mask: expected no padding beside cu_seqlens",
    ),
    "vectors alone": (dict(hidden_states=HIDDEN[0]), "hidden_states: expected a tensor .batch, columns, width."),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_honoured_is_refused(case):
    named, words = REFUSED[case]
    with pytest.raises(polyattn.CallError, match=words):
        hf.CachedAttention(pn.Linear(WIDTH, HEADS), 0)(**{"hidden_states": HIDDEN, **named})


@torch.no_grad()
def test_what_has_no_effect_is_taken():
    """What models pass through all of their layers, and what only repeats what is so."""
    layer, x = pn.Linear(WIDTH, HEADS), torch.randn(2, 6, WIDTH)
    named = dict(
        use_cache=True, num_items_in_batch=torch.tensor(12), output_hidden_states=True, output_router_logits=False, head_mask=None,
        output_attentions=False, cache_position=torch.arange(6), attention_mask={"full_attention": 3, "linear_attention": ONES},
    )  # fmt: skip
    assert torch.equal(hf.CachedAttention(layer, 0)(x, **named)[0], layer(x))


def one_and_cache():
    return hf.CachedAttention(pn.RetNet(WIDTH, HEADS, first_position=True), 0), hf.StateCache(1)


def goes_on(one, cache, x, **named):
    return one(x, past_key_values=cache, **named)[0]


@torch.no_grad()
def test_arguments_beside_a_cache():
    """A prompt with padding before it, then words, with all that says where they are."""
    one, cache = one_and_cache()
    x = torch.randn(2, 9, WIDTH)
    mask = torch.tensor([[0, 0, 1, 1, 1, 1, 1, 1, 1], [1] * 9])
    positions = mask.cumsum(1) - 1
    wanted = one(x, mask)[0]
    found = [goes_on(one, cache, x[:, :5], attention_mask=mask[:, :5], position_ids=positions[:, :5], cache_position=torch.arange(5))]
    found.append(goes_on(one, cache, x[:, 5:7], attention_mask=mask[:, :7], position_ids=torch.tensor([[5, 6]])))  # as columns count
    found.append(goes_on(one, cache, x[:, 7:8], attention_mask=mask[:, 7:8], position_ids=positions[:, 7:8], seq_idx=torch.zeros(2, 1)))
    found.append(goes_on(one, cache, x[:, 8:], cache_position=torch.tensor([8])))
    assert torch.allclose(torch.cat(found, 1), wanted, atol=1e-5)


BESIDE_A_CACHE = {
    "several sequences": (dict(attention_mask=torch.tensor([[1, 1, 2, 2], [1] * 4])), "expected one sequence in each row"),
    "positions that begin again": (dict(position_ids=torch.tensor([[0, 1, 0, 1]])), "expected one sequence in each row"),
    "positions after a gap": (dict(position_ids=torch.tensor([[8, 9, 10, 11]])), r"position_ids: expected rows that go on at \[6, 6\]"),
    "cache_position": (dict(cache_position=torch.arange(4)), "cache_position: expected the columns 6 to 9"),
    "another mask of what was seen": (
        dict(attention_mask=torch.tensor([[0, 0] + [1] * 8, [1] * 10])), r"expected \[6, 6\] positions in the 6 columns .*got \[4, 6\]"
    ),
    "one mask of what all rows have seen": (dict(attention_mask=torch.tensor([[0] + [1] * 9])), r"expected \[6, 6\] .*got \[5, 5\]"),
    "a mask of other columns": (dict(attention_mask=torch.ones(2, 7)), r"expected \[2, 4\] or \[2, 10\], got \[2, 7\]"),
}  # fmt: skip


@pytest.mark.parametrize("case", BESIDE_A_CACHE)
@torch.no_grad()
def test_refusals_beside_a_cache(case):
    """The states are as they were, and so is a cache that has none yet."""
    (one, cache), (named, words) = one_and_cache(), BESIDE_A_CACHE[case]
    if "gap" not in case and "mask" not in case and "cache_position" not in case:
        with pytest.raises(polyattn.CallError, match=words):
            goes_on(one, cache, torch.randn(2, 4, WIDTH), **named)
        assert cache.layers[0].states is None and cache.get_seq_length() == 0
    x = torch.randn(2, 10, WIDTH)
    goes_on(one, cache, x[:, :6])
    with pytest.raises(polyattn.CallError, match=words):
        goes_on(one, cache, x[:, 6:], **named)
    assert cache.get_seq_length() == 6
    assert torch.allclose(goes_on(one, cache, x[:, 6:]), one(x)[0][:, 6:], atol=1e-5)


@torch.no_grad()
def test_a_layer_that_is_called_twice_in_a_pass():
    """Its one state would go over the words twice. Two places of one layer have a state each."""
    layer, other = (pn.Linear(WIDTH, HEADS) for _ in range(2))
    first, second, last = (hf.CachedAttention(one, i) for i, one in enumerate((layer, layer, other)))
    x, cache = torch.randn(2, 7, WIDTH), hf.StateCache(3)
    wanted, found = last(second(first(x)[0])[0])[0], []
    for at in (slice(4), slice(4, 7)):
        found.append(goes_on(last, cache, goes_on(second, cache, goes_on(first, cache, x[:, at]))))
    assert torch.allclose(torch.cat(found, 1), wanted, atol=1e-5)
    goes_on(first, cache, x[:, :1])
    with pytest.raises(polyattn.CallError, match="expected each layer once in a pass .* layer 0 after 8 columns and layer 1 after 7"):
        goes_on(first, cache, x[:, :1])
