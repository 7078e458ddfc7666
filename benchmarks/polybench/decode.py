"""A token for each of many sequences, beside scaling the memory of their states in place."""

HEADS = 4
BATCHES = {"linear_d64": [1, 16, 256, 1024], "llops_d128_m256": [1, 16, 256]}


def times(run):
    return run and {key: run[key] for key in ("seconds_best", "seconds_median")}


def decode(program, settings, progress):
    """Rounds of: a call of one token, then the same floats times a factor."""
    results = {}
    for entry, counts in BATCHES.items():
        for batches in counts[:1] if settings.quick else counts:
            row = results.setdefault(f"{entry} {batches * HEADS}",
                                     {"step": [], "scaling": [], "bytes": 0})
            floats = program.attempt(program.state_floats, entry)
            for number in range(settings.rounds if floats else 0):
                progress.tell(f"decode: {entry}, B = {batches}, round {number + 1}")
                count = floats * batches * HEADS
                row["bytes"] = 4 * count
                row["step"].append(times(program.attempt(
                    program.step, entry, batches, heads=HEADS, seconds=settings.seconds / 4)))
                row["scaling"].append(times(program.attempt(
                    program.scaling, count, seconds=settings.seconds / 4)))
    return results
