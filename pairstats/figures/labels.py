"""Places for the labels of points, so that none covers another; geometry only, in points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Point = tuple[float, float]

FAR = 14.0
"""A label further away from its point than this needs a line to it."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on the canvas."""

    left: float
    bottom: float
    right: float
    top: float

    @classmethod
    def around(cls, x: float, y: float, width: float, height: float) -> Box:
        """Box of a size around its centre."""
        return cls(x - width / 2, y - height / 2, x + width / 2, y + height / 2)

    @property
    def centre(self) -> Point:
        """Middle of the box."""
        return (self.left + self.right) / 2, (self.bottom + self.top) / 2

    def holds(self, x: float, y: float) -> bool:
        """Whether a place lies in the box."""
        return self.left <= x <= self.right and self.bottom <= y <= self.top

    def overlap(self, other: Box) -> float:
        """Area that two boxes share."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.top, other.top) - max(self.bottom, other.bottom)
        return max(wide, 0.0) * max(high, 0.0)

    def outside(self, other: Box) -> float:
        """Area that lies outside another box."""
        return (self.right - self.left) * (self.top - self.bottom) - self.overlap(other)

    def away(self, x: float, y: float) -> float:
        """Distance from a place to the nearest edge."""
        return math.hypot(max(self.left - x, 0, x - self.right), max(self.bottom - y, 0, y - self.top))


@dataclass(frozen=True, slots=True)
class Scene:
    """What labels must keep clear of.

    Attributes
    ----------
    points : sequence of (float, float)
        What is labelled.
    sizes : sequence of (float, float)
        Width and height of each label.
    taken : sequence of Box
        What is drawn already.
    inside : Box
        Where labels may stand.
    """

    points: Sequence[Point]
    sizes: Sequence[Point]
    taken: Sequence[Box]
    inside: Box


def place_labels(scene: Scene) -> tuple[list[Box], float]:
    """Place one label after another where it covers least.

    Returns
    -------
    list of Box
        One a point, in order.
    float
        The largest area that a label covers, in square points; a crossed label counts for 60.

    Examples
    --------
    >>> boxes, covered = place_labels(Scene([(50, 50), (52, 50)], [(30, 8)] * 2, [], Box(0, 0, 200, 200)))
    >>> boxes[0].overlap(boxes[1]), covered
    (0.0, 0.0)
    """
    written: list[Box] = []
    worst = 0.0
    for point, (width, height) in zip(scene.points, scene.sizes, strict=True):
        boxes = [
            Box.around(point[0] + dx, point[1] + dy, width, height) for dx, dy in _offsets(width, height)
        ]
        covered = [_covered(box, point, scene, written) for box in boxes]
        costs = [area + 0.05 * box.away(*point) for area, box in zip(covered, boxes, strict=True)]
        chosen = costs.index(min(costs))
        written.append(boxes[chosen])
        worst = max(worst, covered[chosen])
    return written, worst


def _covered(box: Box, point: Point, scene: Scene, written: Sequence[Box]) -> float:
    """Area that a label covers or leaves the plot by; lines that cross labels count for 60."""
    area = sum(box.overlap(other) for other in (*scene.taken, *written)) + 4 * box.outside(scene.inside)
    crossed = sum(_crosses(other, point, box) for other in written)
    crossed += sum(_crosses(box, start, label) for start, label in zip(scene.points, written, strict=False))
    return area + 60 * crossed


def _crosses(box: Box, point: Point, label: Box) -> bool:
    """Whether the line from a point to its label runs through a box."""
    if label.away(*point) <= FAR:
        return False
    (x, y), (to_x, to_y) = point, label.centre
    return any(box.holds(x + (to_x - x) * k / 24, y + (to_y - y) * k / 24) for k in range(25))


def _offsets(width: float, height: float) -> list[Point]:
    """Places of a label's centre around its point: near ones first, then rings."""
    near = [(sx * (width / 2 + 6), sy * (height / 2 + 4)) for sy in (1, -1) for sx in (1, -1)]
    rings = [
        (math.cos(angle) * (width / 2 + radius), math.sin(angle) * radius)
        for radius in (14, 24, 36, 50, 66, 84)
        for angle in (k * math.pi / 8 for k in range(16))
    ]
    return near + rings
