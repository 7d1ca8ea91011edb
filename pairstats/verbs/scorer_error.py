"""Rates and differences corrected for a scorer that errs at a known rate."""

from __future__ import annotations

from typing import Any

from pairstats.arguments import checked
from pairstats.asking import check_estimand
from pairstats.cell_totals import cell_totals
from pairstats.contrasts import Comparison, Trend
from pairstats.errors import PairstatsError
from pairstats.estimands import Estimand
from pairstats.infer import compared
from pairstats.intervals import Totals
from pairstats.numeric.family import Kind
from pairstats.numeric.scorer_error import (
    Accuracy,
    CorrectedInterval,
    corrected_difference,
    corrected_rate,
)
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.rows import families_only, joined
from pairstats.verbs.replies import noted, provenance

DOES_NOT_FIT = "no true rate gives such scores: this sensitivity or specificity is another one here"


@checked
def corrected(
    panel: Panel,
    estimand: Estimand,
    comparison: Comparison | None = None,
    *,
    sensitivity: Accuracy,
    specificity: Accuracy,
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> Estimates:
    """Rates in every cell, or differences between cells, without the error of the scorer that made them.

    Use it where a keyword or a judge decided what is a success, and a hand-labelled sample says how often it
    errs. Not where it errs differently on the cells that are compared; there only labels by hand help. The
    test of a difference stays that of `contrast`: errors that are alike on both sides make no difference.

    Parameters
    ----------
    panel : Panel
    estimand : Estimand
        With values in [0, 1], such as ``Mean("score")``.
    comparison : Pairwise, Versus or Interaction, optional
        Left out, rates are corrected; else differences.
    sensitivity, specificity : float or (int, int)
        Known, or right decisions and all decisions of a sample; as in `pairstats.numeric.corrected_rate`.
    kind : {"jeffreys", "cp"}
    confidence_level : float, default 0.95

    Returns
    -------
    Estimates
        One row a cell or combination; ``note`` gives the value as scored, and says where the estimate was cut.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formulas and sources: `corrected_rate`, `corrected_difference` of `pairstats.numeric`.

    References
    ----------
    Rogan, W. J. & Gladen, B. (1978). American Journal of Epidemiology 107, 71-76.
    doi:10.1093/oxfordjournals.aje.a112510

    Examples
    --------
    >>> import pandas as pd
    >>> from pairstats import Mean
    >>> rows = pd.DataFrame({"family": [f"f{i}" for i in range(40)], "item": "q", "model": "m",
    ...                      "score": [1.0] * 22 + [0.0] * 18})
    >>> found = corrected(Panel(rows), Mean("score"), sensitivity=(45, 50), specificity=(48, 50))
    >>> found.frame["estimate"].round(3).item()
    0.593
    """
    families_only(panel, "A corrected rate")
    check_estimand(panel, estimand)
    if estimand.bounds != (0.0, 1.0):
        raise PairstatsError(
            f"A correction is for values in [0, 1], but {estimand.name} has the range {estimand.bounds}."
        )
    options: dict[str, Any] = {
        "sensitivity": sensitivity, "specificity": specificity, "kind": kind,
        "confidence_level": confidence_level,
    }  # fmt: skip
    settings = provenance(panel, sensitivity=str(sensitivity), specificity=str(specificity))
    if comparison is not None:
        rows, factors = _differences(panel, estimand, comparison, options)
        return Estimates.from_rows(rows, factors=factors, provenance=settings)
    rows = []
    for row, totals in cell_totals(panel, estimand):
        row |= {"estimand": f"corrected({estimand.name})", "conf_level": confidence_level}
        if totals is None:
            rows.append(row)
            continue
        found = corrected_rate(totals.means, sizes=totals.den, **options)
        rows.append(noted(panel, row | _columns(found)))
    return Estimates.from_rows(rows, factors=panel.cells, provenance=settings)


def _differences(
    panel: Panel, estimand: Estimand, comparison: Comparison, options: dict[str, Any]
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    if isinstance(comparison, Trend):
        raise PairstatsError("A correction is for rates and differences, not for a Trend.")
    found = compared(panel, estimand, comparison, confidence_level=options["confidence_level"])
    rows = []
    for one in found.compared:
        row = one.combined.labels | found.asked.described() | one.counted(f"family-{options['kind']}")
        row |= {"estimand": f"corrected({estimand.name})", "null": 0.0}
        if one.totals is None and one.row.get("n_families"):
            raise PairstatsError(
                f"The sides of {estimand.name} have different denominators, so there are no family differences to "
                "correct. Correct the rates, by leaving the comparison out."
            )
        rows.append(row if one.totals is None else row | _gap(one.totals, row, options))
    return rows, found.factors


def _gap(totals: Totals, row: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    if totals.in_range("corrected") != (-1.0, 1.0):
        raise PairstatsError(
            "A correction is for a difference of two rates, but the range of this combination is "
            f"{totals.bounds}. Compare two levels with Pairwise or Versus."
        )
    columns = _columns(corrected_difference(totals.means, sizes=totals.den, **options))
    return columns | {"note": joined([columns["note"], row["note"]])}


def _columns(found: CorrectedInterval) -> dict[str, Any]:
    notes = [
        f"as scored {found.observed:.3f}, of which the scorer leaves {found.attenuation:.0%} of a difference"
    ]
    if found.raw_estimate != found.estimate:
        notes.append(f"estimate cut from {found.raw_estimate:.3f}")
    if not found.fits:
        notes.append(DOES_NOT_FIT)
    if found.method.endswith("undefined"):
        notes.append(
            "the sample does not show that the scorer is better than chance: limits are the whole range"
        )
    return {
        "estimate": found.estimate, "conf_low": found.low, "conf_high": found.high, "method": found.method,
        "note": "; ".join(notes),
    }  # fmt: skip
