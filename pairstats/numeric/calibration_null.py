"""Calibration statistics against what a perfectly calibrated model would show on the same confidences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, isotonic_regression
from scipy.special import ndtr, ndtri

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.calibration import Bins, corp_decomposition, grouped
from pairstats.numeric.checks import as_count
from pairstats.numeric.draws import seeded
from pairstats.numeric.lattice import snapped
from pairstats.numeric.pvalues import MonteCarloP, mc_p_value
from pairstats.numeric.scores import as_forecasts
from pairstats.numeric.shares import Families, family_codes, family_sums
from pairstats.numeric.smoothing import smooth_errors

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Rows = NDArray[Any]
Measure = Callable[[Rows], FloatArray]
"""A statistic of rows of outcomes, shape (B, n) to (B,)."""

STATISTICS = ("miscalibration", "reliability", "debiased-square")
ENDPOINTS = ("whole", "half")

LARGEST_CORRELATION = 0.99
_BLOCK = 2**21
"""Outcomes drawn at a time."""


@dataclass(frozen=True, slots=True)
class CalibrationTest:
    """A calibration statistic, its value under perfect calibration, and the test of calibration.

    Attributes
    ----------
    value : float
        The statistic in the data.
    statistic : str
    null_mean, null_upper : float
        Its mean and upper 5 % point if every answer were right with the probability stated. Compare `value`
        with these, not with 0.
    p_value : MonteCarloP
        Of a value at least as large under the null.
    family_correlation : float
        Latent correlation within families in the null, estimated from the recalibrated residuals; 0 where
        each answer is its own family.
    n, n_families : int
    n_resamples : int
        Draws from the null.
    seed : int or None
        Seed of the draws; None where a generator was given.
    """

    value: float
    statistic: str
    null_mean: float
    null_upper: float
    p_value: MonteCarloP
    family_correlation: float
    n: int
    n_families: int
    n_resamples: int
    seed: int | None


def calibration_test(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    statistic: str = "miscalibration",
    bins: Bins = "distinct",
    edges: str = "right-closed",
    families: Families = None,
    n_resamples: int = 2000,
    rng: Any = None,
) -> CalibrationTest:
    r"""Test of calibration: a statistic against outcomes drawn from the stated confidences.

    Use it in place of an interval for a calibration error, which excludes 0 even for a perfect model. Not as a
    proof: a large p-value shows no calibration. For the sign of a miscalibration see `overconfidence`.

    Parameters
    ----------
    confidence : array_like of float, shape (n,)
        Stated probability of being correct, in [0, 1]. An answer stated at 1 is right in every draw, at 0
        wrong, so one that is not shows miscalibration whatever the rest.
    correct : array_like of int or bool, shape (n,)
        0 or 1.
    statistic : {"miscalibration", "reliability", "debiased-square"}
        MCB of `corp_decomposition`; reliability of `brier_decomposition`; or the debiased square of
        `expected_calibration_error`. See also `smooth_ece`.
    bins, edges
        As in `calibration_curve`, for "reliability" and "debiased-square".
    families : sequence, shape (n,), optional
        Family of each answer. Outcomes of a family are then drawn together, by a Gaussian copula whose
        correlation is estimated; left out, answers are independent.
    n_resamples : int, default 2000
    rng : int, numpy.random.Generator, SeedSequence or None
        Handed to `numpy.random.default_rng`; None takes a seed derived from the data.

    Returns
    -------
    CalibrationTest

    Notes
    -----
    The correlation makes the expected sum of products of residuals within families, after isotonic
    recalibration, equal to the observed one; it is cut at [0, 0.99]. Measured size at .05, 20 to 80 families
    of 4 answers, latent correlation 0 to .6: .03 to .06; without `families` up to .12.

    References
    ----------
    Brocker J, Smith LA (2007). Increasing the reliability of reliability diagrams. Weather Forecast
    22:651-661. doi:10.1175/WAF993.1.
    Vaicenavicius J, Widmann D, Andersson C, Lindsten F, Roll J, Schon T (2019). Evaluating model calibration
    in classification. AISTATS, PMLR 89:3459-3467.

    Examples
    --------
    >>> test = calibration_test([0.9] * 20 + [0.6] * 20, [1, 0] * 20)
    >>> round(test.value, 4), test.value > test.null_upper, test.p_value.at_floor
    (0.085, True, True)
    """
    one_of("statistic", statistic, STATISTICS)

    def measure(stated: FloatArray, outcome: FloatArray) -> Measure:
        if statistic == "miscalibration":
            return _miscalibration(stated)
        return _binned(stated, outcome, bins, edges, debiased=statistic == "debiased-square")

    return _against_null(confidence, correct, statistic, measure, families, n_resamples, rng)


def smooth_ece(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    families: Families = None,
    endpoints: str = "whole",
    n_resamples: int = 500,
    rng: Any = None,
) -> CalibrationTest:
    r"""Smooth calibration error, with its value under perfect calibration.

    Use it for confidences of many distinct values, where bins are arbitrary. Not as a test: it is as
    biased up as the binned error, so compare it with `null_mean`, or take `calibration_test`.

    Parameters
    ----------
    confidence, correct, families, n_resamples, rng
        As in `calibration_test`.
    endpoints : {"whole", "half"}
        Weight of answers stated at exactly 0 or 1. "whole": as the measure is defined. "half": as in the
        package relplot 1.0.3, whose grid loses half of them; for comparison only.

    Returns
    -------
    CalibrationTest
        Its `statistic` is "smooth", or "smooth, half endpoints".

    Notes
    -----
    The residuals :math:`y_i - f_i` are smoothed by a Gaussian kernel reflected at 0 and 1;
    the error at bandwidth :math:`\sigma` is :math:`\int_0^1 |n^{-1} \sum_i (y_i - f_i) K_\sigma(t, f_i)| dt`,
    and the value is the :math:`\sigma` that equals its own error. On a grid of 1024 points, right to
    about 1e-3.

    References
    ----------
    Blasiok J, Nakkiran P (2023). Smooth ECE: principled reliability diagrams via kernel smoothing.
    arXiv:2309.12236.

    Examples
    --------
    >>> found = smooth_ece([0.9, 0.95, 1.0, 1.0, 0.9], [0, 0, 0, 0, 0], n_resamples=99)
    >>> round(found.value, 2)
    0.95
    """
    one_of("endpoints", endpoints, ENDPOINTS)

    def measure(stated: FloatArray, outcome: FloatArray) -> Measure:
        ends = (stated == 0) | (stated == 1)
        weights = np.where(ends, 0.5, 1.0) if endpoints == "half" else np.ones(stated.size)
        return lambda rows: smooth_errors(stated, rows - stated, weights)

    named = "smooth" if endpoints == "whole" else "smooth, half endpoints"
    return _against_null(confidence, correct, named, measure, families, n_resamples, rng)


def _against_null(
    confidence: ArrayLike,
    correct: ArrayLike,
    statistic: str,
    measure_of: Callable[[FloatArray, FloatArray], Measure],
    families: Families,
    n_resamples: int,
    rng: Any,
) -> CalibrationTest:
    """Test by the statistic that `measure_of` gives for the confidences and outcomes in canonical order."""
    stated, outcome = as_forecasts(confidence, correct)
    draws = as_count("n_resamples", n_resamples, minimum=1)
    order, codes = canonical_order(stated, outcome, family_codes(families, stated.size))
    stated, outcome = stated[order], outcome[order]
    measure = measure_of(stated, outcome)
    correlation = family_correlation(stated, outcome, codes)
    generator, seed = seeded(np.column_stack([stated, outcome]), rng)
    blocks = drawn_outcomes(stated, codes, correlation, draws, generator)
    null = np.concatenate([measure(block) for block in blocks])
    value = float(measure(outcome[None, :])[0])
    return CalibrationTest(
        value=value,
        statistic=statistic,
        null_mean=float(null.mean()),
        null_upper=float(np.quantile(null, 0.95)),
        p_value=mc_p_value(int(np.sum(null >= value - 1e-12)), draws),
        family_correlation=correlation,
        n=stated.size,
        n_families=int(codes.max()) + 1,
        n_resamples=draws,
        seed=seed,
    )


def canonical_order(
    stated: FloatArray, outcome: FloatArray, codes: IntArray
) -> tuple[NDArray[np.intp], IntArray]:
    """Order of the answers that depends on the data alone, and the families renumbered in that order.

    So that a draw does not depend on the order of rows, or on the names of families.

    Examples
    --------
    >>> order, codes = canonical_order(np.array([0.9, 0.5, 0.7]), np.ones(3), np.array([1, 0, 1]))
    >>> order.tolist(), codes.tolist()
    ([1, 2, 0], [0, 1, 1])
    """
    inside = np.lexsort((outcome, stated, codes))
    members = np.split(inside, np.flatnonzero(np.diff(codes[inside])) + 1)
    members.sort(key=lambda m: (m.size, list(zip(stated[m], outcome[m], strict=True))))
    sizes = [m.size for m in members]
    return np.concatenate(members), np.repeat(np.arange(len(members)), sizes)


def drawn_outcomes(
    chance: FloatArray, codes: IntArray, correlation: float, n_resamples: int, rng: np.random.Generator
) -> Iterator[Rows]:
    """Outcomes that are right with the given chances, correlated within families; blocks of rows.

    Examples
    --------
    >>> block = next(drawn_outcomes(np.array([0.0, 1.0]), np.array([0, 0]), 0.5, 3, np.random.default_rng(1)))
    >>> block.tolist()
    [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
    """
    rows = max(1, _BLOCK // chance.size)
    cut = ndtri(chance)
    for done in range(0, n_resamples, rows):
        shape = min(rows, n_resamples - done), chance.size
        if correlation == 0:
            yield (rng.random(shape) < chance).astype(np.float64)
            continue
        shared = rng.standard_normal((shape[0], int(codes.max()) + 1))[:, codes]
        own = rng.standard_normal(shape)
        latent = math.sqrt(correlation) * shared + math.sqrt(1 - correlation) * own
        yield (latent < cut).astype(np.float64)


def family_correlation(stated: FloatArray, outcome: FloatArray, codes: IntArray) -> float:
    """Latent correlation within families that the residuals of the recalibrated confidence show.

    Examples
    --------
    >>> family_correlation(np.full(4, 0.5), np.array([1.0, 1.0, 0.0, 0.0]), np.array([0, 0, 1, 1]))
    0.99
    """
    if codes.size == int(codes.max()) + 1:
        return 0.0
    chance = corp_decomposition(stated, outcome).recalibrated
    observed = _products(outcome - chance, codes)
    cut = ndtri(chance)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)

    def excess(correlation: float) -> float:
        slope, spread = math.sqrt(correlation), math.sqrt(1 - correlation)
        moved = [_products(ndtr((cut - slope * z) / spread) - chance, codes) for z in nodes.tolist()]
        return float(weights @ np.array(moved)) / float(weights.sum()) - observed

    if observed <= 0 or excess(0.0) >= 0:
        return 0.0
    if excess(LARGEST_CORRELATION) <= 0:
        return LARGEST_CORRELATION
    return float(brentq(excess, 0.0, LARGEST_CORRELATION, xtol=1e-6))


def _products(residuals: FloatArray, codes: IntArray) -> float:
    """Sum over families of the products of all ordered pairs of residuals."""
    return float(np.sum(family_sums(residuals, codes) ** 2) - np.sum(residuals**2))


def _binned(stated: FloatArray, outcome: FloatArray, bins: Bins, edges: str, *, debiased: bool) -> Measure:
    """Mean squared gap of the bins, less its noise if `debiased`; a function of rows of outcomes."""
    if bins == "corp":
        raise PairstatsError(
            "`bins` must not be fitted to the outcomes, but got 'corp'. Use statistic='miscalibration'."
        )
    _, place = np.unique(grouped(stated, outcome, bins, edges).index, return_inverse=True)
    n = np.bincount(place)
    centre, share = np.bincount(place, weights=stated) / n, n / stated.size

    def measure(rows: Rows) -> FloatArray:
        accuracy = sums_by_place(rows, place) / n
        square = (centre - accuracy) ** 2
        if debiased:
            noise = accuracy * (1 - accuracy) / np.maximum(n - 1, 1)
            square = np.where(n > 1, square - noise, 0.0)
        return np.asarray(square @ share)

    return measure


def _miscalibration(stated: FloatArray) -> Measure:
    """MCB = mean of (f - y)^2 - (fit - y)^2; by level, since y^2 cancels."""
    values, level, n = np.unique(snapped(stated), return_inverse=True, return_counts=True)

    def measure(rows: Rows) -> FloatArray:
        accuracy = sums_by_place(rows, level) / n
        fitted = np.array([isotonic_regression(row, weights=n).x for row in accuracy])
        gain = (values - accuracy) ** 2 - (fitted - accuracy) ** 2
        return np.asarray(gain @ n / stated.size)

    return measure


def sums_by_place(rows: Rows, place: IntArray) -> FloatArray:
    """Add up each row by place; every place from 0 to the largest occurs.

    Examples
    --------
    >>> sums_by_place(np.array([[1.0, 2.0, 4.0]]), np.array([1, 0, 1])).tolist()
    [[2.0, 5.0]]
    """
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    return np.asarray(np.add.reduceat(rows[:, order], starts, axis=1))
