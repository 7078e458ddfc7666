"""Plots as SVG text, which need no library."""

import math

COLORS = (
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#e07b00", "#00808b", "#8c564b", "#e377c2", "#000000", "#bcbd22", "#0033cc",
    "#ff9896", "#5a3d00", "#98df8a",
)  # fmt: skip
GRAY = "#999999"


class Axes:
    """A rectangle of the picture for x and y in the given ranges; x may be logarithmic."""

    def __init__(self, left, top, width, height, x, y, log=False):
        self.place, self.x, self.y, self.log = (left, top, width, height), x, y, log
        self.parts = []
        self.line([(x[0], y[1]), (x[0], y[0]), (x[1], y[0])], "black")

    def at(self, x, y):
        left, top, width, height = self.place
        scale = math.log if self.log else float
        low, high = map(scale, self.x)
        across = (scale(x) - low) / (high - low)
        up = min(max((y - self.y[0]) / (self.y[1] - self.y[0]), 0), 1)
        return left + across * width, top + height * (1 - up)

    def line(self, points, color, style=""):
        text = " ".join("{:.1f},{:.1f}".format(*self.at(*point)) for point in points)
        self.parts.append(f'<polyline points="{text}" fill="none" stroke="{color}" {style}/>')

    def curve(self, points, color):
        self.line(points, color, 'stroke-width="2"')

    def dashes(self, y, color):
        self.line([(self.x[0], y), (self.x[1], y)], color, 'stroke-width="1.5" stroke-dasharray="4"')

    def dot(self, x, y, color):
        across, down = self.at(x, y)
        self.parts.append(f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3.5" fill="{color}"/>')

    def square(self, x, y, color):
        """Of the size 1, to the right of a point and below it."""
        (left, top), (right, bottom) = self.at(x, y), self.at(x + 1, y - 1)
        size = f'width="{right - left:.1f}" height="{bottom - top:.1f}"'
        self.parts.append(f'<rect x="{left:.1f}" y="{top:.1f}" {size} fill="{color}"/>')

    def text(self, x, y, words, right=0, down=0, style=""):
        """Words at a point, and so many pixels from it."""
        across, below = self.at(x, y)
        self.parts.append(f'<text x="{across + right:.1f}" y="{below + down:.1f}" {style}>{words}</text>')

    def ticks(self, x=(), y=()):
        """Labels by value."""
        for value, label in dict(x).items():
            self.text(value, self.y[0], label, down=16, style='text-anchor="middle"')
        for value, label in dict(y).items():
            self.text(self.x[0], value, label, right=-6, down=4, style='text-anchor="end"')


def document(width, height, axes, size=13):
    body = "\n".join(part for one in axes for part in one.parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        f'font-size="{size}">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )
