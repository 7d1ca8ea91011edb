"""Scores made of several, by cell: numbers right in a family, the smaller of a score and a cap, weighted parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pairstats.arguments import checked
from pairstats.asking import check_estimand
from pairstats.errors import PairstatsError
from pairstats.estimands import Estimand
from pairstats.infer import asked_for
from pairstats.numeric.composite import capped_score as smaller_of
from pairstats.numeric.composite import number_correct as count_right
from pairstats.numeric.composite import weighted_composite as weighted_sum
from pairstats.numeric.family import Kind
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.rows import families_only
from pairstats.sums import FamilySums, Units
from pairstats.verbs.replies import noted, provenance, refuse_partial, replies_by_cell, shared_columns


@checked
def number_correct(panel: Panel, column: str = "score", *, confidence_level: float = 0.95) -> Estimates:
    """How many decisions of a family were right, in every cell: families with 0, 1, ..., k right.

    Use it beside `AllCorrect`, which is strict: .98 a decision is .85 for eight. Not with families of
    different sizes, which have no common k; `estimate` with `Mean` covers those.

    Parameters
    ----------
    panel : Panel
    column : str, default "score"
        0 or 1.
    confidence_level : float, default 0.95
        Of the Clopper-Pearson interval for all k right.

    Returns
    -------
    Estimates
        Rows ``all_correct(k)``, ``per_decision`` (without limits: `estimate` gives them), and
        ``families_with(j)`` for j = k, ..., 0. A family counts once a repeat; ``n_missing`` counts those with
        a missing decision.

    Raises
    ------
    PairstatsError
        When families differ in size.

    Notes
    -----
    Formula and sources: `number_correct` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"family": list("aaabbbccc"), "item": list("123123123"), "model": "m",
    ...                      "score": [1.0, 1, 1, 1, 0, 1, 1, 1, 1]})
    >>> number_correct(Panel(rows)).frame["estimate"].round(3).tolist()
    [0.667, 0.889, 2.0, 1.0, 0.0, 0.0]
    """
    shared = shared_columns(panel, "A number of right decisions", confidence_level, weight="family")
    rows: list[dict[str, Any]] = []
    for replies in replies_by_cell(panel, column, numbers=(column,)):
        frame = replies.frame
        refuse_partial(column, frame[column].dropna().to_numpy(dtype=float))
        if frame["repeat"].nunique() > 1:
            raise PairstatsError(
                "Families are counted once, but there are several repeats. Choose one with panel.where(repeat=0)."
            )
        groups = frame.groupby(panel.family)[column]
        sizes, answered = groups.size(), groups.count()
        if sizes.nunique() > 1:
            raise PairstatsError(
                f"All families must have the same number of decisions, but they have {sizes.min()} to "
                f"{sizes.max()}. Use estimate() with Mean, or panel.where() to choose families."
            )
        whole = answered[answered == sizes].index
        row = {
            **replies.labels, **shared, "n_families": len(whole), "n_units": int(sizes.iloc[0]) * len(whole),
            "n_missing": len(sizes) - len(whole),
        }  # fmt: skip
        if not len(whole):
            rows.append(row | {"estimand": "all_correct", "note": "no results: no family is complete"})
            continue
        table = np.array([groups.get_group(name).to_numpy(dtype=float) for name in whole])
        found = count_right(table, confidence_level=confidence_level)
        strict = found.all_correct
        columns = {
            "estimand": f"all_correct({found.k})", "estimate": strict.estimate, "conf_low": strict.low,
            "conf_high": strict.high, "method": strict.method,
        }  # fmt: skip
        rows.append(noted(panel, row | columns))
        rows.append(row | {"estimand": "per_decision", "estimate": found.per_decision, "conf_level": None})
        for right in range(found.k, -1, -1):
            one = {"estimand": f"families_with({right})", "estimate": float(found.families[right])}
            rows.append(row | one | {"conf_level": None})
    return Estimates.from_rows(rows, factors=panel.cells, provenance=provenance(panel, column=column))


@checked
def capped(
    panel: Panel,
    estimand: Estimand,
    cap_panel: Panel,
    cap: Estimand,
    *,
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> Estimates:
    """The smaller of a score and a cap that comes from other families, in every cell.

    Use it for ``min(score, cap)`` with the cap on its own item set. Not where each family has both: there
    score the smaller one family by family and use `estimate`; the bootstrap of the minimum is inconsistent.

    Parameters
    ----------
    panel, cap_panel : Panel
        Rows of the score and of the cap, with the same cells.
    estimand, cap : Estimand
        With the same known range.
    kind : {"jeffreys", "cp"}
        Family interval of the parts; "cp" below 10 families.
    confidence_level : float, default 0.95

    Returns
    -------
    Estimates
        Rows ``min(...)``, and both parts with their own intervals; ``note`` names the active one.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formula and sources: `capped_score` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pairstats import Mean
    >>> one = pd.DataFrame({"family": list("abcdef"), "item": "q", "model": "m", "score": [1, 1, 0.5, 0.5, 0, 1]})
    >>> other = pd.DataFrame({"family": list("uvwx"), "item": "q", "model": "m", "score": [1.0, 1, 1, 0]})
    >>> found = capped(Panel(one), Mean("score"), Panel(other), Mean("score", label="cap"), kind="cp")
    >>> found.frame["estimate"].round(3).tolist()
    [0.667, 0.667, 0.75]
    """
    if estimand.bounds is None or estimand.bounds != cap.bounds:
        raise PairstatsError(
            f"Score and cap need one known range, but have {estimand.bounds} and {cap.bounds}. Give bounds=."
        )
    for each in (panel, cap_panel):
        families_only(each, "A capped score")
    parts = [_family_sums(p, e) for p, e in ((panel, estimand), (cap_panel, cap))]
    shared = asked_for(panel, estimand, None, confidence_level).described()
    rows: list[dict[str, Any]] = []
    for cell in [cell for cell in parts[0] if cell in parts[1]]:
        score, limit = parts[0][cell], parts[1][cell]
        row = shared | dict(zip(panel.cells, cell, strict=True))
        name = f"min({estimand.name}, {cap.name})"
        if not len(score) or not len(limit):
            note = "no results: one part has nothing to count"
            rows.append(row | {"estimand": name, "n_families": 0, "note": note})
            continue
        found = smaller_of(
            score.means[:, 0], limit.means[:, 0], sizes=score.den[:, 0],
            cap_sizes=limit.den[:, 0], kind=kind, bounds=estimand.bounds, confidence_level=confidence_level,
        )  # fmt: skip
        active = {"score": estimand.name, "cap": cap.name, "both": "both equally"}[found.active]
        columns = {
            "estimand": name, "estimate": found.estimate, "conf_low": found.low, "conf_high": found.high,
            "method": found.method, "n_families": min(len(score), len(limit)), "note": f"active: {active}",
        }  # fmt: skip
        rows.append(noted(panel, row | columns))
        sides = (
            (estimand.name, found.score, found.score_interval, score),
            (cap.name, found.cap, found.cap_interval, limit),
        )
        for label, value, one, sums in sides:
            own = {"estimate": value, "conf_low": one.low, "conf_high": one.high, "method": one.method}
            rows.append(noted(panel, row | {"estimand": label, "n_families": len(sums)} | own))
    if not rows:
        raise PairstatsError("Score and cap have no cell in common, so there is nothing to cap.")
    return Estimates.from_rows(
        rows, factors=panel.cells, provenance=provenance(panel, interval=f"family-{kind}")
    )


@checked
def weighted(
    panel: Panel,
    weights: Mapping[str, float],
    *,
    label: str = "weighted",
    bounds: tuple[float, float] = (0.0, 1.0),
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> Estimates:
    """Weighted sum of several score columns, family by family, in every cell.

    Use it for a registered composite that every family has all parts of. Not for parts on different items;
    `macro_average` and `capped` cover those.

    Parameters
    ----------
    panel : Panel
    weights : mapping of str to float
        Weight of each score column; negative for a part that subtracts. Not rescaled.
    label : str, default "weighted"
        Name in the results.
    bounds : tuple of float, default (0, 1)
        Range of every part.
    kind : {"jeffreys", "cp"}
    confidence_level : float, default 0.95

    Returns
    -------
    Estimates
        One row a cell: mean over families of the composite of their means; ``note`` gives the parts.
        ``n_missing`` counts families that lack a part.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formula and sources: `weighted_composite` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"family": list("abc"), "item": "q", "model": "m", "score": [1.0, 1, 0],
    ...                      "score_style": [1.0, 0.5, 1]})
    >>> weighted(Panel(rows), {"score": 0.75, "score_style": 0.25}).frame["estimate"].round(4).item()
    0.7083
    """
    shared = shared_columns(panel, "A weighted score", confidence_level, weight="family")
    rows: list[dict[str, Any]] = []
    for replies in replies_by_cell(panel, *weights, numbers=tuple(weights)):
        means = replies.frame.groupby(panel.family)[list(weights)].mean()
        whole = means.dropna()
        row = {
            **replies.labels, **shared, "estimand": label, "n_families": len(whole), "n_units": len(whole),
            "n_missing": len(means) - len(whole),
        }  # fmt: skip
        if not len(whole):
            rows.append(row | {"note": "no results: no family has every part"})
            continue
        found = weighted_sum(
            whole.to_numpy(), list(weights.values()), kind=kind, bounds=bounds, confidence_level=confidence_level
        )  # fmt: skip
        beside = ", ".join(f"{name} {value:.3f}" for name, value in zip(weights, found.parts, strict=True))
        columns = {
            "estimate": found.estimate, "conf_low": found.low, "conf_high": found.high, "method": found.method,
            "note": beside,
        }  # fmt: skip
        rows.append(noted(panel, row | columns))
    return Estimates.from_rows(rows, factors=panel.cells, provenance=provenance(panel, weights=dict(weights)))


def _family_sums(panel: Panel, estimand: Estimand) -> dict[tuple[str, ...], FamilySums]:
    check_estimand(panel, estimand)
    units = Units.collect(panel.rows(), estimand, panel.family, panel.cells, panel.unit_of(estimand))
    return {
        cell: units.add_up([column], units.n_valid[:, column] > 0, estimand.weight)
        for column, cell in enumerate(units.cells)
    }
