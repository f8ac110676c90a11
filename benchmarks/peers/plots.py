"""Plot cost against rows, with one labelled line per system."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter

from .registry import BY_NAME, KINDS, REFERENCE
from .results import Results
from .running import Cost

# the palette of Okabe and Ito, suitable for colour-blind readers, without its yellow, which has low
# contrast on white; black is for sqlmetrics
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_MARKERS = "os^DvP"
_TITLES = {"rank": "Lists with ranks", "score": "Lists with scores"}
_LABEL_HEIGHT = 0.052  # as a share of the axes


def draw(results: Results, folder: Path) -> None:
    """Write wall.svg and memory.svg; the same results give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    style = {"svg.hashsalt": "peers", "svg.fonttype": "none", "font.size": 9}
    with plt.rc_context(style | {"axes.spines.top": False, "axes.spines.right": False}):
        _figure(results, folder / "wall.svg", "seconds, from the files to the numbers",
                lambda cost: cost.wall)  # fmt: skip
        _figure(results, folder / "memory.svg", "peak memory, MB",
                lambda cost: cost.memory / 1e6)  # fmt: skip


def _figure(results: Results, path: Path, title: str, measure: Callable[[Cost], float]) -> None:
    figure, all_axes = plt.subplots(1, len(KINDS), figsize=(12, 5), sharey=True)
    rows = {size.asked: size.rows for size in results.sizes}
    for axes, kind in zip(all_axes, KINDS, strict=True):
        lines: dict[str, list[tuple[int, float]]] = {}
        for cell in sorted(results.cells, key=lambda cell: cell.rows):
            if cell.kind == kind and cell.cost:
                lines.setdefault(cell.system, []).append((rows[cell.rows], measure(cell.cost)))
        axes.set(xscale="log", yscale="log", xlabel="rows of recommendations")
        axes.set_title(_TITLES[kind], loc="left")
        axes.grid(which="major", color="#dddddd", linewidth=0.6)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.tick_params(labelleft=True)
        _draw_lines(axes, lines)
    all_axes[0].set_ylabel(title)
    figure.subplots_adjust(left=0.06, right=0.85, wspace=0.65)  # space for the labels
    figure.draw_without_rendering()  # the axis limits are known only after drawing
    for axes in all_axes:
        _label_lines(axes)
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def _draw_lines(axes: Any, lines: Mapping[str, list[tuple[int, float]]]) -> None:
    others = 0
    for system, points in lines.items():
        if system.startswith(REFERENCE):
            dashes = "-" if system == REFERENCE else "--"
            look = {"color": "black", "linewidth": 2.2, "linestyle": dashes, "marker": ".",
                    "zorder": 3}  # fmt: skip
        else:
            place = others % len(_COLOURS)
            dashes = "-" if others < len(_COLOURS) else ":"
            look = {"color": _COLOURS[place], "linewidth": 1.3, "linestyle": dashes,
                    "marker": _MARKERS[place], "markersize": 4}  # fmt: skip
            others += 1
        axes.plot(*zip(*points, strict=True), label=BY_NAME[system].title, **look)


def _label_lines(axes: Any) -> None:
    """Write the names of systems beside the axes, next to their lines and without overlap."""
    to_axes = axes.transAxes.inverted()
    ends = []
    for line in axes.get_lines():
        x, y = line.get_xydata()[-1]
        _, height = to_axes.transform(axes.transData.transform((x, y)))
        ends.append((height, line, (x, y)))
    heights = _apart([height for height, _, _ in sorted(ends, key=lambda end: end[0])])
    for height, (_, line, end) in zip(heights, sorted(ends, key=lambda end: end[0]), strict=True):
        axes.annotate(
            line.get_label(), xy=end, xycoords="data", xytext=(1.04, height),
            textcoords="axes fraction", color=line.get_color(), va="center",
            arrowprops={"arrowstyle": "-", "color": line.get_color(), "linewidth": 0.4,
                        "shrinkA": 0, "shrinkB": 2},
        )  # fmt: skip


def _apart(heights: list[float]) -> list[float]:
    """Move ascending heights apart, so that labels do not overlap.

    Heights that are too close are spread around their common centre.
    """
    groups: list[list[float]] = []
    for height in heights:
        groups.append([height])
        while len(groups) > 1 and _lowest(groups[-1]) - _highest(groups[-2]) < _LABEL_HEIGHT:
            groups[-2:] = [groups[-2] + groups[-1]]
    return [
        _lowest(group) + place * _LABEL_HEIGHT for group in groups for place in range(len(group))
    ]


def _lowest(group: list[float]) -> float:
    return math.fsum(group) / len(group) - (len(group) - 1) * _LABEL_HEIGHT / 2


def _highest(group: list[float]) -> float:
    return _lowest(group) + (len(group) - 1) * _LABEL_HEIGHT
