"""Scores of stated confidence: Brier, log loss, confident errors, ranking of right before wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError
from pairstats.numeric.checks import as_scores
from pairstats.numeric.lattice import snapped

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MeanScore:
    """A score that is the mean of one value for each item.

    Attributes
    ----------
    value : float
        The mean.
    per_item : ndarray of float, shape (n,)
        Score of each item, for family means and paired differences.
    n_infinite : int
        Items whose score is infinite before clipping; always 0 for the Brier score.
    """

    value: float
    per_item: FloatArray
    n_infinite: int = 0


def brier(confidence: ArrayLike, correct: ArrayLike) -> MeanScore:
    r"""Brier score :math:`(f_i - y_i)^2`, its mean and its value for each item. Lower is better.

    Use it to score stated confidence and accuracy in one proper number. Not to tell the two apart, which
    `brier_decomposition` and `corp_decomposition` do; for the interval over families see `family_interval`.

    Parameters
    ----------
    confidence : array_like of float, shape (n,)
        Stated probability of being correct, in [0, 1].
    correct : array_like of float or bool, shape (n,)
        Outcome, in [0, 1]; usually 0 or 1.

    Returns
    -------
    MeanScore

    Raises
    ------
    PairstatsError
        If lengths differ, or a value is not finite or out of range; positions are named.

    Notes
    -----
    :math:`\frac{1}{n} \sum_i (f_i - y_i)^2`.

    References
    ----------
    Brier GW (1950). Verification of forecasts expressed in terms of probability. Mon Weather
    Rev 78:1-3. doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2.

    Examples
    --------
    >>> round(brier([0.9, 0.8, 1.0], [1, 0, 1]).value, 6)
    0.216667
    """
    stated, outcome = as_forecasts(confidence, correct, binary=False)
    per_item = (stated - outcome) ** 2
    return MeanScore(float(per_item.mean()), per_item)


def log_loss(confidence: ArrayLike, correct: ArrayLike, *, eps: float = 1e-3) -> MeanScore:
    r"""Logarithmic score :math:`-\log f` of a right, :math:`-\log(1 - f)` of a wrong answer (natural log).

    Use it where a wrong answer at high confidence shall weigh much more than in the Brier score. Not with a
    bounded family interval: it has no upper end, so `cr2_interval` covers it; `brier` is the bounded score.

    A wrong answer at confidence 1 scores infinity, so confidences are clipped; how many scores were
    infinite is reported.

    Parameters
    ----------
    confidence : array_like of float, shape (n,)
        Stated probability of being correct, in [0, 1].
    correct : array_like of int or bool, shape (n,)
        0 or 1.
    eps : float, default 1e-3
        Confidences are clipped to [eps, 1 - eps]; in (0, 1/2). Part of what one registers.

    Returns
    -------
    MeanScore

    Notes
    -----
    The mean of :math:`-\log(y f + (1 - y)(1 - f))` with f clipped to :math:`[\epsilon, 1 - \epsilon]`.

    References
    ----------
    Gneiting, T. & Raftery, A. E. (2007). Journal of the American Statistical Association 102, 359-378.
    doi:10.1198/016214506000001437

    Examples
    --------
    >>> score = log_loss([1.0, 0.5], [0, 1])
    >>> round(score.value, 4), score.n_infinite
    (3.8005, 1)
    """
    if not 0 < eps < 0.5:
        raise PairstatsError(f"`eps` must lie strictly between 0 and 1/2, but got {eps!r}. Write 0.001.")
    stated, outcome = as_forecasts(confidence, correct)
    right = outcome == 1
    infinite = int(np.sum(np.where(right, stated, 1 - stated) == 0))
    clipped = np.clip(stated, eps, 1 - eps)
    per_item = -np.where(right, np.log(clipped), np.log1p(-clipped))
    return MeanScore(float(per_item.mean()), per_item, infinite)


@dataclass(frozen=True, slots=True)
class ConfidentWrong:
    """Wrong answers given with high confidence, with both denominators.

    Attributes
    ----------
    threshold : float
        Confident means at least this.
    n : int
        Answers.
    n_confident : int
        Confident answers.
    n_wrong : int
        Confident and wrong answers.
    """

    threshold: float
    n: int
    n_confident: int
    n_wrong: int

    @property
    def share_of_confident(self) -> float:
        """Share of the confident answers that are wrong; NaN if none is confident."""
        return self.n_wrong / self.n_confident if self.n_confident else math.nan

    @property
    def share_of_all(self) -> float:
        """Share of all answers that are confident and wrong."""
        return self.n_wrong / self.n


def confident_wrong(confidence: ArrayLike, correct: ArrayLike, *, threshold: float = 0.9) -> ConfidentWrong:
    r"""Count confident errors.

    Use it to count errors that were stated with confidence, at a registered threshold. Not without its
    denominators, and not for the sign of a miscalibration, which `overconfidence` gives.

    Parameters
    ----------
    confidence : array_like of float, shape (n,)
        Stated probability of being correct, in [0, 1].
    correct : array_like of int or bool, shape (n,)
        0 or 1.
    threshold : float, default 0.9
        Confident means at least this (but for rounding).

    Returns
    -------
    ConfidentWrong

    Notes
    -----
    Wrong among :math:`f \ge t`, as a share of the confident answers and as a share of all; limits over families
    come from `family_share`.

    References
    ----------
    Learned-Miller, E. & Thomas, P. S. (2019). A new confidence interval for the mean of a bounded random
    variable. arXiv:1905.06208

    Examples
    --------
    >>> found = confident_wrong([0.9, 0.95, 0.5, 1.0], [0, 1, 0, 1])
    >>> found.share_of_confident, found.share_of_all
    (0.3333333333333333, 0.25)
    """
    if not 0 <= threshold <= 1:
        raise PairstatsError(f"`threshold` must lie in [0, 1], but got {threshold!r}. Write 0.9 for 90 %.")
    stated, outcome = as_forecasts(confidence, correct)
    confident = stated >= threshold - 1e-12
    return ConfidentWrong(
        threshold, outcome.size, int(confident.sum()), int(np.sum(confident & (outcome == 0)))
    )


@dataclass(frozen=True, slots=True)
class Auroc:
    """Probability that a right answer carries more confidence than a wrong one, ties counting half.

    Attributes
    ----------
    value : float
        In [0, 1]; NaN if no answer is right or none is wrong.
    n_correct, n_wrong : int
        Answers of each kind.
    """

    value: float
    n_correct: int
    n_wrong: int


def auroc(confidence: ArrayLike, correct: ArrayLike) -> Auroc:
    """Area under the ROC curve of confidence for correctness: the Mann-Whitney share, ties counting half.

    Use it to say whether confidence ranks right above wrong answers. Not for calibration, which
    `calibration_test` covers, and not without limits: `auroc_interval` has them, by family.

    Parameters
    ----------
    confidence : array_like of float, shape (n,)
        Stated probability of being correct, in [0, 1].
    correct : array_like of int or bool, shape (n,)
        0 or 1.

    Returns
    -------
    Auroc

    Notes
    -----
    :math:`P(f_{right} > f_{wrong}) + P(f_{right} = f_{wrong}) / 2` over all pairs of a right and a wrong
    answer.

    References
    ----------
    Hanley, J. A. & McNeil, B. J. (1982). Radiology 143, 29-36. doi:10.1148/radiology.143.1.7063747

    Examples
    --------
    >>> auroc([0.9, 0.8, 0.8, 0.5], [1, 1, 0, 0]).value
    0.875
    """
    stated, outcome = as_forecasts(confidence, correct)
    _, level = np.unique(snapped(stated), return_inverse=True)
    right = np.bincount(level, weights=outcome)
    wrong = np.bincount(level, weights=1 - outcome)
    n_right, n_wrong = int(right.sum()), int(wrong.sum())
    if n_right == 0 or n_wrong == 0:
        return Auroc(math.nan, n_right, n_wrong)
    below = np.cumsum(wrong) - wrong / 2
    return Auroc(float(right @ below / (n_right * n_wrong)), n_right, n_wrong)


def as_forecasts(
    confidence: ArrayLike, correct: ArrayLike, *, binary: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Return confidences in [0, 1] and outcomes (0 or 1 if `binary`, else in [0, 1]) of equal length.

    Examples
    --------
    >>> as_forecasts([0.9], [2])
    Traceback (most recent call last):
        ...
    pairstats.errors.PairstatsError: `correct` must hold 0 or 1, but position 0 is 2. ...
    """
    stated, outcome = as_scores("confidence", confidence), as_scores("correct", correct)
    if stated.size != outcome.size:
        raise PairstatsError(
            f"`confidence` and `correct` must have one entry for each answer, but have {stated.size} and "
            f"{outcome.size}. Pass both for the same answers, in the same order."
        )
    _refuse("confidence", stated, (stated < 0) | (stated > 1), "lie in [0, 1]", "Divide percentages by 100.")
    if binary:
        wrong = (outcome != 0) & (outcome != 1)
        _refuse("correct", outcome, wrong, "hold 0 or 1", "Threshold partial credit, and say so.")
    else:
        wrong = (outcome < 0) | (outcome > 1)
        _refuse("correct", outcome, wrong, "lie in [0, 1]", "Divide points by their maximum.")
    return stated, outcome


def _refuse(name: str, values: FloatArray, wrong: NDArray[np.bool_], must: str, advice: str) -> None:
    at = np.flatnonzero(wrong)
    if at.size:
        more = f" and {at.size - 1} more do not" if at.size > 1 else ""
        raise PairstatsError(
            f"`{name}` must {must}, but position {at[0]} is {values[at[0]]:g}{more}. {advice}"
        )
