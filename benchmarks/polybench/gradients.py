"""Gradients beside the forward call of the same entry."""

# Entries and where they are; the aim is the time of a backward call over that of a forward one.
ENTRIES = {"llops_d64_m1024": ("bench", 3.2), "llops_d128_m256": ("bench", 3.2),
           "polysketch_d64_r32": ("bench", 2.9), "power_d64_p2": ("bench", 2.9),
           "based_d64": ("bench", 3.1), "hedgehog": ("hedgehog", 3.1),
           "performer": ("performer", 3.1), "linear_d64": ("bench", 3.5),
           "retnet_3b": ("retnet", 3.5)}


KEPT = ("seconds_median", "flops", "fraction_of_peak")


def kept(run):
    return run and {key: run[key] for key in KEPT}


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
