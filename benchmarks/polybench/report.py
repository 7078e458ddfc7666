"""Tables from results, put between the markers of docs/Benchmarks.md."""
import re
import textwrap
from statistics import median

from . import gradients

# The aims: fraction of the multiply-add peak, and tokens/s per head at a 150 GF/s peak. The
# second one of PolySketchFormer is for local blocks of 64; with 1024 the exact part alone
# nearly doubles the operations.
AIMS = {
    "llops_d64_m1024": (0.86, 0.150e6, 1.4),
    "llops_d128_m256": (0.84, 0.30e6, 1.4),
    "polysketch_d64_r32_b1024": (0.78, None, 1.4),
    "polysketch_d64_r32": (0.78, 0.70e6, 1.4),
    "power_d64_p2": (0.80, 0.22e6, 1.4),
    "based_d64": (0.72, 2.0e6, None),
    "linear_d64": (0.60, 4.2e6, None),
}
# Where bf16 is multiplied at twice the rate of f32.
BF16_AIMS = {"llops_d128_m256": "1.8x", "llops_d64_m1024": "1.6x", "power_d64_p2": "1.6x",
             "polysketch_d64_r32": "1.6x"}
NORMAL_PEAK = 150e9
MISSING = "not yet measured"


def wrapped(text):
    """A paragraph or an item of a list, in the lines of a page (scripts/prose)."""
    indent = "  " if text.startswith("- ") else ""
    return textwrap.fill(text, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def present(runs):
    return [run for run in runs or [] if run is not None]


def spread(values, form):
    return f"{form.format(min(values))} to {form.format(max(values))}"


def million(rate):
    return f"{rate / 1e6:.3f}M" if rate < 1e6 else f"{rate / 1e6:.2f}M"


def normal_rate(run):
    """Tokens per second and head on a machine whose peak is 150 GF/s."""
    return (run["tokens_per_second"] * run["H"] * NORMAL_PEAK /
            run["peak_flops_per_second"])


def ratios(first, second, key="seconds_median"):
    """second / first, round by round."""
    return [b[key] / a[key] for a, b in zip(first or [], second or []) if a and b]


def compared(measured, first, second):
    """For each row with a round of both kinds: the words of its name, the row, the runs of either,
    and second / first, round by round."""
    for name, row in measured.items():
        fractions = ratios(row[first], row[second], "seconds_best")
        if fractions:
            yield name.split(), row, (present(row[first]), present(row[second])), fractions


def fastest(runs):
    return min(run["seconds_best"] for run in runs)


def with_spread(values, form):
    return f"{form.format(median(values))} ({spread(values, form.rstrip('x'))})"


def table(header, rows):
    if not rows:
        return MISSING.capitalize() + "."
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def speed_table(results):
    rows = []
    for entry, (fraction, rate, ratio) in AIMS.items():
        measured = results.get("speed", {}).get(entry, {})
        runs = present(measured.get("f32"))
        row = [f"`{entry}`", f"{fraction:.2f}"]
        if runs:
            medians = [run["fraction_of_peak"] for run in runs]
            best = [run.get("fraction_of_peak_best", run["fraction_of_peak"]) for run in runs]
            row += [f"{median(medians):.3f}", f"{max(best):.3f}", spread(medians, "{:.3f}")]
        else:
            row += [MISSING, "", ""]
        row.append(million(rate) if rate else "")
        row.append(million(median(map(normal_rate, runs))) if runs else "")
        row.append(f"{ratio}x" if ratio else "")
        gains = ratios(measured.get("f32"), measured.get("openblas"))
        row.append(with_spread(gains, "{:.2f}x") if gains else "")
        rows.append(row)
    return table(["entry", "target", "median", "best", "rounds", "target, tokens/s",
                  "tokens/s per head at 150 GF/s", "target", "over OpenBLAS"], rows)


def openblas_table(results):
    rows = []
    for entry in AIMS:
        runs = present(results.get("speed", {}).get(entry, {}).get("openblas"))
        if not runs:
            rows.append([f"`{entry}`", MISSING, "", "", ""])
            continue
        medians = [run["fraction_of_peak"] for run in runs]
        rows.append([f"`{entry}`", f"{median(medians):.3f}",
                     f"{max(run['fraction_of_peak_best'] for run in runs):.3f}",
                     million(median(map(normal_rate, runs))),
                     f"{runs[-1]['chunk']}, {runs[-1]['tile']} ({runs[-1]['core']})"])
    return table(["entry", "median", "best", "tokens/s per head at 150 GF/s",
                  "chunk, tile of scores (core)"], rows)


def bf16_table(results):
    """Speed over f32 storage, and the share of the rate at which the machine multiplies bf16; None, which leaves the
    page as it is, if the machine does not multiply bf16 faster."""
    def in_pairs(run):
        return run.get("peak_instruction_set") == "avx512bf16"

    speed = results.get("speed", {})
    if not any(in_pairs(run) for row in speed.values() for run in present(row.get("bf16"))):
        return None
    rows = []
    for entry in AIMS:
        measured = speed.get(entry, {})
        gains = ratios(measured.get("bf16"), measured.get("f32"))
        pairs = [run["fraction_of_peak"] for run in present(measured.get("bf16")) if in_pairs(run)]
        plain = present(measured.get("f32"))
        rows.append([f"`{entry}`", BF16_AIMS.get(entry, ""),
                     with_spread(gains, "{:.2f}x") if gains else MISSING,
                     f"{median(pairs):.2f}" if pairs else "",
                     million(median(map(normal_rate, plain)) * median(gains)) if gains else ""])
    facts = results["machine"]
    return (f"{facts['cpu']} ({facts['model']}), {facts['cores']} cores, avx512bf16:\n\n" +
            table(["entry", "target", "speed of bf16 over f32", "share of the peak of bf16 pairs",
                   "tokens/s per head at 150 GF/s of f32"], rows))


def threads_table(results):
    rows = []
    for entry in AIMS:
        measured = results.get("threads", {}).get(entry, {})
        row = [f"`{entry}`"]
        for heads, aim in ((4, "1.9x"), (1, "1.75x")):
            gains = ratios(measured.get(f"H{heads}_threads2"), measured.get(f"H{heads}_threads1"))
            row += [aim, with_spread(gains, "{:.2f}x") if gains else MISSING]
        rows.append(row)
    return table(["entry", "target", "two threads, B H = 4", "target", "two threads, B H = 1"], rows)


def compile_table(results):
    rows = []
    for entry in AIMS:
        measured = results.get("compile", {}).get(entry, {})
        row = [f"`{entry}`"]
        for key in ("cold", "cached"):
            times = present(measured.get(key))
            row.append(with_spread(times, "{:.1f}") if times else MISSING)
        rows.append(row)
    return table(["entry", "spec to kernel, ms (target 150)", "from the cache, ms (target 10)"], rows)


def long_table(results):
    rows = []
    for entry in AIMS:
        measured = results.get("long", {}).get(entry, {})
        tiny, short, again, longest = (measured.get(key) for key in
                                       ("tiny", "short", "short_again", "long"))
        if not (tiny and short and again and longest):
            rows.append([f"`{entry}`", MISSING, "", "", ""])
            continue
        def per_token(run):
            return run["seconds_median"] / run["T"] * 1e6
        before = (per_token(short) + per_token(again)) / 2
        row = [f"`{entry}`", f"{before:.3f}", f"{per_token(longest):.3f}",
               f"{per_token(longest) / before:.3f}"]
        sizes = [run.get("argument_bytes") for run in (tiny, longest)]
        if None in sizes:
            row.append("")
        else:
            beyond = [run["max_rss_bytes"] - size for run, size in zip((tiny, longest), sizes)]
            row.append(f"{(beyond[1] - beyond[0]) / 2**20:.1f} (process {beyond[1] / 2**20:.0f})")
        rows.append(row)
    tokens = next((run["long"]["T"] for run in results.get("long", {}).values()
                   if run.get("long")), 1 << 20)
    return table(["entry", "us per token", f"at T = {tokens:,}", "ratio (target 1.10)",
                  "memory beyond arguments, MiB (target 64)"], rows)


def measured_forms(results):
    return {entry: row for entry, row in results.get("forms", {}).items() if row}


def forms_table(results):
    """The chosen form's time over the best forced one's, and which that is where it is far away."""
    measured = measured_forms(results)
    if not measured:
        return MISSING.capitalize() + "."
    lengths = list(next(iter(measured.values())))
    rows = []
    for entry, row in measured.items():
        cells = [f"`{entry}`"]
        for length in lengths:
            best = dict(row.get(length, {}))
            chosen = best.pop("chosen", None)
            if not chosen or not best:
                cells.append("")
                continue
            name = min(best, key=best.get)
            ratio = chosen / best[name]
            cells.append(f"{ratio:.2f}" + (f" ({name})" if ratio > 1.1 else ""))
        rows.append(cells)
    return table(["entry"] + [f"T = {int(length):,}" for length in lengths], rows)


def short_table(results):
    """Microseconds of calls that are one block or few, as the compiler schedules them."""
    measured = measured_forms(results)
    if not measured:
        return MISSING.capitalize() + "."
    lengths = [length for length in next(iter(measured.values())) if int(length) <= 64]
    rows = []
    for entry, row in measured.items():
        times = [row.get(length, {}).get("chosen") for length in lengths]
        rows.append([f"`{entry}`"] + [f"{time * 1e6:.1f}" if time else "" for time in times])
    return table(["entry"] + [f"T = {length}" for length in lengths], rows)


def size_text(size):
    return f"{size / 2**20:.3g} MiB" if size >= 2**20 else f"{size / 2**10:.3g} KiB"


def decode_table(results):
    """The time of a step over that of scaling its states, round by round."""
    rows = [[f"`{entry}`", heads, size_text(row["bytes"]),
             *(f"{fastest(some) * 1e6:,.1f}" for some in runs), with_spread(fractions, "{:.2f}")]
            for (entry, heads), row, runs, fractions
            in compared(results.get("decode", {}), "step", "scaling")]
    return table(["entry", "B H", "states", "a step, us", "scaling them in place, us",
                  "fraction of its bandwidth, rounds"], rows)


def gradients_table(results):
    """The time of a backward call over that of a forward one, round by round."""
    rows = []
    for entry, (_, aim) in gradients.ENTRIES.items():
        measured = results.get("gradients", {}).get(entry, {})
        runs = [present(measured.get(direction)) for direction in ("forward", "backward")]
        ratio = ratios(measured.get("forward"), measured.get("backward"))
        row = [f"`{entry}`", f"{aim}x"]
        if ratio:
            row.append(with_spread(ratio, "{:.2f}x"))
            row.append(f"{runs[1][0]['flops'] / runs[0][0]['flops']:.2f}")
            row += [f"{median(run['fraction_of_peak'] for run in some):.3f}" for some in runs]
        else:
            row += [MISSING, "", "", ""]
        rows.append(row)
    return table(["entry", "target", "time over forward", "operations over forward",
                  "forward, of peak", "backward, of peak"], rows)


def one_sweep_table(results):
    """The times of a forward call that keeps states, and of gradients from these, round by round."""
    rows = []
    for entry, (every, aim) in gradients.STATE_EVERY.items():
        measured = results.get("one_sweep", {}).get(entry, {})
        pairs = [("forward", "keeping"), ("forward", "one"), ("forward", "two"), ("two", "one")]
        columns = [ratios(measured.get(a), measured.get(b)) for a, b in pairs]
        rows.append([f"`{entry}`", str(every), f"{aim}x",
                     *(with_spread(column, "{:.2f}x") if column else MISSING for column in columns)])
    return table(["entry", "L", "target", "forward that saves states, over forward",
                  "one pass, over forward", "two passes, over forward", "one pass over two"],
                 rows)


def packed_table(results):
    """Tokens per second of packed sequences over those of one, round by round."""
    rows = [[f"`{entry}`", threads, str(row["sequences"]), f"{row['tokens']:,}",
             *(f"{row['tokens'] / fastest(some):,.0f}" for some in runs),
             with_spread(fractions, "{:.2f}")]
            for (entry, threads), row, runs, fractions
            in compared(results.get("packed", {}), "packed", "dense")]
    return table(["entry", "threads", "sequences", "tokens", "packed, tokens/s",
                  "one sequence, tokens/s", "fraction, rounds"], rows)


def machine_line(results):
    if "machine" not in results:
        return MISSING.capitalize() + "."
    facts, settings = results["machine"], results["settings"]
    peaks = [run["peak_flops_per_second"] for row in results.get("speed", {}).values()
             for run in present(row["f32"]) + present(row["openblas"])]
    peak = f", a peak of {median(peaks) / 1e9:.0f} GF/s on one thread" if peaks else ""
    return wrapped(f"{facts['cpu']} ({facts['model']}), {facts['cores']} cores, {facts['vectors']}"
                   f"{' and AMX' if facts['amx'] else ''}{peak}; T = {settings['tokens']:,}, "
                   f"{settings['rounds']} rounds of {settings['seconds']:g} s.")


TABLES = {"machine": machine_line, "speed": speed_table, "openblas": openblas_table,
          "bf16": bf16_table, "threads": threads_table, "compile": compile_table,
          "long": long_table, "forms": forms_table, "decode": decode_table,
          "gradients": gradients_table, "one_sweep": one_sweep_table, "packed": packed_table, "short": short_table}


def fill(text, results, tables=TABLES):
    """The page with every `<!-- begin NAME -->` ... `<!-- end -->` replaced that there is something for."""
    def one(match):
        name = match.group(1)
        table = tables[name](results)
        return match.group(0) if table is None else f"<!-- begin {name} -->\n{table}\n<!-- end -->"
    return re.sub(r"<!-- begin (\w+) -->\n.*?<!-- end -->", one, text, flags=re.S)
