"""Stated confidence by cell: over-confidence, confident errors, ranking, and the test of calibration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pairstats.arguments import checked
from pairstats.numeric.calibration_null import CalibrationTest, calibration_test, smooth_ece
from pairstats.numeric.family import Kind
from pairstats.numeric.ranking import auroc_interval
from pairstats.numeric.selective import aurc
from pairstats.numeric.shares import Share
from pairstats.numeric.stated_confidence import Overconfidence, overconfidence
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.rows import joined
from pairstats.verbs.forecasts import NOTHING, forecasts_by_cell
from pairstats.verbs.replies import noted, number, provenance, share_columns, shared_columns

SHARES = (
    "gap", "confident_gap", "wrong_of_confident", "wrong_of_all", "right_of_unsure", "right_of_all"
)  # fmt: skip


@checked
def calibration_summary(
    panel: Panel,
    confidence: str = "confidence",
    score: str = "score",
    *,
    confident: float = 0.9,
    unsure: float = 0.5,
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
    n_resamples: int = 2000,
) -> Estimates:
    """Summarise stated confidence in every cell: over-confidence, confident errors, ranking, miscalibration.

    Use it as the first table on stated confidence. Not for where confidence and accuracy part, which
    `calibration_curve` shows. Replies that state no
    confidence, or have no score, are left out and counted.

    Parameters
    ----------
    panel : Panel
    confidence, score : str
        Columns: a stated probability in [0, 1], and a score that is 0 or 1.
    confident, unsure : float
        Confident means at least, unsure at most this.
    kind : {"jeffreys", "cp"}
        Kind of family interval.
    confidence_level : float, default 0.95
    n_resamples : int, default 2000
        Draws from perfect calibration.

    Returns
    -------
    Estimates
        Ten rows a cell. ``gap`` (mean confidence less accuracy), ``confident_gap``, ``wrong_of_confident``,
        ``wrong_of_all``, ``right_of_unsure``, ``right_of_all`` with family intervals; ``auroc`` and ``aurc``
        with logit jackknife-t intervals; ``miscalibration`` (MCB) and ``smooth_ece`` without an interval:
        their ``null`` is what a perfectly calibrated model would show on average, their p-value tests
        calibration with families drawn together.

    Raises
    ------
    PairstatsError
        When a score is neither 0 nor 1.

    Notes
    -----
    Formulas and sources: `smooth_ece`, `calibration_test`, `auroc_interval`, `overconfidence` of
    `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"family": [f"f{i}" for i in range(20)], "item": "q", "model": "m",
    ...                      "score": [1.0, 0.0] * 10, "confidence": [0.9, 0.8] * 10})
    >>> found = calibration_summary(Panel(rows))
    >>> round(found.where(estimand="gap").frame["estimate"].item(), 3)
    0.35
    """
    shared = shared_columns(panel, "A summary of confidence", confidence_level)
    options = {"confident": confident, "unsure": unsure, "kind": kind, "level": confidence_level}
    rows: list[dict[str, Any]] = []
    for cell in forecasts_by_cell(panel, confidence, score):
        row = cell.row(shared)
        if cell.empty:
            rows.append(row | {"estimand": "gap", "n_families": 0, "note": NOTHING})
            continue
        rows += [noted(panel, row | one) for one in _summary(*cell.values, options, n_resamples)]
    settings = provenance(
        panel,
        interval=f"family-{kind}",
        confidence_level=confidence_level,
        confident=confident,
        unsure=unsure,
    )
    return Estimates.from_rows(rows, factors=panel.cells, provenance=settings)


def _summary(
    stated: np.ndarray, right: np.ndarray, families: np.ndarray, options: dict[str, Any], n_resamples: int
) -> Iterator[dict[str, Any]]:
    level = options["level"]
    found = overconfidence(
        stated, right, families=families, confident=options["confident"], unsure=options["unsure"],
        kind=options["kind"], confidence_level=level,
    )  # fmt: skip
    for name in SHARES:
        yield _share_row(name, getattr(found, name), found)
    ranked = auroc_interval(stated, right, families=families, confidence_level=level)
    deferred = aurc(stated, right, families=families, confidence_level=level)
    best = f"{deferred.best:.3f} with a perfect ranking, {deferred.error_rate:.3f} with none"
    for name, one, note in (("auroc", ranked, None), ("aurc", deferred, best)):
        undefined = "limits are the whole range" if one.method.endswith("undefined") else None
        yield {
            "estimand": name, "estimate": number(one.value), "conf_low": one.low, "conf_high": one.high,
            "method": one.method, "n_families": one.n_families,
            "note": joined([text for text in (note, undefined) if text]),
        }  # fmt: skip
    tests = {
        "miscalibration": calibration_test(stated, right, families=families, n_resamples=n_resamples),
        "smooth_ece": smooth_ece(stated, right, families=families, n_resamples=n_resamples),
    }
    for name, test in tests.items():
        yield _test_row(name, test)


def _share_row(name: str, share: Share, found: Overconfidence) -> dict[str, Any]:
    """Row of a share, with its counts and the threshold that it takes in."""
    said = [f"{share.numerator:.10g} of {share.denominator:.10g}"] if "_of_" in name else []
    if name != "gap":
        sure = name.startswith(("confident", "wrong"))
        said.append(f"confidence {f'>= {found.confident:g}' if sure else f'<= {found.unsure:g}'}")
    return {"estimand": name, "note": joined(said)} | share_columns(share)


def _test_row(name: str, test: CalibrationTest) -> dict[str, Any]:
    note = f"a calibrated model shows {test.null_mean:.3f} on average, up to {test.null_upper:.3f}"
    if test.family_correlation:
        note += f"; families drawn with latent correlation {test.family_correlation:.2f}"
    return {
        "estimand": name, "estimate": test.value, "null": test.null_mean, "p_value": test.p_value.p_value,
        "p_floor": test.p_value.floor, "alternative": "greater", "method": "simulated calibration",
        "n_families": test.n_families, "seed": test.seed, "note": note,
    }  # fmt: skip
