"""Over- and under-confidence, accuracy by stated value, and the Brier scores of two models, by family.

Rules for confidence: 0 and 1 are taken as stated; a missing one is refused with its position, so that it is
dropped and counted before; thresholds are inclusive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError
from pairstats.numeric.calibration import Bins, CalibrationCurve, calibration_curve, grouped
from pairstats.numeric.exact import SignFlipTest, sign_flip
from pairstats.numeric.family import Kind
from pairstats.numeric.scores import as_forecasts
from pairstats.numeric.shares import Families, Share, family_codes, family_share, family_sums

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Overconfidence:
    """Over- and under-confidence, with family intervals.

    Attributes
    ----------
    gap : Share
        Calibration in the large: mean confidence less accuracy, on [-1, 1]; positive: overconfident.
    confident_gap : Share
        The same among the confident answers.
    wrong_of_confident, wrong_of_all : Share
        Confident errors: share of the confident answers that are wrong; share of all answers that are
        confident and wrong.
    right_of_unsure, right_of_all : Share
        Unsure successes: share of the unsure answers that are right; share of all answers that are unsure
        and right.
    confident, unsure : float
        Confident means at least, unsure at most this; both inclusive (but for rounding).
    n, n_confident, n_unsure : int
        Answers.
    """

    gap: Share
    confident_gap: Share
    wrong_of_confident: Share
    wrong_of_all: Share
    right_of_unsure: Share
    right_of_all: Share
    confident: float
    unsure: float
    n: int
    n_confident: int
    n_unsure: int


def overconfidence(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    families: Families = None,
    confident: float = 0.9,
    unsure: float = 0.5,
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> Overconfidence:
    r"""Calibration in the large, and errors made with confidence and successes without it.

    Use it first: one number with a sign. Not alone: over- and under-confidence that cancel are hidden;
    `calibration_table` shows them. Both denominators of a confident error are given, since they answer
    different questions.

    Parameters
    ----------
    confidence : array_like of float, shape (n,)
        Stated probability of being correct, in [0, 1].
    correct : array_like of int or bool, shape (n,)
        0 or 1.
    families : sequence, shape (n,), optional
        Family of each answer; left out, each is its own.
    confident, unsure : float
        Thresholds in [0, 1], `unsure` below `confident`; part of what one registers.
    kind : {"jeffreys", "cp"}
        As in `family_interval`.
    confidence_level : float, default 0.95

    Returns
    -------
    Overconfidence
        A share of no answer is NaN with the whole range as limits.

    Notes
    -----
    :math:`\bar f - \bar y` as a mean of family scores on [-1, 1]; the shares by `family_share`.

    References
    ----------
    Learned-Miller, E. & Thomas, P. S. (2019). A new confidence interval for the mean of a bounded random
    variable. arXiv:1905.06208

    Examples
    --------
    >>> found = overconfidence([0.95, 0.9, 0.4, 1.0], [0, 1, 1, 1])
    >>> round(found.gap.value, 4), round(found.wrong_of_confident.value, 4), found.wrong_of_all.value
    (0.0625, 0.3333, 0.25)
    """
    if not 0 <= unsure < confident <= 1:
        raise PairstatsError(
            f"`unsure` must be below `confident`, both in [0, 1], but got {unsure!r} and {confident!r}. "
            "Write for example 0.5 and 0.9."
        )
    stated, outcome = as_forecasts(confidence, correct)
    codes = family_codes(families, stated.size)
    sure, doubts = stated >= confident - 1e-12, stated <= unsure + 1e-12
    everything = np.ones(stated.size)

    def share(top: ArrayLike, below: ArrayLike, low: float = 0.0) -> Share:
        return family_share(
            family_sums(top, codes), family_sums(below, codes), kind=kind, bounds=(low, 1.0),
            confidence_level=confidence_level,
        )  # fmt: skip

    return Overconfidence(
        gap=share(stated - outcome, everything, -1.0),
        confident_gap=share((stated - outcome) * sure, sure, -1.0),
        wrong_of_confident=share(sure * (1 - outcome), sure),
        wrong_of_all=share(sure * (1 - outcome), everything),
        right_of_unsure=share(doubts * outcome, doubts),
        right_of_all=share(doubts * outcome, everything),
        confident=confident,
        unsure=unsure,
        n=stated.size,
        n_confident=int(sure.sum()),
        n_unsure=int(doubts.sum()),
    )


@dataclass(frozen=True, slots=True)
class CalibrationTable:
    """Accuracy by stated confidence with family intervals: the reliability diagram as a table.

    Attributes
    ----------
    curve : CalibrationCurve
        Bins, answers, right answers and accuracy, K bins.
    conf_low, conf_high : ndarray of float, shape (K,)
        Limits of each accuracy alone, not of the curve as a whole.
    n_families : ndarray of int, shape (K,)
        Families with an answer in the bin.
    method : str
    """

    curve: CalibrationCurve
    conf_low: FloatArray
    conf_high: FloatArray
    n_families: IntArray
    method: str


def calibration_table(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    families: Families = None,
    bins: Bins = "distinct",
    edges: str = "right-closed",
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> CalibrationTable:
    r"""Accuracy in each bin of stated confidence, with its family interval.

    Use it for models that state few values. Not with many distinct values, where `corp_band` needs no bins.
    With one answer a family, "cp" is Clopper-Pearson.

    Parameters
    ----------
    confidence, correct, bins, edges
        As in `calibration_curve`; not "corp", whose bins are fitted to the outcomes.
    families : sequence, shape (n,), optional
        Family of each answer; left out, each is its own.
    kind : {"jeffreys", "cp"}
        As in `family_interval`.
    confidence_level : float, default 0.95

    Returns
    -------
    CalibrationTable

    Notes
    -----
    In each bin :math:`\sum y / n`, as a ratio of family totals with the limits of `family_interval`.

    References
    ----------
    Dimitriadis, T., Gneiting, T. & Jordan, A. I. (2021). PNAS 118, e2016191118. doi:10.1073/pnas.2016191118

    Examples
    --------
    >>> table = calibration_table([0.9] * 10 + [1.0] * 5, [1] * 8 + [0] * 2 + [1] * 5, kind="cp")
    >>> table.conf_low.round(3).tolist(), table.conf_high.round(3).tolist()
    ([0.444, 0.478], [0.975, 1.0])
    """
    if bins == "corp":
        raise PairstatsError("`bins` must not be fitted to the outcomes, but got 'corp'. See `corp_band`.")
    stated, outcome = as_forecasts(confidence, correct)
    codes = family_codes(families, stated.size)
    curve = calibration_curve(stated, outcome, bins=bins, edges=edges)
    _, place = np.unique(grouped(stated, outcome, bins, edges).index, return_inverse=True)
    shares = [
        family_share(
            family_sums(outcome * (place == k), codes), family_sums(place == k, codes), kind=kind,
            confidence_level=confidence_level,
        )
        for k in range(curve.n.size)
    ]  # fmt: skip
    return CalibrationTable(
        curve=curve,
        conf_low=np.array([one.low for one in shares]),
        conf_high=np.array([one.high for one in shares]),
        n_families=np.array([one.n_families for one in shares], dtype=np.int64),
        method=shares[0].method,
    )


@dataclass(frozen=True, slots=True)
class BrierDifference:
    """Brier score of one model less that of another, on the same items.

    Attributes
    ----------
    estimate, low, high : float
        First less second, signed, with the family interval on [-1, 1]; negative: the first is better.
    test : SignFlipTest
        Exact sign-flip test of the family totals.
    first, second : float
        The two scores.
    n, n_families : int
    method : str
    """

    estimate: float
    low: float
    high: float
    test: SignFlipTest
    first: float
    second: float
    n: int
    n_families: int
    method: str


def brier_difference(
    first: tuple[ArrayLike, ArrayLike],
    second: tuple[ArrayLike, ArrayLike],
    *,
    families: Families = None,
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> BrierDifference:
    """Compare the Brier scores of two models by paired family differences.

    Use it to compare stated confidence and accuracy in one. Not for ranking alone,
    which `auroc_difference` covers; DeLong's test is not for two models, as their outcomes differ.

    Parameters
    ----------
    first, second : pair of array_like, shape (n,)
        Confidence and correctness of each model, on the same items in the same order. Items that a model
        did not answer are dropped, and counted, before.
    families : sequence, shape (n,), optional
        Family of each item; left out, each is its own.
    kind : {"jeffreys", "cp"}
        As in `family_interval`.
    confidence_level : float, default 0.95

    Returns
    -------
    BrierDifference

    Notes
    -----
    Family means of :math:`(f_A - y_A)^2 - (f_B - y_B)^2` on [-1, 1], with the limits of `family_interval` and
    the p-value of `sign_flip`.

    References
    ----------
    Brier, G. W. (1950). Monthly Weather Review 78, 1-3.
    doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2

    Examples
    --------
    >>> found = brier_difference(([0.9, 0.6], [1, 1]), ([0.9, 0.9], [1, 0]))
    >>> round(found.estimate, 3), found.test.p_value
    (-0.325, 1.0)
    """
    scores = [(f - y) ** 2 for f, y in (as_forecasts(*first), as_forecasts(*second))]
    if scores[0].size != scores[1].size:
        raise PairstatsError(
            f"`first` and `second` must hold the same items, but have {scores[0].size} and "
            f"{scores[1].size}. Keep the items that both models answered, in the same order."
        )
    codes = family_codes(families, scores[0].size)
    totals = family_sums(scores[0] - scores[1], codes)
    found = family_share(
        totals, family_sums(np.ones(codes.size), codes), kind=kind, bounds=(-1.0, 1.0),
        confidence_level=confidence_level,
    )  # fmt: skip
    return BrierDifference(
        found.value, found.low, found.high, sign_flip(totals), float(scores[0].mean()),
        float(scores[1].mean()), codes.size, found.n_families, found.method,
    )  # fmt: skip
