"""From a bootstrap law, exact or drawn, to the limits of a percentile, basic or BCa interval."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

FloatArray = NDArray[np.float64]
Pair = tuple[float | None, float | None]
"""Lower and upper end; None where a one-sided interval has none."""


def jackknife_acceleration(totals: FloatArray, sizes: FloatArray) -> float:
    """Acceleration of BCa for a ratio of sums, by leaving out one family at a time (closed form).

    Examples
    --------
    >>> jackknife_acceleration(np.array([0.0, 1.0]), np.ones(2))
    0.0
    """
    left_out = (totals.sum() - totals) / (sizes.sum() - sizes)
    families = float(left_out.size)
    # In the order of scipy.stats.bootstrap, so that integer totals agree with it to the bit.
    influence = (families - 1) * (left_out.mean() - left_out)
    spread = (influence**2).sum() / families**2
    return float(1 / 6 * ((influence**3).sum() / families**3) / spread ** (3 / 2)) if spread > 0 else 0.0


def bca_level(z: float, bias: float, acceleration: float) -> float:
    """Level of the bootstrap law at which BCa reads the limit of normal quantile `z` (Efron 1987).

    Examples
    --------
    >>> round(bca_level(-1.959964, 0.0, 0.0), 6)
    0.025
    """
    if math.isinf(bias):
        return float(bias > 0)
    moved = bias + z
    return float(ndtr(bias + moved / (1 - acceleration * moved)))


def limit_levels(method: str, tail_pair: Pair, bias: float, acceleration: float) -> Pair:
    """Levels of the bootstrap law that make the lower and the upper limit.

    Examples
    --------
    >>> limit_levels("percentile", (0.05, 0.05), 0.0, 0.0), limit_levels("basic", (0.05, 0.05), 0.0, 0.0)
    ((0.05, 0.95), (0.95, 0.05))
    """
    low, high = tail_pair
    if method == "percentile":
        return low, None if high is None else 1 - high
    if method == "bca":
        return (
            None if low is None else bca_level(float(ndtri(low)), bias, acceleration),
            None if high is None else bca_level(-float(ndtri(high)), bias, acceleration),
        )
    # The basic interval reflects: its lower limit comes from the upper tail.
    return None if low is None else 1 - low, high


def limits_at(
    levels: Pair, quantile: Callable[[float], float], method: str, estimate: float
) -> tuple[float, float]:
    """Read the limits off the law at the levels of `limit_levels`; infinite where there is none."""
    low, high = (None if level is None else quantile(level) for level in levels)
    if method == "basic":
        low, high = (None if end is None else 2 * estimate - end for end in (low, high))
    return -math.inf if low is None else low, math.inf if high is None else high


def order_statistic(ordered: FloatArray, level: float) -> float:
    """Type 1 quantile: the smallest value whose distribution function reaches the level."""
    rank = math.ceil(ordered.size * level - 1e-9) - 1
    return float(ordered[min(max(rank, 0), ordered.size - 1)])


def quantile_error(
    level: float, quantile: Callable[[float], float], size: int, method: str, bias: float
) -> float:
    """Half the distance of the quantiles one Monte-Carlo error of the level off on either side."""
    variance = level * (1 - level) / size
    if method == "bca" and math.isfinite(bias):
        # The bias correction is estimated from the replicates too; it moves the level about twice.
        share = float(ndtr(bias))
        ratio = _normal_density(float(ndtri(level))) / _normal_density(bias)
        variance += 4 * ratio**2 * share * (1 - share) / size
    error = math.sqrt(variance)
    low, high = quantile(max(level - error, 0.0)), quantile(min(level + error, 1.0))
    return math.inf if math.isinf(low) or math.isinf(high) else (high - low) / 2


def _normal_density(z: float) -> float:
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
