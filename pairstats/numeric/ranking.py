"""How well confidence ranks right before wrong answers: AUROC by family, and DeLong's variance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from pairstats.errors import PairstatsError
from pairstats.numeric.jackknife import jackknife_interval
from pairstats.numeric.lattice import snapped
from pairstats.numeric.scores import as_forecasts
from pairstats.numeric.shares import Families, family_codes, family_sums
from pairstats.numeric.signsum import as_p

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class AurocInterval:
    """AUROC of confidence, or a difference of two, with a delete-one-family jackknife t interval.

    Attributes
    ----------
    value : float
        NaN if no answer is right or none is wrong.
    low, high : float
        Limits; the whole range where undefined: a single family with right (or wrong) answers, a perfect
        ranking, or no variation between families.
    std_error : float
        On the logit scale for one AUROC; NaN where undefined.
    n_correct, n_wrong : int
        Answers of each kind, of both models for a difference.
    n_families : int
    method : str
    """

    value: float
    low: float
    high: float
    std_error: float
    n_correct: int
    n_wrong: int
    n_families: int
    method: str


def auroc_interval(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    families: Families = None,
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> AurocInterval:
    r"""AUROC of confidence for correctness, with a logit delete-one-family jackknife t interval.

    Use it for ranking alone. Not for calibration, which `calibration_test` covers. One constant confidence
    ranks nothing: 0.5, with limits [0, 1]. Measured coverage .946 to .976, against .79 to .94 of the
    percentile bootstrap; DeLong's interval ignores families.

    Parameters
    ----------
    confidence : array_like of float, shape (n,)
        Stated probability of being correct, in [0, 1].
    correct : array_like of int or bool, shape (n,)
        0 or 1.
    families : sequence, shape (n,), optional
        Family of each answer; left out, each is its own.
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}

    Returns
    -------
    AurocInterval

    Notes
    -----
    The Mann-Whitney share A of `auroc`; delete-one-family replicates of :math:`\mathrm{logit}\,A`, and a t
    interval with G - 1 degrees of freedom, brought back to [0, 1].

    References
    ----------
    Obuchowski NA (1997). Nonparametric analysis of clustered ROC curve data. Biometrics 53:567-578.
    doi:10.2307/2533958.

    Examples
    --------
    >>> stated, right = [0.9, 0.8, 0.7, 0.6, 0.5, 0.8, 0.4], [1, 1, 0, 1, 0, 0, 0]
    >>> found = auroc_interval(stated, right)
    >>> round(found.value, 4), round(found.low, 2), round(found.high, 2)
    (0.7917, 0.07, 1.0)
    """
    stated, outcome = as_forecasts(confidence, correct)
    codes = family_codes(families, stated.size)
    value, without = _leave_families_out(stated, outcome, codes)
    found = jackknife_interval(
        value, without, scale="logit", confidence_level=confidence_level, alternative=alternative
    )
    right = int(outcome.sum())
    return AurocInterval(
        value, found.low, found.high, found.std_error, right, outcome.size - right, without.size, found.method
    )


def auroc_difference(
    first: tuple[ArrayLike, ArrayLike],
    second: tuple[ArrayLike, ArrayLike],
    *,
    families: Families = None,
    confidence_level: float = 0.95,
) -> AurocInterval:
    """AUROC of one model less that of another on the same items, by the delete-one-family jackknife.

    Use it for two models. Not for two confidences of the same answers, where `delong_test` is sharper if every
    answer is its own family.

    Parameters
    ----------
    first, second : pair of array_like, shape (n,)
        Confidence and correctness of each model, on the same items in the same order.
    families : sequence, shape (n,), optional
        Family of each item; left out, each is its own.
    confidence_level : float, default 0.95

    Returns
    -------
    AurocInterval

    Notes
    -----
    :math:`A_1 - A_2` and its delete-one-family replicates; the limits are those of `jackknife_interval`.

    References
    ----------
    Obuchowski, N. A. (1997). Biometrics 53, 567-578. doi:10.2307/2533958

    Examples
    --------
    >>> a, b = ([0.9, 0.8, 0.4, 0.3], [1, 1, 0, 0]), ([0.9, 0.5, 0.6, 0.3], [1, 1, 0, 0])
    >>> auroc_difference(a, b).value
    0.25
    """
    models = [as_forecasts(*first), as_forecasts(*second)]
    if models[0][0].size != models[1][0].size:
        raise PairstatsError(
            f"`first` and `second` must hold the same items, but have {models[0][0].size} and "
            f"{models[1][0].size}. Keep the items that both models answered, in the same order."
        )
    codes = family_codes(families, models[0][0].size)
    (one, without_one), (two, without_two) = (_leave_families_out(f, y, codes) for f, y in models)
    found = jackknife_interval(
        one - two, without_one - without_two, bounds=(-1.0, 1.0), confidence_level=confidence_level
    )
    right, total = int(sum(y.sum() for _, y in models)), sum(y.size for _, y in models)
    return AurocInterval(
        one - two, found.low, found.high, found.std_error, right, total - right, without_one.size,
        found.method,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class DelongVariance:
    """AUROC with DeLong's variance, answers independent.

    Attributes
    ----------
    auroc, variance : float
        The variance is NaN with fewer than two right or two wrong answers.
    """

    auroc: float
    variance: float


def delong_variance(confidence: ArrayLike, correct: ArrayLike) -> DelongVariance:
    r"""DeLong's variance of the AUROC: for answers that are independent.

    Use it to compare with packages. Not with families, which it ignores; `auroc_interval` covers them.

    Parameters
    ----------
    confidence : array_like of float, shape (n,)
        Stated probability of being correct, in [0, 1].
    correct : array_like of int or bool, shape (n,)
        0 or 1.

    Returns
    -------
    DelongVariance

    Notes
    -----
    :math:`\mathrm{var}(V_r) / n_r + \mathrm{var}(V_w) / n_w` of the placements: the share of wrong answers
    below a right one, and of right ones above a wrong one.

    References
    ----------
    DeLong ER, DeLong DM, Clarke-Pearson DL (1988). Comparing the areas under two or more correlated receiver
    operating characteristic curves. Biometrics 44:837-845. doi:10.2307/2531595.

    Examples
    --------
    >>> delong_variance([0.9, 0.8, 0.8, 0.5], [1, 1, 0, 0])
    DelongVariance(auroc=0.875, variance=0.03125)
    """
    stated, outcome = as_forecasts(confidence, correct)
    right = outcome == 1
    n_right, n_wrong = int(right.sum()), int((~right).sum())
    if not n_right or not n_wrong:
        return DelongVariance(math.nan, math.nan)
    placed = _placements(stated, outcome)
    value = float(placed[right].sum()) / (n_right * n_wrong)
    if n_right < 2 or n_wrong < 2:
        return DelongVariance(value, math.nan)
    parts = placed[right] / n_wrong, placed[~right] / n_right
    variance = sum(float(np.var(part, ddof=1)) / part.size for part in parts)
    return DelongVariance(value, variance)


@dataclass(frozen=True, slots=True)
class DelongTest:
    """DeLong's test of two confidences of the same answers.

    Attributes
    ----------
    estimate : float
        First AUROC less second.
    statistic, p_value : float
        z, and its two-sided p; 0 and 1 where the two rank every pair alike.
    first, second : float
        The two AUROCs.
    """

    estimate: float
    statistic: float
    p_value: float
    first: float
    second: float


def delong_test(first: ArrayLike, second: ArrayLike, correct: ArrayLike) -> DelongTest:
    r"""Test whether two confidences of the *same* answers rank them equally well; answers independent.

    Use it for two elicitations of confidence from one set of answers. Not for two models
    (`auroc_difference`), nor with families.

    Parameters
    ----------
    first, second : array_like of float, shape (n,)
        The two confidences, in [0, 1].
    correct : array_like of int or bool, shape (n,)
        0 or 1.

    Returns
    -------
    DelongTest

    Raises
    ------
    PairstatsError
        With fewer than two right or two wrong answers, or no variation to judge a difference by.

    Notes
    -----
    :math:`z = (A_1 - A_2) / \sqrt{\mathrm{var}(D_r) / n_r + \mathrm{var}(D_w) / n_w}` with the differences D
    of the placements of right and of wrong answers under the two confidences.

    References
    ----------
    DeLong ER, DeLong DM, Clarke-Pearson DL (1988). Biometrics 44:837-845. doi:10.2307/2531595.

    Examples
    --------
    >>> test = delong_test([0.9, 0.8, 0.7, 0.4], [0.9, 0.5, 0.7, 0.4], [1, 1, 0, 0])
    >>> test.estimate, round(test.p_value, 4)
    (0.25, 0.4795)
    """
    one, outcome = as_forecasts(first, correct)
    two, _ = as_forecasts(second, correct)
    right = outcome == 1
    n_right, n_wrong = int(right.sum()), int((~right).sum())
    if n_right < 2 or n_wrong < 2:
        raise PairstatsError(
            f"DeLong's test must have two right and two wrong answers, but got {n_right} and {n_wrong}. "
            "Without them no error can be estimated."
        )
    placed = _placements(one, outcome), _placements(two, outcome)
    scale = n_right * n_wrong
    values = [float(each[right].sum()) / scale for each in placed]
    gap = placed[0] - placed[1]
    variance = float(np.var(gap[right] / n_wrong, ddof=1)) / n_right
    variance += float(np.var(gap[~right] / n_right, ddof=1)) / n_wrong
    estimate = values[0] - values[1]
    if variance <= 1e-20:
        if abs(estimate) > 1e-10:
            raise PairstatsError(
                f"DeLong's test must have variation between answers, but the two AUROCs {values[0]:g} and "
                f"{values[1]:g} differ alike on every answer. Use `auroc_difference` or more answers."
            )
        return DelongTest(0.0, 0.0, 1.0, *values)
    z = estimate / math.sqrt(variance)
    return DelongTest(estimate, z, as_p(2 * float(ndtr(-abs(z)))), *values)


def _placements(stated: FloatArray, outcome: FloatArray) -> FloatArray:
    """For a right answer the wrong ones below it, for a wrong one the right ones above; ties count half."""
    _, level = np.unique(snapped(stated), return_inverse=True)
    right = np.bincount(level, weights=outcome)
    wrong = np.bincount(level, weights=1 - outcome)
    below = (np.cumsum(wrong) - wrong / 2)[level]
    above = (right.sum() - np.cumsum(right) + right / 2)[level]
    return np.where(outcome == 1, below, above)


def _leave_families_out(stated: FloatArray, outcome: FloatArray, codes: IntArray) -> tuple[float, FloatArray]:
    """AUROC of all families, and without each of them; NaN where one kind of answer is absent."""
    right, wrong = family_sums(outcome, codes), family_sums(1 - outcome, codes)
    pairs = family_sums(_placements(stated, outcome), codes)
    total = float(pairs.sum()) / 2  # every pair is seen from both its answers
    own = np.zeros(right.size)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(right.size + 1))
    for family in np.flatnonzero((right > 0) & (wrong > 0)).tolist():
        members = order[starts[family] : starts[family + 1]]
        own[family] = _placements(stated[members], outcome[members]).sum() / 2
    left = (right.sum() - right) * (wrong.sum() - wrong)
    with np.errstate(invalid="ignore", divide="ignore"):
        without = np.where(left > 0, (total - pairs + own) / left, math.nan)
    both = float(right.sum() * wrong.sum())
    return total / both if both else math.nan, without
