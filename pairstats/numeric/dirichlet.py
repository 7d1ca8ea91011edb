"""Distribution of a Dirichlet-weighted mean, by a contour integral instead of Monte Carlo.

With independent Gamma variables the mean is at most t where ``Q = sum c_k Gamma_k <= 0``,
``c_k = n_k (v_k - t)``, so that a point of the distribution function is one inverse Laplace transform of
``prod (1 - c_k s)^-w_k / s``. It is taken through the saddle point of the integrand, along a path close to
that of steepest descent; the smaller tail is then right relative to itself, however small it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betaincinv, expit, logit

from pairstats.errors import PairstatsError
from pairstats.numeric.checks import as_scores, as_sizes

Floats = NDArray[np.float64]

MIN_TOTAL_WEIGHT = 0.2
"""Below it the contour integral decays too slowly; one family alone has weight 1."""

FIRST_STEP = 0.2
"""Spacing of the nodes to begin with; the trapezoid rule errs by about exp(-2 pi / step) of the tail."""

MAX_TURN = 2.0
"""Largest turn in phase (radians) between two nodes; with more the spacing is made smaller."""

NEGLIGIBLE = 1e-13
"""Nodes below this share of the peak may turn faster."""

STEEPEST = 1e6
"""Log-odds are cut here, so that false position meets no infinity."""

ROOT_TOLERANCE = 1e-10
"""Error of the log-odds of the tail at which a quantile is accepted."""

BLOCK = 16
"""Nodes evaluated at a time."""


def dirichlet_mean_cdf(
    t: ArrayLike, values: ArrayLike, weights: ArrayLike, sizes: ArrayLike | None = None
) -> Floats:
    r"""Distribution function of a Dirichlet-weighted mean, by one contour integral for each point.

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

    def excess(z: float) -> float:
        # On the log-odds scale of both the point and its probability the function is nearly straight.
        below, above = _log_tails(sizes * (values - top * expit(z)), weights)
        return min(max(below - above - target, -STEEPEST), STEEPEST)

    target = float(logit(tail))
    guess, step = _beta_guess(tail, values / top, weights, sizes)
    return float(top * expit(_root(excess, guess, step)))


def merged(values: Floats, weights: Floats, sizes: Floats) -> tuple[Floats, Floats, Floats]:
    """Add the weights of equal values of equal size; ascending values."""
    kinds, where = np.unique(np.column_stack([values, sizes]), axis=0, return_inverse=True)
    sums: Floats = np.bincount(where.ravel(), weights=weights).astype(np.float64)
    return kinds[:, 0], sums, kinds[:, 1]


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


def _beta_guess(tail: float, values: Floats, weights: Floats, sizes: Floats) -> tuple[float, float]:
    """Log-odds of the quantile of the beta distribution of equal mean and variance, and a first step."""
    shares = weights * sizes / (weights @ sizes)
    mean = float(shares @ values)
    variance = float((shares * sizes) @ (values - mean) ** 2) / float((weights + shares) @ sizes)
    prior = max(mean * (1 - mean) / variance - 1, 0.1)
    guess = float(logit(betaincinv(mean * prior, (1 - mean) * prior, tail)))
    return min(max(guess, -300.0), 30.0), 0.02 / math.sqrt(prior * mean * (1 - mean))


def _cdf(t: float, values: Floats, weights: Floats, sizes: Floats) -> float:
    if t < values.min() or t >= values.max():
        return float(t >= values.max())
    below, above = _log_tails(sizes * (values - t), weights)
    return math.exp(below) if below < above else -math.expm1(above)


def _log_tails(c: Floats, weights: Floats) -> tuple[float, float]:
    """Logarithms of P(Q <= 0) and P(Q > 0) for Q = sum of c * Gamma(weights), the smaller one first found."""
    if c.max() <= 0:
        return 0.0, -math.inf
    if c.min() >= 0:
        return -math.inf, 0.0
    if weights @ c <= 0:
        above = _log_upper_tail(c, weights)
        return _log_complement(above), above
    below = _log_upper_tail(-c, weights)
    return below, _log_complement(below)


