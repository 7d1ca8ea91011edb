"""Intervals for one proportion, from counts.

Counts of independent units only: with copies, variants or repeats use the family interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.optimize import brentq
from scipy.special import betainc, betaincinv, ndtri

from pairstats.errors import PairstatsError
from pairstats.numeric.checks import EstimateInterval, as_count, check_level, tails


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
    return max(0.0, wilson_end(x, n, float(ndtri(tail))))


def _corrected_lower(x: int, n: int, tail: float) -> float:
    z = float(ndtri(1 - tail))
    root = z * z - 1 / n + 4 * x * (1 - x / n) + (4 * x / n - 2)
    return max(0.0, (2 * x + z * z - 1 - z * math.sqrt(max(root, 0.0))) / (2 * (n + z * z)))


def _mid_p_lower(x: int, n: int, tail: float) -> float:
    def excess(p: float) -> float:
        more = float(betainc(x + 1, n - x, p)) if x < n else 0.0
        return (float(betainc(x, n - x + 1, p)) + more) / 2 - tail

    return float(brentq(excess, 0.0, 1.0, xtol=1e-15, rtol=1e-14)) if excess(1.0) > 0 else 1.0


def wilson_end(x: int, n: int, z: float) -> float:
    """End of the Wilson interval at a normal quantile: the lower one for z < 0.

    Examples
    --------
    >>> round(wilson_end(8, 10, -1.96), 3), round(wilson_end(8, 10, 1.96), 3)
    (0.49, 0.943)
    """
    centre = x + z * z / 2
    return (centre + z * math.sqrt(x * (n - x) / n + z * z / 4)) / (n + z * z)
