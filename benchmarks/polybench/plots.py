"""Plots by gnuplot: lines of points over logarithmic axes."""
import os
import shutil
import subprocess
import tempfile

# Told apart on white, and by most eyes; gnuplot's own yellow is not.
COLORS = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#e07b00", "#00808b", "#8c564b", "#7f7f7f"]


def style_of(number, name, in_twos):
    if name.startswith("softmax"):
        return "lw 2 dt 2 lc rgb '#555555'"
    color, dashes = (number // 2, " dt 2" * (number % 2)) if in_twos else (number, "")
    return f"lw 2{dashes} lc rgb '{COLORS[color % len(COLORS)]}'"


def log_plot(path, title, y_label, curves, in_twos=False):
    """Writes an SVG. `curves`: name -> list of (tokens, y); in_twos: a full line and a dashed one of the
    same color, and so on. Returns whether there is one."""
    styles = {name: style_of(number, name, in_twos) for number, name in enumerate(curves)}
    curves = {name: points for name, points in curves.items() if points}
    gnuplot = shutil.which("gnuplot")
    if not curves or not gnuplot:
        return False
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="polyattn-plot-") as folder:
        lines = []
        for number, (name, points) in enumerate(curves.items()):
            data = os.path.join(folder, f"{number}.dat")
            with open(data, "w") as file:
                file.writelines(f"{x} {y:.9g}\n" for x, y in points)
            lines.append(f"'{data}' with linespoints {styles[name]} pt 7 ps 0.5 "
                         f"title \"{name.replace('_', ' ')}\"")
        script = f"""
set terminal svg size {1000 if in_twos else 800},500 font 'sans,13' background rgb 'white'
set output '{path}'
set title "{title}"
set logscale x 2
set logscale y 10
set format x "%.0f"
set format y "%g"
set xlabel "T, positions"
set ylabel "{y_label}"
set key {"outside right top" if in_twos else "left top"}
set grid
plot {', '.join(lines)}
"""
        subprocess.run([gnuplot], input=script, text=True, check=True)
    return True


def draw(results, folder):
    """The plots of docs/Benchmarks.md."""
    curves = results.get("lengths", {})
    made = log_plot(os.path.join(folder, "time-against-length.svg"),
                    "Time of one head, one thread, causal, f32", "seconds", curves)
    per_token = {name: [(t, s / t * 1e6) for t, s in points] for name, points in curves.items()}
    return log_plot(os.path.join(folder, "time-per-token.svg"),
                    "Time per position, one head, one thread, causal, f32", "microseconds",
                    per_token) and made
