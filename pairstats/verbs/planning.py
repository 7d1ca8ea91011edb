"""What families of copies cost, and how many are needed: design effect, and families for a bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pairstats.arguments import checked
from pairstats.asking import check_estimand
from pairstats.cell_totals import cell_totals
from pairstats.errors import PairstatsError
from pairstats.estimands import Estimand
from pairstats.infer import asked_for
from pairstats.intervals import FamilyInterval, Totals
from pairstats.numeric.dependence import design_effect
from pairstats.numeric.planning import families_for_bound
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.rows import Asked, families_only
from pairstats.verbs.replies import noted, number, provenance


@checked
def design_effects(panel: Panel, estimand: Estimand) -> Estimates:
    """Design effect, intra-family correlation and effective numbers of items and families, in every cell.

    Use it to plan a next study, and to say how far copies repeat each other. Not to widen an interval by hand:
    those of `estimate` are over families already. An effect below 1 is luck, and no reason for a larger n.

    Parameters
    ----------
    panel : Panel
    estimand : Estimand
        Of 0/1 decisions, such as ``Mean("score")``.

    Returns
    -------
    Estimates
        Rows ``design_effect``, ``icc``, ``n_effective`` and ``effective_families`` a cell.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formulas and sources: `design_effect`, `effective_families` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pairstats import Mean
    >>> scores = [1.0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0]
    >>> rows = pd.DataFrame({"family": [f"f{i // 2}" for i in range(20)], "item": [f"{i}" for i in range(20)],
    ...                      "model": "m", "score": scores})
    >>> design_effects(Panel(rows), Mean("score")).frame["estimate"].round(3).tolist()[0]
    1.164
    """
    families_only(panel, "A design effect")
    check_estimand(panel, estimand)
    if estimand.bounds != (0.0, 1.0):
        raise PairstatsError(
            f"A design effect is for values in [0, 1], but {estimand.name} has the range {estimand.bounds}. Use "
            "variance_parts() for other scores."
        )
    rows: list[dict[str, Any]] = []
    for row, totals in cell_totals(panel, estimand):
        if totals is None:
            rows.append(row | {"estimand": "design_effect"})
            continue
        found = design_effect(totals.means, sizes=totals.den)
        for name in ("design_effect", "icc", "n_effective", "effective_families"):
            value = number(getattr(found, name))
            note = "not estimable: families do not differ, or hold one item" if value is None else None
            rows.append(noted(panel, row | {"estimand": name, "estimate": value, "note": note}))
    return Estimates.from_rows(rows, factors=panel.cells, provenance=provenance(panel, of=estimand.name))


@checked
def bound_plan(
    panel: Panel,
    estimand: Estimand,
    bounds: Sequence[float] = (0.95, 0.98, 0.99),
    *,
    confidence_level: float = 0.975,
) -> Estimates:
    """The lower bound that the families at hand give, and how many would be needed for others, none failing.

    Use it where nothing, or next to nothing, fails and a bound is to be claimed ("at least 98 %"). Not for a
    difference of two models; `pairstats.numeric.paired_family_power` covers that.

    Parameters
    ----------
    panel : Panel
    estimand : Estimand
    bounds : sequence of float, default (0.95, 0.98, 0.99)
        Lower bounds that are wanted.
    confidence_level : float, default 0.975
        Of the one-sided bound: 0.975 beside two-sided 95 % intervals.

    Returns
    -------
    Estimates
        Row ``bound``, with the value and its one-sided family-CP lower limit, and a row ``families_for(b)``
        for each bound: the families that must all pass.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formulas and sources: `zero_event_bound`, `zero_event_nobs`, `families_for_bound` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pairstats import Mean
    >>> rows = pd.DataFrame({"family": [f"f{i}" for i in range(48)], "item": "q", "model": "m", "score": 1.0})
    >>> found = bound_plan(Panel(rows), Mean("score")).frame
    >>> found["conf_low"].round(3).tolist()[0], found["estimate"].tolist()[1:]
    (0.926, [72.0, 183.0, 368.0])
    """
    families_only(panel, "A bound")
    if not len(bounds):
        raise PairstatsError("`bounds` must hold at least one bound, but it is empty.")
    asked = asked_for(panel, estimand, FamilyInterval("cp"), confidence_level, "greater")
    needed = {float(bound): families_for_bound(bound, confidence_level=confidence_level) for bound in bounds}
    rows: list[dict[str, Any]] = []
    for row, totals in cell_totals(panel, estimand):
        row = row | {"conf_level": confidence_level, "alternative": "greater"}
        if totals is None:
            rows.append(row | {"estimand": f"bound of {estimand.name}"})
            continue
        rows.append(noted(panel, row | {"estimand": f"bound of {estimand.name}", **_bound(asked, totals)}))
        have = int(totals.den.size)
        for bound, count in needed.items():
            more = f"{max(count - have, 0)} more than the {have} at hand, if none fails"
            rows.append(
                row | {"estimand": f"families_for({bound:g})", "estimate": float(count), "note": more}
            )
    return Estimates.from_rows(rows, factors=panel.cells, provenance=provenance(panel, of=estimand.name))


def _bound(asked: Asked, totals: Totals) -> dict[str, Any]:
    limits = asked.limits(totals)
    value = float(totals.num.sum() / totals.den.sum())
    return {"estimate": value, "conf_low": limits.low, "conf_high": limits.high, "method": limits.method}
