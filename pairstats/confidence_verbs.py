"""Stated confidence by cell: over-confidence, confident errors, ranking, and the test of calibration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pairstats._version import __version__
from pairstats.errors import PairstatsError
from pairstats.numeric.calibration_null import CalibrationTest, calibration_test, smooth_ece
from pairstats.numeric.family import Kind
from pairstats.numeric.ranking import auroc_interval
from pairstats.numeric.selective import aurc
from pairstats.numeric.shares import Share
from pairstats.numeric.stated_confidence import overconfidence
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.rows import joined

SHARES = (
    "gap", "confident_gap", "wrong_of_confident", "wrong_of_all", "right_of_unsure", "right_of_all"
)  # fmt: skip


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

    Use it beside `calibration_curve`, which shows where confidence and accuracy part. Replies that state no
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

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"family": [f"f{i}" for i in range(20)], "item": "q", "model": "m",
    ...                      "score": [1.0, 0.0] * 10, "confidence": [0.9, 0.8] * 10})
    >>> found = calibration_summary(Panel(rows))
    >>> round(found.where(estimand="gap").frame["estimate"].item(), 3)
    0.35
    """
    panel.require(confidence, score)
    names = list(dict.fromkeys([*panel.cells, panel.family, confidence, score]))
    frame = panel.rows().select(*names).collect().to_pandas()
    rows: list[dict[str, Any]] = []
    for key, part in frame.groupby(list(panel.cells), dropna=False) if panel.cells else [((), frame)]:
        cell = dict(zip(panel.cells, key, strict=True))
        stated, right = part[confidence].astype(float), part[score].astype(float)
        used = (stated.notna() & right.notna()).to_numpy()
        shared = {
            **cell, "conf_level": confidence_level, "alternative": "two-sided", "weight": "item",
            "population": panel.population, "registered": False, "n_units": int(used.sum()),
            "n_missing": int((~used).sum()),
        }  # fmt: skip
        if not used.any():
            note = "no results: no reply has both a confidence and a score"
            rows.append(shared | {"estimand": "gap", "n_families": 0, "note": note})
            continue
        values = stated.to_numpy()[used], right.to_numpy()[used]
        families = part[panel.family].to_numpy()[used]
        _refuse_partial(score, values[1])
        options = {"confident": confident, "unsure": unsure, "kind": kind, "level": confidence_level}
        rows += [shared | row for row in _summary(*values, families, options, n_resamples)]
    provenance = {
        "pairstats": __version__, "interval": f"family-{kind}", "confidence_level": confidence_level,
        "no_answer": panel.no_answer, "population": panel.population, "confident": confident,
        "unsure": unsure,
    }  # fmt: skip
    return Estimates.from_rows(rows, factors=panel.cells, provenance=provenance)


def _summary(
    stated: np.ndarray, right: np.ndarray, families: np.ndarray, options: dict[str, Any], n_resamples: int
) -> Iterator[dict[str, Any]]:
    level = options["level"]
    found = overconfidence(
        stated, right, families=families, confident=options["confident"], unsure=options["unsure"],
        kind=options["kind"], confidence_level=level,
    )  # fmt: skip
    for name in SHARES:
        yield _share_row(name, getattr(found, name))
    ranked = auroc_interval(stated, right, families=families, confidence_level=level)
    deferred = aurc(stated, right, families=families, confidence_level=level)
    best = f"{deferred.best:.3f} with a perfect ranking, {deferred.error_rate:.3f} with none"
    for name, one, note in (("auroc", ranked, None), ("aurc", deferred, best)):
        undefined = "limits are the whole range" if one.method.endswith("undefined") else None
        yield {
            "estimand": name, "estimate": _number(one.value), "conf_low": one.low, "conf_high": one.high,
            "method": one.method, "n_families": one.n_families,
            "note": joined([text for text in (note, undefined) if text]),
        }  # fmt: skip
    tests = {
        "miscalibration": calibration_test(stated, right, families=families, n_resamples=n_resamples),
        "smooth_ece": smooth_ece(stated, right, families=families, n_resamples=n_resamples),
    }
    for name, test in tests.items():
        yield _test_row(name, test)


def _share_row(name: str, share: Share) -> dict[str, Any]:
    row = {"estimand": name, "n_families": share.n_families, "method": share.method}
    if not share.n_families:
        return row | {"note": "no results: no reply is in the denominator"}
    return row | {
        "estimate": share.value, "conf_low": share.low, "conf_high": share.high,
        "std_error": _number(share.std_error),
        "note": f"{share.numerator:.10g} of {share.denominator:.10g}" if name.count("_of_") else None,
    }  # fmt: skip


def _test_row(name: str, test: CalibrationTest) -> dict[str, Any]:
    note = f"a calibrated model shows {test.null_mean:.3f} on average, up to {test.null_upper:.3f}"
    if test.family_correlation:
        note += f"; families drawn with latent correlation {test.family_correlation:.2f}"
    return {
        "estimand": name, "estimate": test.value, "null": test.null_mean, "p_value": test.p_value.p_value,
        "p_floor": test.p_value.floor, "alternative": "greater", "method": "simulated calibration",
        "n_families": test.n_families, "seed": test.seed, "note": note,
    }  # fmt: skip


def _refuse_partial(score: str, right: np.ndarray) -> None:
    partial = right[(right != 0) & (right != 1)]
    if partial.size:
        raise PairstatsError(
            f"Column {score!r} must hold 0 or 1, but {partial.size} scores are in between, such as "
            f"{partial[0]:g}. Threshold partial credit into a score_<name> column, and say so."
        )


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value
