"""Every system of the project's specs/ as a function of its sizes, which gives a Spec.

    kernel = polyattn.compile(polyattn.library.llops(d=64, m=1024, p=2))

The Spec takes queries q [B, T, H, d], keys k [B, T, Hkv, d] and values v [B, T, Hkv, dv], then weights, decays and states, and gives o
[B, T, H, dv]; `print(spec)` has them. Convolutions take sequences and filters of their own. Sizes are whole numbers, at least 1; dv is d
where it is None. `dtype` is what sequences and weights are stored in, f32, bf16 or f16, and `name` is the entry's. A size, an option or a
word that is none is a polyattn.CallError; what breaks a rule of the language is a polyattn.SpecError when the spec is compiled.

The files of `specs/` (`polyattn.spec_path`) have the same definitions. `performer`, `toeplitz` and `h3` read theirs, as their options
only choose an entry and its sizes. Each other function also has an option that the text cannot take: a number (`eps`, `score_scale`), how
many weights there are (`rank`, `widths`, `n`), an argument that may be missing (`states`, `gated`) or an op (`feature_map`). Reading the
text for the defaults would keep a second definition for the rest, so these functions have the only one in Python. The tests rebuild
every entry of the files by the functions and compare all ops.
"""

from .convolutions import h3, hyena, long_convolution, toeplitz_network
from .elementwise import (
    dpfp,
    elementwise_power,
    eps_on_sums,
    flatten,
    flatten_vision,
    gla,
    linear,
    mamba2,
    polaformer,
    polaformer_half,
    summed,
)
from .polynomials import (
    based,
    fast_rope,
    fpa,
    fpa_coordinates,
    fpa_diagonal,
    fpa_rank1,
    llops,
    polynomial,
    power,
    triangle,
)
from .positions import exponentials, lightning, relative, relative_rope, retnet, toeplitz, xpos
from .sketches import polysketch, polysketch_learned
from .softmax_like import hedgehog, performer, rff
from .windows import based_window, shared_window, softmax_attention

__all__ = [
    "based",
    "based_window",
    "dpfp",
    "elementwise_power",
    "eps_on_sums",
    "exponentials",
    "fast_rope",
    "flatten",
    "flatten_vision",
    "fpa",
    "fpa_coordinates",
    "fpa_diagonal",
    "fpa_rank1",
    "gla",
    "h3",
    "hedgehog",
    "hyena",
    "lightning",
    "linear",
    "llops",
    "long_convolution",
    "mamba2",
    "performer",
    "polaformer",
    "polaformer_half",
    "polynomial",
    "polysketch",
    "polysketch_learned",
    "power",
    "relative",
    "relative_rope",
    "retnet",
    "rff",
    "shared_window",
    "softmax_attention",
    "summed",
    "toeplitz",
    "toeplitz_network",
    "triangle",
    "xpos",
]
