"""Places for the names of points in a scatter plot, so that they do not cover each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

Point: TypeAlias = tuple[float, float, str]
"""Two coordinates and a name."""

_Box: TypeAlias = tuple[float, float, float, float]  # left, top, right, bottom

# in pixels, for a chart of a usual width
_WIDTH, _HEIGHT = 800.0, 260.0
_OF_LETTER, _OF_LINE, _LONGEST = 6.6, 14.0, 140.0
_HALF = 6.0  # of a point's mark


def names_beside(points: Sequence[Point]) -> list[str]:
    """Return the side of every point's name: above, below, right or left.

    Earlier points choose first. A side is empty if the name would cover a point or another name on
    every side.
    """
    centres = list(zip(*(_spread(points, axis) for axis in (0, 1)), strict=True))
    marks = [(x - _HALF, y - _HALF, x + _HALF, y + _HALF) for x, y in centres]
    taken: list[_Box] = []
    sides = []
    for number, (x, y) in enumerate(centres):
        others = [*marks[:number], *marks[number + 1 :], *taken]
        boxes = _boxes(x, y, min(_LONGEST, _OF_LETTER * len(points[number][2])))
        free = (side for side, box in boxes.items() if not _covers(box, others))
        sides.append(next(free, ""))
        if sides[-1]:
            taken.append(boxes[sides[-1]])
    return sides


def _spread(points: Sequence[Point], axis: int) -> list[float]:
    """Map one coordinate of the points to pixels; y grows downwards."""
    values = [float(point[axis]) for point in points]
    low, high = min(values, default=0.0), max(values, default=0.0)
    size = _HEIGHT if axis else _WIDTH
    shares = [(value - low) / (high - low) if high > low else 0.5 for value in values]
    return [size * (1 - share if axis else share) for share in shares]


def _boxes(x: float, y: float, width: float) -> Mapping[str, _Box]:
    half, line = width / 2, _OF_LINE
    return {
        "above": (x - half, y - _HALF - line, x + half, y - _HALF),
        "below": (x - half, y + _HALF, x + half, y + _HALF + line),
        "right": (x + _HALF, y - line / 2, x + _HALF + width, y + line / 2),
        "left": (x - _HALF - width, y - line / 2, x - _HALF, y + line / 2),
    }


def _covers(box: _Box, others: Iterable[_Box]) -> bool:
    left, top, right, bottom = box
    return any(
        left < other[2] and other[0] < right and top < other[3] and other[1] < bottom
        for other in others
    )
