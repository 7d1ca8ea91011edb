"""Whether stated confidence matches accuracy: reliability curve and CORP decomposition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import as_count, as_scores
from pairstats.numeric.lattice import snapped
from pairstats.numeric.scores import as_forecasts

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Bins = int | str | Sequence[float]

EDGE_RULES = ("right-closed", "left-closed")

_ON_EDGE = 1e-9
"""A confidence this close to an edge lies on it: 0.7000000000000001 is 0.7."""


@dataclass(frozen=True, slots=True)
class CalibrationCurve:
    """Accuracy by stated confidence; bins without an answer are left out and counted.

    Attributes
    ----------
    low, high : ndarray of float, shape (K,)
        Edges of each bin; for "distinct" and "corp" the least and the greatest confidence in it.
    mean_confidence : ndarray of float, shape (K,)
        Mean confidence of the answers in each bin.
    n, n_correct : ndarray of int, shape (K,)
        Answers and right answers.
    accuracy : ndarray of float, shape (K,)
        ``n_correct / n``; for "corp" the isotonic fit.
    bins : str
        "distinct", "corp", or the number of bins.
    edges : str
        "right-closed", "left-closed", or "" where no edge decides.
    n_empty : int
        Bins without an answer.
    """

    low: FloatArray
    high: FloatArray
    mean_confidence: FloatArray
    n: IntArray
    n_correct: IntArray
    accuracy: FloatArray
    bins: str
    edges: str
    n_empty: int


def calibration_curve(
    confidence: ArrayLike, correct: ArrayLike, *, bins: Bins = "distinct", edges: str = "right-closed"
) -> CalibrationCurve:
    """Accuracy of answers by their stated confidence (reliability diagram).

    Use it to draw accuracy against confidence. Not to judge calibration by eye: `calibration_test` does that,
    and `corp_band` gives the curve its band by family.

    Parameters
    ----------
    confidence : array_like of float, shape (n,)
        Stated probability of being correct, in [0, 1].
    correct : array_like of int or bool, shape (n,)
        0 or 1.
    bins : "distinct", "corp", int, or sequence of float
        One bin a distinct value (for models that state few values); the pools of isotonic regression,
        equal confidences pooled first; equal-width bins on [0, 1]; or edges, increasing.
    edges : {"right-closed", "left-closed"}
        Which bin a confidence on an edge belongs to. The outermost edges always belong to the end bins.

    Returns
    -------
    CalibrationCurve

    Raises
    ------
    PairstatsError
        If a value is out of range, or edges do not increase or leave a confidence out.

    Notes
    -----
    In each bin the mean confidence and the share of right answers; "corp" pools by isotonic regression, equal
    confidences first.

    References
    ----------
    Dimitriadis T, Gneiting T, Jordan AI (2021). Stable reliability diagrams for probabilistic
    classifiers. PNAS 118:e2016191118. doi:10.1073/pnas.2016191118.

    Examples
    --------
    >>> curve = calibration_curve([0.9, 0.95, 0.9, 1.0], [0, 1, 1, 1])
    >>> curve.low.tolist(), curve.n.tolist(), curve.accuracy.tolist()
    ([0.9, 0.95, 1.0], [2, 1, 1], [0.5, 1.0, 1.0])
    """
    stated, outcome = as_forecasts(confidence, correct)
    one_of("edges", edges, EDGE_RULES)
    grouping = grouped(stated, outcome, bins, edges)
    used, position = np.unique(grouping.index, return_inverse=True)
    n = np.bincount(position)
    n_correct = np.bincount(position, weights=outcome)
    return CalibrationCurve(
        low=grouping.low[used],
        high=grouping.high[used],
        mean_confidence=np.bincount(position, weights=stated) / n,
        n=n.astype(np.int64),
        n_correct=np.rint(n_correct).astype(np.int64),
        accuracy=n_correct / n,
        bins=bins if isinstance(bins, str) else str(grouping.low.size),
        edges="" if isinstance(bins, str) else edges,
        n_empty=grouping.low.size - used.size,
    )


@dataclass(frozen=True, slots=True)
class CorpDecomposition:
    """Brier score split by isotonic recalibration: ``brier = miscalibration - discrimination + uncertainty``.

    Attributes
    ----------
    brier : float
        Mean squared difference of confidence and outcome.
    miscalibration : float
        MCB: what recalibration would gain. Biased up, since the fit is to the same answers.
    discrimination : float
        DSC: what the recalibrated confidence gains over the overall accuracy.
    uncertainty : float
        UNC: score of the overall accuracy.
    recalibrated : ndarray of float, shape (n,)
        Isotonic fit for each answer.
    """

    brier: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    recalibrated: FloatArray


def corp_decomposition(confidence: ArrayLike, correct: ArrayLike) -> CorpDecomposition:
    r"""Decompose the Brier score by CORP: isotonic regression with equal confidences pooled first.

    Use it for confidences of many distinct values. Not as a test: the miscalibration is biased up in the
    sample, and `calibration_test` holds it against its null.

    Parameters
    ----------
    confidence : array_like of float, shape (n,)
        Stated probability of being correct, in [0, 1].
    correct : array_like of int or bool, shape (n,)
        0 or 1.

    Returns
    -------
    CorpDecomposition

    Notes
    -----
    With S the mean Brier score of the confidences f, of the recalibrated ones :math:`\hat f` and of the base
    rate: miscalibration :math:`S(f) - S(\hat f)`, discrimination :math:`S(\bar y) - S(\hat f)`, uncertainty
    :math:`S(\bar y)`.

    References
    ----------
    Dimitriadis T, Gneiting T, Jordan AI (2021). Stable reliability diagrams for probabilistic
    classifiers. PNAS 118:e2016191118. doi:10.1073/pnas.2016191118.

    Examples
    --------
    >>> parts = corp_decomposition([0.9, 0.9, 0.6, 0.6], [1, 0, 0, 1])
    >>> round(parts.miscalibration, 6), parts.discrimination, parts.uncertainty
    (0.085, 0.0, 0.25)
    """
    stated, outcome = as_forecasts(confidence, correct)
    _, level, fitted = _isotonic(stated, outcome)
    recalibrated = fitted[level]
    score = float(np.mean((stated - outcome) ** 2))
    best = float(np.mean((recalibrated - outcome) ** 2))
    rate = float(outcome.mean())
    base = rate * (1 - rate)
    return CorpDecomposition(score, score - best, base - best, base, recalibrated)


@dataclass(frozen=True, slots=True)
class Grouping:
    """Bin of each answer, and the ends of every bin, empty ones included."""

    index: IntArray
    low: FloatArray
    high: FloatArray


def grouped(stated: FloatArray, outcome: FloatArray, bins: Bins, edges: str) -> Grouping:
    """Put each answer into its bin; arguments as in `calibration_curve`, already checked.

    Examples
    --------
    >>> grouped(np.array([0.0, 0.5, 1.0]), np.ones(3), 2, "right-closed").index.tolist()
    [0, 0, 1]
    """
    if isinstance(bins, str):
        one_of("bins", bins, ("distinct", "corp"))
        values, level, fitted = _isotonic(stated, outcome)
        if bins == "distinct":
            return Grouping(level, values, values)
        # Pools: neighbouring values with one fit.
        pool = np.concatenate(([0], np.cumsum(np.abs(np.diff(fitted)) > 1e-12)))
        starts = np.flatnonzero(np.concatenate(([True], np.diff(pool) > 0)))
        ends = np.append(starts[1:], values.size) - 1
        return Grouping(pool[level], values[starts], values[ends])
    limits = _bin_edges(stated, bins)
    nearest = limits[np.argmin(np.abs(np.subtract.outer(stated, limits)), axis=1)]
    exact = np.where(np.abs(stated - nearest) <= _ON_EDGE, nearest, stated)
    side: Literal["left", "right"] = "left" if edges == "right-closed" else "right"
    index = np.searchsorted(limits, exact, side=side) - 1
    return Grouping(np.clip(index, 0, limits.size - 2), limits[:-1], limits[1:])


def _bin_edges(stated: FloatArray, bins: int | Sequence[float]) -> FloatArray:
    if np.ndim(bins) == 0:
        count = as_count("bins", bins, minimum=1)
        return np.arange(count + 1) / count
    limits = as_scores("bins", bins)
    if limits.size < 2 or np.any(np.diff(limits) <= 0):
        raise PairstatsError(
            f"Edges in `bins` must increase, but got {list(limits)}. Pass for example [0, 0.5, 1]."
        )
    outside = np.flatnonzero((stated < limits[0] - _ON_EDGE) | (stated > limits[-1] + _ON_EDGE))
    if outside.size:
        raise PairstatsError(
            f"Edges in `bins` must span all confidences, but {outside.size} lie outside, the first at "
            f"position {outside[0]}. Begin with 0 and end with 1."
        )
    return limits


def _isotonic(stated: FloatArray, outcome: FloatArray) -> tuple[FloatArray, IntArray, FloatArray]:
    """Distinct confidences, the place of each answer among them, and their isotonic fit."""
    values, level, counts = np.unique(snapped(stated), return_inverse=True, return_counts=True)
    accuracy = np.bincount(level, weights=outcome) / counts
    return values, level, isotonic_regression(accuracy, weights=counts).x
