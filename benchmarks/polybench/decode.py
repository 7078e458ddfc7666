"""A token for each of many sequences, beside scaling the memory of their states in place."""

HEADS = 4
# Entries, where they are, and how many sequences.
ENTRIES = {"linear_d64": ("bench", [1, 16, 256, 1024]),
           "llops_d128_m256": ("bench", [1, 16, 256]),
           "retnet_3b": ("retnet", [1, 64]), "based_d64": ("bench", [1, 64]),
           "power_d64_p2": ("bench", [1, 64]), "polysketch_d64_r32": ("bench", [1, 64])}


def times(run):
    return run and {key: run[key] for key in ("seconds_best", "seconds_median")}


def decode(program, settings, progress):
    """Rounds of: a call of one token, then the same floats times a factor."""
    results = {}
    for entry, (name, counts) in ENTRIES.items():
        spec = f"specs/{name}.mlir"
        for batches in counts[:1] if settings.quick else counts:
            row = results.setdefault(f"{entry} {batches * HEADS}",
                                     {"step": [], "scaling": [], "bytes": 0})
            floats = program.attempt(program.state_floats, entry, spec)
            for number in range(settings.rounds if floats else 0):
                progress.tell(f"decode: {entry}, B = {batches}, round {number + 1}")
                count = floats * batches * HEADS
                row["bytes"] = 4 * count
                row["step"].append(times(program.attempt(
                    program.step, entry, batches, spec, heads=HEADS,
                    seconds=settings.seconds / 4)))
                row["scaling"].append(times(program.attempt(
                    program.scaling, count, seconds=settings.seconds / 4)))
    return results
