"""Intervals for one proportion, and for the difference of two paired proportions, from counts.

Counts of independent units only: with copies, variants or repeats use the family interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.optimize import brentq
from scipy.special import betainc, betaincinv, ndtri

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import Interval, as_count, check_level, tails


@dataclass(frozen=True, slots=True, repr=False)
class EstimateInterval(Interval):
    """A confidence interval with its estimate.

    Attributes
    ----------
    low, high : float
        Limits. In a one-sided interval the other end is that of the range of the quantity.
    method : str
        What was computed.
    confidence_level : float
        In (0, 1).
    alternative : {"two-sided", "less", "greater"}
        "greater": lower limit only; "less": upper limit only; both at the full level.
    estimate : float
        The plain sample value, not the centre of the interval.
    """

    estimate: float

    def __repr__(self) -> str:
        level = f"{100 * self.confidence_level:.10g}%"
        return (
            f"EstimateInterval({self.estimate:.6g} [{self.low:.6g}, {self.high:.6g}], "
            f"{self.method}, {level} {self.alternative})"
        )


# One proportion ------------------------------------------------------------------------------------


def clopper_pearson(
    count: int, nobs: int, *, confidence_level: float = 0.95, alternative: str = "two-sided"
) -> EstimateInterval:
    r"""Exact interval for a proportion; never below its level.

    Use it for a count of independent 0/1 trials, above all for a registered or one-sided bound. Not for
    families of copies, where `family_interval` with kind "cp" is the same on 0/1 families and covers the
    rest.

    Parameters
    ----------
    count, nobs : int
        Successes, and independent trials (at least 1).
    confidence_level : float
        In (0, 1).
    alternative : {"two-sided", "less", "greater"}
        "greater" gives a lower limit only, "less" an upper limit only, at the full level.

    Returns
    -------
    EstimateInterval

    Raises
    ------
    PairstatsError
        If the counts are not whole numbers with ``0 <= count <= nobs``, or `nobs` is 0.

    Notes
    -----
    The limits are the :math:`\alpha/2` quantile of :math:`\mathrm{Beta}(x, n-x+1)` and the
    :math:`1-\alpha/2` quantile of :math:`\mathrm{Beta}(x+1, n-x)`.

    References
    ----------
    Clopper, C. J. & Pearson, E. S. (1934). Biometrika 26, 404-413. doi:10.1093/biomet/26.4.404

    Examples
    --------
    >>> clopper_pearson(11, 40)
    EstimateInterval(0.275 [0.146009, 0.438883], clopper-pearson, 95% two-sided)
    """

    def lower(x: int, n: int, tail: float) -> float:
        return float(betaincinv(x, n - x + 1, tail))

    return _proportion("clopper-pearson", lower, count, nobs, confidence_level, alternative)


def jeffreys(
    count: int, nobs: int, *, confidence_level: float = 0.95, alternative: str = "two-sided"
) -> EstimateInterval:
    r"""Jeffreys interval for a proportion, with 0 and 1 as limits where no or every trial succeeded.

    Use it to describe one share of independent trials. Not for a guarantee, which `clopper_pearson` gives,
    nor for families of copies, where `family_interval` is the same on 0/1 families.

    Parameters
    ----------
    count, nobs : int
        Successes, and independent trials (at least 1).
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}
        "greater" gives a lower limit only, "less" an upper limit only, at the full level.

    Returns
    -------
    EstimateInterval

    Notes
    -----
    Quantiles of :math:`\mathrm{Beta}(x+1/2, n-x+1/2)`. It covers its level on average over proportions,
    not at each.

    References
    ----------
    Brown, L. D., Cai, T. T. & DasGupta, A. (2001). Statistical Science 16, 101-133.
    doi:10.1214/ss/1009213286

    Examples
    --------
    >>> jeffreys(0, 10)
    EstimateInterval(0 [0, 0.217196], jeffreys, 95% two-sided)
    """

    def lower(x: int, n: int, tail: float) -> float:
        return float(betaincinv(x + 0.5, n - x + 0.5, tail))

    return _proportion("jeffreys", lower, count, nobs, confidence_level, alternative)


def wilson(
    count: int,
    nobs: int,
    *,
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    correction: bool = False,
) -> EstimateInterval:
    """Wilson score interval for a proportion, without continuity correction unless asked.

    Use it to compare with leaderboards, where it is common. Not for families of copies, which it ignores (worst
    measured coverage .15, .40 from 20 families): `family_interval` covers them.

    Parameters
    ----------
    count, nobs : int
        Successes, and independent trials (at least 1).
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}
        "greater" gives a lower limit only, "less" an upper limit only, at the full level.
    correction : bool, default False
        Whether to correct for continuity.

    Returns
    -------
    EstimateInterval

    Notes
    -----
    The proportions that a score test does not reject. It covers its level on average over proportions,
    not at each.

    References
    ----------
    Newcombe, R. G. (1998). Statistics in Medicine 17, 857-872.
    doi:10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E

    Examples
    --------
    >>> wilson(81, 263)
    EstimateInterval(0.307985 [0.255289, 0.36621], wilson, 95% two-sided)
    """
    rule, method = (_corrected_lower, "wilson-cc") if correction else (_wilson_lower, "wilson")
    return _proportion(method, rule, count, nobs, confidence_level, alternative)


def mid_p_interval(
    count: int, nobs: int, *, confidence_level: float = 0.95, alternative: str = "two-sided"
) -> EstimateInterval:
    """Mid-p interval for a proportion: Clopper-Pearson with half the weight on the observed count.

    Use it to describe one share of independent trials, closest to its level on average. Not for a guarantee,
    which `clopper_pearson` gives, nor for families of copies (`family_interval`).

    Parameters
    ----------
    count, nobs : int
        Successes, and independent trials (at least 1).
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}
        "greater" gives a lower limit only, "less" an upper limit only, at the full level.

    Returns
    -------
    EstimateInterval

    Notes
    -----
    The lower limit p solves ``P(X > x; p) + P(X = x; p) / 2 = alpha / 2``. It covers about its level, not
    at least its level.

    References
    ----------
    Newcombe, R. G. (1998). Statistics in Medicine 17, 857-872.
    doi:10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E

    Examples
    --------
    >>> mid_p_interval(81, 263)
    EstimateInterval(0.307985 [0.254402, 0.365773], mid-p, 95% two-sided)
    """
    return _proportion("mid-p", _mid_p_lower, count, nobs, confidence_level, alternative)


def zero_event_bound(nobs: int, *, confidence_level: float = 0.95) -> EstimateInterval:
    r"""Upper limit for the rate of an event that was never seen in `nobs` independent trials.

    Use it where nothing failed. Not where something did, for which `clopper_pearson` and `family_interval`
    give the limit that this one continues.

    Parameters
    ----------
    nobs : int
        Independent trials (families, not copies), at least 1.
    confidence_level : float
        Of this one-sided limit. 0.975 gives the limit that belongs beside two-sided 95 % intervals.

    Returns
    -------
    EstimateInterval
        `high` is :math:`1 - \alpha^{1/n}`; where nothing failed, ``1 - high`` is the lower limit of the
        success rate.

    Notes
    -----
    :math:`1 - \alpha^{1/n}`, the upper Clopper-Pearson limit of 0 of n.

    References
    ----------
    Hanley, J. A. & Lippman-Hand, A. (1983). JAMA 249, 1743-1745. doi:10.1001/jama.1983.03330370053031

    Examples
    --------
    >>> print(round(1 - zero_event_bound(48, confidence_level=0.975).high, 3))
    0.926
    """
    n = as_count("nobs", nobs, minimum=1)
    high = -math.expm1(math.log1p(-check_level(confidence_level)) / n)
    return EstimateInterval(0.0, high, "zero-event", float(confidence_level), "less", estimate=0.0)


def zero_event_nobs(bound: float, *, confidence_level: float = 0.95) -> int:
    r"""Fewest trials without an event for which its rate is bounded by `bound`.

    Use it to plan for a bound on a rate if nothing fails. Not for bounds on success, which `families_for_bound`
    words.

    Parameters
    ----------
    bound : float
        Upper limit of the rate that is wanted, in (0, 1).
    confidence_level : float
        Of this one-sided limit.

    Returns
    -------
    int

    Notes
    -----
    :math:`\lceil \log \alpha / \log(1 - b) \rceil`.

    References
    ----------
    Hanley, J. A. & Lippman-Hand, A. (1983). JAMA 249, 1743-1745. doi:10.1001/jama.1983.03330370053031

    Examples
    --------
    >>> [zero_event_nobs(bound, confidence_level=0.975) for bound in (0.05, 0.02, 0.01)]
    [72, 183, 368]
    """
    if not 0 < bound < 1:
        raise PairstatsError(
            f"`bound` must lie strictly between 0 and 1, but got {bound!r}. "
            "Write 0.05 for a failure rate of at most 5 %."
        )
    needed = math.log1p(-check_level(confidence_level)) / math.log1p(-bound)
    return max(1, math.ceil(needed - 1e-9))


def successes_of(count: int, nobs: int) -> tuple[int, int]:
    """Successes and trials, checked.

    Examples
    --------
    >>> successes_of(3, 4)
    (3, 4)
    """
    n = as_count("nobs", nobs, minimum=1)
    x = as_count("count", count)
    if x > n:
        raise PairstatsError(
            f"`count` must be at most `nobs`, but got {x} of {n}. Pass the successes first, then the trials."
        )
    return x, n


def _proportion(
    method: str,
    lower: Callable[[int, int, float], float],
    count: int,
    nobs: int,
    confidence_level: float,
    alternative: str,
) -> EstimateInterval:
    """Limits from the rule for a lower one with at least one success; the upper one mirrors it."""
    x, n = successes_of(count, nobs)
    below, above = tails(confidence_level, alternative)
    low = lower(x, n, below) if below is not None and x > 0 else 0.0
    high = 1.0 - lower(n - x, n, above) if above is not None and x < n else 1.0
    return EstimateInterval(low, high, method, float(confidence_level), alternative, estimate=x / n)


def _wilson_lower(x: int, n: int, tail: float) -> float:
    return max(0.0, _wilson_end(x, n, float(ndtri(tail))))


def _corrected_lower(x: int, n: int, tail: float) -> float:
    z = float(ndtri(1 - tail))
    root = z * z - 1 / n + 4 * x * (1 - x / n) + (4 * x / n - 2)
    return max(0.0, (2 * x + z * z - 1 - z * math.sqrt(max(root, 0.0))) / (2 * (n + z * z)))


def _mid_p_lower(x: int, n: int, tail: float) -> float:
    def excess(p: float) -> float:
        more = float(betainc(x + 1, n - x, p)) if x < n else 0.0
        return (float(betainc(x, n - x + 1, p)) + more) / 2 - tail

    return float(brentq(excess, 0.0, 1.0, xtol=1e-15, rtol=1e-14)) if excess(1.0) > 0 else 1.0


# Difference of paired proportions ------------------------------------------------------------------


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
    below = first - _wilson_end(a + b, n, -z)
    above = _wilson_end(a + c, n, z) - second
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    product = float(a * d - b * c)
    if product > 0:
        product = max(product - n / 2, 0.0)
    phi = product / math.sqrt(margins) if margins else 0.0
    spread = math.sqrt(max(below * below - 2 * phi * below * above + above * above, 0.0))
    return first - second - math.copysign(spread, z)


def _wilson_end(x: int, n: int, z: float) -> float:
    centre = x + z * z / 2
    return (centre + z * math.sqrt(x * (n - x) / n + z * z / 4)) / (n + z * z)


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
