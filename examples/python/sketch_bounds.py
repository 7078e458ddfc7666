"""The LLoPS paper's theorems, computed: the best sketch of given queries and keys (3.1), and its best products of projections (3.4).

psi(x) are the products of p channels of x, in all orders, so that <psi(q), psi(k)> = (q . k)^p. A linear sketch has the features
psi(x) W. LLoPS is the case whose columns of W are outer products of p vectors.
"""

import string

import torch


def _power(x, p, weights):
    """psi(x)^T weights, [d, ..., d, m], without psi."""
    names = string.ascii_lowercase[:p]
    return torch.einsum(",".join(f"n{one}" for one in names) + f",nm->{names}m", *[x] * p, weights)


def _pseudo_inverse(gram):
    values, vectors = torch.linalg.eigh(gram)
    kept = values > values[-1] * 1e-9
    return (vectors[:, kept] / values[kept]) @ vectors[:, kept].T


def optimum(q, k, m, p):
    """Theorem 3.1: the scores of rank m that are nearest to (q . k)^p, and W of either side, [d, ..., d, m], whose sketch they are.

    The W are the smallest ones, with the root of each singular value on either side.
    """
    q, k = q.double(), k.double()
    u, sizes, v = torch.linalg.svd((q @ k.T) ** p)
    u, v, roots = u[:, :m], v.T[:, :m], sizes[:m].sqrt()
    weights = [_power(x, p, _pseudo_inverse((x @ x.T) ** p) @ (one * roots)) for x, one in ((q, u), (k, v))]
    return u * sizes[:m] @ v.T, weights


def _contract(tensors, vectors, but):
    """Tensors [m, d, ..., d] times a vector [m, d] in every mode except one."""
    x = tensors.movedim(but + 1, 1)
    for one in reversed([one for i, one in enumerate(vectors) if i != but]):
        x = torch.einsum("m...d,md->m...", x, one)
    return x


def spectral(tensors, starts=8, rounds=40):
    """tau_i of Theorem 3.4, the largest <T_i, u_1 x ... x u_p> of unit vectors, and these vectors.

    Alternating maximization from several starts: for matrices the largest singular value, else a lower bound that is usually exact.
    """
    count, d, *others = tensors.shape
    p = 1 + len(others)
    if p == 2:
        u, sizes, v = torch.linalg.svd(tensors)
        return sizes[:, 0], [u[..., 0], v[:, 0]]
    best, found = torch.full((count,), -1.0, dtype=tensors.dtype), [torch.zeros(count, d, dtype=tensors.dtype)] * p
    first = torch.linalg.svd(tensors.flatten(2), full_matrices=False)[0]
    for start in range(starts):
        begin = first[..., start] if start < min(starts // 2, first.shape[-1]) else torch.randn(count, d, dtype=tensors.dtype)
        vectors = [begin / begin.norm(dim=-1, keepdim=True)] * p
        for _ in range(rounds):
            for mode in range(p):
                x = _contract(tensors, vectors, mode)
                size = x.norm(dim=-1)
                vectors[mode] = x / size.clamp_min(1e-30)[:, None]
        is_better = size > best
        best = torch.where(is_better, size, best)
        found = [torch.where(is_better[:, None], new, old) for new, old in zip(vectors, found)]
    return best, found


def nearest_products(w):
    """Theorem 3.4: projections Theta_1, ..., Theta_p whose columns' outer products are nearest to those of W, and the distance,
    relative to W: the root of 1 - sum tau_i^2 / |W|^2."""
    tensors = w.movedim(-1, 0)
    sizes, vectors = spectral(tensors)
    thetas = [one.T for one in vectors]
    thetas[0] = thetas[0] * sizes
    return thetas, (1 - (sizes**2).sum() / (w**2).sum()).clamp_min(0).sqrt().item()
