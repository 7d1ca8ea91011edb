"""Claims against a margin: superiority, non-inferiority and equivalence of two systems on the same items.

The margin, the direction and the level are part of the claim and are fixed before the outcomes are seen. "Not
significantly different" is no equivalence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import as_count, as_scores, as_sizes, check_bounds, check_level
from pairstats.numeric.discordant import mcnemar
from pairstats.numeric.exact import sign_flip
from pairstats.numeric.family_margins import FAMILY_METHODS, SCORES, FamilyGaps
from pairstats.numeric.paired_differences import paired_difference_interval, tango_statistic
from pairstats.numeric.signsum import as_p

Floats = NDArray[np.float64]

DEFAULT_ALPHA = {"superiority": 0.05, "noninferiority": 0.025, "equivalence": 0.05}
"""Two-sided, one-sided, and on each side."""


@dataclass(frozen=True, slots=True)
class MarginTest:
    """Whether a claim about a difference, first minus second, is established.

    Attributes
    ----------
    claim : {"superiority", "noninferiority", "equivalence"}
    established : bool
        The verdict. False means "not shown", never "shown to be false".
    estimate : float
        First minus second.
    low, high : float
        Two-sided interval that goes with the claim: the claim holds where it lies beyond the margin.
    confidence_level : float
        Of that interval: 1 - alpha for superiority, 1 - 2 alpha for the other two.
    margin : tuple of float
        Lower and upper end that the interval is held against; infinite where there is none.
    alpha : float
        Level of the test: two-sided for superiority, of each one-sided test otherwise.
    p_value : float
        Of the claim as a whole: for equivalence the larger of the two.
    p_lower, p_upper : float
        One-sided p-values against the lower and the upper end; 1 where there is none.
    statistic : float or None
        Score or t statistic against the lower end (for equivalence, the end that is harder to exclude);
        the sum of differences where the sign-flip test decides; None where limits alone decide.
    method : str
    attainable : bool
        Whether this many items or families could establish the claim if the two never differed (for
        superiority: if all differed in favour of the first). If not, the claim should not be registered.
    """

    claim: str
    established: bool
    estimate: float
    low: float
    high: float
    confidence_level: float
    margin: tuple[float, float]
    alpha: float
    p_value: float
    p_lower: float
    p_upper: float
    statistic: float | None
    method: str
    attainable: bool


def margin_test(
    n_both: int,
    n_first_only: int,
    n_second_only: int,
    n_neither: int,
    *,
    claim: str,
    margin: float | tuple[float, float] = 0.0,
    alpha: float | None = None,
) -> MarginTest:
    r"""Test a claim about the difference of two shares on independent items, from the four counts.

    Use it for a claim that was fixed before the outcomes, on independent items. Not with copies, variants or
    repeats of an item, which `family_margin_test` covers.

    Parameters
    ----------
    n_both, n_first_only, n_second_only, n_neither : int
        Independent pairs that both got right, only the first, only the second, neither.
    claim : {"superiority", "noninferiority", "equivalence"}
        "superiority": the first is better, by more than `margin` if one is given. "noninferiority": the
        first is worse by less than `margin`. "equivalence": they differ by less than `margin`.
    margin : float or (float, float)
        Difference of shares, in (0, 1); for equivalence also (how much worse, how much better).
    alpha : float, optional
        Superiority: two-sided, default 0.05. Non-inferiority: one-sided, default 0.025. Equivalence: on
        each side, default 0.05.

    Returns
    -------
    MarginTest
        Superiority without a margin is decided by exact McNemar, all else by Tango's score statistic.

    Raises
    ------
    PairstatsError
        If a count is not a whole number, there is no pair, or the margin does not fit the claim.

    Notes
    -----
    Tango's statistic at the end :math:`\delta_0` is :math:`(b - c - n\delta_0) / \sqrt{n(2\hat q +
    \delta_0(1-\delta_0))}`; the limits are where it reaches the normal quantile.

    References
    ----------
    Tango, T. (1998). Statistics in Medicine 17, 891-908.
    doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B

    Examples
    --------
    >>> found = margin_test(43, 0, 1, 0, claim="noninferiority", margin=0.1)
    >>> round(found.statistic, 3), round(found.p_value, 4), found.established
    (1.709, 0.0438, False)
    """
    level, ends = _asked(claim, margin, alpha, (-1.0, 1.0))
    coverage = 1 - level if claim == "superiority" else 1 - 2 * level
    limits = paired_difference_interval(
        n_both, n_first_only, n_second_only, n_neither, confidence_level=coverage
    )
    b, c = as_count("n_first_only", n_first_only), as_count("n_second_only", n_second_only)
    n = b + c + as_count("n_both", n_both) + as_count("n_neither", n_neither)
    exact = claim == "superiority" and ends[0] == 0.0
    lower, upper = (tango_statistic(b, c, n, end) if math.isfinite(end) else math.inf for end in ends)
    p_lower, p_upper = float(ndtr(-lower)), float(ndtr(upper)) if math.isfinite(ends[1]) else 1.0
    if exact:
        flip = mcnemar(b, c)
        statistic, p_lower, p_value = (
            flip.statistic,
            mcnemar(b, c, alternative="greater").p_value,
            flip.p_value,
        )
        attainable = mcnemar(n, 0).p_value <= level
    else:
        statistic = lower if claim != "equivalence" else min(lower, -upper)
        p_value = _claim_p(claim, p_lower, p_upper)
        best = (n, 0) if claim == "superiority" else (0, 0)
        reach = paired_difference_interval(n - best[0], *best, 0, confidence_level=coverage)
        attainable = _within(reach.low, reach.high, ends)
    return MarginTest(
        claim=claim,
        established=(p_value <= level and b > c) if exact else _within(limits.low, limits.high, ends),
        estimate=limits.estimate,
        low=limits.low,
        high=limits.high,
        confidence_level=coverage,
        margin=ends,
        alpha=level,
        p_value=as_p(p_value),
        p_lower=as_p(p_lower),
        p_upper=as_p(p_upper),
        statistic=statistic,
        method="exact McNemar, Tango limits" if exact else "Tango",
        attainable=attainable,
    )


def family_margin_test(
    differences: ArrayLike,
    *,
    claim: str,
    margin: float | tuple[float, float] = 0.0,
    sizes: ArrayLike | None = None,
    method: str = "family-cp",
    alpha: float | None = None,
    bounds: tuple[float, float] = (-1.0, 1.0),
    pseudo_size: float | None = None,
) -> MarginTest:
    r"""Test a claim about a mean difference over families.

    Use it for a claim against a margin that was fixed before the outcomes. Not for single items, where
    `margin_test` is the one referees know; "not significant" in `sign_flip` is no equivalence.

    Parameters
    ----------
    differences : array_like, shape (G,)
        Mean difference of each family, first minus second, within `bounds`.
    claim : {"superiority", "noninferiority", "equivalence"}
        As in `margin_test`.
    margin : float or (float, float)
        In the unit of the differences; for equivalence also (how much worse, how much better).
    sizes : array_like, shape (G,), optional
        Number of decisions behind each difference; the claim is then about the item-weighted mean.
    method : {"family-cp", "family-jeffreys", "t", "obuchowski", "durkalski", "yang"}
        "family-cp": for registered claims; its limits hold near a ceiling and with few families.
        "family-jeffreys": shorter, holds its level on average. "t": cluster-robust t, two one-sided t
        tests; for differences without a known range and many families. The others are score tests for
        comparison with clinical papers, from about 20 families that differ: the chi-square forms of
        `clustered_mcnemar` with the margin in place of 0.
    alpha : float, optional
        As in `margin_test`.
    bounds : (float, float)
        Range of a difference; not used by "t".
    pseudo_size : float, optional
        As in `family_interval`.

    Returns
    -------
    MarginTest
        Superiority without a margin is decided by the exact sign-flip test on family totals, all else by
        the limits; `p_lower` is the smallest level at which the lower limit passes the lower end.

    Raises
    ------
    PairstatsError
        If differences are not finite or outside `bounds`, the margin does not fit the claim, or "t" is
        asked of families that do not vary.

    Notes
    -----
    The claim holds where the interval, at 1 - alpha for superiority and 1 - 2 alpha otherwise, lies beyond the
    margin. Score forms at a difference :math:`\delta_0`, with family totals :math:`d_i` of :math:`n_i`
    decisions: "obuchowski" :math:`\sum (d_i - n_i \delta_0) / \sqrt{\frac{G}{G-1} \sum (d_i - n_i
    \delta_0)^2}`; "yang" the same with the mean of this sum of squares and that at the estimate;
    "durkalski" :math:`\sum (d_i/n_i - \delta_0) / \sqrt{\sum (d_i/n_i - \delta_0)^2}`, family-weighted.
    Durkalski et al. (2003) take the spread about the estimate, which is "t" on family means with a normal
    quantile; Yang et al. (2012) compare further forms, with an estimated intra-family correlation.

    References
    ----------
    Berger, R. L. & Hsu, J. C. (1996). Statistical Science 11, 283-319. doi:10.1214/ss/1032280304
    Durkalski, V. L., Palesch, Y. Y., Lipsitz, S. R. & Rust, P. F. (2003). Statistics in Medicine 22, 279-290.
    doi:10.1002/sim.1385
    Yang, Z., Sun, X. & Hardin, J. W. (2012). Computational Statistics & Data Analysis 56, 1301-1320.

    Examples
    --------
    >>> found = family_margin_test([0.0] * 45 + [0.5, -0.5, -0.5], claim="noninferiority", margin=0.1)
    >>> found.established, round(found.low, 3), found.method
    (True, -0.092, 'family-cp')
    """
    one_of("method", method, FAMILY_METHODS)
    values = as_scores("differences", differences)
    counts = as_sizes(sizes, values.size)
    reach = (-math.inf, math.inf) if method == "t" else check_bounds(values, bounds)
    level, ends = _asked(claim, margin, alpha, reach)
    coverage = 1 - level if claim == "superiority" else 1 - 2 * level
    families = FamilyGaps(values, counts, method, reach, pseudo_size)
    low, high = families.limits(coverage)
    p_lower, p_upper = families.tail(ends[0], below=True), families.tail(ends[1], below=False)
    estimate = families.estimate
    if claim == "superiority" and ends[0] == 0.0:
        totals = values if method == "durkalski" else values * counts
        flip = sign_flip(totals)
        statistic: float | None = flip.statistic
        p_value = flip.p_value
        p_lower = sign_flip(totals, alternative="greater").p_value
        established = p_value <= level and flip.statistic > 0
        attainable = 2.0 ** (1 - values.size) <= level
        method = f"exact sign-flip, {method} limits"
    else:
        statistic = None
        if method == "t":
            nearer = ends[1] if claim == "equivalence" and p_upper > p_lower else ends[0]
            statistic = families.t(nearer)[0] * (1 if nearer == ends[0] else -1)
        elif method in SCORES:
            statistic = families.z(ends[0])
            if claim == "equivalence":
                statistic = min(statistic, -families.z(ends[1]))
        p_value = _claim_p(claim, p_lower, p_upper)
        established = _within(low, high, ends)
        best = np.full(values.size, reach[1] if claim == "superiority" else 0.0)
        attainable = method == "t" or _within(
            *FamilyGaps(best, counts, method, reach, pseudo_size).limits(coverage), ends
        )
    return MarginTest(
        claim=claim,
        established=established,
        estimate=estimate,
        low=low,
        high=high,
        confidence_level=coverage,
        margin=ends,
        alpha=level,
        p_value=as_p(p_value),
        p_lower=as_p(p_lower),
        p_upper=as_p(p_upper),
        statistic=statistic,
        method=method,
        attainable=attainable,
    )


def noninferiority_nobs(margin: float, *, alpha: float = 0.025, method: str = "tango") -> int:
    r"""Fewest items, or families, with which two systems that never differ can be shown non-inferior.

    Use it before a margin is registered. Not for power against a real difference, which `paired_family_power`
    simulates.

    With fewer, equal systems cannot establish the claim whatever the data: it should not be registered.

    Parameters
    ----------
    margin : float
        In (0, 1).
    alpha : float
        One-sided.
    method : {"tango", "family-cp"}
        "tango" counts independent items: :math:`n > z^2 (1 - M) / M`. "family-cp" counts families of equal
        size: :math:`G > \log\alpha / \log(1 - M)`.

    Returns
    -------
    int

    Notes
    -----
    "tango": with no discordant item the lower limit is :math:`-z^2 / (n + z^2)`. "family-cp": the lower limit
    of G equal families is :math:`\alpha^{1/G} - 1`.

    References
    ----------
    Tango, T. (1998). Statistics in Medicine 17, 891-908.
    doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B

    Examples
    --------
    >>> [noninferiority_nobs(margin) for margin in (0.10, 0.05, 0.03, 0.02, 0.01)]
    [35, 73, 125, 189, 381]
    """
    one_of("method", method, ("tango", "family-cp"))
    level, (end, _) = _asked("noninferiority", margin, alpha, (-1.0, 1.0))
    if method == "tango":
        return math.floor(float(ndtri(level)) ** 2 * (1 + end) / -end) + 1
    return math.floor(math.log(level) / math.log1p(end)) + 1


def _asked(
    claim: str, margin: float | tuple[float, float], alpha: float | None, reach: tuple[float, float]
) -> tuple[float, tuple[float, float]]:
    """Level, and the ends that the interval must stay between."""
    one_of("claim", claim, DEFAULT_ALPHA)
    level = DEFAULT_ALPHA[claim] if alpha is None else check_level(alpha)
    if claim != "superiority" and level >= 0.5:
        raise PairstatsError(
            f"`alpha` must be below 0.5, but got {alpha}. Pass the one-sided level, as 0.025."
        )
    try:
        worse, better = np.broadcast_to(np.asarray(margin, dtype=np.float64), (2,)).tolist()
    except (TypeError, ValueError):
        worse = better = math.nan
    if claim != "equivalence" and np.ndim(margin):
        raise PairstatsError(f"`margin` must be one number for {claim}, but got {margin!r}. Pass one end.")
    least = 0.0 if claim == "superiority" else math.ulp(0.0)
    if not (least <= worse < -reach[0] and least <= better < reach[1]):
        raise PairstatsError(
            f"`margin` must be positive and within the range of a difference, {list(reach)}, "
            f"but got {margin!r}. Pass the largest difference that does not matter, such as 0.05."
        )
    if claim == "superiority":
        return level, (worse, math.inf)
    return level, (-worse, better if claim == "equivalence" else math.inf)


def _within(low: float, high: float, ends: tuple[float, float]) -> bool:
    return low > ends[0] and high < ends[1]


def _claim_p(claim: str, p_lower: float, p_upper: float) -> float:
    if claim == "superiority":
        return min(1.0, 2 * p_lower)
    return max(p_lower, p_upper) if claim == "equivalence" else p_lower
