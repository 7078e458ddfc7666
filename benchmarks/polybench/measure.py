"""The measurements. Each returns plain data for the JSON file; none of them judges."""
from . import tools

ENTRIES = ["llops_d64_m1024", "llops_d128_m256", "polysketch_d64_r32_b1024", "polysketch_d64_r32",
           "power_d64_p2", "based_d64", "linear_d64"]
LONG = 1 << 20


class Settings:
    """How long and how often: the full run, or one of about a minute to try the script."""

    def __init__(self, quick):
        self.quick = quick
        self.rounds = 1 if quick else 5
        self.seconds = 0.2 if quick else 2.0
        self.tokens = 4096 if quick else 16384
        self.compiles = 2 if quick else 15
        self.long = 1 << 16 if quick else LONG
        self.form_lengths = [1 << p for p in range(0, 8 if quick else 17, 3 if quick else 1)]

    def asdict(self):
        return dict(vars(self))


def speed(program, settings, progress):
    """Rounds of: ours, ours in bf16, OpenBLAS, for each entry in turn. What the machine does
    meanwhile (it changes within seconds) then meets all of them."""
    results = {entry: {"f32": [], "bf16": [], "openblas": []} for entry in ENTRIES}
    blockings = {}
    for number in range(settings.rounds):
        for entry in ENTRIES:
            progress.tell(f"speed, round {number + 1} of {settings.rounds}: {entry}")
            row = results[entry]
            for key in ("f32", "bf16"):
                row[key].append(program.attempt(program.ours, entry, settings.tokens,
                                                seconds=settings.seconds, dtype=key))
            if not program.has_peers():
                continue
            peer = program.attempt(program.peers, entry, settings.tokens,
                                   seconds=settings.seconds,
                                   blocking=(128, 64) if settings.quick
                                   else blockings.get(entry))
            row["openblas"].append(peer)
            if peer:
                blockings[entry] = (peer["chunk"], peer["tile"])
    return results


def threads(program, settings, progress):
    """One and two threads over four heads, and over one."""
    results = {entry: {} for entry in ENTRIES}
    for number in range(settings.rounds):
        for entry in ENTRIES:
            progress.tell(f"threads, round {number + 1} of {settings.rounds}: {entry}")
            for heads in (4, 1):
                for count in (1, 2):
                    run = program.attempt(program.ours, entry, settings.tokens, heads=heads,
                                          threads=count, seconds=settings.seconds / 2)
                    results[entry].setdefault(f"H{heads}_threads{count}", []).append(run)
    return results


def compile_times(program, settings, progress):
    """compile_ms of many processes: with an empty cache, and with the kernel in it."""
    results = {}
    for entry in ENTRIES:
        row = results[entry] = {"cold": [], "cached": []}
        for number in range(settings.compiles):
            progress.tell(f"compile time, {entry}: {number + 1} of {settings.compiles}")
            with tools.fresh_folder() as folder:
                for key in ("cold", "cached"):
                    run = program.attempt(program.ours, entry, 64, heads=1, cache=folder)
                    row[key].append(run and run["compile_ms"])
            if run is None:
                break
    return results


def long_sequences(program, settings, progress):
    """A short sequence, a long one, the short one again; and a tiny one, whose memory is the
    compiler's own."""
    results = {}
    for entry in ENTRIES:
        row = results[entry] = {}
        for key, tokens in (("tiny", 64), ("short", settings.tokens), ("long", settings.long),
                            ("short_again", settings.tokens)):
            progress.tell(f"long sequences: {entry}, T={tokens}")
            run = program.attempt(program.ours, entry, tokens, heads=1,
                                  seconds=settings.seconds / 2)
            row[key] = run
            if run is None:
                break
            run["argument_bytes"] = program.attempt(program.argument_bytes, entry, tokens, 1)
    return results


EXPERIMENTS = {"speed": speed, "threads": threads, "compile": compile_times, "long": long_sequences}
