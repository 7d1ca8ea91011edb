"""Odds ratio of two systems on families of copies: the closed form of a GEE logit."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from pairstats.errors import one_of
from pairstats.numeric.checks import EstimateInterval, tails
from pairstats.numeric.clustered_tests import family_counts

VARIANCES = ("mancl-derouen", "robust")


def clustered_odds_ratio(
    n_both: ArrayLike,
    n_first_only: ArrayLike,
    n_second_only: ArrayLike,
    n_neither: ArrayLike,
    *,
    variance: str = "mancl-derouen",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> EstimateInterval:
    r"""Marginal odds ratio of two systems on families, with cluster-robust limits.

    Use it where a paper asks for an odds ratio and families hold copies, from about 20 families. Not as the
    effect size of choice: a difference needs no model, and `family_interval` covers it near a ceiling, where
    this one has no limits. On single items `mcnemar_odds_ratio` covers the conditional one, exactly.

    Parameters
    ----------
    n_both, n_first_only, n_second_only, n_neither : array_like of int, shape (G,)
        Items of each family that both got right, only the first, only the second, neither.
    variance : {"mancl-derouen", "robust"}
        "robust" is too small with few families.
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}

    Returns
    -------
    EstimateInterval
        ``estimate`` is the odds of the first over those of the second. The limits are 0 and infinity where a
        system is never, or always, right.

    Notes
    -----
    A logit model with one term for the system has :math:`\log OR = \mathrm{logit}\,p_A - \mathrm{logit}\,p_B`
    under any working correlation, as sizes are equal on both sides. Its variance is :math:`\sum_f (e_{Af} / (N
    p_A q_A) - e_{Bf} / (N p_B q_B))^2` with the residual totals :math:`e_f` of family f; "mancl-derouen"
    divides them by :math:`1 - n_f / N`. Limits by t with G - 1 degrees of freedom.

    References
    ----------
    Mancl, L. A. & DeRouen, T. A. (2001). Biometrics 57, 126-134. doi:10.1111/j.0006-341X.2001.00126.x

    Examples
    --------
    >>> found = clustered_odds_ratio([1, 2, 1, 2] * 6, [1, 0, 1, 0] * 6, [0, 0, 1, 0] * 6, [0, 0, 0, 1] * 6)
    >>> round(found.estimate, 3), round(found.low, 2), round(found.high, 2)
    (1.714, 1.08, 2.72)
    """
    one_of("variance", variance, VARIANCES)
    families = family_counts(n_both, n_first_only, n_second_only, n_neither)
    below, above = tails(confidence_level, alternative)
    sizes = families.sizes
    total, groups = float(sizes.sum()), sizes.size
    right = families.both + families.first_only, families.both + families.second_only
    p, q = (float(each.sum()) / total for each in right)
    method = f"gee-logit, {variance}"
    estimate = _ratio(*(_odds(share) for share in (p, q)))
    if not (0 < p < 1 and 0 < q < 1) or groups < 2:
        return EstimateInterval(0.0, math.inf, method, float(confidence_level), alternative, estimate)
    parts = [
        (each - sizes * share) / (total * share * (1 - share))
        for each, share in zip(right, (p, q), strict=True)
    ]
    gaps = parts[0] - parts[1]
    if variance == "mancl-derouen":
        gaps = gaps / (1 - sizes / total)
    error = math.sqrt(float(np.sum(gaps**2)))
    if error <= 1e-12:
        # Families that all differ alike, or not at all, show no spread: that is no knowledge of it.
        method = f"{method}, no spread"
        return EstimateInterval(0.0, math.inf, method, float(confidence_level), alternative, estimate)
    log = math.log(estimate)
    return EstimateInterval(
        low=0.0 if below is None else math.exp(log + float(stdtrit(groups - 1, below)) * error),
        high=math.inf if above is None else math.exp(log - float(stdtrit(groups - 1, above)) * error),
        method=method,
        confidence_level=float(confidence_level),
        alternative=alternative,
        estimate=estimate,
    )


def _ratio(first: float, second: float) -> float:
    if 0 < second < math.inf:
        return first / second
    return math.nan if first == second else math.inf if first > second else 0.0


def _odds(share: float) -> float:
    return share / (1 - share) if share < 1 else math.inf
