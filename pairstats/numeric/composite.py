"""Scores made of several: all of k right, the smaller of a score and a cap, weighted parts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError, listed
from pairstats.numeric.checks import EstimateInterval, Interval, as_scores, as_sizes, check_bounds, tails
from pairstats.numeric.family import family_interval
from pairstats.numeric.proportions import clopper_pearson

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CappedScore:
    """The smaller of a score and a cap, with the interval of either part.

    Attributes
    ----------
    estimate : float
    low, high : float
        Limits for the smaller of the two.
    active : {"score", "cap", "both"}
        Which part is the smaller one in these data.
    score, cap : float
        Estimates of the parts.
    score_interval, cap_interval : Interval
        Each part by itself, at the full confidence level.
    method : str
    confidence_level : float
    alternative : {"two-sided", "less", "greater"}
    """

    estimate: float
    low: float
    high: float
    active: str
    score: float
    cap: float
    score_interval: Interval
    cap_interval: Interval
    method: str
    confidence_level: float
    alternative: str


@dataclass(frozen=True, slots=True)
class NumberCorrect:
    """Families by number of decisions that were right.

    Attributes
    ----------
    families : ndarray of int, shape (k + 1,)
        Families with 0, 1, ..., k decisions right.
    per_decision : float
        Share of all decisions that were right; print it beside the strict rate.
    all_correct : EstimateInterval
        Share of families with all k right, Clopper-Pearson. It depends on k: do not compare across k.
    k : int
    """

    families: NDArray[np.int64]
    per_decision: float
    all_correct: EstimateInterval
    k: int


@dataclass(frozen=True, slots=True)
class WeightedScore:
    """A weighted sum of parts, taken family by family.

    Attributes
    ----------
    scores : ndarray of float, shape (G,)
        Composite of each family.
    estimate, low, high : float
    bounds : tuple of float
        Range that the composite can take.
    parts : ndarray of float, shape (P,)
        Mean of each part.
    method : str
    """

    scores: Floats
    estimate: float
    low: float
    high: float
    bounds: tuple[float, float]
    parts: Floats
    method: str


def capped_score(
    scores: ArrayLike,
    cap_scores: ArrayLike,
    *,
    sizes: ArrayLike | None = None,
    cap_sizes: ArrayLike | None = None,
    kind: Literal["jeffreys", "cp"] = "jeffreys",
    bounds: tuple[float, float] = (0.0, 1.0),
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> CappedScore:
    r"""Interval for min(score, cap), where score and cap come from different families.

    Use it for scores such as "rule followed, but at most the accuracy". Not where score and cap can both be had
    for each family: take the minimum family by family, and `pairstats.numeric.family_interval`.

    The minimum has a kink where both are equal: the bootstrap is inconsistent there and the estimate is
    biased down (by .02 for 36 families). These limits hold all the same.

    Parameters
    ----------
    scores, cap_scores : array_like, shapes (G,) and (H,)
        Family means of the two parts.
    sizes, cap_sizes : array_like, optional
        Decisions behind them.
    kind : {"jeffreys", "cp"}
        Family interval of the parts; "cp" below 10 families.
    bounds : tuple of float
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}

    Returns
    -------
    CappedScore

    Notes
    -----
    ``[min(L1, L2), min(U1, U2)]`` with lower limits at one-sided :math:`\alpha/2` each, since the lower limit
    errs only if that of the active part errs, and upper limits at :math:`\alpha/4` each, since the upper one
    errs if either does. A one-sided lower limit takes :math:`\alpha`, an upper one :math:`\alpha/2` each.

    References
    ----------
    Berger, R. L. & Hsu, J. C. (1996). Bioequivalence trials, intersection-union tests and equivalence
    confidence sets. Statistical Science 11, 283-319. doi:10.1214/ss/1032280304
    Fang, Z. & Santos, A. (2019). Inference on directionally differentiable functions. Review of Economic
    Studies 86, 377-412. doi:10.1093/restud/rdy049

    Examples
    --------
    >>> found = capped_score([1, 1, 0.5, 0.5, 0, 1], [1, 1, 1, 0], kind="cp")
    >>> round(found.estimate, 4), found.active
    (0.6667, 'score')
    """
    below, above = tails(confidence_level, alternative)
    parts = ((as_scores("scores", scores), sizes), (as_scores("cap_scores", cap_scores), cap_sizes))
    counted = [(values, as_sizes(counts, values.size)) for values, counts in parts]
    score, cap = (float(n @ x / n.sum()) for x, n in counted)

    def limit(x: Floats, n: Floats, level: float, side: str) -> Interval:
        return family_interval(
            x, sizes=n, kind=kind, bounds=bounds, confidence_level=level, alternative=side
        )  # fmt: skip

    low, high = float(bounds[0]), float(bounds[1])
    if below is not None:
        low = min(limit(x, n, 1 - below, "greater").low for x, n in counted)
    if above is not None:
        high = min(limit(x, n, 1 - above / 2, "less").high for x, n in counted)
    whole = [limit(x, n, confidence_level, alternative) for x, n in counted]
    near = math.isclose(score, cap, rel_tol=1e-12, abs_tol=1e-12)
    return CappedScore(
        estimate=min(score, cap),
        low=low,
        high=high,
        active="both" if near else "score" if score < cap else "cap",
        score=score,
        cap=cap,
        score_interval=whole[0],
        cap_interval=whole[1],
        method=f"min of family-{kind} limits",
        confidence_level=float(confidence_level),
        alternative=alternative,
    )


def number_correct(decisions: ArrayLike, *, confidence_level: float = 0.95) -> NumberCorrect:
    """Distribution of the number of right decisions in a family, and the share with all right.

    Use it for robust scores: all k decisions of a family right. Not to compare different k, as it falls with
    k; the rate of a decision, by `family_interval`, does not.

    Parameters
    ----------
    decisions : array_like, shape (G, k)
        1 or 0 (or a boolean) for each decision of each family; complete. A family with a missing decision is
        missing: leave it out, count it, and show `manski_bounds`.
    confidence_level : float, default 0.95

    Returns
    -------
    NumberCorrect

    Notes
    -----
    Families by number right; the share with all right is a 0/1 family score with the limits of
    `clopper_pearson` or `jeffreys`.

    References
    ----------
    Clopper, C. J. & Pearson, E. S. (1934). Biometrika 26, 404-413. doi:10.1093/biomet/26.4.404

    Examples
    --------
    >>> found = number_correct([[1, 1, 1], [1, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> found.families.tolist(), found.all_correct.estimate, round(found.per_decision, 3)
    ([1, 0, 1, 2], 0.5, 0.667)
    """
    table = np.asarray(decisions, dtype=np.float64)
    if table.ndim != 2 or table.size == 0:
        raise PairstatsError(
            f"`decisions` must have a row for each family and a column for each decision, but its shape is "
            f"{table.shape}. All families must have the same number of decisions."
        )
    wrong = np.flatnonzero(~((table == 0) | (table == 1)).all(axis=1))
    if wrong.size:
        raise PairstatsError(
            f"`decisions` must be 0 or 1, but families {listed(wrong.tolist())} hold something else. "
            "Leave families with a missing decision out, and count them."
        )
    families, k = table.shape
    right = table.sum(axis=1).astype(np.int64)
    counts = np.bincount(right, minlength=k + 1)
    return NumberCorrect(
        families=counts,
        per_decision=float(table.mean()),
        all_correct=clopper_pearson(int(counts[k]), families, confidence_level=confidence_level),
        k=k,
    )


def weighted_composite(
    parts: ArrayLike,
    weights: ArrayLike,
    *,
    kind: Literal["jeffreys", "cp"] = "jeffreys",
    bounds: tuple[float, float] = (0.0, 1.0),
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> WeightedScore:
    r"""Weighted sum of parts that every family has, with its family interval.

    Use it for a score that is a weighted sum of parts of the same family. Not for parts on different families,
    which `macro_average` covers, nor for a cap (`capped_score`).

    Because the sum is taken family by family, the parts may depend on each other in any way.

    Parameters
    ----------
    parts : array_like, shape (G, P)
        Score of each family in each part.
    weights : array_like, shape (P,)
        Registered weights; negative for a part that subtracts. Not rescaled.
    kind : {"jeffreys", "cp"}
    bounds : tuple of float
        Range of every part; the range of the composite follows.
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}

    Returns
    -------
    WeightedScore

    Notes
    -----
    :math:`\sum_j w_j x_{ij}` of every family, with the limits of `family_interval` on the range of the sum.

    References
    ----------
    Learned-Miller, E. & Thomas, P. S. (2019). A new confidence interval for the mean of a bounded random
    variable. arXiv:1905.06208

    Examples
    --------
    >>> found = weighted_composite([[1, 1], [1, 0.5], [0, 1]], [0.75, 0.25])
    >>> found.scores.tolist(), found.bounds
    ([1.0, 0.875, 0.25], (0.0, 1.0))
    """
    table = np.asarray(parts, dtype=np.float64)
    factors = as_scores("weights", weights)
    if table.ndim != 2 or table.size == 0 or table.shape[1] != factors.size:
        raise PairstatsError(
            f"`parts` must have a row for each family and one column for each of the {factors.size} weights, "
            f"but its shape is {table.shape}."
        )
    as_scores("parts", table.ravel())
    low, high = check_bounds(table.ravel(), bounds)
    if not np.any(factors):
        raise PairstatsError("`weights` must not all be 0. Give the registered weight of each part.")
    ends = factors * low, factors * high
    reach = float(np.minimum(*ends).sum()), float(np.maximum(*ends).sum())
    scores = np.clip(table @ factors, *reach)
    found = family_interval(
        scores, kind=kind, bounds=reach, confidence_level=confidence_level, alternative=alternative
    )  # fmt: skip
    return WeightedScore(
        scores=scores,
        estimate=float(scores.mean()),
        low=found.low,
        high=found.high,
        bounds=reach,
        parts=table.mean(axis=0),
        method=found.method,
    )
