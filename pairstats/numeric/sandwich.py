"""Cluster-robust t intervals for a ratio of family totals, and the Korn-Graubard interval built on them.

For values whose range is not known, and for comparison with other papers. Near a ceiling all of them fail
together with the bootstrap: for scores in a known range use `pairstats.numeric.family_interval`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from pairstats.errors import one_of
from pairstats.numeric.checks import Interval, as_scores, as_sizes, check_alternative, check_bounds, tails

Floats = NDArray[np.float64]

KINDS = ("CR0", "CR1", "CR2", "CR3")
DEGREES = ("satterthwaite", "families", "normal")


@dataclass(frozen=True, slots=True)
class RobustInterval:
    """Cluster-robust (CR2) interval of a mean.

    Attributes
    ----------
    low, high : float
        Limits; infinite on the side that a one-sided interval leaves open, and on both with one family.
    std_error : float
        CR2 standard error; NaN with one family.
    df : float
        Satterthwaite degrees of freedom; 0 with one family.
    method : str
    """

    low: float
    high: float
    std_error: float
    df: float
    method: str = "cr2-t"


@dataclass(frozen=True, slots=True)
class ClusterRobust:
    """Cluster-robust interval and t test of a mean.

    Attributes
    ----------
    estimate : float
        Item-weighted mean.
    low, high : float
        Limits; infinite where a one-sided interval has none, and on both sides with one family.
    std_error : float
        NaN with one family; 0 where all families are equal.
    df : float
        Degrees of freedom; 0 with one family, infinite for the normal reference.
    statistic : float
        ``(estimate - null) / std_error``; 0 where both are 0, infinite where only the error is.
    p_value : float
        In (0, 1]. 1 where the families do not differ or there is one only: without spread t says nothing.
    null : float
        Value that was tested.
    n_families : int
    method : str
        Such as "cr2-t".
    alternative : {"two-sided", "less", "greater"}
    """

    estimate: float
    low: float
    high: float
    std_error: float
    df: float
    statistic: float
    p_value: float
    null: float
    n_families: int
    method: str
    alternative: str


@dataclass(frozen=True, slots=True, repr=False)
class KornGraubard(Interval):
    """Clopper-Pearson interval at an effective number of items.

    Attributes
    ----------
    low, high, method, confidence_level, alternative
        As in `pairstats.numeric.checks.Interval`.
    estimate : float
        Item-weighted share.
    n_effective : float
        Effective number of items, after adjustment for the degrees of freedom and the cap.
    design_effect : float
        Variance over that of as many independent items; NaN where the families do not differ.
    """

    estimate: float
    n_effective: float
    design_effect: float


def cr2_interval(
    scores: ArrayLike,
    *,
    sizes: ArrayLike | None = None,
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> RobustInterval:
    r"""Bias-reduced cluster-robust t interval for :math:`p = \sum n_f x_f / \sum n_f`.

    Use it for scores without a known range (log loss, tokens, seconds). Not near a ceiling, where it collapses;
    `family_interval` covers scores in a known range.

    With :math:`e_f = n_f (x_f - p)` and :math:`\pi_f = n_f / N` the variance is
    :math:`\sum e_f^2 / (1 - \pi_f) / N^2`, with Satterthwaite degrees of freedom. For equal sizes it is the
    one-sample t interval of the family means. `cluster_robust` gives the other kinds, and a test.

    Parameters
    ----------
    scores : array_like, shape (G,)
        Family means, in any unit.
    sizes : array_like, shape (G,), optional
        Decisions behind each mean.
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}

    Returns
    -------
    RobustInterval

    Notes
    -----
    :math:`\hat p \pm t_\nu \sqrt V` with the variance V above and :math:`\nu = 1 / (\sum \pi_f^2 + \sum_{f
    \ne g} \pi_f^2 \pi_g^2 / ((1 - \pi_f)(1 - \pi_g)))`.

    References
    ----------
    Bell & McCaffrey (2002), Survey Methodology 28, 169-181. Pustejovsky & Tipton (2018),
    doi:10.1080/07350015.2016.1247004.

    Examples
    --------
    >>> found = cr2_interval([1.0, 2.0, 4.0, 5.0])
    >>> round(found.low, 3), round(found.high, 3), found.df
    (0.095, 5.905, 3.0)
    """
    found = cluster_robust(scores, sizes=sizes, confidence_level=confidence_level, alternative=alternative)
    return RobustInterval(found.low, found.high, found.std_error, found.df)


def cluster_robust(
    scores: ArrayLike,
    *,
    sizes: ArrayLike | None = None,
    kind: str = "CR2",
    df: str = "satterthwaite",
    null: float = 0.0,
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> ClusterRobust:
    r"""Cluster-robust t interval and test of an item-weighted mean, kinds CR0 to CR3.

    Use it for unbounded scores (log loss, token counts, seconds) with 20 or more families. Not near a
    ceiling: for p = .95 and 20 families it covers .77 of its .95; use `pairstats.numeric.family_interval`
    there. Paired differences are passed as the family means of the differences.

    Parameters
    ----------
    scores : array_like, shape (G,)
        Family means, in any unit.
    sizes : array_like, shape (G,), optional
        Decisions behind each mean; ones by default.
    kind : {"CR2", "CR0", "CR1", "CR3"}
        "CR2" is unbiased for equally variable items; "CR0" is too small, "CR1" multiplies it by
        :math:`G/(G-1)` (as "CR1S" does here), "CR3" is about the jackknife, and too large.
    df : {"satterthwaite", "families", "normal"}
        Reference: t with Satterthwaite's degrees of freedom for this kind, t with G - 1, or the normal.
    null : float, default 0
        Value that is tested.
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}

    Returns
    -------
    ClusterRobust

    Notes
    -----
    With :math:`e_i = n_i (x_i - p)` and :math:`\pi_i = n_i / N` the variance is
    :math:`\sum a_i e_i^2 / N^2`, where :math:`a_i` is 1 (CR0), :math:`G/(G-1)` (CR1),
    :math:`1/(1-\pi_i)` (CR2), :math:`1/(1-\pi_i)^2` (CR3). Under equal variance of the items
    :math:`\nu = (\sum a_i \pi_i (1-\pi_i))^2 / (\sum a_i^2 \pi_i^2 (1-\pi_i)^2 + \sum_{i \ne j} a_i a_j
    \pi_i^2 \pi_j^2)`.

    References
    ----------
    Bell, R. M. & McCaffrey, D. F. (2002). Survey Methodology 28, 169-181.
    Pustejovsky, J. E. & Tipton, E. (2018). Journal of Business & Economic Statistics 36, 672-683.
    doi:10.1080/07350015.2016.1247004

    Examples
    --------
    >>> found = cluster_robust([1.0, 2.0, 4.0, 5.0], kind="CR1", null=1.0)
    >>> round(found.std_error, 3), round(found.p_value, 3), found.method
    (0.913, 0.116, 'cr1-t')
    """
    one_of("kind", kind, KINDS)
    one_of("df", df, DEGREES)
    means = as_scores("scores", scores)
    counts = as_sizes(sizes, means.size)
    below, above = tails(confidence_level, check_alternative(alternative))
    share = counts / counts.sum()
    value = float(means[0] if np.ptp(means) == 0 else share @ means)
    method = f"{kind.lower()}-{'z' if df == 'normal' else 't'}"
    if means.size == 1:
        return ClusterRobust(
            value, -math.inf, math.inf, math.nan, 0.0, math.nan, 1.0, float(null), 1, method, alternative
        )
    error = math.sqrt(float(np.sum(_factors(share, kind) * (share * (means - value)) ** 2)))
    nu = {"families": means.size - 1.0, "normal": math.inf}.get(df) or _satterthwaite(share, kind)
    statistic, p = _t_test(value - null, error, nu, alternative)
    low = -math.inf if below is None else value + error * _t_quantile(nu, below)
    high = math.inf if above is None else value - error * _t_quantile(nu, above)
    return ClusterRobust(
        value, low, high, error, nu, statistic, p, float(null), means.size, method, alternative
    )


def korn_graubard(
    scores: ArrayLike,
    *,
    sizes: ArrayLike | None = None,
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> KornGraubard:
    r"""Clopper-Pearson interval with an effective sample size, as survey practice has it.

    Use it for comparison with survey papers. Not as a guarantee: it fails where the design effect is below 1 by
    luck (measured worst .77); `pairstats.numeric.family_interval` covers that.

    Parameters
    ----------
    scores : array_like, shape (G,)
        Family means, in [0, 1].
    sizes : array_like, shape (G,), optional
        Decisions behind each mean; ones by default.
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}

    Returns
    -------
    KornGraubard

    Notes
    -----
    :math:`n_e = \min(N, p(1-p)/V \cdot (t_{N-1} / t_{G-1})^2)` with the CR1 variance V and the t quantiles of
    the level, then Clopper-Pearson with :math:`x = p\,n_e`. Where the families do not differ,
    :math:`n_e = G`. The cap at N is ours to insist on (R's ``svyciprop`` has none).

    References
    ----------
    Korn, E. L. & Graubard, B. I. (1998). Survey Methodology 24, 193-201.

    Examples
    --------
    >>> found = korn_graubard([1, 1, 0, 0.5, 0.5, 1, 1, 1, 0.5, 0.5], sizes=[2] * 10)
    >>> round(found.low, 4), round(found.high, 4), round(found.n_effective, 2)
    (0.4128, 0.9041, 14.71)
    """
    means = as_scores("scores", scores)
    counts = as_sizes(sizes, means.size)
    check_bounds(means, (0.0, 1.0))
    below, above = tails(confidence_level, alternative)
    total = float(counts.sum())
    robust = cluster_robust(means, sizes=counts, kind="CR1", df="normal")
    p = min(max(robust.estimate, 0.0), 1.0)
    effective, design = float(means.size), math.nan
    if means.size > 1 and robust.std_error > 0:
        tail = below if below is not None else above
        assert tail is not None
        plain = p * (1 - p) / robust.std_error**2
        design = total / plain
        wider = _t_quantile(total - 1, tail) / _t_quantile(means.size - 1.0, tail) if total > 1 else 1.0
        effective = min(total, plain * wider**2)
    x = p * effective
    low = float(special.betaincinv(x, effective - x + 1, below)) if below is not None and p > 0 else 0.0
    high = float(special.betaincinv(x + 1, effective - x, 1 - above)) if above is not None and p < 1 else 1.0
    return KornGraubard(
        low=low,
        high=high,
        method="korn-graubard",
        confidence_level=float(confidence_level),
        alternative=alternative,
        estimate=p,
        n_effective=effective,
        design_effect=design,
    )


def _factors(share: Floats, kind: str) -> Floats:
    """Factor of each squared residual."""
    if kind == "CR1":
        return np.full(share.size, share.size / (share.size - 1.0))
    return (1.0 - share) ** -{"CR0": 0.0, "CR2": 1.0, "CR3": 2.0}[kind]


def _satterthwaite(share: Floats, kind: str) -> float:
    """Twice the squared mean over the variance of the variance estimate, items equally variable."""
    weighted = _factors(share, kind) * share
    own = weighted * (1.0 - share)
    cross = float(np.sum(weighted * share)) ** 2 - float(np.sum((weighted * share) ** 2))
    return round(float(own.sum() ** 2 / (np.sum(own**2) + cross)), 9)


def _t_quantile(df: float, level: float) -> float:
    return float(special.ndtri(level) if math.isinf(df) else special.stdtrit(df, level))


def _t_test(difference: float, error: float, df: float, alternative: str) -> tuple[float, float]:
    """Statistic and p-value; without spread, no evidence."""
    if error == 0:
        return (0.0 if difference == 0 else math.copysign(math.inf, difference)), 1.0
    statistic = difference / error
    at = {"two-sided": -abs(statistic), "less": statistic, "greater": -statistic}[alternative]
    below = float(special.ndtr(at) if math.isinf(df) else special.stdtr(df, at))
    p = min(1.0, 2 * below) if alternative == "two-sided" else below
    return statistic, max(p, float(np.finfo(float).tiny))
