"""One rate held against a stated one, such as that of guessing."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairstats.arguments import checked
from pairstats.asking import check_estimand, check_number
from pairstats.cell_totals import cell_totals
from pairstats.errors import PairstatsError
from pairstats.estimands import Estimand
from pairstats.infer import asked_for
from pairstats.intervals import FamilyInterval, Totals
from pairstats.numeric.family_margins import FamilyGaps
from pairstats.numeric.more_proportions import binomial_test
from pairstats.numeric.signsum import as_p
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.rows import Asked, families_only
from pairstats.verbs.replies import noted, provenance


@checked
def rate_test(
    panel: Panel,
    estimand: Estimand,
    rate: float,
    *,
    alternative: str = "two-sided",
    confidence_level: float = 0.95,
) -> Estimates:
    """Test in every cell whether a rate is a stated one, over families.

    Use it for a rate that was fixed beforehand: guessing among four options, or a registered bar. Not for two
    models, which `contrast` covers, nor for a bar that was chosen after the outcomes were seen.

    Parameters
    ----------
    panel : Panel
    estimand : Estimand
        With a known range.
    rate : float
        Within it.
    alternative : {"two-sided", "less", "greater"}
        "greater": the rate is larger than the stated one.
    confidence_level : float, default 0.95

    Returns
    -------
    Estimates
        One row a cell with the family-CP interval; the p-value is the level at which it touches the rate. On
        0/1 families that is the exact binomial tail; two-sided it is Sterne's, as of `binomial_test`.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formula and sources: `binomial_test` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pairstats import Mean
    >>> rows = pd.DataFrame({"family": [f"f{i}" for i in range(16)], "item": "q", "model": "m",
    ...                      "score": [1.0] * 10 + [0.0] * 6})
    >>> round(rate_test(Panel(rows), Mean("score"), 0.25).frame["p_value"].item(), 4)
    0.0016
    """
    families_only(panel, "A test of a rate")
    check_estimand(panel, estimand)
    if estimand.bounds is None:
        raise PairstatsError(
            f"A rate must have a known range, but {estimand.name!r} has none. Give it one, as in "
            "Mean(column, bounds=(0, 1))."
        )
    low, high = estimand.bounds
    rate = check_number("rate", rate, low, high, low + (high - low) / 4)
    asked = asked_for(panel, estimand, FamilyInterval("cp"), confidence_level, alternative)
    rows = [
        row | asked.described() | {"null": float(rate)} if totals is None
        else noted(panel, row | asked.described() | {"null": float(rate)} | _tested(asked, totals, rate))
        for row, totals in cell_totals(panel, estimand)
    ]  # fmt: skip
    settings = provenance(panel, rate=rate, alternative=alternative)
    return Estimates.from_rows(rows, factors=panel.cells, provenance=settings)


def _tested(asked: Asked, totals: Totals, rate: float) -> dict[str, Any]:
    limits = asked.limits(totals)
    single = totals.bounds == (0.0, 1.0) and np.isin(totals.num, (0, 1)).all() and (totals.den == 1).all()
    if single:
        found = binomial_test(int(totals.num.sum()), len(totals.num), rate, alternative=asked.alternative)
        p, how = found.p_value, "exact binomial"
    else:
        gaps = FamilyGaps(totals.means, totals.den, "family-cp", totals.in_range("family-cp"), None)
        above, below = gaps.tail(rate, below=True), gaps.tail(rate, below=False)
        sided = {"greater": above, "less": below, "two-sided": min(1.0, 2 * min(above, below))}
        p, how = as_p(sided[asked.alternative]), "level at which the limits touch the rate"
    return {
        "estimate": float(totals.num.sum() / totals.den.sum()), "conf_low": limits.low,
        "conf_high": limits.high, "method": limits.method, "p_value": p, "note": f"p: {how}",
    }  # fmt: skip
