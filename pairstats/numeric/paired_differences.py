"""Intervals for the difference of two paired proportions, from counts.

Counts of independent units only: with copies, variants or repeats use the family interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.optimize import brentq
from scipy.special import ndtri

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import EstimateInterval, as_count, tails
from pairstats.numeric.proportions import wilson_end


def paired_difference_interval(
    n_both: int,
    n_first_only: int,
    n_second_only: int,
    n_neither: int,
    *,
    method: str = "tango",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> EstimateInterval:
    r"""Interval for the share that the first gets right minus the share that the second gets right.

    Use it for two systems on independent single items. Not with copies, which `family_interval` on the family
    differences covers, and `clustered_difference_interval` for readers of Tango.

    Parameters
    ----------
    n_both, n_first_only, n_second_only, n_neither : int
        Independent pairs that both got right, only the first, only the second, neither.
    method : {"tango", "newcombe", "bonett-price", "agresti-min", "wald"}
        "tango": inverts the score test; the usual choice. "newcombe": square and add of Wilson limits,
        with the continuity-corrected correlation (Newcombe's method 10). "bonett-price" and
        "agresti-min": Wald after adding pseudo-counts; their limits lie about a value nearer to 0 than the
        estimate, and can leave it out where every pair favours one. "wald": only for comparison with other
        papers; it has no width without discordant pairs.
    confidence_level : float
        In (0, 1).
    alternative : {"two-sided", "less", "greater"}
        "greater" gives a lower limit only (the other is 1), "less" an upper limit only.

    Returns
    -------
    EstimateInterval
        Within [-1, 1]. `estimate` is ``(n_first_only - n_second_only) / n`` whatever the method.

    Raises
    ------
    PairstatsError
        If a count is not a whole number of at least 0, or there is no pair.

    Notes
    -----
    "tango" inverts :math:`(b - c - n \delta) / \sqrt{n (2 \hat q + \delta (1 - \delta))}`, "newcombe" joins
    two Wilson intervals by square and add with their correlation, "bonett-price" takes :math:`(b + 1)/(n +
    2), (c + 1)/(n + 2)` and "agresti-min" half a pair more in each cell.

    References
    ----------
    Tango, T. (1998). Statistics in Medicine 17, 891-908.
    doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B
    Newcombe, R. G. (1998). Statistics in Medicine 17, 2635-2650.
    doi:10.1002/(SICI)1097-0258(19981130)17:22<2635::AID-SIM954>3.0.CO;2-C
    Agresti, A. & Min, Y. (2005). Statistics in Medicine 24, 729-740. doi:10.1002/sim.1781
    Bonett, D. G. & Price, R. M. (2012). Journal of Educational and Behavioral Statistics 37, 479-488.
    doi:10.3102/1076998611411915

    Examples
    --------
    >>> paired_difference_interval(59, 6, 16, 80)
    EstimateInterval(-0.0621118 [-0.124023, -0.0054334], tango, 95% two-sided)
    """
    one_of("method", method, DIFFERENCE_METHODS)
    a, b, c, d = (
        as_count(name, value)
        for name, value in (
            ("n_both", n_both),
            ("n_first_only", n_first_only),
            ("n_second_only", n_second_only),
            ("n_neither", n_neither),
        )
    )
    if a + b + c + d == 0:
        raise PairstatsError("There must be at least one pair, but all four counts are 0. Check the filter.")
    below, above = tails(confidence_level, alternative)
    limit = DIFFERENCE_METHODS[method]
    # The upper limit is minus the lower one with first and second exchanged.
    low = limit(a, b, c, d, -float(ndtri(below))) if below is not None else -1.0
    high = -limit(a, c, b, d, -float(ndtri(above))) if above is not None else 1.0
    return EstimateInterval(
        low=max(low, -1.0),
        high=min(high, 1.0),
        method=method,
        confidence_level=float(confidence_level),
        alternative=alternative,
        estimate=(b - c) / (a + b + c + d),
    )


def _tango_lower(a: int, b: int, c: int, d: int, z: float) -> float:
    n = a + b + c + d

    def excess(delta: float) -> float:
        return tango_statistic(b, c, n, delta) - z

    # The statistic falls from +inf to -inf, but stays at most 0 where every pair favours the second.
    if excess(-1.0) <= 0:
        return -1.0
    if excess(1.0) >= 0:
        return 1.0
    return float(brentq(excess, -1.0, 1.0, xtol=1e-14, rtol=1e-14))


def tango_statistic(n_first_only: int, n_second_only: int, n: int, difference: float) -> float:
    """Tango's score statistic for a hypothesised difference, about standard normal under it.

    Parameters
    ----------
    n_first_only, n_second_only : int
        Discordant pairs.
    n : int
        All pairs.
    difference : float
        In [-1, 1]; a non-inferiority test takes minus the margin.

    Returns
    -------
    float
        Positive where the observed difference is larger; limited to +-1e8, 0 where the observed
        difference equals the hypothesis.

    Examples
    --------
    At no difference it is the square root of McNemar's chi-square:

    >>> print(round(tango_statistic(6, 16, 161, 0.0) ** 2, 4), round((6 - 16) ** 2 / (6 + 16), 4))
    4.5455 4.5455
    """
    b, c, delta = n_first_only, n_second_only, difference
    away = b - c - n * delta
    if abs(away) <= 1e-12 * n:
        return 0.0
    # q is the share of pairs that only the second gets right, estimated under the hypothesis.
    linear = (2 * n - b + c) * delta - b - c
    constant = -c * delta * (1 - delta)
    root = math.sqrt(max(linear * linear - 8 * n * constant, 0.0))
    q = -2 * constant / (linear + root) if linear > 0 else (root - linear) / (4 * n)
    variance = n * (2 * q + delta * (1 - delta))
    return max(-1e8, min(1e8, away / math.sqrt(variance))) if variance > 0 else math.copysign(1e8, away)


def _newcombe_lower(a: int, b: int, c: int, d: int, z: float) -> float:
    n = a + b + c + d
    first, second = (a + b) / n, (a + c) / n
    below = first - wilson_end(a + b, n, -z)
    above = wilson_end(a + c, n, z) - second
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    product = float(a * d - b * c)
    if product > 0:
        product = max(product - n / 2, 0.0)
    phi = product / math.sqrt(margins) if margins else 0.0
    spread = math.sqrt(max(below * below - 2 * phi * below * above + above * above, 0.0))
    return first - second - math.copysign(spread, z)


def _wald_lower(a: float, b: float, c: float, d: float, z: float) -> float:
    n = a + b + c + d
    return (b - c) / n - z * math.sqrt(b + c - (b - c) ** 2 / n) / n


def _agresti_min_lower(a: int, b: int, c: int, d: int, z: float) -> float:
    return _wald_lower(a + 0.5, b + 0.5, c + 0.5, d + 0.5, z)


def _bonett_price_lower(a: int, b: int, c: int, d: int, z: float) -> float:
    n = a + b + c + d + 2
    first, second = (b + 1) / n, (c + 1) / n
    return first - second - z * math.sqrt((first + second - (first - second) ** 2) / n)


DIFFERENCE_METHODS: dict[str, Callable[[int, int, int, int, float], float]] = {
    "tango": _tango_lower,
    "newcombe": _newcombe_lower,
    "bonett-price": _bonett_price_lower,
    "agresti-min": _agresti_min_lower,
    "wald": _wald_lower,
}
"""Rule for the lower limit, from the four counts and the normal quantile."""
