"""PolySketchFormer's Theorem 1.1, measured on the layer: scores are not negative, and their error falls with the size of the sketch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import polyattn.torch.nn as pn  # noqa: E402

HEAD, LENGTH, DRAWS = 16, 48, 24


def unit_vectors(generator):
    """Queries and keys of one direction and some noise, so that scores are neither all small nor all 1."""
    common = torch.randn(HEAD, generator=generator)
    x = common + torch.randn(2, LENGTH, HEAD, generator=generator)
    x = x - x.mean(-1, keepdim=True)  # as the layer's normalization has them
    return x / x.norm(dim=-1, keepdim=True)


def scores(layer, q, k):
    """What the kernel gives to values of their own channel each is s_ij / (1 + sum over j of s_ij), for j <= i."""
    others = [getattr(layer, one.name) for one in layer.attention.signature.arguments[3:]]
    o = layer.attention(q[None, :, None], k[None, :, None], torch.eye(LENGTH)[None, :, None], *others)[0, :, 0].double()
    return o / (1 - o.sum(-1, keepdim=True))


@torch.no_grad()
def relative_errors(r, p, generator, spoil=lambda layer: None):
    """For each draw of the sketch the theorem's error, the root of sum |s - (q . k)^p|^2 over sum |q|^2p |k|^2p, pairs of j <= i."""
    layer = pn.PolySketch(HEAD, 1, r=r, p=p, value_dim=LENGTH)
    layer.gamma.fill_(HEAD**-0.5)  # normalized vectors have the length 1
    found = []
    for _ in range(DRAWS):
        q, k = unit_vectors(generator)
        for name, one in layer.named_buffers():
            one.copy_(torch.randn(one.shape, generator=generator))
        spoil(layer)
        sketch, exact = scores(layer, q, k), (q.double() @ k.double().T).tril() ** p
        assert (sketch >= -1e-5).all()
        found.append((sketch - exact).square().sum().item() / (LENGTH * (LENGTH + 1) / 2))
    return np.sqrt(found)


@pytest.mark.parametrize("p", [4, 8])
def test_error_falls_with_the_size_of_the_sketch(p):
    """As r^(-1/2): a sketch that is 16 times as large has a quarter of the error, here between 0.12 and 0.45 of it. The theorem's r is
    a multiple of p / eps^2 for most draws, here at most 6."""
    generator = torch.Generator().manual_seed(p)
    sizes = (16, 64, 256)
    errors = [relative_errors(r, p, generator) for r in sizes]
    typical = [np.median(one) for one in errors]
    assert typical[0] > typical[1] > typical[2] and 0.12 < typical[2] / typical[0] < 0.45, typical
    for r, one in zip(sizes, errors):
        assert np.quantile(one, 0.9) < (6 * p / r) ** 0.5, (r, np.quantile(one, 0.9))


def test_projections_must_differ():
    """The same projection twice estimates another kernel, however large it is: the measure above sees that."""

    def spoil(layer):
        layer.g2.copy_(layer.g1)

    assert np.median(relative_errors(256, 4, torch.Generator().manual_seed(0), spoil)) > 0.5
