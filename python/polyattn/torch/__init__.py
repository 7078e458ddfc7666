"""Attentions on PyTorch's tensors.

    attention = polyattn.torch.load(polyattn.library.llops(d=64, m=256))
    o = attention(q, k, v, *weights)
"""

from . import distributed, nn, ops
from ._attention import Attention, load

__all__ = ["Attention", "distributed", "load", "nn", "ops"]
