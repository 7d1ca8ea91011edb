"""Distribution and quantiles of a Dirichlet-weighted mean, by a contour integral instead of Monte Carlo.

With independent Gamma variables the mean is at most t where ``Q = sum c_k Gamma_k <= 0``,
``c_k = n_k (v_k - t)``, so that a point of the distribution function is one tail of `log_tails`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv, expit, logit

from pairstats.errors import PairstatsError
from pairstats.numeric.checks import as_scores, as_sizes
from pairstats.numeric.contour import FIRST_STEP, log_tails

Floats = NDArray[np.float64]

MIN_TOTAL_WEIGHT = 0.2
"""Below it the contour integral decays too slowly; one family alone has weight 1."""

STEEPEST = 1e6
"""Log-odds are cut here, so that false position meets no infinity."""

ROOT_TOLERANCE = 1e-10
"""Error of the log-odds of the tail at which a quantile is accepted."""

SETTLED = 1e-12
"""Product of the last three errors of the log-odds at which the next interpolation needs no check."""

MOST_SECANTS = 8
"""Interpolations tried before the root is bracketed."""


def dirichlet_mean_cdf(
    t: ArrayLike, values: ArrayLike, weights: ArrayLike, sizes: ArrayLike | None = None
) -> Floats:
    r"""Distribution function of a Dirichlet-weighted mean, by one contour integral for each point.

    Use it to build an interval or a test of your own on the law of the family interval. Not for a limit, which
    `family_interval` finds.

    Parameters
    ----------
    t : array_like
        Points at which to evaluate.
    values : array_like, shape (K,)
        Values :math:`v_k` that are averaged.
    weights : array_like, shape (K,)
        Positive parameters :math:`w_k` of the Dirichlet distribution, in sum at least 0.2.
    sizes : array_like, shape (K,), optional
        Factors :math:`n_k` of a ratio; ones by default.

    Returns
    -------
    ndarray, shape of `t`
        :math:`P(\sum_k D_k n_k v_k / \sum_k D_k n_k \le t)`; the smaller of the two tails is right to
        about 1e-12 of itself.

    Notes
    -----
    :math:`P(\sum_k D_k n_k v_k / \sum_k D_k n_k \le t) = P(\sum_k c_k \Gamma_k \le 0)` with independent
    :math:`\Gamma_k \sim \mathrm{Gamma}(w_k)` and :math:`c_k = n_k (v_k - t)`. The probability is the
    Bromwich integral of :math:`\prod_k (1 - c_k s)^{-w_k} / s`, taken through its saddle point.

    References
    ----------
    Curry, H. B. & Schoenberg, I. J. (1966). Journal d'Analyse Mathematique 17, 71-107. doi:10.1007/BF02788653

    Examples
    --------
    Two values: a beta distribution.

    >>> from scipy.special import betainc
    >>> bool(np.isclose(dirichlet_mean_cdf(0.3, [0, 1], [4, 2]), betainc(2, 4, 0.3), rtol=1e-12))
    True
    """
    points = np.asarray(t, dtype=np.float64)
    if not np.isfinite(points).all():
        raise PairstatsError("`t` must hold finite numbers, but a value is not. Drop what is missing.")
    v = as_scores("values", values)
    w = as_scores("weights", weights)
    if w.size != v.size or (w <= 0).any() or w.sum() < MIN_TOTAL_WEIGHT:
        raise PairstatsError(
            f"`weights` must be {v.size} positive numbers, one for each value, of sum at least "
            f"{MIN_TOTAL_WEIGHT}, but got {w.size} of sum {w.sum():g}, the smallest {w.min():g}. "
            "Give each observed family weight 1."
        )
    v, w, n = merged(v, w, as_sizes(sizes, v.size))
    flat = [_cdf(float(point), v, w, n) for point in points.ravel()]
    return np.array(flat).reshape(points.shape)


def dirichlet_mean_quantile(tail: float, values: Floats, weights: Floats, sizes: Floats) -> float:
    """Quantile of a Dirichlet-weighted mean of values in [0, 1], the smallest of which is 0.

    Parameters
    ----------
    tail : float
        Probability in (0, 1) of the mean being at most the quantile.
    values, weights, sizes : ndarray, shape (K,)
        As in `dirichlet_mean_cdf`, checked by the caller; ascending values with equal ones of equal size
        merged, the first 0, the last positive.

    Returns
    -------
    float
        Two values have a closed form; otherwise the error is about 1e-10 of the spread.
    """
    if values.size == 2:
        share = float(betaincinv(weights[1], weights[0], tail))
        return float(values[1] * share * sizes[1] / (share * sizes[1] + (1 - share) * sizes[0]))
    top = values.max()
    step = FIRST_STEP

    def excess(z: float) -> float:
        # On the log-odds scale of both the point and its probability the function is nearly straight.
        nonlocal step
        below, above, step = log_tails(sizes * (values - top * expit(z)), weights, step)
        return min(max(below - above - target, -STEEPEST), STEEPEST)

    target = float(logit(tail))
    guess, slope, near = _beta_guess(tail, values / top, weights, sizes)
    root = _interpolated_root(excess, guess, slope)
    return float(top * expit(_root(excess, guess, near) if root is None else root))


def merged(values: Floats, weights: Floats, sizes: Floats) -> tuple[Floats, Floats, Floats]:
    """Add the weights of equal values of equal size; ascending values."""
    kinds, where = np.unique(np.column_stack([values, sizes]), axis=0, return_inverse=True)
    sums: Floats = np.bincount(where.ravel(), weights=weights).astype(np.float64)
    return kinds[:, 0], sums, kinds[:, 1]


def _interpolated_root(excess: Callable[[float], float], guess: float, slope: float) -> float | None:
    """Root of a nearly straight function from a guess and its slope; None where that does not settle."""
    z = [guess, guess - excess(guess) / slope]
    at = [slope * (z[0] - z[1]), excess(z[1])]
    for _ in range(MOST_SECANTS):
        if abs(at[-1]) < ROOT_TOLERANCE:
            return z[-1]
        if at[-1] == at[-2]:
            return None
        following = z[-1] - at[-1] * (z[-1] - z[-2]) / (at[-1] - at[-2])
        if len(z) > 2:
            f0, f1, f2 = at[-3:]
            if f0 in (f1, f2):
                return None
            # Inverse quadratic interpolation through the last three points.
            following = (
                z[-3] * f1 * f2 / ((f0 - f1) * (f0 - f2))
                + z[-2] * f0 * f2 / ((f1 - f0) * (f1 - f2))
                + z[-1] * f0 * f1 / ((f2 - f0) * (f2 - f1))
            )
            if abs(f0 * f1 * f2) < SETTLED and abs(f2) < 1e-3:
                return following
        if not abs(following - z[-1]) < 5.0 * (1.0 + abs(z[-1])):
            return None
        z.append(following)
        at.append(excess(following))
    return None


def _root(excess: Callable[[float], float], guess: float, step: float) -> float:
    """Root of an increasing function: bracketed from a guess, then by false position (Illinois rule)."""
    low = high = guess
    at_low = at_high = excess(guess)
    while at_low > 0:
        high, at_high = low, at_low
        low, step = low - step, 4 * step
        at_low = excess(low)
    while at_high < 0:
        low, at_low = high, at_high
        high, step = high + step, 4 * step
        at_high = excess(high)
    kept = 0  # side that the last point replaced; its opposite is given half the weight when it stays
    while high - low > 1e-12 * max(1.0, abs(high)):
        middle = high - at_high * (high - low) / (at_high - at_low)
        value = excess(middle)
        if abs(value) < ROOT_TOLERANCE:
            return middle
        if value > 0:
            high, at_high, at_low, kept = middle, value, at_low / (2 if kept > 0 else 1), 1
        else:
            low, at_low, at_high, kept = middle, value, at_high / (2 if kept < 0 else 1), -1
    return high


def _beta_guess(tail: float, values: Floats, weights: Floats, sizes: Floats) -> tuple[float, float, float]:
    """Log-odds of the quantile of the beta law of equal mean and variance, slope there, and a first step."""
    shares = weights * sizes / (weights @ sizes)
    mean = float(shares @ values)
    variance = float((shares * sizes) @ (values - mean) ** 2) / float((weights + shares) @ sizes)
    prior = max(mean * (1 - mean) / variance - 1, 0.1)
    first, second = mean * prior, (1 - mean) * prior
    guess = min(max(float(logit(betaincinv(first, second, tail))), -300.0), 30.0)
    step = 0.02 / math.sqrt(prior * mean * (1 - mean))
    ends = logit(betainc(first, second, expit([guess - step, guess + step])))
    slope = float(ends[1] - ends[0]) / (2 * step)
    return guess, slope if math.isfinite(slope) and slope > 0 else 1.0 / step, step


def _cdf(t: float, values: Floats, weights: Floats, sizes: Floats) -> float:
    if t < values.min() or t >= values.max():
        return float(t >= values.max())
    below, above, _ = log_tails(sizes * (values - t), weights)
    return math.exp(below) if below < above else -math.expm1(above)
