"""The law of a sum of independent draws from a few values: enumerated, convolved, or by Fourier transform."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, irfft2, next_fast_len, rfft, rfft2
from scipy.special import gammaln, xlog1py, xlogy

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_LOG_TAIL = 70.0
"""Mass left outside a window on either side is below exp(-70) = 4e-31."""
_LOG_NEGLIGIBLE = -50.0
"""A composition rarer than exp(-50) = 2e-22 is left out where there are too many to keep all."""
_DIRECT_LENGTH = 2048
"""Longest law built from positive terms only; a longer one takes one Fourier transform."""
_MARGIN = 100
"""Points that a fine lattice holds beyond the window on either side."""
_TAPER = 8.0
"""Standard deviation, in points, of the normal kernel that a fine lattice is smoothed with."""


def binomial_pmf(k: IntArray, n: IntArray | int, p: float) -> FloatArray:
    """Binomial probabilities with full relative accuracy for tiny values.

    Examples
    --------
    >>> binomial_pmf(np.arange(3), 2, 0.5).round(12).tolist()
    [0.25, 0.5, 0.25]
    """
    trials = np.asarray(n)
    choose = gammaln(trials + 1.0) - gammaln(k + 1.0) - gammaln(trials - k + 1.0)
    probability: FloatArray = np.exp(choose + xlogy(k, p) + xlog1py(trials - k, -p))
    return probability


def enumerated_sums(values: FloatArray, counts: IntArray, limit: int) -> tuple[FloatArray, FloatArray] | None:
    """List the sums over every composition of G draws from the types, with multinomial probabilities.

    Parameters
    ----------
    values : ndarray of float, shape (K, M)
        What one draw of each type adds to each of M sums.
    counts : ndarray of int, shape (K,)
        Families of each type; a draw is of type k with probability ``counts[k] / G``.
    limit : int
        Most compositions to hold. All of them are kept where ``comb(G + K - 1, K - 1) <= limit``;
        else those rarer than 2e-22 are left out.

    Returns
    -------
    sums : ndarray of float, shape (A, M)
    probability : ndarray of float, shape (A,)
        Or None instead of both, where there are more than `limit`.
    """
    draws, kinds = int(counts.sum()), counts.size
    order = np.argsort(counts, kind="stable")
    complete = math.comb(draws + kinds - 1, kinds - 1) <= limit
    if not complete and 2 ** (kinds - 1) > limit:
        return None
    # Rare types first: the commonest takes what is left over, so only the others multiply.
    ranges = [_count_range(draws, counts[k] / draws, complete) for k in order[:-1]]
    if not complete and math.prod(high - low + 1 for low, high in ranges) > limit:
        return None

    left = np.array([draws], dtype=np.int64)
    probability = np.ones(1)
    sums = np.zeros((1, values.shape[1]))
    unused = draws
    for k, (low, high) in zip(order[:-1], ranges, strict=True):
        reach = np.maximum(np.minimum(left, high) - low + 1, 0)
        parent = np.repeat(np.arange(left.size), reach)
        drawn = np.arange(parent.size) - np.repeat(np.cumsum(reach) - reach, reach) + low
        probability = probability[parent] * binomial_pmf(drawn, left[parent], counts[k] / unused)
        sums = sums[parent] + drawn[:, None] * values[k]
        left = left[parent] - drawn
        unused -= int(counts[k])
        if not complete:
            kept = probability > math.exp(_LOG_NEGLIGIBLE)
            left, probability, sums = left[kept], probability[kept], sums[kept]
    return sums + left[:, None] * values[order[-1]], probability


def _count_range(draws: int, share: float, complete: bool) -> tuple[int, int]:
    """How often a type may be drawn: always between, or nearly always."""
    if complete:
        return 0, draws
    likely = np.flatnonzero(binomial_pmf(np.arange(draws + 1), draws, share) > math.exp(_LOG_NEGLIGIBLE))
    return int(likely[0]), int(likely[-1])


def sum_window(values: FloatArray, probability: FloatArray, draws: int) -> tuple[float, float]:
    """Interval that holds the sum of `draws` draws but for 4e-31 on either side (Chernoff's bound).

    About twelve standard deviations each way where the sum is near normal, more on a skew side, never
    beyond the range of the sum.

    Examples
    --------
    >>> low, high = sum_window(np.array([0.0, 1.0]), np.array([0.5, 0.5]), 10_000)
    >>> 4400 < low < 4430, 5570 < high < 5600
    (True, True)
    """
    centre = float(probability @ values)
    offset = values - centre
    deviation = math.sqrt(draws * float(probability @ offset**2))
    if deviation == 0:
        return draws * centre, draws * centre
    tilt = np.geomspace(0.05, 50, 50) / deviation
    upper = draws * _log_mean_exp(np.multiply.outer(tilt, offset), probability)
    lower = draws * _log_mean_exp(np.multiply.outer(-tilt, offset), probability)
    low = draws * centre - float(np.min((lower + _LOG_TAIL) / tilt))
    high = draws * centre + float(np.min((upper + _LOG_TAIL) / tilt))
    return max(low, draws * float(values.min())), min(high, draws * float(values.max()))


def _log_mean_exp(exponents: FloatArray, probability: FloatArray) -> FloatArray:
    """Logarithm of the mean of exponentials over the last axis, without overflow."""
    largest = exponents.max(axis=1)
    found: FloatArray = largest + np.log(np.exp(exponents - largest[:, None]) @ probability)
    return found


def lattice_power(
    steps: IntArray, probability: FloatArray, draws: int, max_length: int
) -> tuple[int, FloatArray] | None:
    """Law of the sum of `draws` independent whole numbers.

    Parameters
    ----------
    steps : ndarray of int, shape (K,)
        Values of one draw, the smallest 0.
    probability : ndarray of float, shape (K,)
        Their probabilities.
    draws : int
        Number of draws.
    max_length : int
        Longest window to transform.

    Returns
    -------
    start : int
        The smallest sum held.
    law : ndarray of float, shape (L,)
        Probability of ``start, start + 1, ...``. Relative accuracy throughout where the longest sum is
        below 2048 (positive terms only), and for two values; else absolute accuracy of about 1e-16. Or
        None instead of both where the window is too long.
    """
    longest = draws * int(steps.max())
    if int(steps.max()) == 1:
        first, last = 0, draws
        if draws >= _DIRECT_LENGTH:
            first, last = map(round, sum_window(steps.astype(np.float64), probability, draws))
        return first, binomial_pmf(np.arange(first, last + 1), draws, float(probability @ steps))
    if longest < _DIRECT_LENGTH:
        return 0, _positive_power(np.bincount(steps, weights=probability).astype(np.float64), draws)
    low, high = sum_window(steps.astype(np.float64), probability, draws)
    start = math.floor(low)
    if high - start + 2 > max_length:
        return None
    length = next_fast_len(math.ceil(high) - start + 1, real=True)
    wrapped = np.bincount(steps % length, weights=probability, minlength=length)
    law = irfft(rfft(wrapped) ** draws, n=length)
    return start, np.maximum(np.roll(law, -(start % length)), 0.0)


def _positive_power(law: FloatArray, draws: int) -> FloatArray:
    """Convolve a law with itself by repeated squaring; nothing is subtracted, so tails stay exact."""
    power, square = np.ones(1), law
    while draws:
        if draws & 1:
            power = np.convolve(power, square)
        draws >>= 1
        if draws:
            square = np.convolve(square, square)
    return power


def lattice_power_2d(
    steps: IntArray, probability: FloatArray, draws: int, max_cells: int
) -> tuple[IntArray, FloatArray] | None:
    """Joint law of two sums of `draws` independent pairs of whole numbers, as (pairs, probability).

    Parameters
    ----------
    steps : ndarray of int, shape (K, 2)
        Pairs of one draw, the smallest of each column 0.
    probability : ndarray of float, shape (K,)
        Their probabilities.
    draws : int
        Number of draws.
    max_cells : int
        Largest window to transform; None is returned where it is too small.
    """
    windows = [sum_window(column.astype(np.float64), probability, draws) for column in steps.T]
    start = np.array([math.floor(low) for low, _ in windows])
    shape = [next_fast_len(math.ceil(high) - math.floor(low) + 1, real=True) for low, high in windows]
    if shape[0] * shape[1] > max_cells:
        return None
    wrapped = np.zeros(shape)
    np.add.at(wrapped, (steps[:, 0] % shape[0], steps[:, 1] % shape[1]), probability)
    law = irfft2(rfft2(wrapped) ** draws, s=shape)
    # What lies below the rounding of the transform (1e-17) is noise, not law.
    cells = np.argwhere(law > 1e-17)
    kept = law[cells[:, 0], cells[:, 1]]
    return start + (cells - start) % np.array(shape), kept


def smooth_power(
    values: FloatArray, probability: FloatArray, draws: int, points: int = 3000
) -> tuple[FloatArray, FloatArray, float]:
    """Law of the sum of draws of arbitrary numbers, on a fine lattice.

    Each value is shared between its four nearest lattice points by cubic Lagrange weights. They keep
    the first three moments exactly, and the modulus of the characteristic function at or below 1 (as
    in semi-Lagrangian advection), so the power stays stable. A normal kernel of 8 points keeps clusters
    narrower than the spacing from ringing; what it adds to the variance is taken off by drawing the
    points together. Quantiles of a smooth law are right to about 1e-6 standard errors, the edges of an
    atom or a narrow cluster of the law to 0.005.

    Parameters
    ----------
    values, probability : ndarray of float, shape (K,)
        Values of one draw, not all equal, and their probabilities.
    draws : int
        Number of draws.
    points : int, default 3000
        Lattice points to a standard deviation of the sum.

    Returns
    -------
    support : ndarray of float, shape (L,)
        Lattice points, increasing.
    law : ndarray of float, shape (L,)
        Mass in the cell around each point.
    spacing : float
        Distance of neighbouring points.
    """
    centre = float(probability @ values)
    offset = values - centre
    spacing = math.sqrt(draws * float(probability @ offset**2)) / points
    low, high = sum_window(offset, probability, draws)
    # The kernel reaches beyond the window and must not wrap to the other end.
    start = math.floor(low / spacing) - _MARGIN
    length = next_fast_len(math.ceil(high / spacing) - start + _MARGIN, real=True)

    base = np.floor(offset / spacing)
    f = offset / spacing - base
    weights = (-f * (f - 1) * (f - 2) / 6, (f + 1) * (f - 1) * (f - 2) / 2,
               -(f + 1) * f * (f - 2) / 2, (f + 1) * f * (f - 1) / 6)  # fmt: skip
    wrapped = np.zeros(length)
    for shift, weight in zip((-1, 0, 1, 2), weights, strict=True):
        np.add.at(wrapped, (base.astype(np.int64) + shift) % length, probability * weight)
    angle = 2 * math.pi / length * np.arange(length // 2 + 1)
    law = irfft(rfft(wrapped) ** draws * np.exp(-((_TAPER * angle) ** 2) / 2), n=length)
    drawn_together = spacing * points / math.hypot(points, _TAPER)
    support: FloatArray = draws * centre + drawn_together * np.arange(start, start + length, dtype=np.float64)
    return support, np.roll(law, -(start % length)), drawn_together
