"""Further intervals for a proportion, and the exact test of a stated one: to compare with other papers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, gammaln, ndtri, xlog1py, xlogy

from pairstats.errors import PairstatsError
from pairstats.numeric.checks import EstimateInterval, check_alternative, tails
from pairstats.numeric.proportions import clopper_pearson, successes_of
from pairstats.numeric.signsum import as_p

Floats = NDArray[np.float64]

GRID = 4000
"""Proportions at which Blaker's acceptability is looked at first; then the limit is bisected."""

EQUAL = 1e-7
"""Probabilities closer than this share are equal, as in R."""


@dataclass(frozen=True, slots=True)
class BinomialTest:
    """Exact test of a stated proportion.

    Attributes
    ----------
    statistic : float
        Observed proportion.
    p_value : float
        In (0, 1].
    null : float
    alternative : {"two-sided", "less", "greater"}
    """

    statistic: float
    p_value: float
    null: float
    alternative: str


def agresti_coull(
    count: int, nobs: int, *, confidence_level: float = 0.95, alternative: str = "two-sided"
) -> EstimateInterval:
    r"""Wald interval about a shrunken proportion, after Agresti and Coull.

    Use it to compare with a paper that took it. Not otherwise: `wilson` has the same centre and is never wider,
    and `clopper_pearson` never falls below its level. For families of copies `family_interval` covers it.

    Parameters
    ----------
    count, nobs : int
        Successes, and independent trials (at least 1).
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}

    Returns
    -------
    EstimateInterval
        Cut to [0, 1].

    Notes
    -----
    :math:`\tilde p \pm z \sqrt{\tilde p (1 - \tilde p) / \tilde n}` with :math:`\tilde n = n + z^2` and
    :math:`\tilde p = (x + z^2/2) / \tilde n`.

    References
    ----------
    Agresti, A. & Coull, B. A. (1998). The American Statistician 52, 119-126.
    doi:10.1080/00031305.1998.10480550

    Examples
    --------
    >>> agresti_coull(38, 40)
    EstimateInterval(0.95 [0.8261, 0.99504], agresti-coull, 95% two-sided)
    """
    x, n = successes_of(count, nobs)
    below, above = tails(confidence_level, alternative)
    tail = below if below is not None else above
    z = float(-ndtri(1 - confidence_level if tail is None else tail))
    size = n + z * z
    centre = (x + z * z / 2) / size
    reach = z * float(np.sqrt(centre * (1 - centre) / size))
    return EstimateInterval(
        0.0 if below is None else max(0.0, centre - reach),
        1.0 if above is None else min(1.0, centre + reach),
        "agresti-coull",
        float(confidence_level),
        alternative,
        estimate=x / n,
    )


def blaker(
    count: int, nobs: int, *, confidence_level: float = 0.95, alternative: str = "two-sided"
) -> EstimateInterval:
    r"""Blaker's exact interval: never below its level, and inside Clopper-Pearson's.

    Use it where one share of independent trials needs an exact two-sided interval and its width matters. Not
    for one-sided bounds, which `clopper_pearson` covers, nor for families of copies (`family_interval`).

    Parameters
    ----------
    count, nobs : int
        Successes, and independent trials (at least 1).
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}
        One-sided limits are those of `clopper_pearson`.

    Returns
    -------
    EstimateInterval

    Notes
    -----
    All p whose acceptability is at least :math:`\alpha`: the smaller tail at x, plus the largest tail on the
    other side that is not larger. Limits are bisected from a grid of 4,000 proportions.

    References
    ----------
    Blaker, H. (2000). Canadian Journal of Statistics 28, 783-798. doi:10.2307/3315916

    Examples
    --------
    >>> blaker(13, 16)
    EstimateInterval(0.8125 [0.565592, 0.946854], blaker, 95% two-sided)
    """
    x, n = successes_of(count, nobs)
    wide = clopper_pearson(x, n, confidence_level=confidence_level, alternative=alternative)
    if alternative != "two-sided":
        return wide
    alpha = 1.0 - confidence_level
    low = _first_accepted(x, n, alpha, wide.low, x / n) if x else 0.0
    high = 1.0 - _first_accepted(n - x, n, alpha, 1.0 - wide.high, 1 - x / n) if x < n else 1.0
    return EstimateInterval(low, high, "blaker", float(confidence_level), "two-sided", estimate=x / n)


def binomial_test(count: int, nobs: int, rate: float, *, alternative: str = "two-sided") -> BinomialTest:
    """Exact test of whether a proportion is a stated one, such as that of guessing.

    Use it for independent 0/1 trials against a rate that was fixed beforehand. Not for two systems, which
    `mcnemar` covers; with families of copies hold the limits of `family_interval` against the rate.

    Parameters
    ----------
    count, nobs : int
        Successes, and independent trials (at least 1).
    rate : float
        In [0, 1].
    alternative : {"two-sided", "less", "greater"}
        "greater": the proportion is larger.

    Returns
    -------
    BinomialTest

    Notes
    -----
    Two-sided: the chance of all counts that are no more likely than the observed one, as in R.

    References
    ----------
    Sterne, T. E. (1954). Biometrika 41, 275-278.
    Fay, M. P. (2010). The R Journal 2(1), 53-58. doi:10.32614/RJ-2010-008

    Examples
    --------
    >>> round(binomial_test(0, 12, 0.25).p_value, 4)
    0.0459
    """
    x, n = successes_of(count, nobs)
    side = check_alternative(alternative)
    if not 0 <= rate <= 1:
        raise PairstatsError(f"`rate` must lie in [0, 1], but got {rate!r}. Write 0.25 for four options.")
    law = _law(n, float(rate))
    p = {
        "two-sided": float(law[law <= law[x] * (1 + EQUAL)].sum()),
        "greater": float(law[x:].sum()),
        "less": float(law[: x + 1].sum()),
    }[side]
    return BinomialTest(x / n, as_p(p), float(rate), side)


def _law(n: int, rate: float) -> Floats:
    k = np.arange(n + 1)
    logs = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, rate) + xlog1py(n - k, -rate)
    law: Floats = np.exp(logs)
    return law


def _first_accepted(x: int, n: int, alpha: float, start: float, end: float) -> float:
    """Smallest proportion from `start` on that Blaker's test accepts; that at the estimate always is."""
    grid = np.linspace(start, end, GRID)
    accepted = _acceptability(x, n, grid) >= alpha
    place = int(np.argmax(accepted)) if accepted.any() else GRID - 1
    if place == 0:
        return float(grid[0])
    low, high = float(grid[place - 1]), float(grid[place])
    while high - low > 1e-12:
        middle = (low + high) / 2
        inside = _acceptability(x, n, np.array([middle]))[0] >= alpha
        low, high = (low, middle) if inside else (middle, high)
    return high


def _acceptability(x: int, n: int, p: Floats) -> Floats:
    """Blaker's acceptability of proportions below x / n: P(X >= x) and the lower tail no larger than it."""
    upper = 1.0 - bdtr(x - 1, n, p) if x else np.ones_like(p)
    lower = np.zeros_like(p)
    for k in range(x):
        tail = bdtr(k, n, p)
        lower = np.where(tail <= upper * (1 + 1e-12), tail, lower)
    found: Floats = np.minimum(upper + lower, 1.0)
    return found
