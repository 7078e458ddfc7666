"""What tests of random wrong calls make of an argument, an array or a tensor alike."""


def other_shape(x, rng, concatenate):
    """Another size, one less or more dimension: all others of the call say what it was."""
    kind = rng.integers(4)
    if kind == 0:
        return x[None]
    if kind == 1:
        return x[0]
    axis = int(rng.integers(x.ndim))
    if kind == 2:
        return concatenate([x, x], axis)
    return x[(slice(None),) * axis + (slice(1, None),)]
