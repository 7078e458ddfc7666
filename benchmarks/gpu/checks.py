"""Numbers of the entries of specs/ on the GPU, in every direction: part of benchmarks/gpu/run.

Each check is a process of polyattn-run that compares one entry with the oracle in f64, so a kernel that takes its process down,
or its context, spoils no other; many run at a time.
"""
import concurrent.futures
import itertools

# What is checked: a name, options, and sizes. The first come first where the time is short.
WAYS = [
    ("forward, as the spec stores", [], {"B": 2, "T": 200, "H": 4}),
    ("gradients, bf16", ["--direction", "backward", "--dtype", "bf16"], {"B": 1, "T": 150, "H": 2}),
    ("decoding, as the spec stores", ["--direction", "decode"], {"B": 2, "T": 100, "H": 2}),
    ("forward, bf16", ["--dtype", "bf16"], {"B": 2, "T": 333, "H": 2}),
    ("packed, bf16", ["--dtype", "bf16", "--packed"], {"B": 1, "T": 300, "H": 2, "N": 3}),
    ("gradients, f32", ["--direction", "backward", "--dtype", "f32"], {"B": 1, "T": 100, "H": 2}),
    ("packed gradients, bf16", ["--direction", "backward", "--dtype", "bf16", "--packed"], {"B": 1, "T": 200, "H": 2, "N": 4}),
    ("one token, bf16", ["--direction", "decode", "--dtype", "bf16"], {"B": 5, "T": 1, "H": 2}),
    ("forward, f16", ["--dtype", "f16"], {"B": 1, "T": 129, "H": 2}),
]
QUICK = WAYS[:1]
# The entries of specs/bench.mlir are those of other files in sizes that take the oracle long: checked in the first way alone.
MEASURED = "bench.mlir"


def heads_of(entry):
    """The number of heads that an entry fixes, or None."""
    fixed = [one["dims"][2] for one in entry["arguments"] if one["role"] == "key" and isinstance(one["dims"][2], int)]
    return fixed[0] if fixed else None


def format_sizes(sizes):
    return ",".join(f"{name}={size}" for name, size in sizes.items())


def list_checks(entries, ways):
    """Dictionaries with the spec, the entry, the way and the options; `entries` are pairs of a spec's name and what
    `--describe` says of an entry, `ways` some of WAYS."""
    found = []
    for way, options, sizes in ways:
        for spec, entry in entries:
            if spec == MEASURED and options:
                continue
            own = dict(sizes, H=heads_of(entry) or sizes["H"])
            found.append({"spec": spec, "entry": entry["name"], "way": way,
                          "options": [*options, "--random", format_sizes(own)]})
    return found


def check(run, entries, jobs):
    """Runs all checks that the time allows, and prints a line for each way. What every check found, with its failure. An entry
    that has no such direction is refused at a line of its spec, which is no failure."""
    checks = list_checks(entries, run.ways)

    def one(check):
        if run.left() < run.kept and not run.quick:
            return None, "no time left to check it"
        return run.polyattn(f"specs/{check['spec']}", "--entry", check["entry"], "--target", "cuda", "--check", *check["options"])

    results = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        answers = zip(checks, pool.map(one, checks))
        for way, group in itertools.groupby(answers, key=lambda answer: answer[0]["way"]):
            own = list(group)
            for check, (found, reason) in own:
                is_refused = bool(reason) and reason.startswith(f"specs/{check['spec']}:")
                results.append({**check, "failure": reason, "refused": is_refused, "rel_error": found and found["rel_error"]})
                if reason and not is_refused:
                    run.fail(f"{check['spec']} @{check['entry']}, {way}", reason)
            ended = results[-len(own):]
            right, refused = sum(not one["failure"] for one in ended), sum(one["refused"] for one in ended)
            print(f"  {way:30} {right} of {len(own)} entries{f', {refused} refused' if refused else ''}", flush=True)
    return results
