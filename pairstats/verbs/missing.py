"""Missing answers by cell: bounds that assume nothing, intervals around them, and whether enough is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairstats.arguments import checked
from pairstats.asking import check_estimand
from pairstats.errors import PairstatsError
from pairstats.estimands import Estimand
from pairstats.infer import asked_for
from pairstats.intervals import IntervalKind, Totals
from pairstats.numeric.missing import enough_answered, imbens_manski
from pairstats.numeric.sandwich import cr2_interval
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.rows import Asked, families_only
from pairstats.sums import Units
from pairstats.verbs.replies import noted, provenance


@checked
def missing_bounds(
    panel: Panel,
    estimand: Estimand,
    *,
    minimum: float = 0.8,
    interval: IntervalKind | str | None = None,
    confidence_level: float = 0.95,
) -> Estimates:
    """Worst and best case of every cell with its missing answers, and intervals that allow for both.

    Use it where answers are missing that the model is not to blame for, and their loss may depend on the
    answer. Not for two models; the bounds and tipping points of `contrast` and of a protocol cover those. Not
    for uneven losses over categories at random; `post_stratify` does.

    Parameters
    ----------
    panel : Panel
    estimand : Estimand
        With a known range, one value a unit: `Mean`, `Brier`, `FlipRate`, `AllCorrect`.
    minimum : float, default 0.8
        Share of planned replies and families below which there is no headline number.
    interval : FamilyInterval, Bootstrap, CR2 or str, optional
        As in `estimate`.
    confidence_level : float, default 0.95

    Returns
    -------
    Estimates
        Two rows a cell, ``bound_low`` and ``bound_high`` in both. ``bounds(...)``: from the lower limit of the
        worst to the upper limit of the best case, which covers the whole range. ``value(...)``:
        Imbens-Manski limits, which cover the value itself by normal theory (not near a ceiling). Neither has
        a point estimate. ``note`` says where fewer than `minimum` are there.

    Raises
    ------
    PairstatsError
        When the estimand has no bounds.

    Notes
    -----
    Formulas and sources: `manski_bounds`, `imbens_manski`, `enough_answered` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pairstats import Mean
    >>> rows = pd.DataFrame({"family": [f"f{i}" for i in range(80)], "item": "q", "model": "m",
    ...                      "status": ["answered"] * 70 + ["error"] * 10,
    ...                      "score": [1.0] * 65 + [0.0] * 5 + [None] * 10})
    >>> missing_bounds(Panel(rows), Mean("score")).frame[["bound_low", "bound_high"]].iloc[0].tolist()
    [0.8125, 0.9375]
    """
    check_estimand(panel, estimand)
    families_only(panel, "An interval around bounds")
    ends = estimand.bounds
    if ends is None:
        raise PairstatsError(
            f"Bounds need a known range, but {estimand.name} has none. Give bounds=(low, high)."
        )
    asked = asked_for(panel, estimand, interval, confidence_level)
    units = Units.collect(panel.rows(), estimand, panel.family, panel.cells, panel.unit_of(estimand))
    rows: list[dict[str, Any]] = []
    for column, cell in enumerate(units.cells):
        row = asked.described() | dict(zip(panel.cells, cell, strict=True)) | _counts(units, column)
        bounds = units.bounds(column, ends, estimand.weight)
        if bounds is None:
            raise PairstatsError(
                f"Bounds need one value a unit, but {estimand.name} has a random denominator. Use `estimate`."
            )
        notes = _enough(units, column, minimum)
        sides = [_filled(units, column, end, asked) for end in ends]
        rows += [noted(panel, row | one, notes) for one in _rows(asked, sides, bounds, ends)]
    settings = provenance(panel, minimum=minimum, confidence_level=confidence_level)
    return Estimates.from_rows(rows, factors=panel.cells, provenance=settings)


def _rows(
    asked: Asked, sides: list[Totals], bounds: tuple[float, float], ends: tuple[float, float]
) -> list[dict[str, Any]]:
    name = asked.estimand.name
    limits = [asked.limits(side) for side in sides]
    shared = {"bound_low": bounds[0], "bound_high": bounds[1], "n_families": int(sides[0].den.size)}
    whole = {
        "estimand": f"bounds({name})", "conf_low": limits[0].low, "conf_high": limits[1].high,
        "method": f"{limits[0].method} of the bounds",
    }  # fmt: skip
    errors = [cr2_interval(side.means, sizes=side.den).std_error for side in sides]
    if not np.isfinite(errors).all():
        return [shared | whole]
    found = imbens_manski(*bounds, *errors, confidence_level=asked.level, bounds=ends)
    flat = "; no variation at a bound: no sampling error there" if 0 in errors else ""
    value = {
        "estimand": f"value({name})", "conf_low": found.low, "conf_high": found.high, "method": found.method,
        "note": f"normal theory{flat}",
    }  # fmt: skip
    return [shared | whole, shared | value]


def _filled(units: Units, column: int, end: float, asked: Asked) -> Totals:
    """Family totals with every missing reply at one end of the range."""
    planned = units.n_planned[:, column]
    there = planned > 0
    observed = units.num[there, column] * units.n_valid[there, column]
    values = (observed + end * (planned[there] - units.n_valid[there, column])) / planned[there]
    _, family, sizes = np.unique(units.family_of[there], return_inverse=True, return_counts=True)
    totals = np.bincount(family, weights=values)
    if asked.estimand.weight == "family":
        return Totals(totals / sizes, np.ones(sizes.size), asked.estimand.bounds)
    return Totals(totals, sizes.astype(float), asked.estimand.bounds)


def _counts(units: Units, column: int) -> dict[str, int]:
    planned, valid = units.n_planned[:, column], units.n_valid[:, column]
    return {"n_units": int((valid > 0).sum()), "n_missing": int((planned - valid).sum())}


def _enough(units: Units, column: int, minimum: float) -> list[str]:
    """Say where too little was answered for a headline number."""
    planned, valid = units.n_planned[:, column], units.n_valid[:, column]
    answered, meant = (len(np.unique(units.family_of[n > 0])) for n in (valid, planned))
    found = enough_answered(
        int(valid.sum()), int(planned.sum()), families_answered=answered, families_planned=meant,
        minimum=minimum,
    )  # fmt: skip
    if found.enough:
        return []
    shares = f"{100 * found.share_items:.0f} % of replies, {100 * found.share_families:.0f} % of families"
    return [f"counts only: {shares} answered, fewer than {100 * minimum:.0f} %"]
