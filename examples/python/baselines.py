"""Layers of plain PyTorch to compare with that mix positions without scores of features."""

import torch
from torch import nn
from torch.nn import functional as F


class Nystroem(nn.Module):
    """Nystroemformer, Xiong et al. 2021: softmax attention through means of queries and keys, its landmarks. Every position sees all."""

    def __init__(self, width, heads, landmarks=16):
        super().__init__()
        self.heads, self.landmarks = heads, landmarks
        self.qkv, self.o_proj = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).movedim(-3, 0).transpose(2, 3)
        return self.o_proj(self.attend(q, k, v).transpose(1, 2).flatten(-2))

    def attend(self, q, k, v):
        q = q * q.shape[-1] ** -0.5
        means = [F.adaptive_avg_pool1d(x.flatten(0, 1).mT, self.landmarks).mT.unflatten(0, x.shape[:2]) for x in (q, k)]
        first, middle, last = ((a @ b.mT).softmax(-1) for a, b in ((q, means[1]), means, (means[0], k)))
        return first @ (self._inverse(middle) @ (last @ v))

    @staticmethod
    def _inverse(a):
        """The paper's six iterations for the pseudoinverse."""
        one = torch.eye(a.shape[-1], device=a.device)
        z = a.mT / (a.sum(-1).amax(-1) * a.sum(-2).amax(-1))[..., None, None]
        for _ in range(6):
            az = a @ z
            z = z @ (13 * one - az @ (15 * one - az @ (7 * one - az))) / 4
        return z


class FNet(nn.Module):
    """FNet, Lee-Thorp et al. 2021: the real part of a Fourier transform over channels and positions. Every position sees all."""

    def __init__(self, width, heads):
        super().__init__()

    def forward(self, x):
        return torch.fft.fft2(x, norm="ortho").real
