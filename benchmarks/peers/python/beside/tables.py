"""Tables of docs/Peers.md from the JSON file."""

from polybench.baselines import best_peer, ratio
from polybench.report import MISSING, table, wrapped

from . import cases
from .measure import COLUMNS

NAMES = {
    "polyattn": "polyattn", "eager_stock": "eager, stock", "eager": "eager", "compiled": "compiled", "softmax": "softmax",
    "fla": "FLA", "jax": "JAX",
}  # fmt: skip


def aim_of(row):
    if row["direction"] == "decode":
        return cases.DECODE_AIM
    least, most = cases.AIM_LENGTHS
    return cases.SYSTEMS[row["system"]].aim if least <= row["T"] <= most else None


def number(x):
    """Three digits or more."""
    return "-" if x is None else f"{x:,.0f}" if x >= 1000 else f"{x:.3g}" if x < 100 else f"{x:.0f}"


def times(x):
    return "" if x is None else f"{x:.2f}x"


def rows_of(results, direction):
    """In the order of the systems, then of threads and lengths."""
    order = list(cases.SYSTEMS)
    rows = [row for row in results.get("rows", []) if row["direction"] == direction]
    return sorted(rows, key=lambda row: (order.index(row["system"]), row["threads"], row["T"]))


def speed_table(results, direction):
    rows = []
    for row in rows_of(results, direction):
        best = best_peer(row)
        rows.append([
            row["system"], f"{row['T']:,}", str(row["threads"]), *(number(row[one]) for one in COLUMNS),
            times(best and ratio(row, best)), times(aim_of(row)), NAMES.get(best, ""), *forms_of(row),
        ])  # fmt: skip
    return table(["system", "T", "threads", *(f"{NAMES[one]}, ms" for one in COLUMNS), "speedup over the best baseline", "target",
                  "best baseline", "form of polyattn", "of eager", "of JAX"], rows)  # fmt: skip


def decode_table(results):
    columns = [one for one in COLUMNS if one != "softmax"]
    rows = []
    for row in rows_of(results, "decode"):
        best = best_peer(row)
        rows.append([
            row["system"], str(row["B"] * row["H"]), str(row["threads"]), *(number(row[one] and row[one] * 1e3) for one in columns),
            times(ratio(row, "eager")), times(aim_of(row)), times(best and ratio(row, best)), NAMES.get(best, ""), *forms_of(row),
        ])  # fmt: skip
    return table(["system", "B H", "threads", *(f"{NAMES[one]}, us" for one in columns), "speedup over eager", "target",
                  "over the best baseline", "best baseline", "form of polyattn", "of eager", "of JAX"], rows)  # fmt: skip


def forms_of(row):
    return [row["forms"].get(one, "") for one in ("polyattn", "eager", "jax")]


def least_ratio(results, name, direction, threads):
    """The least over all lengths that have an aim, with the length."""
    found = []
    for row in rows_of(results, direction):
        if row["system"] == name and row["threads"] == threads and aim_of(row):
            best = "eager" if direction == "decode" else best_peer(row)
            value = best and ratio(row, best)
            if value:
                found.append((value, row["T"]))
    if not found:
        return MISSING
    value, length = min(found)
    return times(value) if direction == "decode" else f"{times(value)} (T = {length:,})"


def aims_table(results):
    threads = sorted({row["threads"] for row in results.get("rows", [])}) or [1, 2]
    columns = [(direction, n) for direction in cases.DIRECTIONS for n in threads]
    words = {"forward": "forward", "both": "forward + backward", "decode": f"decode over eager (target {cases.DECODE_AIM:g}x)"}
    rows = [
        [name, f"{system.aim}x", *(least_ratio(results, name, *one) for one in columns)]
        for name, system in cases.SYSTEMS.items() if system.aim
    ]  # fmt: skip
    return table(["system", "target", *(f"{words[one]}, {n} thread{'s' * (n > 1)}" for one, n in columns)], rows)


def machine_line(results):
    if "machine" not in results:
        return MISSING.capitalize() + "."
    facts = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    return wrapped(f"{facts['cpu']} ({facts['model']}), {facts['cores']} cores, {facts['vectors']}; {versions}; medians of up to "
                   f"{results['settings']['rounds']} rounds.")  # fmt: skip


def mkl_table(results):
    """What the preload changes. Where it changes nothing, the columns are the same thing twice, and the page says so."""
    kinds = results.get("mkl", {})
    columns = ("product", "products", "exp")
    rows = [
        [kind, threads, *(f"{rates[one]:.3g}" for one in columns)]
        for kind in ("stock", "forced") for threads, rates in kinds.get(kind, {}).items()
    ]  # fmt: skip
    text = table(["MKL", "threads", "512 x 512 product, GF/s", "256 products of 64 x 64, GF/s", "exp, per ns"], rows)
    if "eager_stock" in results.get("absent", {}):
        text += f"\n\nNothing is forced: {results['absent']['eager_stock']}."
    elif rows and not is_forced(kinds):
        text += "\n\nThe preload changed nothing that can be told from noise: what is called forced is stock."
    return text


def is_forced(kinds):
    """Whether some product or function is faster by a tenth at each number of threads."""
    stock, forced = kinds.get("stock", {}), kinds.get("forced", {})
    both = stock.keys() & forced.keys()
    return bool(both) and all(any(forced[n][one] > 1.1 * stock[n][one] for one in stock[n]) for n in both)


def grouped_failures(results):
    """By column and reason, of which systems and lengths there is no figure."""
    groups = {}
    for row in results.get("rows", []):
        for column, reason in row["failed"].items():
            if column in COLUMNS and column not in results.get("absent", {}):
                groups.setdefault((column, reason), []).append(row)
    return groups


def missing_lines(results):
    if "rows" not in results:
        return MISSING.capitalize() + "."
    lines = [f"- {NAMES[column]}: {reason}" for column, reason in results.get("absent", {}).items()]
    for (column, reason), rows in grouped_failures(results).items():
        what = {f"{row['system']}, {row['direction']}": [] for row in rows}
        for row in rows:
            lengths = what[f"{row['system']}, {row['direction']}"]
            if row["T"] not in lengths:
                lengths.append(row["T"])
        where = "; ".join(
            one if one.endswith("decode") else f"{one}, T = {', '.join(f'{t:,}' for t in sorted(lengths))}" for one, lengths in what.items()
        )
        lines.append(f"- {NAMES[column]}: {reason} ({where})")
    return "\n".join(map(wrapped, lines)) or "Nothing."


TABLES = {
    "machine": machine_line, "mkl": mkl_table, "aims": aims_table, "decode": decode_table, "missing": missing_lines,
    "forward": lambda results: speed_table(results, "forward"), "both": lambda results: speed_table(results, "both"),
}  # fmt: skip
