"""Lines over axes, as SVG, without another package."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field

COLORS = ("#d62728", "#555555", "#1f77b4", "#2ca02c", "#9467bd", "#e07b00", "#00808b")
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 330, 250, 70, 84, 110, 62
GRAY = "#999999"


@dataclass
class Panel:
    """Curves by name, each points in ascending order of x. `levels`: horizontal lines by name. A logarithmic panel has two such axes."""

    title: str
    x_label: str
    y_label: str
    curves: dict[str, list[tuple[float, float]]]
    levels: dict[str, float] = field(default_factory=dict)
    is_logarithmic: bool = False


def ticks(low: float, high: float, is_logarithmic: bool) -> list[float]:
    """Some round numbers between two."""
    if is_logarithmic:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        fine = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
        found = [x for x in fine if low <= x <= high]
        return found if len(found) <= 5 else [x for x in found if math.log10(x).is_integer()]
    step = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(step * factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 6)
    return [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


class Axis:
    """Numbers on a line of `size` pixels."""

    def __init__(self, numbers: list[float], is_logarithmic: bool, size: float, begins_at_zero: bool = False) -> None:
        self.low, self.high = min(numbers), max(numbers)
        if is_logarithmic:
            self.low, self.high = self.low / 1.2, self.high * 1.2
        elif begins_at_zero:
            self.low, self.high = 0.0, 1.05 * self.high
        if not self.high > self.low:
            self.low, self.high = self.low - 1, self.high + 1
        self._map = math.log if is_logarithmic else float
        self.size, self.ticks = size, ticks(self.low, self.high, is_logarithmic)

    def at(self, number: float) -> float:
        """The distance of a number from the lower end, in pixels."""
        low, high = self._map(self.low), self._map(self.high)
        return self.size * (self._map(number) - low) / (high - low)


def _text(x: float, y: float, words: str, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{html.escape(words)}</text>'


def _line(points: list[tuple[float, float]], style: str) -> str:
    return f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" fill="none" {style}/>'


def _apart(wanted: list[float], distance: float) -> list[float]:
    """Heights near the wanted ones, no two closer than `distance`."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    found = list(wanted)
    for before, after in zip(order, order[1:]):
        found[after] = max(found[after], found[before] + distance)
    return found


def _panel(panel: Panel) -> list[str]:
    curves = {name: points for name, points in panel.curves.items() if points}
    if not curves:
        return []
    points = [point for one in curves.values() for point in one]
    x_axis = Axis([x for x, _ in points], panel.is_logarithmic, WIDTH)
    y_axis = Axis([y for _, y in points] + list(panel.levels.values()), panel.is_logarithmic, HEIGHT, True)

    def at(x: float, y: float) -> tuple[float, float]:
        return x_axis.at(x), HEIGHT - y_axis.at(y)

    parts = [_text(0, -14, panel.title, 'font-weight="bold"')]
    for y in y_axis.ticks:
        height = HEIGHT - y_axis.at(y)
        parts.append(_line([(0, height), (WIDTH, height)], 'stroke="#e4e4e4"'))
        parts.append(_text(-8, height + 4, f"{y:,.6g}", 'text-anchor="end"'))
    for x in x_axis.ticks:
        parts.append(_text(x_axis.at(x), HEIGHT + 18, f"{x:,.6g}", 'text-anchor="middle"'))
    parts.append(_line([(0, HEIGHT), (WIDTH, HEIGHT)], 'stroke="#333333"'))
    parts.append(_text(WIDTH / 2, HEIGHT + 40, panel.x_label, 'text-anchor="middle"'))
    parts.append(_text(-HEIGHT / 2, -52, panel.y_label, 'text-anchor="middle" transform="rotate(-90)"'))
    for name, y in panel.levels.items():
        height = HEIGHT - y_axis.at(y)
        parts.append(_line([(0, height), (WIDTH, height)], f'stroke="{GRAY}" stroke-dasharray="4"'))
        parts.append(_text(WIDTH, height - 5, name, f'text-anchor="end" fill="{GRAY}"'))
    ends = _apart([at(*one[-1])[1] for one in curves.values()], 16)
    for (name, one), color, end in zip(curves.items(), COLORS * len(curves), ends):
        parts.append(_line([at(*point) for point in one], f'stroke="{color}" stroke-width="2"'))
        parts.append(_text(at(*one[-1])[0] + 6, end + 4, name, f'fill="{color}"'))
    return parts


def svg(title: str, panels: list[Panel]) -> str:
    """An image of panels beside each other. A panel without points is left out."""
    drawn = [parts for parts in map(_panel, panels) if parts]
    step = LEFT + WIDTH + RIGHT
    body = [_text(16, 30, title, 'font-size="16" font-weight="bold"')]
    for i, parts in enumerate(drawn):
        body += [f'<g transform="translate({i * step + LEFT},{TOP})">', *parts, "</g>"]
    width, height = max(len(drawn), 1) * step, TOP + HEIGHT + BOTTOM
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="13" fill="#333333">\n<rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def means(values: list[float], count: int = 40) -> list[tuple[float, float]]:
    """About `count` points of a curve, the mean of some values each."""
    size = max(1, len(values) // count)
    parts = [values[i : i + size] for i in range(0, len(values), size)]
    return [((i + 0.5) * size, sum(part) / len(part)) for i, part in enumerate(parts)]
