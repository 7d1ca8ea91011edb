"""Murphy's parts of the Brier score, with Ferro and Fricker's correction of their bias.

One constant confidence has no resolution, and its reliability is the square of its calibration in the large.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pairstats.errors import PairstatsError
from pairstats.numeric.calibration import Bins, CalibrationCurve, calibration_curve, grouped
from pairstats.numeric.scores import as_forecasts


@dataclass(frozen=True, slots=True)
class BrierTerms:
    """Reliability (lower is better), resolution (higher is better) and uncertainty of a Brier score."""

    reliability: float
    resolution: float
    uncertainty: float


@dataclass(frozen=True, slots=True)
class BrierDecomposition:
    """Murphy's decomposition of the Brier score, and its bias corrections.

    Attributes
    ----------
    brier : float
        ``reliability - resolution + uncertainty + within_bin_variance - within_bin_covariance`` of `murphy`.
    murphy : BrierTerms
        In-sample terms; reliability and resolution are biased up.
    within_bin_variance, within_bin_covariance : float
        What binning takes from the three terms; both 0 where confidence is constant in each bin.
    corrected : BrierTerms
        Bias-corrected terms, signed: a negative reliability is noise around 0. Average these.
    truncated : BrierTerms
        The same with the correction scaled down so that no term is negative.
    n_singletons : int
        Bins of one answer: their square is kept without correction.
    curve : CalibrationCurve
        The bins.
    """

    brier: float
    murphy: BrierTerms
    within_bin_variance: float
    within_bin_covariance: float
    corrected: BrierTerms
    truncated: BrierTerms
    n_singletons: int
    curve: CalibrationCurve


def brier_decomposition(
    confidence: ArrayLike, correct: ArrayLike, *, bins: Bins = "distinct", edges: str = "right-closed"
) -> BrierDecomposition:
    r"""Decompose the Brier score into reliability, resolution and uncertainty, bias-corrected.

    Use it with one bin a stated value. Not with many distinct values, where `corp_decomposition` needs no
    bins. No term has an interval: compare reliability with its value under perfect calibration
    (``calibration_test(..., statistic="reliability")``).

    Parameters
    ----------
    confidence, correct, bins, edges
        As in `calibration_curve`; not "corp", whose bins are fitted to the outcomes.

    Returns
    -------
    BrierDecomposition

    Notes
    -----
    With :math:`n_k, f_k, o_k` of a bin and the overall accuracy :math:`o`: reliability
    :math:`\sum n_k (f_k - o_k)^2 / N`, resolution :math:`\sum n_k (o_k - o)^2 / N`, uncertainty
    :math:`o (1 - o)`. The correction subtracts :math:`b = \sum n_k o_k (1 - o_k) / (n_k - 1) / N` from
    reliability, :math:`b - u` from resolution, and adds :math:`u = o (1 - o) / (N - 1)` to uncertainty;
    the truncated terms take the largest share of it, at most 1, that leaves no term negative.

    References
    ----------
    Murphy AH (1973). A new vector partition of the probability score. J Appl Meteorol 12:595-600.
    Stephenson DB, Coelho CAS, Jolliffe IT (2008). Two extra components in the Brier score decomposition.
    Weather Forecast 23:752-757. doi:10.1175/2007WAF2006116.1.
    Ferro CAT, Fricker TE (2012). A bias-corrected decomposition of the Brier score. Q J R Meteorol Soc
    138:1954-1960. doi:10.1002/qj.1924.

    Examples
    --------
    >>> parts = brier_decomposition([0.9] * 4 + [0.5] * 4, [1, 1, 1, 0, 1, 0, 0, 1])
    >>> round(parts.murphy.reliability, 6), round(parts.corrected.reliability, 6)
    (0.01125, -0.061667)
    """
    if bins == "corp":
        raise PairstatsError(
            "`bins` must not be fitted to the outcomes, but got 'corp'. See `corp_decomposition`."
        )
    stated, outcome = as_forecasts(confidence, correct)
    curve = calibration_curve(stated, outcome, bins=bins, edges=edges)
    _, place = np.unique(grouped(stated, outcome, bins, edges).index, return_inverse=True)
    rate = float(outcome.mean())
    share, gap = curve.n / outcome.size, curve.mean_confidence - curve.accuracy
    murphy = BrierTerms(float(share @ gap**2), float(share @ (curve.accuracy - rate) ** 2), rate * (1 - rate))
    noise = curve.accuracy * (1 - curve.accuracy) / np.maximum(curve.n - 1, 1)
    bias = float(share @ noise)
    spread = rate * (1 - rate) / max(outcome.size - 1, 1)
    scale = _largest_scale(murphy, bias, bias - spread)
    inside = stated - curve.mean_confidence[place]
    return BrierDecomposition(
        brier=float(np.mean((stated - outcome) ** 2)),
        murphy=murphy,
        within_bin_variance=float(np.mean(inside**2)),
        within_bin_covariance=float(2 * np.mean(inside * (outcome - curve.accuracy[place]))),
        corrected=_shifted(murphy, bias, spread, 1.0),
        truncated=_shifted(murphy, bias, spread, scale),
        n_singletons=int(np.sum(curve.n == 1)),
        curve=curve,
    )


def _shifted(terms: BrierTerms, bias: float, spread: float, scale: float) -> BrierTerms:
    return BrierTerms(
        terms.reliability - scale * bias,
        terms.resolution - scale * (bias - spread),
        terms.uncertainty + scale * spread,
    )


def _largest_scale(terms: BrierTerms, from_reliability: float, from_resolution: float) -> float:
    """Largest share of the correction, at most 1, that leaves reliability and resolution at 0 or more."""
    scale = 1.0
    for term, taken in ((terms.reliability, from_reliability), (terms.resolution, from_resolution)):
        if taken > term:
            scale = min(scale, max(term, 0.0) / taken)
    return scale
