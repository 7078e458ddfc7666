"""Packed sequences of mixed lengths beside as many tokens in one sequence."""

import random

HEADS = 4
ENTRIES = ["linear_d64", "llops_d128_m256"]
SHORTEST, LONGEST = 1, 8192


def lengths(count):
    """As many of each octave; always the same ones, the longest one last."""
    numbers = random.Random(1)
    mixed = [round(SHORTEST * (LONGEST / SHORTEST) ** numbers.random()) for _ in range(count - 2)]
    return [SHORTEST] + mixed + [LONGEST]


def times(run):
    return run and {key: run[key] for key in ("seconds_best", "seconds_median")}


def packed(program, settings, progress):
    """Rounds of: a call of all sequences, then one of a sequence of as many tokens."""
    results = {}
    sequences = lengths(8 if settings.quick else 64)
    for entry in ENTRIES:
        for threads in (1, 2):
            row = results.setdefault(f"{entry} {threads}", {
                "packed": [], "dense": [], "sequences": len(sequences), "tokens": sum(sequences)})
            for number in range(settings.rounds):
                progress.tell(f"packed: {entry}, {threads} threads, round {number + 1}")
                row["packed"].append(times(program.attempt(
                    program.packed, entry, sequences, heads=HEADS, threads=threads,
                    seconds=settings.seconds)))
                row["dense"].append(times(program.attempt(
                    program.ours, entry, sum(sequences), heads=HEADS, threads=threads,
                    seconds=settings.seconds)))
    return results
