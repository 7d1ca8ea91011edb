"""Calibration by cell: errors beside what a perfect model shows, parts of the Brier score, and the CORP curve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pairstats.arguments import checked
from pairstats.errors import one_of
from pairstats.numeric.calibration import corp_decomposition
from pairstats.numeric.calibration_error import CalibrationError, expected_calibration_error
from pairstats.numeric.calibration_null import CalibrationTest, calibration_test, smooth_ece
from pairstats.numeric.calibration_parts import brier_decomposition
from pairstats.numeric.reliability_band import BANDS, corp_band
from pairstats.numeric.sandwich import cr2_interval
from pairstats.numeric.scores import log_loss
from pairstats.numeric.shares import family_codes, family_sums
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.verbs.calibration_curve import BIN_FACTORS
from pairstats.verbs.forecasts import NOTHING, Forecasts, forecasts_by_cell
from pairstats.verbs.replies import noted, number, provenance, shared_columns


@checked
def calibration_errors(
    panel: Panel,
    confidence: str = "confidence",
    score: str = "score",
    *,
    bins: int | str = 10,
    n_resamples: int = 2000,
) -> Estimates:
    """Calibration errors in every cell, each with its value under perfect calibration, and no interval.

    Use it where a calibration error must be named: all are biased up, so that only the distance from ``null``
    says anything. Not for the sign or the place of a miscalibration; `calibration_summary` and
    `calibration_curve` cover those. Not to compare models; `contrast` with `Brier` covers that.

    Parameters
    ----------
    panel : Panel
    confidence, score : str
        Columns: a stated probability in [0, 1], and a score that is 0 or 1.
    bins : int or "distinct", default 10
        Of the expected calibration error.
    n_resamples : int, default 2000
        Draws from perfect calibration.

    Returns
    -------
    Estimates
        Rows ``ece``, ``ece_debiased_square`` (signed), ``smooth_ece``, ``miscalibration`` (MCB of CORP) and
        ``reliability`` (Murphy) a cell. ``null`` is the mean under perfect calibration, ``p_value`` tests it;
        both draw the answers of a family together.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formulas and sources: `expected_calibration_error`, `smooth_ece`, `calibration_test` of
    `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"family": [f"f{i}" for i in range(40)], "item": "q", "model": "m",
    ...                      "score": [1.0, 0.0] * 20, "confidence": [0.9] * 20 + [0.6] * 20})
    >>> found = calibration_errors(Panel(rows), n_resamples=200).where(estimand="ece").frame
    >>> round(found["estimate"].item(), 3), bool(found["estimate"].item() > found["null"].item())
    (0.25, True)
    """
    shared = shared_columns(panel, "A calibration error", None) | {"alternative": "greater"}
    rows: list[dict[str, Any]] = []
    for cell in forecasts_by_cell(panel, confidence, score):
        row = cell.row(shared)
        if cell.empty:
            rows.append(row | {"estimand": "ece", "n_families": 0, "note": NOTHING})
            continue
        rows += [noted(panel, row | one) for one in _errors(cell, bins, n_resamples)]
    settings = provenance(panel, bins=bins, n_resamples=n_resamples)
    return Estimates.from_rows(rows, factors=panel.cells, provenance=settings)


def _errors(cell: Forecasts, bins: Any, draws: int) -> Iterator[dict[str, Any]]:
    stated, right, families = cell.values
    n_families = len(set(families.tolist()))
    together: dict[str, Any] = {"families": families, "n_resamples": draws}
    binned = together | {"bins": bins}
    found: dict[str, CalibrationError | CalibrationTest] = {
        "ece": expected_calibration_error(stated, right, **binned),
        "ece_debiased_square": expected_calibration_error(stated, right, norm="l2", debiased=True, **binned),
        "smooth_ece": smooth_ece(stated, right, **together),
        "miscalibration": calibration_test(stated, right, **together),
        "reliability": calibration_test(stated, right, statistic="reliability", **together),
    }
    for name, one in found.items():
        singles = one.n_singletons if isinstance(one, CalibrationError) else 0
        notes = [f"{singles} bins of one answer"] if singles else []
        if one.family_correlation:
            notes.append(f"families drawn with latent correlation {one.family_correlation:.2f}")
        yield {"estimand": name, "n_families": n_families, **_null(one, notes)}


def _null(found: CalibrationError | CalibrationTest, notes: list[str]) -> dict[str, Any]:
    beside = f"a calibrated model shows {found.null_mean:.3f} on average, up to {found.null_upper:.3f}"
    return {
        "estimate": found.value, "null": found.null_mean, "p_value": found.p_value.p_value,
        "p_floor": found.p_value.floor, "method": "simulated calibration", "seed": found.seed,
        "note": "; ".join([beside, *notes]),
    }  # fmt: skip


@checked
def brier_parts(
    panel: Panel,
    confidence: str = "confidence",
    score: str = "score",
    *,
    eps: float = 1e-3,
    confidence_level: float = 0.95,
) -> Estimates:
    """Parts of the Brier score in every cell (Murphy with bias correction, and CORP), and the log loss.

    Use it to say whether a score comes from calibration or from telling right from wrong. Not for
    intervals, which the parts have none of: `estimate` with `Brier` covers the score itself,
    `calibration_errors` the test of its first part.

    Parameters
    ----------
    panel, confidence, score
        As in `calibration_errors`.
    eps : float, default 1e-3
        The log loss clips confidences to [eps, 1 - eps]; part of what one registers.
    confidence_level : float, default 0.95
        Of the log loss.

    Returns
    -------
    Estimates
        Rows ``murphy_reliability``, ``murphy_resolution``, ``murphy_uncertainty`` (bias-corrected, signed, one
        bin a stated value; the plain ones in ``note``), ``corp_miscalibration``, ``corp_discrimination``,
        ``corp_uncertainty``, and ``log_loss`` with a CR2-t interval over families.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formulas and sources: `brier_decomposition`, `corp_decomposition`, `log_loss` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"family": list("abcdefgh"), "item": "q", "model": "m",
    ...                      "score": [1.0, 1, 1, 0, 1, 0, 0, 1], "confidence": [0.9] * 4 + [0.5] * 4})
    >>> brier_parts(Panel(rows)).frame["estimate"].round(4).tolist()[0]
    -0.0617
    """
    shared = shared_columns(panel, "A part of the Brier score", None)
    rows: list[dict[str, Any]] = []
    for cell in forecasts_by_cell(panel, confidence, score):
        row = cell.row(shared) | {"n_families": len(set(cell.families.tolist()))}
        if cell.empty:
            rows.append(row | {"estimand": "murphy_reliability", "note": NOTHING})
            continue
        rows += [noted(panel, row | one) for one in _parts(cell, eps, confidence_level)]
    return Estimates.from_rows(rows, factors=panel.cells, provenance=provenance(panel, eps=eps))


def _parts(cell: Forecasts, eps: float, level: float) -> Iterator[dict[str, Any]]:
    murphy = brier_decomposition(cell.stated, cell.right)
    for name in ("reliability", "resolution", "uncertainty"):
        plain = f"without bias correction {getattr(murphy.murphy, name):.4f}"
        value = getattr(murphy.corrected, name)
        yield {"estimand": f"murphy_{name}", "estimate": value, "method": "bias-corrected", "note": plain}
    corp = corp_decomposition(cell.stated, cell.right)
    for name in ("miscalibration", "discrimination", "uncertainty"):
        yield {"estimand": f"corp_{name}", "estimate": getattr(corp, name), "method": "isotonic, in sample"}
    loss = log_loss(cell.stated, cell.right, eps=eps)
    codes = family_codes(cell.families, cell.stated.size)
    sizes = family_sums(cell.stated * 0 + 1, codes)
    found = cr2_interval(family_sums(loss.per_item, codes) / sizes, sizes=sizes, confidence_level=level)
    infinite = f"{loss.n_infinite} infinite without clipping at {eps:g}" if loss.n_infinite else None
    yield {
        "estimand": "log_loss", "estimate": loss.value, "std_error": number(found.std_error),
        "conf_low": number(found.low), "conf_high": number(found.high), "conf_level": level,
        "method": "cr2-t", "note": infinite,
    }  # fmt: skip


@checked
def corp_curve(
    panel: Panel,
    confidence: str = "confidence",
    score: str = "score",
    *,
    band: str = "bootstrap",
    confidence_level: float = 0.95,
    n_resamples: int = 2000,
) -> Estimates:
    """Reliability curve by isotonic regression (CORP) in every cell, with a pointwise band.

    Use it where many values are stated, so that bins would be arbitrary. Not for few values, nor with fewer
    than 40 families (the bootstrap band is then too narrow, and says so); `calibration_curve` with
    ``bins="distinct"`` covers those.

    Parameters
    ----------
    panel, confidence, score
        As in `calibration_errors`.
    band : {"bootstrap", "consistency"}
        "bootstrap": uncertainty of the curve, families resampled. "consistency": where the curve of a
        perfectly calibrated model would lie.
    confidence_level : float, default 0.95
    n_resamples : int, default 2000

    Returns
    -------
    Estimates
        One row a cell and stated value, with the factors of `calibration_curve`. For "consistency" the limits
        are the band around ``null``, the diagonal, and not around the estimate.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formula and sources: `corp_band` of `pairstats.numeric`.

    References
    ----------
    Dimitriadis T, Gneiting T, Jordan AI (2021). PNAS 118:e2016191118. doi:10.1073/pnas.2016191118.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"family": [f"f{i // 2}" for i in range(80)], "item": [str(i) for i in range(80)],
    ...                      "model": "m", "score": [0.0, 1, 1, 1] * 20, "confidence": [0.5, 0.9] * 40})
    >>> corp_curve(Panel(rows), n_resamples=200).frame[["conf_mean", "estimate"]].values.tolist()
    [[0.5, 0.5], [0.9, 1.0]]
    """
    one_of("band", band, BANDS)
    shared = shared_columns(panel, "A reliability curve", confidence_level) | {"estimand": "corp"}
    rows: list[dict[str, Any]] = []
    for cell in forecasts_by_cell(panel, confidence, score):
        row = cell.row(shared)
        if cell.empty:
            rows.append(row | {"n_families": 0, "note": NOTHING})
            continue
        found = corp_band(
            cell.stated, cell.right, families=cell.families, kind=band, confidence_level=confidence_level,
            n_resamples=n_resamples,
        )  # fmt: skip
        points = zip(found.confidence, found.fit, found.low, found.high, strict=True)
        for stated, fit, low, high in points:
            place = dict.fromkeys(BIN_FACTORS, float(stated))
            columns = {
                "estimate": float(fit), "conf_low": float(low), "conf_high": float(high),
                "null": float(stated) if band == "consistency" else None, "seed": found.seed,
                "method": f"{band} band, pointwise", "n_families": found.n_families,
                "note": found.note or None,
            }  # fmt: skip
            rows.append(noted(panel, row | place | columns))
    settings = provenance(panel, band=band, n_resamples=n_resamples)
    return Estimates.from_rows(rows, factors=(*panel.cells, *BIN_FACTORS), provenance=settings)