def _log_complement(log_probability: float) -> float:
    return math.log(-math.expm1(log_probability)) if log_probability < 0 else -math.inf


def _log_upper_tail(c: Floats, weights: Floats) -> float:
    r"""Logarithm of P(Q > 0) for Q = sum of c * Gamma(weights), of mean at most 0.

    P(Q > 0) is the integral of M(s) / s along a contour from below to above the real axis, over 2 pi i,
    with M(s) = prod (1 - c s)^-w. The contour passes the real axis at the saddle point s0 of M(s) / s,
    between the pole at 0 and the first singularity on the right. The factor 1 / s is treated as one more
    term of M, of weight 1.
    """
    c = c / c.max()
    positive = c > 0
    top = float(weights[c == 1.0].sum())

    def slope(z: float) -> float:
        s = expit(z)
        return s * float(weights @ (c / (1.0 - s * c))) - 1.0

    # The saddle point is on (0, 1); these ends bracket it whatever the values. Near it is good enough.
    least = -math.log(weights[positive].sum()) - 1e-9
    most = math.log((1.0 + weights[~positive].sum()) / top) + 1e-9
    s0 = float(expit(brentq(slope, least, most, xtol=0.05)))

    rates = np.append(c / (1.0 - s0 * c), -1.0 / s0)
    powers = np.append(weights, 1.0)
    log_peak = -float(weights @ np.log1p(-s0 * c)) - math.log(s0)
    return log_peak + math.log(_contour_integral(rates, powers, 1.0 - s0) / math.pi)


def _contour_integral(rates: Floats, powers: Floats, gap: float) -> float:
    """Integral of prod (1 - rates d)^-powers over the upper half of the contour d(u), imaginary part.

    The contour is the hyperbola d = unit * (i sinh u + bend * (cosh u - 1)): it leaves the saddle point
    vertically, has the curvature of the path of steepest descent, and meets no singularity again. The
    substitution follows both the peak and the slow decay. `gap` is the distance of the first singularity.
    """
    second = float(powers @ rates**2)
    third = 2.0 * float(powers @ rates**3)
    unit = min(1.0 / math.sqrt(second), gap)
    bend = min(max(unit * third / (3.0 * second), -1.0), 1.0)
    step = FIRST_STEP
    while True:
        total, turn = _trapezoid(rates, powers, unit, bend, step)
        if turn < MAX_TURN:
            return total
        step *= 0.5 * MAX_TURN / turn


def _trapezoid(rates: Floats, powers: Floats, unit: float, bend: float, step: float) -> tuple[float, float]:
    """Trapezoid sum along the contour, and the largest turn in phase between two nodes that count."""
    total, turn, start, last_phase = -0.5 * unit, 0.0, 0, 0.0  # the node at 0 counts half
    while True:
        u = step * np.arange(start, start + BLOCK)
        sinh, cosh = np.sinh(u), np.cosh(u)
        across = rates * (unit * bend * (cosh - 1.0))[:, None]
        along = rates * (unit * sinh)[:, None]
        size = np.exp(-0.5 * (np.log1p(across * (across - 2.0) + along**2) @ powers))
        size *= unit * np.hypot(cosh, bend * sinh)
        phase = np.arctan2(along, 1.0 - across) @ powers - np.arctan2(bend * sinh, cosh)
        total += float(size @ np.cos(phase))
        turns = np.abs(phase - np.concatenate([[last_phase], phase[:-1]]))
        turn = max(turn, float(turns[size > NEGLIGIBLE * unit].max(initial=0.0)))
        if size[-1] < 1e-17 * unit:
            return step * total, turn
        start, last_phase = start + BLOCK, float(phase[-1])
