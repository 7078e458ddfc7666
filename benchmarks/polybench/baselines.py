"""What counts as a baseline in results of benchmarks/peers/python/run, and how ratios are taken."""
from statistics import median

# Whose ratio counts: other systems and processes with slower kernels do not.
PEERS = ("eager", "compiled", "fla", "jax")


def best_peer(row):
    """Its column, None where there is none."""
    return min((one for one in PEERS if row.get(one)), key=row.get, default=None)


def ratio(row, column):
    """Time over ours, the median over rounds, in each of which all took turns."""
    ours, theirs = (row["rounds"].get(one) for one in ("polyattn", column))
    return median(b / a for a, b in zip(ours, theirs)) if ours and theirs else None
