"""Factorized polynomial attention: the five invariances of its paper, and the symmetric power as FPA over heads (its appendix)."""

import itertools
import math

import numpy as np
import pytest

import polyattn
from polyattn import library

D, DV, HEADS = 12, 5, 2


def formula(q, k, v, *weights):
    """Sums over j <= i of the product of <W_l q_i, W_l k_j>, times v_j, in f64."""
    q, k, v, *weights = (x.astype("f8") for x in (q, k, v, *weights))
    scores = math.prod(np.einsum("bihd,hdw,bjhe,hew->bhij", q, w, k, w, optimize=True) for w in weights)
    return np.einsum("bhij,bjhd->bihd", np.tril(scores), v)


def attend(q, k, v, *weights):
    """The kernel for the widths of these weights, which agrees with the formula."""
    kernel = polyattn.compile(library.fpa(q.shape[-1], v.shape[-1], tuple(w.shape[-1] for w in weights)))
    found, wanted = kernel(q, k, v, *weights), formula(q, k, v, *weights)
    assert np.linalg.norm(found - wanted) <= 1e-5 * np.linalg.norm(wanted)
    return found


def are_near(found, wanted):
    return np.linalg.norm(found - wanted) <= 1e-5 * np.linalg.norm(wanted)


def numbers(rng, *shape):
    return rng.standard_normal(shape).astype("f4")


@pytest.fixture
def inputs(rng):
    return [numbers(rng, 2, 70, HEADS, size) for size in (D, D, DV)]


@pytest.fixture
def weights(rng):
    return [numbers(rng, HEADS, D, width) for width in (3, 4, 5)]


def test_exchange_symmetry(weights, rng):
    """k(x, y) = k(y, x): one position attends to itself alone, so its row is the score times the value."""
    x, y = numbers(rng, 64, 1, HEADS, D), numbers(rng, 64, 1, HEADS, D)
    ones = np.ones((64, 1, HEADS, 1), "f4")
    assert are_near(attend(x, y, ones, *weights), attend(y, x, ones, *weights))


def test_branch_permutation_symmetry(inputs, weights):
    first = attend(*inputs, *weights)
    for order in itertools.permutations(weights):
        assert are_near(attend(*inputs, *order), first)


def orthogonal(rng, size):
    return np.linalg.qr(rng.standard_normal((size, size)))[0]


def test_common_isometry_group(inputs, rng):
    """Rotations that keep every G_l = W_l W_l^T keep the scores, and others do not. If all G_l are multiples of 1, every one does."""
    q, k, v = inputs
    basis = orthogonal(rng, D)

    def turned(rotation):
        return attend((q @ rotation).astype("f4"), (k @ rotation).astype("f4"), v, *weights)

    # Each G_l has two eigenspaces, of 4 and 8 dimensions, the same for all l and heads; eigenvalues differ.
    def factor(first, second):
        scales = np.repeat([first, second], [4, 8])
        return np.stack([basis * scales @ orthogonal(rng, D) for _ in range(HEADS)]).astype("f4")

    weights = [factor(0.3, 1.1), factor(0.8, 0.5)]
    inside = np.zeros((D, D))
    inside[:4, :4], inside[4:, 4:] = orthogonal(rng, 4), orthogonal(rng, 8)
    first = turned(np.eye(D))
    assert are_near(turned(basis @ inside @ basis.T), first)
    assert not np.linalg.norm(turned(orthogonal(rng, D)) - first) <= 1e-2 * np.linalg.norm(first)

    weights = [factor(0.7, 0.7), factor(0.9, 0.9)]
    first = turned(np.eye(D))
    assert are_near(turned(orthogonal(rng, D)), first)


def test_scaling_degeneracy(inputs, weights):
    """A factor of one projection is its square in the scores, whichever projection it is."""
    first = attend(*inputs, *weights)
    for i in range(len(weights)):
        scaled = [w * np.float32(1.5) if i == j else w for j, w in enumerate(weights)]
        assert are_near(attend(*inputs, *scaled), 1.5**2 * first)


def test_factor_wise_linearity(inputs, weights, rng):
    """Columns of two projections side by side are the sum of their forms G_l, and scores are linear in each G_l."""
    for i in range(len(weights)):
        other = numbers(rng, HEADS, D, 2)
        pair, sides = list(weights), [list(weights), list(weights)]
        pair[i] = np.concatenate([weights[i], other], axis=-1)
        sides[1][i] = other
        assert are_near(attend(*inputs, *pair), sum(attend(*inputs, *one) for one in sides))


def selection(d, columns, scales):
    """A matrix [d, n] whose columns select coordinates, each times its scale."""
    w = np.zeros((d, len(columns)), "f4")
    w[columns, range(len(columns))] = scales
    return w


def pairs_of_blocks(d, b):
    """The appendix, degree 2: head h has block h, times the coordinates from the block on, those beyond it by the root of 2."""
    heads = []
    for start in range(0, d, b):
        scales = np.where(np.arange(d) < start, 0, np.where(np.arange(d) < start + b, 1, math.sqrt(2)))
        heads.append([selection(d, np.arange(start, start + b), 1), selection(d, np.arange(d), scales)])
    return heads


def tuples_of_blocks(d, b, p):
    """The appendix, any degree: a head for each sorted tuple of blocks, scaled by the root of the number of its orders."""
    heads = []
    for blocks in itertools.combinations_with_replacement(range(d // b), p):
        orders = math.factorial(p) / math.prod(math.factorial(blocks.count(one)) for one in set(blocks))
        head = [selection(d, np.arange(one * b, (one + 1) * b), 1) for one in blocks]
        head[0] = head[0] * np.float32(math.sqrt(orders))
        heads.append(head)
    return heads


@pytest.mark.parametrize(
    "b, p, heads",
    [(b, 2, pairs_of_blocks(D, b)) for b in (2, 3, 4)] + [(b, p, tuples_of_blocks(D, b, p)) for b, p in ((3, 2), (3, 3), (4, 4))],
)
def test_symmetric_power_is_fpa_over_heads(b, p, heads, rng):
    """The sum over the appendix's heads is power attention with blocks of b, and both have as many features."""
    q, k, v = numbers(rng, 2, 70, 1, D), numbers(rng, 2, 70, 1, D), numbers(rng, 2, 70, 1, DV)
    kernel = polyattn.compile(library.power(D, DV, p, block=b, eps=None))
    power = kernel(q, k, v)
    each = [np.repeat(x, len(heads), axis=2) for x in (q, k, v)]
    over_heads = attend(*each, *(np.stack(branch) for branch in zip(*heads))).sum(axis=2, keepdims=True)
    assert are_near(over_heads, power * D ** (p / 2))  # power attention's scores are (<q, k> / sqrt d)^p

    products = (math.prod(int(w.any(axis=0).sum()) for w in head) for head in heads)
    assert sum(products) == kernel.describe()["feature_dim"]
