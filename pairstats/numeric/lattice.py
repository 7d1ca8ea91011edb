"""The lattice that a set of numbers lies on, found in spite of floating point."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_BLOCK = 2**14
"""Numbers sorted at a time."""


def common_lattice(values: ArrayLike, rtol: float = 1e-9, max_steps: int = 100_000) -> float | None:
    """Return the largest spacing that every value is a whole multiple of.

    Euclid's algorithm on the absolute values, with remainders below half the smallest spacing sought
    counted as zero; the spacing is then fitted to all values by least squares and verified.

    Parameters
    ----------
    values : array_like of float
        Any shape, finite. Zeros are multiples of every spacing.
    rtol : float, default 1e-9
        A value may lie this far from its lattice point, relative to the largest absolute value. So
        ``0.1 + 0.2`` and ``0.3`` are one point.
    max_steps : int, default 100000
        Give up where the largest absolute value is more than this many spacings from zero.

    Returns
    -------
    float or None
        The spacing, 1.0 if all values are zero (or there are none), None without a common lattice.

    Examples
    --------
    >>> common_lattice([0.1 + 0.2, 0.3, 1.0])
    0.1
    >>> common_lattice([2, -4, 6])
    2.0
    >>> common_lattice([1, 2**0.5, 3**0.5]) is None
    True
    """
    size = np.unique(np.abs(np.asarray(values, dtype=np.float64)))
    size = size[size > 0]
    if size.size == 0:
        return 1.0
    scale = size[-1]
    # Divided by the largest first, so that tiny and huge values (1e-300, 1e300) do not underflow or overflow.
    unit = size / scale
    unit = unit[unit > rtol]
    spacing = _float_gcd(unit, zero=0.5 / max_steps)
    steps = np.rint(unit / spacing)
    spacing = float(unit @ steps / (steps @ steps))
    if steps[-1] > max_steps or np.max(np.abs(unit - spacing * steps)) > rtol:
        return None
    return _tidied(spacing * float(scale), rtol)


def lattice_steps(values: ArrayLike, spacing: float | FloatArray) -> IntArray:
    """Return each value as a whole number of spacings from zero (a spacing for each column, or one).

    Examples
    --------
    >>> lattice_steps([0.1 + 0.2, 0.3, 1.0], 0.1).tolist()
    [3, 3, 10]
    """
    return np.rint(np.asarray(values, dtype=np.float64) / spacing).astype(np.int64)


def _float_gcd(values: FloatArray, zero: float) -> float:
    """Greatest common divisor of positive numbers, where a remainder below `zero` is none."""
    pool = values
    while True:
        divisor = pool.min()
        remainders = np.abs(pool - divisor * np.rint(pool / divisor))
        remainders = remainders[remainders > zero]
        if remainders.size == 0:
            return float(divisor)
        pool = np.append(remainders, divisor)


def _tidied(spacing: float, rtol: float) -> float:
    """Take the whole number, or one over it, that the spacing differs from only by rounding."""
    for tidy in (round(spacing), 1 / round(1 / spacing) if 1e-9 < spacing < 1 else 0):
        # A tenth of rtol: far inside what the values may be off, so no verified value leaves the lattice.
        if tidy and abs(spacing - tidy) <= 1e-3 * rtol * tidy:
            return float(tidy)
    return spacing


def snapped(values: ArrayLike, rtol: float = 1e-12) -> FloatArray:
    """Return the values with those that differ only by rounding made one.

    Sorted neighbours closer than `rtol` of the largest absolute value become the smallest of their run.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        Finite numbers.
    rtol : float, default 1e-12
        Relative to the largest absolute value: rounding of a short sum, and no more.

    Returns
    -------
    ndarray of float, shape (n,)

    Examples
    --------
    >>> snapped([0.3, 0.1 + 0.2, 0.1]).tolist()
    [0.3, 0.3, 0.1]
    """
    distinct, position = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True)
    if distinct.size == 0:
        return distinct
    starts, run = _runs(distinct, rtol)
    snapped_values: FloatArray = distinct[starts[run[position]]]
    return snapped_values


def snapped_counts(values: ArrayLike, rtol: float = 1e-12) -> tuple[FloatArray, IntArray]:
    """Return the distinct values of `snapped`, ascending, and how many there are of each.

    Examples
    --------
    >>> distinct, counts = snapped_counts([0.3, 0.1 + 0.2, 0.1])
    >>> distinct.tolist(), counts.tolist()
    ([0.1, 0.3], [1, 2])
    """
    distinct, counts = _distinct(np.asarray(values, dtype=np.float64))
    if distinct.size == 0:
        return distinct, counts
    starts, run = _runs(distinct, rtol)
    return distinct[starts], np.bincount(run, weights=counts).astype(np.int64)


def _distinct(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Distinct values and their counts; in blocks that stay in the cache where they are few."""
    blocks = [values[start : start + _BLOCK] for start in range(0, values.size, _BLOCK)]
    if len(blocks) > 1 and 4 * np.unique(blocks[0]).size < _BLOCK:
        found = [np.unique(block, return_counts=True) for block in blocks]
        distinct, place = np.unique(np.concatenate([own for own, _ in found]), return_inverse=True)
        counts = np.bincount(place.reshape(-1), weights=np.concatenate([count for _, count in found]))
        return distinct, np.rint(counts).astype(np.int64)
    distinct, counts = np.unique(values, return_counts=True)
    return distinct, counts.astype(np.int64)


def _runs(distinct: FloatArray, rtol: float) -> tuple[IntArray, IntArray]:
    """Where runs of ascending values closer than `rtol` begin, and the run of each value."""
    # Halved before subtracting, so that opposite values near the largest float do not overflow.
    gap = np.diff(distinct / 2) > rtol / 2 * np.max(np.abs(distinct))
    starts = np.flatnonzero(np.concatenate(([True], gap)))
    return starts.astype(np.int64), np.cumsum(np.concatenate(([0], gap))).astype(np.int64)
