"""Whether stated confidence matches accuracy: reliability curve, ECE with its null, CORP decomposition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import as_count, as_scores
from pairstats.numeric.draws import derived_seed
from pairstats.numeric.lattice import snapped
from pairstats.numeric.pvalues import MonteCarloP, mc_p_value
from pairstats.numeric.scores import as_forecasts

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Bins = int | str | Sequence[float]

EDGE_RULES = ("right-closed", "left-closed")
NORMS = ("l1", "l2", "max")

_ON_EDGE = 1e-9
"""A confidence this close to an edge lies on it: 0.7000000000000001 is 0.7."""
_BLOCK = 2**22


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
    grouping = _grouping(stated, outcome, bins, edges)
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
class CalibrationError:
    """A calibration error and what a perfectly calibrated model would show on the same confidences.

    Attributes
    ----------
    value : float
        The error in the data. Signed where it is debiased: do not clip it.
    measure : str
        "l1", "l2" (root of the mean square), "max", or "debiased square".
    null_mean : float
        Its expectation if every answer were right with the probability stated. Compare `value` with this,
        not with 0.
    null_upper : float
        Upper 5 % point under the same null.
    p_value : MonteCarloP
        Of an error at least as large under the null; answers independent.
    n_singletons : int
        Bins of one answer; they contribute 0 to the debiased square (Kumar, Liang & Ma 2019).
    curve : CalibrationCurve
        The bins.
    n_resamples : int
        Draws from the null.
    seed : int or None
        Seed of the draws; None where a generator was given.
    """

    value: float
    measure: str
    null_mean: float
    null_upper: float
    p_value: MonteCarloP
    n_singletons: int
    curve: CalibrationCurve
    n_resamples: int
    seed: int | None


def expected_calibration_error(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    bins: Bins = 10,
    edges: str = "right-closed",
    norm: str = "l1",
    debiased: bool = False,
    n_resamples: int = 2000,
    rng: Any = None,
) -> CalibrationError:
    r"""Expected calibration error, with its null expectation under perfect calibration.

    With bins of :math:`n_k` of :math:`N` answers, mean confidence :math:`f_k`, accuracy :math:`o_k`:
    "l1" is :math:`\sum n_k |f_k - o_k| / N`, "l2" the root of :math:`\sum n_k (f_k - o_k)^2 / N`, "max" the
    largest :math:`|f_k - o_k|`. The plug-in error is biased up: on 80 answers a perfect model shows about
    .05 to .11. The debiased square :math:`\sum n_k [(f_k - o_k)^2 - o_k (1 - o_k) / (n_k - 1)] / N` is not.

    Parameters
    ----------
    confidence, correct, bins, edges
        As in `calibration_curve`, but not "corp", whose bins are fitted to the outcomes.
    norm : {"l1", "l2", "max"}
        Kind of error.
    debiased : bool, default False
        Give the debiased square; needs ``norm="l2"``.
    n_resamples : int, default 2000
        Draws of outcomes from the stated confidences, for the null.
    rng : int, numpy.random.Generator, SeedSequence or None
        Handed to `numpy.random.default_rng`; None takes a seed derived from the data.

    Returns
    -------
    CalibrationError

    Raises
    ------
    PairstatsError
        As `calibration_curve`; or if the options do not go together.

    References
    ----------
    Kumar A, Liang PS, Ma T (2019). Verified uncertainty calibration. NeurIPS 32.
    Brocker J, Smith LA (2007). Increasing the reliability of reliability diagrams. Weather and
    Forecasting 22:651-661. doi:10.1175/WAF993.1.

    Examples
    --------
    >>> error = expected_calibration_error([0.9] * 20 + [0.6] * 20, [1, 0] * 20, bins="distinct")
    >>> round(error.value, 4), error.value > error.null_upper
    (0.25, True)
    """
    one_of("norm", norm, NORMS)
    if bins == "corp" or (debiased and norm != "l2"):
        raise PairstatsError(
            f"`bins` must not be fitted to the outcomes and `debiased` must come with norm='l2', but got "
            f"bins={bins!r}, norm={norm!r}, debiased={debiased}. See `corp_decomposition` for CORP."
        )
    stated, outcome = as_forecasts(confidence, correct)
    curve = calibration_curve(stated, outcome, bins=bins, edges=edges)
    draws = as_count("n_resamples", n_resamples, minimum=1)
    measure = "debiased square" if debiased else norm
    value = float(_error(curve.n, curve.mean_confidence, curve.n_correct[None, :], measure)[0])
    seed = derived_seed(np.column_stack([stated, outcome])) if rng is None else rng
    index = _grouping(stated, outcome, bins, edges).index
    null = np.concatenate(
        [
            _error(curve.n, curve.mean_confidence, drawn, measure)
            for drawn in _null_counts(stated, index, draws, np.random.default_rng(seed))
        ]
    )
    return CalibrationError(
        value=value,
        measure=measure,
        null_mean=float(null.mean()),
        null_upper=float(np.quantile(null, 0.95)),
        p_value=mc_p_value(int(np.sum(null >= value - 1e-12)), draws),
        n_singletons=int(np.sum(curve.n == 1)),
        curve=curve,
        n_resamples=draws,
        seed=int(seed) if isinstance(seed, int | np.integer) else None,
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
    """Decompose the Brier score by CORP: isotonic regression with equal confidences pooled first.

    Parameters
    ----------
    confidence : array_like of float, shape (n,)
        Stated probability of being correct, in [0, 1].
    correct : array_like of int or bool, shape (n,)
        0 or 1.

    Returns
    -------
    CorpDecomposition

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
class _Grouping:
    """Bin of each answer, and the ends of every bin, empty ones included."""

    index: IntArray
    low: FloatArray
    high: FloatArray


