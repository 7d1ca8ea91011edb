"""How many families a margin needs, and how many stand for a number of independent pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pairstats.arguments import checked
from pairstats.asking import check_comparison, check_estimand, check_number
from pairstats.cell_totals import cell_totals
from pairstats.contrasts import Comparison, Trend
from pairstats.errors import PairstatsError, one_of
from pairstats.estimands import Estimand, Mean
from pairstats.infer import asked_for
from pairstats.numeric.checks import as_count
from pairstats.numeric.noninferiority import noninferiority_nobs
from pairstats.numeric.planning import families_needed
from pairstats.numeric.power import SIZE_METHODS, mcnemar_sample_size
from pairstats.numeric.variance import variance_components
from pairstats.pairs import TIE, combine, paired_units
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.rows import families_only
from pairstats.verbs.replies import noted, number, provenance, refuse_partial


@checked
def margin_plan(
    panel: Panel,
    estimand: Estimand | None = None,
    margins: float | Sequence[float] = (0.10, 0.05, 0.03),
    *,
    alpha: float = 0.025,
) -> Estimates:
    """Families that a claim of non-inferiority needs at least, beside those at hand, in every cell.

    Use it before a margin is registered: with fewer families even systems that never differ cannot be shown to
    be non-inferior. Not for power against a real difference; `families_plan` and `power_of` cover that.

    Parameters
    ----------
    panel : Panel
    estimand : Estimand, optional
        Which replies count; by default ``Mean("score")``.
    margins : float or sequence of float
        Largest losses that would not matter, in (0, 1).
    alpha : float, default 0.025
        One-sided.

    Returns
    -------
    Estimates
        Rows ``families_for_margin(m)`` (family-CP, equal sizes); where every family is one item also
        ``items_for_margin(m)`` (Tango).

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formula and sources: `noninferiority_nobs` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"family": [f"f{i}" for i in range(48)], "item": "q", "model": "m", "score": 1.0})
    >>> margin_plan(Panel(rows), margins=[0.1]).frame["estimate"].tolist()
    [36.0, 35.0]
    """
    families_only(panel, "A claim against a margin")
    chosen = Mean("score") if estimand is None else estimand
    check_number("alpha", alpha, 0.0, 0.5, 0.025)
    margins = _margins(margins)
    rows: list[dict[str, Any]] = []
    for row, totals in cell_totals(panel, chosen):
        have, items = row["n_families"], row["n_units"]
        row |= {"conf_level": 1 - alpha, "alternative": "greater"}
        if totals is None:
            rows.append(row)
            continue
        kinds = {"families": ("family-cp", have), **({"items": ("tango", items)} if items == have else {})}
        for margin in margins:
            for what, (method, there) in kinds.items():
                needed = noninferiority_nobs(margin, alpha=alpha, method=method)
                told = f"{max(needed - there, 0)} more than the {there} at hand"
                columns = {"estimand": f"{what}_for_margin({margin:g})", "estimate": float(needed)}
                rows.append(row | columns | {"margin": float(margin), "method": method, "note": told})
    return Estimates.from_rows(rows, factors=panel.cells, provenance=provenance(panel, alpha=alpha))


def _margins(margins: Any) -> tuple[float, ...]:
    """Margins as numbers; one alone need not be a list."""
    one = isinstance(margins, int | float | str) or not isinstance(margins, Iterable)
    given = (margins,) if one else tuple(margins)
    if not given:
        raise PairstatsError("`margins` must hold at least one margin, but is empty. Write [0.05].")
    return tuple(check_number("margins", margin, 0.0, 1.0, 0.05) for margin in given)


@checked
def families_plan(
    panel: Panel,
    comparison: Comparison,
    column: str = "score",
    *,
    n_pairs: int | None = None,
    copies: int | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    method: str = "exact",
) -> Estimates:
    """Families of copies that the next study needs to find the difference seen in this one.

    Use it with a pilot: the discordant shares and the correlation of the differences inside families are taken
    from it as if they were true, so that the answer is as uncertain as they are. Not for a bound when nothing
    fails (`bound_plan`), nor where several designs are to be compared by simulation (`power_of`).

    Parameters
    ----------
    panel : Panel
    comparison : Pairwise or Versus
    column : str, default "score"
        0 or 1.
    n_pairs : int, optional
        Independent pairs that are wanted; left out, those that McNemar's test needs for `power`.
    copies : int, optional
        Items of a family in the next study; left out, as many as here on average.
    power : float, default 0.8
    alpha : float, default 0.05
    method : str, default "exact"
        As in `pairstats.numeric.mcnemar_sample_size`.

    Returns
    -------
    Estimates
        For each pair rows ``icc_of_differences``, ``pairs_needed`` and ``families_needed``.

    Raises
    ------
    PairingError, PairstatsError

    Notes
    -----
    Formula and sources: `families_needed` of `pairstats.numeric`.

    References
    ----------
    Gonen, M. (2004). Statistics in Medicine 23, 2283-2294. doi:10.1002/sim.1768

    Examples
    --------
    >>> import pandas as pd
    >>> from pairstats import Pairwise
    >>> rows = pd.DataFrame([{"family": f"f{i // 2}", "item": f"q{i}", "model": m,
    ...                       "score": float(i % 10 > (1 if m == "a" else 4))} for i in range(40) for m in "ab"])
    >>> found = families_plan(Panel(rows), Pairwise("model")).frame.set_index("estimand")["estimate"]
    >>> found[["pairs_needed", "families_needed"]].tolist()
    [25.0, 20.0]
    """
    families_only(panel, "A number of families")
    check_comparison(panel, comparison)
    if isinstance(comparison, Trend):
        raise PairstatsError("A number of families is for two sides, not for a Trend.")
    check_estimand(panel, Mean(column))
    one_of("method", method, SIZE_METHODS)
    copies, n_pairs = (
        None if value is None else as_count(name, value, minimum=1)
        for name, value in (("copies", copies), ("n_pairs", n_pairs))
    )
    cells = tuple(dict.fromkeys((*panel.cells, *comparison.factors)))
    stated = np.array(panel.rows().select(column).collect()[column].to_list(), dtype=float)
    refuse_partial(column, stated[~np.isnan(stated)])
    asked = asked_for(panel.by(cells), Mean(column), None, 0.95)
    units, _ = paired_units(asked, comparison.factors, cells)
    strata = tuple(name for name in cells if name not in comparison.factors)
    rows: list[dict[str, Any]] = []
    for combined in combine(units, cells, strata, comparison):
        shared = {**combined.labels, **asked.described(), "conf_level": None}
        used = (
            units.common(combined.columns) if combined.columns else np.zeros(len(units.family_of), dtype=bool)
        )
        if combined.weights.tolist() != [1.0, -1.0] or not used.any():
            rows.append(shared | {"n_families": 0, "note": "no results: no item is answered on both sides"})
            continue
        gaps = units.num[used][:, list(combined.columns)] @ combined.weights
        found = _needed(gaps, units.family_of[used], n_pairs, copies, (power, alpha, method))
        rows += [noted(panel, shared | one) for one in found]
    settings = provenance(panel, power=power, alpha=alpha, method=method)
    return Estimates.from_rows(rows, factors=strata, provenance=settings)


def _needed(
    gaps: np.ndarray,
    families: np.ndarray,
    n_pairs: int | None,
    copies: int | None,
    aim: tuple[float, float, str],
) -> list[dict[str, Any]]:
    """Rows of one pair: correlation of its differences, pairs, and families."""
    power, alpha, method = aim
    first, second = float(np.mean(gaps > TIE)), float(np.mean(gaps < -TIE))
    count = int(np.unique(families).size)
    shared = {"n_families": count, "n_units": gaps.size}
    told = f"{first:.1%} only the first, {second:.1%} only the second"
    if not np.isin(np.abs(gaps), (0.0, 1.0)).all():
        told += "; repeats were averaged: these are shares of items whose averages differ"
    icc = _correlation(gaps, families)
    rows = [
        shared | {
            "estimand": "icc_of_differences", "estimate": number(icc),
            "note": "not estimable: families hold one item, or differ nowhere" if math.isnan(icc) else None,
        }
    ]  # fmt: skip
    if n_pairs is None and first == second:
        return [
            *rows,
            shared | {"estimand": "pairs_needed", "note": "no results: the two do not differ here"},
        ]
    pairs = n_pairs if n_pairs is not None else mcnemar_sample_size(
        first, second, power=power, alpha=alpha, method=method
    ).n  # fmt: skip
    rows.append(shared | {"estimand": "pairs_needed", "estimate": float(pairs), "note": told})
    planned = max(1, round(gaps.size / count)) if copies is None else copies
    if math.isnan(icc) and planned > 1:
        why = f"no results: families of {planned} need a correlation, which these data do not show"
        return [*rows, shared | {"estimand": "families_needed", "note": why}]
    # A correlation below 0 is luck, and no reason for fewer families.
    taken = 0.0 if math.isnan(icc) else min(max(icc, 0.0), 1.0)
    answer = families_needed(pairs, copies=planned, icc=taken)
    note = f"of {planned} items each, design effect {answer.design_effect:.2f}"
    return [*rows, shared | {"estimand": "families_needed", "estimate": float(answer.families), "note": note}]


def _correlation(gaps: np.ndarray, families: np.ndarray) -> float:
    """Correlation of two differences of one family; NaN where it cannot be told."""
    if np.unique(families).size in (1, gaps.size) or np.ptp(gaps) < TIE:
        return math.nan
    between, within = variance_components(gaps, [families]).components.tolist()
    return between / (between + within) if between + within > 0 else math.nan
