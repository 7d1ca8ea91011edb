"""What sending doubtful cases to a person buys: by agreement of the copies, and by stated confidence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError
from pairstats.numeric.copies import Answers, family_marks
from pairstats.numeric.family import Kind
from pairstats.numeric.jackknife import jackknife_interval
from pairstats.numeric.lattice import snapped
from pairstats.numeric.scores import as_forecasts
from pairstats.numeric.shares import Families, Share, family_codes, family_share

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ReviewPoint:
    """One point of the review curve: keep families that agree at least this much, send the others.

    Attributes
    ----------
    agreement : float
        Smallest pairwise agreement that is kept without review; 1: only families whose copies all agree.
    coverage : float
        Share of families kept.
    risk : Share
        Wrong copies among those kept: the error rate of an answer that nobody looks at.
    error : Share
        Error rate of all families when a person answers those sent.
    error_at_random : float
        The same when as many families are sent at random.
    """

    agreement: float
    coverage: float
    risk: Share
    error: Share
    error_at_random: float


@dataclass(frozen=True, slots=True)
class ReviewCurve:
    """Coverage and risk as families that disagree are sent to a person.

    Attributes
    ----------
    points : tuple of ReviewPoint
        From everything kept (coverage 1) to only full agreement kept.
    unreviewed : Share
        Error rate when nothing is sent.
    n_families, n_too_few, n_missing : int
        As in `FlipErrors`.
    """

    points: tuple[ReviewPoint, ...]
    unreviewed: Share
    n_families: int
    n_too_few: int
    n_missing: int


def review_curve(
    answers: Answers,
    correct: Answers,
    *,
    reviewer_accuracy: float = 1.0,
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> ReviewCurve:
    """Coverage-risk curve: the errors that remain when families whose copies disagree go to a person.

    Use it to price review by disagreement. A kept family answers with one of its copies, drawn at random, so
    its error is the share of its wrong copies; a majority vote would be another system. Limits are for each
    point alone. Not for deferral by stated confidence, which `aurc` covers.

    Parameters
    ----------
    answers, correct : array or list of lists
        As in `flip_transitions`.
    reviewer_accuracy : float, default 1.0
        Share of the families sent that the person answers right, in [0, 1].
    kind : {"jeffreys", "cp"}
        As in `family_interval`.
    confidence_level : float, default 0.95

    Returns
    -------
    ReviewCurve

    Notes
    -----
    Families sorted by disagreement; at each share kept, the share of wrong copies among them, by
    `family_share`.

    References
    ----------
    El-Yaniv R, Wiener Y (2010). On the foundations of noise-free selective classification. J Mach Learn Res
    11:1605-1641. Geifman Y, El-Yaniv R (2017). Selective classification for deep neural networks.
    arXiv:1705.08500.

    Examples
    --------
    >>> curve = review_curve([["A", "A"], ["A", "B"], ["C", "C"], ["A", "A"]],
    ...                      [[1, 1], [1, 0], [0, 0], [1, 1]])
    >>> [(p.agreement, p.coverage, round(p.risk.value, 3), p.error.value) for p in curve.points]
    [(0.0, 1.0, 0.375, 0.375), (1.0, 0.75, 0.333, 0.25)]
    """
    if not 0 <= reviewer_accuracy <= 1:
        raise PairstatsError(
            f"`reviewer_accuracy` must lie in [0, 1], but got {reviewer_accuracy!r}. Write 1 for a person "
            "who is always right."
        )
    found = family_marks(answers, correct)
    wrong = found.wrong
    agreement = snapped(1 - found.disagreement)
    ones = np.ones(wrong.size)

    def share(top: FloatArray, below: FloatArray) -> Share:
        return family_share(top, below, kind=kind, confidence_level=confidence_level)

    def point(least: float) -> ReviewPoint:
        keeps = (agreement >= least).astype(float)
        covered = float(keeps.mean())
        missed = 1 - reviewer_accuracy
        return ReviewPoint(
            agreement=least,
            coverage=covered,
            risk=share(keeps * wrong, keeps),
            error=share(np.where(keeps == 1, wrong, missed), ones),
            error_at_random=covered * float(wrong.mean()) + (1 - covered) * missed,
        )

    return ReviewCurve(
        points=tuple(point(float(least)) for least in np.unique(agreement)),
        unreviewed=share(wrong, ones),
        n_families=wrong.size,
        n_too_few=found.n_too_few,
        n_missing=found.n_missing,
    )


@dataclass(frozen=True, slots=True)
class Aurc:
    """Area under the risk-coverage curve of confidence; lower is better.

    Attributes
    ----------
    value : float
        In [0, 1]; the overall error rate where confidence says nothing.
    low, high : float
        Logit jackknife-t limits by family; [0, 1] where undefined.
    best : float
        The area if every right answer had more confidence than every wrong one.
    error_rate : float
        Share of wrong answers.
    n, n_families : int
    method : str
    """

    value: float
    low: float
    high: float
    best: float
    error_rate: float
    n: int
    n_families: int
    method: str

    @property
    def excess(self) -> float:
        """Area above the best one for this error rate."""
        return self.value - self.best


def aurc(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    families: Families = None,
    confidence_level: float = 0.95,
) -> Aurc:
    r"""Area under the risk-coverage curve: mean error rate of the most confident 1, 2, ..., n answers.

    Use it for deferral by confidence at an unknown budget. Not to compare models whose error rates differ: it
    mixes both, so take `excess`, or `auroc_interval`, which does not. Equal confidences are drawn in random
    order: the expected area is given.

    Parameters
    ----------
    confidence : array_like of float, shape (n,)
        Stated probability of being correct, in [0, 1].
    correct : array_like of int or bool, shape (n,)
        0 or 1.
    families : sequence, shape (n,), optional
        Family of each answer; left out, each is its own.
    confidence_level : float, default 0.95

    Returns
    -------
    Aurc

    Notes
    -----
    :math:`n^{-1} \sum_j W_j / j` with :math:`W_j` the wrong answers among the j most confident. The
    jackknife recomputes it without each kind of family, at a cost of kinds times answers.

    References
    ----------
    Geifman Y, Uziel G, El-Yaniv R (2019). Bias-reduced uncertainty estimation for deep neural classifiers.
    ICLR. arXiv:1805.08206.

    Examples
    --------
    >>> aurc([0.9, 0.8, 0.7, 0.6], [1, 1, 1, 0]).value
    0.0625
    """
    stated, outcome = as_forecasts(confidence, correct)
    codes = family_codes(families, stated.size)
    _, level = np.unique(-snapped(stated), return_inverse=True)  # most confident first
    n = np.bincount(level)
    wrong: FloatArray = np.bincount(level, weights=1 - outcome).astype(np.float64)
    value = _area(n, wrong)
    without = _without_families(level, outcome, codes, n, wrong)
    found = jackknife_interval(value, without, scale="logit", confidence_level=confidence_level)
    n_wrong = int(wrong.sum())
    best = _area(np.array([stated.size - n_wrong, n_wrong]), np.array([0.0, n_wrong]))
    return Aurc(
        value, found.low, found.high, best, n_wrong / stated.size, stated.size, without.size, found.method
    )


def _without_families(
    level: NDArray[Any], outcome: FloatArray, codes: NDArray[Any], n: NDArray[Any], wrong: FloatArray
) -> FloatArray:
    """Area without each family; families with equal confidences and outcomes share one computation."""
    order = np.lexsort((outcome, level, codes))
    members = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    areas: dict[bytes, float] = {}
    without = np.empty(len(members))
    for position, family in enumerate(members):
        key = (2 * level[family] + outcome[family].astype(np.int64)).tobytes()
        if key not in areas:
            own = np.bincount(level[family], minlength=n.size)
            own_wrong = np.bincount(level[family], weights=1 - outcome[family], minlength=n.size)
            areas[key] = _area(n - own, wrong - own_wrong)
        without[position] = areas[key]
    return without


def _area(n: NDArray[Any], wrong: FloatArray) -> float:
    """Area from the answers and wrong answers at each confidence, the largest confidence first."""
    total = int(n.sum())
    if total == 0:
        return math.nan
    taken = np.arange(1, total + 1)
    place = np.repeat(np.arange(n.size), n)
    before, wrong_before = np.cumsum(n) - n, np.cumsum(wrong) - wrong
    expected = wrong_before[place] + wrong[place] * (taken - before[place]) / n[place]
    return float(np.mean(expected / taken))
