"""Families of one score and size as one kind with a weight; very many kinds thinned to a thousand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairstats.numeric.draws import type_counts

Floats = NDArray[np.float64]

MOST_KINDS = 1000
"""Different scores of families of one size that are kept as they are."""

CELLS = 500
"""Cells of the range that more scores are gathered in, two points in each."""


@dataclass(frozen=True, slots=True)
class FamilyKinds:
    """Kinds of family on the unit range.

    Attributes
    ----------
    unit, sizes, weights : ndarray of float, shape (K,)
        Score, size and number of families of each kind. Scores are ascending within a size.
    """

    unit: Floats
    sizes: Floats
    weights: Floats

    def mirrored(self) -> FamilyKinds:
        """The same families scored from the other end."""
        return FamilyKinds(1.0 - self.unit, self.sizes, self.weights)


def family_kinds(unit: Floats, sizes: Floats) -> FamilyKinds:
    """Gather families of equal score and size.

    Parameters
    ----------
    unit : ndarray of float, shape (G,)
        Scores in [0, 1]; equal ones are equal to the bit.
    sizes : ndarray of float, shape (G,)

    Examples
    --------
    >>> kinds = family_kinds(np.array([1.0, 0.5, 1.0]), np.ones(3))
    >>> kinds.unit.tolist(), kinds.weights.tolist()
    ([0.5, 1.0], [1.0, 2.0])
    """
    found, counts = type_counts(sizes, unit)
    kinds = FamilyKinds(found[:, 1], found[:, 0], counts.astype(np.float64))
    if kinds.unit.size <= MOST_KINDS:
        return kinds
    parts = []
    for size in np.unique(kinds.sizes):
        same = kinds.sizes == size
        own = kinds.unit[same], kinds.weights[same]
        points, weights = thinned(*own) if own[0].size > MOST_KINDS else own
        parts.append((points, np.full(points.size, size), weights))
    return FamilyKinds(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def thinned(values: Floats, weights: Floats, cells: int = CELLS) -> tuple[Floats, Floats]:
    """Move weighted values to two points in each cell of their range, keeping three moments in each.

    The points of a cell are the nodes of its Gauss rule: its weight, mean, variance and third moment stay,
    the points lie inside the cell, and weights stay positive. An integral of a smooth function then changes
    by the fourth power of the width of a cell only.

    Examples
    --------
    >>> points, weights = thinned(np.linspace(0, 1, 5001), np.ones(5001))
    >>> points.size, float(weights.sum()), round(float(weights @ points**3), 6) == round(5001 * 0.25005, 6)
    (1000, 5001.0, True)
    """
    low, high = float(values.min()), float(values.max())
    cell = np.minimum(((values - low) / (high - low) * cells).astype(np.int64), cells - 1)
    mass = np.bincount(cell, weights=weights, minlength=cells)
    used = mass > 0
    total = np.where(used, mass, 1.0)
    mean = np.bincount(cell, weights=weights * values, minlength=cells) / total
    gap = values - mean[cell]
    variance = np.bincount(cell, weights=weights * gap**2, minlength=cells) / total
    skew = np.bincount(cell, weights=weights * gap**3, minlength=cells) / total
    # Nodes are the roots of x^2 - (skew / variance) x - variance; a cell without spread keeps one point.
    spread = variance > 1e-24 * max(abs(low), abs(high)) ** 2
    lean = np.where(spread, skew / np.where(spread, variance, 1.0), 0.0) / 2
    root = np.sqrt(lean**2 + variance)
    left, right = lean - root, lean + root
    share = np.where(spread, right / np.where(spread, right - left, 1.0), 1.0)
    two = used & spread
    points = np.concatenate([np.where(spread, mean + left, mean)[used], (mean + right)[two]])
    amounts = np.concatenate([(mass * share)[used], (mass * (1.0 - share))[two]])
    order = np.argsort(points, kind="stable")
    return np.clip(points[order], low, high), amounts[order]
