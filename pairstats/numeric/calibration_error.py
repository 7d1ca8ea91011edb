"""Calibration error, with what a perfectly calibrated model would show on the same confidences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.calibration import Bins, CalibrationCurve, calibration_curve, grouped
from pairstats.numeric.calibration_null import (
    canonical_order,
    drawn_outcomes,
    family_correlation,
    sums_by_place,
)
from pairstats.numeric.checks import as_count
from pairstats.numeric.draws import seeded
from pairstats.numeric.pvalues import MonteCarloP, mc_p_value
from pairstats.numeric.scores import as_forecasts
from pairstats.numeric.shares import Families, family_codes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

NORMS = ("l1", "l2", "max")


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
        Of an error at least as large under the null.
    n_singletons : int
        Bins of one answer; they contribute 0 to the debiased square (Kumar, Liang & Ma 2019).
    curve : CalibrationCurve
        The bins.
    n_resamples : int
        Draws from the null.
    seed : int or None
        Seed of the draws; None where a generator was given.
    family_correlation : float
        Latent correlation of the answers of a family in the draws, as in `calibration_test`.
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
    family_correlation: float


def expected_calibration_error(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    bins: Bins = 10,
    edges: str = "right-closed",
    norm: str = "l1",
    debiased: bool = False,
    families: Families = None,
    n_resamples: int = 2000,
    rng: Any = None,
) -> CalibrationError:
    r"""Expected calibration error, with its null expectation under perfect calibration.

    Use it where a paper asks for it, beside its null value. Not as evidence of miscalibration: it is above 0
    for a perfect model, and `calibration_test` is the test.

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
    families : sequence, shape (n,), optional
        Family of each answer, whose outcomes are then drawn as alike as they are in the data; left out, each
        is its own. A null of independent answers is too low where families hold copies.
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

    Notes
    -----
    The null mean is that of outcomes drawn from the stated confidences in the same bins; within families by
    the Gaussian copula of `calibration_test`.

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
    # The order of the data alone, so that a draw does not depend on the order of rows.
    order, codes = canonical_order(stated, outcome, family_codes(families, stated.size))
    stated, outcome = stated[order], outcome[order]
    correlation = family_correlation(stated, outcome, codes)
    generator, seed = seeded(np.column_stack([stated, outcome]), rng)
    place = np.unique(grouped(stated, outcome, bins, edges).index, return_inverse=True)[1]
    null = np.concatenate(
        [
            _error(curve.n, curve.mean_confidence, sums_by_place(drawn, place), measure)
            for drawn in drawn_outcomes(stated, codes, correlation, draws, generator)
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
        seed=seed,
        family_correlation=correlation,
    )


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
