"""Accuracy at each stated confidence, by family."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np

from pairstats.arguments import checked
from pairstats.asking import check_estimand
from pairstats.errors import PairstatsError
from pairstats.estimands import Mean
from pairstats.infer import estimate
from pairstats.intervals import IntervalKind
from pairstats.panel import Panel
from pairstats.result import Estimates, concat
from pairstats.sums import Units

BIN_FACTORS = ("conf_bin_low", "conf_bin_high", "conf_mean")


@checked
def calibration_curve(
    panel: Panel,
    confidence: str = "confidence",
    score: str = "score",
    *,
    bins: int | str = 10,
    interval: IntervalKind | str | None = None,
    confidence_level: float = 0.95,
) -> Estimates:
    """Accuracy of the replies whose stated confidence falls in a bin, in every cell.

    Use it to show where confidence and accuracy part. Not to judge calibration by eye, which
    `calibration_errors` tests; `corp_curve` is the curve without bins.

    Parameters
    ----------
    panel : Panel
    confidence, score : str
        Columns: a stated probability in [0, 1], and a score.
    bins : int or "distinct", default 10
        Equal-width bins, closed on the right (0 belongs to the first), or one bin for each stated value.
    interval : FamilyInterval, Bootstrap, CR2 or str, optional
        As in `estimate`; families are resampled within the bin.
    confidence_level : float, default 0.95

    Returns
    -------
    Estimates
        One row a cell and bin that holds any reply, with the factors ``conf_bin_low``, ``conf_bin_high`` and
        ``conf_mean`` (mean stated confidence). ``provenance["without_confidence"]`` counts the replies that
        state none.

    Raises
    ------
    PairstatsError
        When `bins` is neither a positive number nor "distinct", or no reply states a confidence.

    Notes
    -----
    Formulas and sources: `calibration_curve`, `calibration_table` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"family": list("abcd"), "item": list("abcd"), "model": "m",
    ...                      "score": [1.0, 1.0, 0.0, 1.0], "confidence": [0.9, 0.9, 0.9, 0.2]})
    >>> curve = calibration_curve(Panel(rows), bins="distinct")
    >>> curve.frame[["conf_mean", "estimate"]].round(3).values.tolist()
    [[0.2, 1.0], [0.9, 0.667]]
    """
    for column in (confidence, score):
        check_estimand(panel, Mean(column))
    stated = panel.levels(confidence)
    if not stated:
        raise PairstatsError(
            f"No reply states a confidence: column {confidence!r} is empty. Map confidence= (and "
            "confidence_scale=) in read_runs, or let answers= parse it; in a protocol, leave [calibration] out."
        )
    parts = [
        _bin(panel, confidence, score, low, high, values, interval, confidence_level)
        for low, high, values in _bins(np.asarray(stated, dtype=float), bins)
    ]
    curve = concat(parts, provenance=parts[0].provenance)
    frame = curve.frame.sort_values([*panel.cells, "conf_bin_low"], kind="stable", ignore_index=True)
    counted = {"bins": bins, "without_confidence": _without(panel, confidence)}
    return Estimates(frame, curve.factors, {**curve.provenance, **counted})


def _bins(stated: np.ndarray, bins: int | str) -> list[tuple[float, float, list[float]]]:
    """Edges of each bin that holds a stated value, and the values in it."""
    if bins == "distinct":
        return [(float(v), float(v), [float(v)]) for v in stated]
    if isinstance(bins, bool) or not isinstance(bins, Integral) or bins < 1:
        raise PairstatsError(f"`bins` must be a positive whole number or 'distinct', but got {bins!r}.")
    # Rounding first keeps 0.7000000000000001 in the bin that 0.7 closes.
    position = np.clip(np.ceil(np.round(stated * bins, 9)).astype(int) - 1, 0, bins - 1)
    return [(b / bins, (b + 1) / bins, stated[position == b].tolist()) for b in np.unique(position).tolist()]


def _bin(
    panel: Panel, confidence: str, score: str, low: float, high: float, values: list[float],
    interval: IntervalKind | str | None, level: float,
) -> Estimates:  # fmt: skip
    inside = panel.where(**{confidence: values})
    accuracy = estimate(inside, Mean(score), interval=interval, confidence_level=level)
    stated = _means(inside, confidence)
    rows: list[dict[str, Any]] = [
        {**row, "conf_bin_low": low, "conf_bin_high": high, "conf_mean": stated[_cell(panel, row)][0]}
        for row in accuracy
        if row["estimate"] is not None
    ]
    return Estimates.from_rows(rows, factors=(*panel.cells, *BIN_FACTORS), provenance=accuracy.provenance)


def _cell(panel: Panel, row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in panel.cells)


def _means(panel: Panel, column: str) -> dict[tuple[str, ...], tuple[float, int]]:
    """Mean of a column in every cell, and the replies that lack it; no interval is needed."""
    mean = Mean(column, bounds=(0.0, 1.0))
    units = Units.collect(panel.rows(), mean, panel.family, panel.cells, panel.unit_of(mean))
    counted = units.den.sum(axis=0)
    values = np.divide(units.num.sum(axis=0), counted, out=np.full(len(counted), np.nan), where=counted > 0)
    missing = (units.n_planned - units.n_valid).sum(axis=0)
    return {cell: (float(values[c]), int(missing[c])) for c, cell in enumerate(units.cells)}


def _without(panel: Panel, confidence: str) -> dict[str, int]:
    """Replies without a stated confidence, by cell."""
    return {" ".join(cell) or "all": missing for cell, (_, missing) in _means(panel, confidence).items()}
