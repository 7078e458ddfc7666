"""Attention layers: a module per family of polyattn.library, with projections in and out.

    layer = polyattn.torch.nn.LLoPS(512, heads=8, kv_heads=2, m=256, p=2)
    y = layer(x)  # x and y: [B, T, 512]
"""

from ._states import StateCache, States
from .layers.attention import Attention
from .layers.convolutions import Hyena
from .layers.elementwise import DPFP, ElementwisePower, FLatten, Linear, PolaFormer
from .layers.polynomials import FPA, Based, LLoPS, Polynomial, PolySketch, Power, ReBased
from .layers.positions import FastRoPE, Lightning, RetNet
from .layers.softmax_like import RFF, Hedgehog, Performer
from .layers.xpos import XPos

__all__ = [
    "Attention", "Based", "DPFP", "ElementwisePower", "FLatten", "FPA", "FastRoPE", "Hedgehog", "Hyena",
    "LLoPS", "Lightning", "Linear", "Performer", "PolaFormer", "PolySketch", "Polynomial", "Power", "RFF", "ReBased",
    "RetNet", "StateCache", "States", "XPos",
]  # fmt: skip
