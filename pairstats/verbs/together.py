"""Several differences at once, with intervals that all hold and p-values that share one error rate."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairstats.arguments import checked
from pairstats.asking import check_comparison, check_estimand
from pairstats.contrasts import Comparison, Trend
from pairstats.errors import PairingError, PairstatsError
from pairstats.estimands import Estimand
from pairstats.infer import asked_for
from pairstats.numeric.exact import sign_flip
from pairstats.numeric.many import shaffer
from pairstats.numeric.multiplicity import adjust as adjust_p
from pairstats.numeric.simultaneous import simultaneous_intervals
from pairstats.numeric.stepdown import max_t, romano_wolf
from pairstats.pairs import Combined, combine, paired_units
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.rows import Asked, families_only
from pairstats.sums import FamilySums
from pairstats.verbs.ranking import shared_sums, together_notes
from pairstats.verbs.replies import noted, provenance


@checked
def simultaneous(
    panel: Panel,
    estimand: Estimand,
    comparison: Comparison,
    *,
    method: str = "bonferroni-jeffreys",
    adjust: str = "holm",
    confidence_level: float = 0.95,
) -> Estimates:
    """Compare cells with intervals that all hold at once, on the units that all compared cells share.

    Use it where several differences are read together. Not for a single one, or for intervals at the level
    of each alone; `contrast` covers both, and uses the units of each pair instead.

    Parameters
    ----------
    panel : Panel
    estimand : Estimand
        With a known range.
    comparison : Pairwise, Versus or Interaction
    method : str, default "bonferroni-jeffreys"
        As in `pairstats.numeric.simultaneous_intervals`.
    adjust : str, default "holm"
        Adjustment of the exact sign-flip p-values: "holm" and the other names of `contrast`; "shaffer" (all
        pairs of one factor); "romano-wolf"; or "max-t" (one pair of levels in several strata).
    confidence_level : float, default 0.95
        Of all intervals together, over all rows of the call.

    Returns
    -------
    Estimates
        One row a combination: ``contrast``, ``estimand``, a column for each cell that is not compared,
        ``estimate`` (the difference), its joint limits ``conf_low`` and ``conf_high`` at ``conf_level`` by
        ``method``, and the exact sign-flip ``p_value`` of ``null``, alone, with ``p_adjusted`` for all rows;
        ``alternative`` is always "two-sided". ``n_families`` and ``n_units`` count what all compared cells share,
        ``n_missing`` the units left out because they do not. ``note`` gives the level of each interval alone,
        and ``seed`` the draw, where there was one. ``population``, ``weight`` and ``registered`` (False: only a
        protocol registers) are as in every row. ``provenance`` holds ``pairstats`` (the version), the panel's
        ``no_answer`` and ``population``, and ``method``, ``adjust`` and ``confidence_level`` as asked.

    Raises
    ------
    PairingError, PairstatsError

    Notes
    -----
    Formulas and sources: `shaffer`, `romano_wolf`, `max_t`, `simultaneous_intervals` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame([{"family": f"f{f}", "item": "q", "model": m, "score": float(m == "a" or f < 2)}
    ...                      for f in range(12) for m in "abc"])
    >>> from pairstats import Mean, Pairwise
    >>> found = simultaneous(Panel(rows), Mean("score"), Pairwise("model")).frame
    >>> found[["contrast", "p_adjusted"]].round(4).values.tolist()
    [['a - b', 0.0059], ['a - c', 0.0059], ['b - c', 1.0]]
    """
    if isinstance(comparison, Trend):
        raise PairstatsError("Simultaneous intervals are for differences, not for a Trend. Use contrast().")
    check_estimand(panel, estimand)
    check_comparison(panel, comparison)
    families_only(panel, "A simultaneous interval")
    cells = tuple(dict.fromkeys((*panel.cells, *comparison.factors)))
    asked = asked_for(panel.by(cells), estimand, None, confidence_level)
    if estimand.bounds is None:
        raise PairstatsError(f"Simultaneous intervals need a known range, but {estimand.name} has none.")
    units, _ = paired_units(asked, comparison.factors, cells)
    strata = tuple(name for name in cells if name not in comparison.factors)
    found = [one for one in combine(units, cells, strata, comparison) if one.columns]
    if not found:
        raise PairingError("There is nothing to compare: no combination has rows on both sides.")
    columns = sorted({c for one in found for c in one.columns})
    sums, row, notes = shared_sums(asked, units, columns)
    notes += together_notes(asked, units, columns)
    settings = provenance(panel, method=method, adjust=adjust, confidence_level=confidence_level)
    if not len(sums):
        rows = [
            row | one.labels | {"n_families": 0, "note": "no results: no unit is shared"} for one in found
        ]
        return Estimates.from_rows(rows, factors=strata, provenance=settings)
    rows = _together(asked, found, sums, row, notes, method, adjust)
    return Estimates.from_rows(rows, factors=strata, provenance=settings)


def _together(
    asked: Asked, found: list[Combined], sums: FamilySums, row: dict[str, Any], notes: list[str], method: str,
    adjust: str,
) -> list[dict[str, Any]]:  # fmt: skip
    """Rows of several combinations, with joint limits and adjusted p-values."""
    place = {column: at for at, column in enumerate(sorted({c for one in found for c in one.columns}))}
    sizes = sums.den[:, 0]
    means = sums.means
    gaps = np.column_stack([means[:, [place[c] for c in one.columns]] @ one.weights for one in found])
    ranges = [one.range(asked.estimand.bounds) for one in found]
    low, high = (float(end) for end in (min(r[0] for r in ranges if r), max(r[1] for r in ranges if r)))
    limits = simultaneous_intervals(
        gaps, sizes=sizes, bounds=(low, high), method=method, confidence_level=asked.level
    )  # fmt: skip
    alone, adjusted, seed = _adjusted(gaps, sizes, means, found, adjust)
    beside = f"each alone at {100 * limits.individual_level:.4g} %"
    return [
        noted(asked.panel, row | one.labels | {
            "null": 0.0, "estimate": limits.estimate[i], "conf_low": limits.low[i],
            "conf_high": limits.high[i], "p_value": alone[i], "p_adjusted": adjusted[i],
            "method": f"simultaneous {limits.method}", "note": beside,
            "seed": seed if limits.seed is None else limits.seed,
        }, notes)
        for i, one in enumerate(found)
    ]  # fmt: skip


def _adjusted(
    gaps: np.ndarray, sizes: np.ndarray, means: np.ndarray, found: list[Combined], method: str
) -> tuple[np.ndarray, np.ndarray, int | None]:
    """Exact p-value of each combination alone, and adjusted for all of them; the seed where it was drawn."""
    totals = gaps * sizes[:, None]
    alone = np.array([sign_flip(column).p_value for column in totals.T])
    if method == "romano-wolf":
        joint = romano_wolf(gaps, sizes=sizes)
        return alone, joint.p_adjusted, joint.seed
    if method == "max-t":
        pairs = {one.labels["contrast"] for one in found}
        if len(pairs) > 1:
            raise PairstatsError(
                f"adjust='max-t' needs one pair of levels in several strata, but there are {len(pairs)} "
                "pairs, whose labels share no group of exchanges. Use 'holm' or 'romano-wolf'."
            )
        joint = max_t(totals)
        return alone, joint.p_adjusted, joint.seed
    if method == "shaffer":
        k = means.shape[1]
        if len(found) != k * (k - 1) // 2 or any(len(one.columns) != 2 for one in found):
            raise PairstatsError(
                "adjust='shaffer' needs all pairs of the levels of one factor in one stratum. Use 'holm'."
            )
        return alone, shaffer(alone, k), None
    return alone, adjust_p(alone, method), None
