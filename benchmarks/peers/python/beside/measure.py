"""Measures a list of cases and gives rows for the JSON file; judges nothing."""

import os
import statistics
import tempfile

from . import cases
from .children import Children, build_preload

COLUMNS = ("polyattn", "eager_stock", "eager", "compiled", "softmax", "fla", "jax")
SECONDS = 3.0  # of all rounds of a case, beyond the fewest
FEWEST = 3


def list_cases(options):
    """By system, direction and length, the shortest first: what is found there is not tried again at longer ones."""
    for name in options.only:
        for direction in options.directions:
            lengths = sorted(options.lengths) if direction != "decode" else [1]
            for length in lengths:
                yield {"system": name, "T": length, "direction": direction}


def measure(children, case, most, folder):
    """A row: medians in ms, all rounds in seconds, forms, and why columns are missing."""
    expected = os.path.join(folder, "expected.npz")
    if os.path.exists(expected):
        os.remove(expected)
    once, forms, failed = children.prepare(dict(case, expected=expected))
    rounds = max(min(FEWEST, most), min(most, int(SECONDS / max(sum(once.values()), 1e-9))))
    seconds = {one: [] for one in COLUMNS if one in once}
    for _ in range(rounds):
        children.round(seconds, failed)
    seconds = {one: times for one, times in seconds.items() if times}
    batch = cases.DECODE_BATCH if case["direction"] == "decode" else 1
    medians = {one: statistics.median(seconds[one]) * 1e3 if one in seconds else None for one in COLUMNS}
    return {**case, "B": batch, "H": cases.HEADS, **medians, "rounds": seconds, "forms": forms, "failed": failed}


def is_amd():
    try:
        with open("/proc/cpuinfo") as file:
            return "AuthenticAMD" in file.read()
    except OSError:
        return False


def find_preload(folder):
    """A library and why there is none."""
    if not is_amd():
        return None, "the processor is not AMD's, and MKL takes its widest kernels by itself"
    return build_preload(folder)


def run(options, tell, keep):
    """Each row goes to `keep` as it comes, with facts of the children: versions, MKL's rates, and why whole columns are absent."""
    facts = {"versions": {}, "mkl": {}, "absent": {}}
    with tempfile.TemporaryDirectory(prefix="polyattn-peers-") as folder:
        preload, reason = find_preload(folder)
        if reason:
            facts["absent"]["eager_stock"] = reason
        for threads in options.threads:
            tell(f"{threads} threads: starting")
            children = Children(threads, int(options.memory * 2**30), preload)
            try:
                if children.main().absent:
                    raise SystemExit(f"run: polyattn.torch is what is measured here: {children.main().absent}")
                for child in children.list:
                    facts["versions"] |= child.facts.get("versions", {})
                    if child.absent:
                        facts["absent"] |= dict.fromkeys(child.columns.values(), child.absent)
                    if "mkl" in child.facts:
                        kind = "forced" if child.preload else "stock"
                        facts["mkl"].setdefault(kind, {})[str(threads)] = child.facts["mkl"]
                for case in list_cases(options):
                    tell(f"{threads} threads, {case['system']}, {case['direction']}, T = {case['T']:,}")
                    keep({"threads": threads, **measure(children, case, options.rounds, folder)}, facts)
            finally:
                children.stop()