def _grouping(stated: FloatArray, outcome: FloatArray, bins: Bins, edges: str) -> _Grouping:
    if isinstance(bins, str):
        one_of("bins", bins, ("distinct", "corp"))
        values, level, fitted = _isotonic(stated, outcome)
        if bins == "distinct":
            return _Grouping(level, values, values)
        # Pools: neighbouring values with one fit.
        pool = np.concatenate(([0], np.cumsum(np.abs(np.diff(fitted)) > 1e-12)))
        starts = np.flatnonzero(np.concatenate(([True], np.diff(pool) > 0)))
        ends = np.append(starts[1:], values.size) - 1
        return _Grouping(pool[level], values[starts], values[ends])
    limits = _bin_edges(stated, bins)
    nearest = limits[np.argmin(np.abs(np.subtract.outer(stated, limits)), axis=1)]
    exact = np.where(np.abs(stated - nearest) <= _ON_EDGE, nearest, stated)
    side = "left" if edges == "right-closed" else "right"
    index = np.searchsorted(limits, exact, side=side) - 1
    return _Grouping(np.clip(index, 0, limits.size - 2), limits[:-1], limits[1:])


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


def _null_counts(
    stated: FloatArray, index: IntArray, draws: int, rng: np.random.Generator
) -> list[FloatArray]:
    """Right answers in each non-empty bin when every answer is right with the probability stated."""
    order = np.argsort(index, kind="stable")
    starts = np.flatnonzero(np.diff(index[order], prepend=-1))
    chance = stated[order]
    rows = max(1, _BLOCK // chance.size)
    return [
        np.add.reduceat(
            (rng.random((min(rows, draws - done), chance.size)) < chance).astype(float), starts, axis=1
        )
        for done in range(0, draws, rows)
    ]


def _error(n: IntArray, mean_confidence: FloatArray, n_correct: NDArray[Any], measure: str) -> FloatArray:
    """Calibration error of each row of counts; shape (rows,)."""
    accuracy, share = n_correct / n, n / n.sum()
    gap = np.abs(mean_confidence - accuracy)
    if measure == "max":
        return gap.max(axis=1)
    if measure == "l1":
        return gap @ share
    if measure == "l2":
        return np.sqrt(gap**2 @ share)
    repeated = n > 1
    noise = accuracy * (1 - accuracy) / np.maximum(n - 1, 1)
    return np.where(repeated, gap**2 - noise, 0.0) @ share
