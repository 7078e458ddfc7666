"""Gradients beside the forward call of the same entry."""

# Entries and where they are; the aim is the time of a backward call over that of a forward one.
ENTRIES = {"llops_d64_m1024": ("bench", 3.2), "llops_d128_m256": ("bench", 3.2),
           "polysketch_d64_r32": ("bench", 2.9), "power_d64_p2": ("bench", 2.9),
           "based_d64": ("bench", 3.1), "hedgehog": ("hedgehog", 3.1),
           "performer": ("performer", 3.1), "linear_d64": ("bench", 3.5),
           "retnet_3b": ("retnet", 3.5)}


# Those whose states are kept after so many positions, and the aim of one sweep.
STATE_EVERY = {"llops_d64_m1024": (64, 2.6), "llops_d128_m256": (64, 2.6), "hedgehog": (64, 2.8),
               "performer": (64, 2.8), "linear_d64": (32, 2.9), "retnet_3b": (64, 2.9)}


KEPT = ("seconds_median", "flops", "fraction_of_peak")


def kept(run):
    return run and {key: run[key] for key in KEPT}


def one_sweep(program, settings, progress):
    """Rounds of: a forward call, one that keeps states, gradients from these and without them."""
    kinds = {"forward": ("forward", False), "keeping": ("training", True),
             "one": ("backward", True), "two": ("backward", False)}
    results = {entry: {kind: [] for kind in kinds} for entry in STATE_EVERY}
    for number in range(settings.rounds):
        for entry, (every, _) in STATE_EVERY.items():
            progress.tell(f"one sweep, round {number + 1} of {settings.rounds}: {entry}")
            for kind, (direction, keeps) in kinds.items():
                results[entry][kind].append(kept(program.attempt(
                    program.ours, entry, settings.tokens, seconds=settings.seconds / 2,
                    spec=f"specs/{ENTRIES[entry][0]}.mlir", direction=direction,
                    state_every=every if keeps else None)))
    return results


def gradients(program, settings, progress):
    """Rounds of: a forward call, then a backward one."""
    results = {entry: {"forward": [], "backward": []} for entry in ENTRIES}
    for number in range(settings.rounds):
        for entry, (spec, _) in ENTRIES.items():
            progress.tell(f"gradients, round {number + 1} of {settings.rounds}: {entry}")
            for direction, row in results[entry].items():
                row.append(kept(program.attempt(program.ours, entry, settings.tokens,
                                                seconds=settings.seconds / 2,
                                                spec=f"specs/{spec}.mlir", direction=direction)))
    return results
