# SPDX-License-Identifier: BSD-2-Clause
"""The way of one array from the call of an operator to the NumPy view in its host function."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

# Column, row, title and lines of each box.
BOXES = {
    "call": (0, 2, "op(x, factor=2.0)", ["your program", "Python"]),
    "equation": (1, 2, "jaxbind_call", ["one equation of the jaxpr:", "operator, kwargs, axes"]),
    "custom": (2, 2, "custom_call", ["one instruction of XLA:", "id, name, kwargs, batch"]),
    "buffers": (2, 1, "XLA buffers", ["x and y in memory"]),
    "bridge": (1, 1, "bridge", ["C++: finds the target,", "walks the batch"]),
    "views": (0, 1, "NumPy views", ["the same memory,", "no copies"]),
    "host": (0, 0, "f(out, args, kwargs_dump)", ["your host function", "Python, NumPy, C, ..."]),
    "target": (1, 0, "call target", ["name + kwargs -> function,", "kept by the executable"]),
}
ARROWS = [
    ("call", "equation", "trace"),
    ("equation", "custom", "lower"),
    ("custom", "buffers", "run"),
    ("buffers", "bridge", ""),
    ("bridge", "views", ""),
    ("views", "host", "call"),
    ("target", "bridge", "look up"),
]
WIDTH, HEIGHT, STEP_X, STEP_Y = 2.45, 0.95, 3.3, 1.55


def centre(name: str) -> tuple[float, float]:
    """Where a box is."""
    column, row, *_ = BOXES[name]
    return column * STEP_X, row * STEP_Y


def box(axes: Axes, name: str, theme: dict[str, str]) -> None:
    """Draw one box with its title and lines."""
    x, y = centre(name)
    _, _, title, lines = BOXES[name]
    own = name in {"call", "host"}
    axes.add_patch(
        FancyBboxPatch(
            (x - WIDTH / 2, y - HEIGHT / 2),
            WIDTH,
            HEIGHT,
            boxstyle="round,pad=0.02,rounding_size=0.1",
            facecolor=theme["fill"] if own else theme["paper"],
            edgecolor=theme["accent"] if own else theme["soft"],
            linewidth=1.5 if own else 1.0,
        )
    )
    axes.text(x, y + 0.22, title, ha="center", va="center", color=theme["ink"], family="monospace", fontsize=9.5)
    axes.text(x, y - 0.17, "\n".join(lines), ha="center", va="center", color=theme["soft"], fontsize=8.5)


def arrow(axes: Axes, start: str, end: str, label: str, theme: dict[str, str]) -> None:
    """Draw an arrow from the edge of one box to the edge of another."""
    (x0, y0), (x1, y1) = centre(start), centre(end)
    gap_x, gap_y = WIDTH / 2 + 0.07, HEIGHT / 2 + 0.07
    dx, dy = (x1 > x0) - (x1 < x0), (y1 > y0) - (y1 < y0)
    tail, head = (x0 + dx * gap_x, y0 + dy * gap_y), (x1 - dx * gap_x, y1 - dy * gap_y)
    style = {"arrowstyle": "-|>", "mutation_scale": 12, "color": theme["accent"], "linewidth": 1.3}
    axes.add_patch(FancyArrowPatch(tail, head, **style))
    middle = ((tail[0] + head[0]) / 2 + 0.12 * abs(dy), (tail[1] + head[1]) / 2 + 0.13 * abs(dx))
    axes.text(*middle, label, ha="left" if dy else "center", va="center", color=theme["accent"], fontsize=8.5)


def draw(theme: dict[str, str]) -> Figure:
    """Draw the figure in the colours of a theme."""
    figure = Figure(figsize=(8.6, 4.1), layout="constrained")
    axes = figure.subplots()
    axes.set(xlim=(-1.4, 2 * STEP_X + 1.4), ylim=(-0.6, 2 * STEP_Y + 0.75), aspect="equal")
    axes.axis("off")
    for name in BOXES:
        box(axes, name, theme)
    for start, end, label in ARROWS:
        arrow(axes, start, end, label, theme)
    for y, text in ((2 * STEP_Y + 0.66, "once per shape"), (STEP_Y + 0.66, "every call")):
        axes.text(-WIDTH / 2, y, text, ha="left", va="center", color=theme["soft"], fontsize=8.5, style="italic")
    return figure
