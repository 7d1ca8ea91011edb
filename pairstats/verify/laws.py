"""Laws of resampled sums: polynomials multiplied out term by term, and plain simulation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DRAWS = 50_000
"""Draws of every simulation here."""

LARGEST_WORK = 300_000_000
"""Products beyond which a law is simulated instead of multiplied out."""

FINEST = 5040
"""Largest denominator in which totals are sought."""


def as_whole(values: Floats, tolerance: float = 1e-9) -> tuple[list[int], int] | None:
    """Numbers as whole multiples of 1 / unit: (multiples, unit); None where there is no such unit.

    Examples
    --------
    >>> as_whole(np.array([0.5, 1 / 3, -1.0]))
    ([3, 2, -6], 6)
    """
    fractions = [Fraction(float(value)).limit_denominator(FINEST) for value in values]
    largest = max((abs(float(value)) for value in values), default=0.0)
    if any(
        abs(float(f) - v) > tolerance * max(largest, 1e-300) for f, v in zip(fractions, values, strict=True)
    ):
        return None
    unit = math.lcm(*(f.denominator for f in fractions))
    return [int(f * unit) for f in fractions], unit


def resampled_law(totals: Floats, sizes: Floats) -> tuple[Floats, Floats] | None:
    """Values and probabilities of the ratio of totals when families are drawn anew.

    The generating polynomial of one draw, in two variables, is raised to the number of families by
    multiplying it out draw by draw: only positive terms are added. None where totals have no common
    fraction or the polynomial is too large.
    """
    tops, bottoms = as_whole(totals), as_whole(sizes)
    if tops is None or bottoms is None:
        return None
    s, n = np.array(tops[0]), np.array(bottoms[0])
    kinds, counts = np.unique(np.column_stack([s - s.min(), n - n.min()]), axis=0, return_counts=True)
    steps = np.maximum(np.gcd.reduce(kinds, axis=0), 1)
    kinds = kinds // steps
    draws = int(counts.sum())
    shape = draws * kinds.max(axis=0) + 1
    if float(np.prod(shape.astype(float))) * draws * len(kinds) > LARGEST_WORK:
        return None
    law = np.zeros(shape)
    law[0, 0] = 1.0
    for _ in range(draws):
        grown = np.zeros(shape)
        for (a, b), count in zip(kinds.tolist(), counts.tolist(), strict=True):
            grown[a:, b:] += count / draws * law[: shape[0] - a, : shape[1] - b]
        law = grown
    at = np.argwhere(law > 0)
    top = (draws * s.min() + at[:, 0] * steps[0]) / tops[1]
    bottom = (draws * n.min() + at[:, 1] * steps[1]) / bottoms[1]
    return _gathered(top / bottom, law[at[:, 0], at[:, 1]])


def _gathered(values: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Sort values and add the mass of those that differ by rounding only."""
    order = np.argsort(values, kind="stable")
    values, mass = values[order], mass[order]
    new = np.concatenate(([True], np.diff(values) > 1e-13 * max(np.abs(values).max(), 1e-300)))
    return values[new], np.add.reduceat(mass, np.flatnonzero(new))


def simulated(totals: Floats, sizes: Floats) -> Floats:
    """Sorted ratios of totals of `DRAWS` resamples of families."""
    tops, bottoms = _resamples(np.column_stack([totals, sizes])).T
    return np.sort(tops / bottoms)


def studentized(totals: Floats, sizes: Floats) -> Floats:
    """Sorted values of estimate + t * standard error, t from `DRAWS` resamples."""
    value = totals.sum() / sizes.sum()
    excess = totals - value * sizes
    drawn = _resamples(np.column_stack([totals, sizes, excess**2, excess * sizes, sizes**2]))
    shift = drawn[:, 0] / drawn[:, 1] - value
    shift[np.abs(shift) < 1e-12] = 0.0
    squares = drawn[:, 2] - 2 * shift * drawn[:, 3] + shift**2 * drawn[:, 4]
    squares[squares <= 1e-12 * sizes.size * np.max(excess**2)] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(shift == 0, 0.0, shift * drawn[:, 1] / np.sqrt(squares))
    return np.sort(value + t * math.sqrt(float(excess @ excess)) / sizes.sum())


def _resamples(columns: Floats) -> Floats:
    """Column sums of `DRAWS` resamples of the rows."""
    kinds, counts = np.unique(columns, axis=0, return_counts=True)
    rng = np.random.default_rng(20_250_101)
    times = rng.multinomial(counts.sum(), counts / counts.sum(), size=DRAWS)
    return np.asarray(times @ kinds, dtype=float)
