"""Repeats by cell: where variance comes from, how many to buy, pass@k and pass^k, copies of one reply."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from pairstats.arguments import checked
from pairstats.errors import PairstatsError
from pairstats.estimands import Mean
from pairstats.numeric.family import Kind
from pairstats.numeric.repeats import copied_repeats, pass_at_k, pass_hat_k, repeats_to_buy
from pairstats.numeric.shares import family_codes, family_share, family_sums
from pairstats.numeric.variance import crossed_variance
from pairstats.numeric.variance import variance_components as components_of
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.verbs.questions import no_copies
from pairstats.verbs.replies import (
    noted,
    number,
    provenance,
    refuse_partial,
    refuse_same,
    refuse_several,
    replies_by_cell,
    share_columns,
    shared_columns,
)


@checked
def variance_parts(
    panel: Panel, column: str = "score", *, cost_item: float = 1.0, cost_repeat: float = 1.0
) -> Estimates:
    """Variance between families, between units in a family, and between repeats; and how many repeats to buy.

    Use it on a pilot with repeats, to learn whether more repeats or more families would narrow the interval.
    Not for the interval itself: the variance of family means holds all parts already, and `estimate` covers
    it. Look at `copied_replies` first: repeats that are copies of one reply show no noise.

    Parameters
    ----------
    panel : Panel
    column : str, default "score"
    cost_item, cost_repeat : float
        Price of a new unit, and of one more reply to a unit.

    Returns
    -------
    Estimates
        Rows ``var_family``, ``var_unit`` (absent where every family is one unit), ``var_repeat``, and
        ``repeats_best`` and ``repeats_enough`` (see `pairstats.numeric.repeats_to_buy`). Variances may be
        negative, which says that they cannot be told from 0.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formulas and sources: `variance_components`, `repeat_variance`, `repeats_to_buy` of `pairstats.numeric`.

    Examples
    --------
    >>> rows = pd.DataFrame({"family": list("aaabbbcccddd"), "item": list("aaabbbcccddd"), "model": "m",
    ...                      "repeat": [0, 1, 2] * 4, "score": [1.0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0]})
    >>> variance_parts(Panel(rows)).frame[["estimand", "estimate"]].round(4).values.tolist()[:2]
    [['var_family', 0.0185], ['var_repeat', 0.25]]
    """
    shared = shared_columns(panel, "Variance components", None)
    unit = _unit(panel, column)
    rows: list[dict[str, Any]] = []
    for replies in replies_by_cell(panel, column, *unit, numbers=(column,)):
        frame = replies.frame[replies.frame[column].notna()]
        row = {
            **replies.labels, **shared, "n_units": len(frame.groupby([panel.family, *unit])) if len(frame) else 0,
            "n_missing": len(replies.frame) - len(frame), "n_families": frame[panel.family].nunique(),
        }  # fmt: skip
        if not len(frame):
            rows.append(row | {"estimand": "var_family", "note": "no results: no reply has a score"})
            continue
        rows += [
            noted(panel, row | one)
            for one in _components(
                frame, panel.family, unit, column, row["n_units"], (cost_item, cost_repeat)
            )
        ]
    return Estimates.from_rows(rows, factors=panel.cells, provenance=provenance(panel, column=column))


def _components(
    frame: pd.DataFrame,
    family: str,
    unit: tuple[str, ...],
    column: str,
    n_units: int,
    costs: tuple[float, float],
) -> list[dict[str, Any]]:
    names = ["var_family", "var_unit", "var_repeat"]
    levels = [frame[family].to_numpy(), frame.groupby([family, *unit]).ngroup().to_numpy()]
    if n_units == frame[family].nunique():
        names, levels = ["var_family", "var_repeat"], levels[:1]
    found = components_of(frame[column].to_numpy(dtype=float), levels)
    rows: list[dict[str, Any]] = []
    for name, value, df in zip(names, found.components, found.df, strict=True):
        note = None if value == value else f"not estimable: {df} degrees of freedom at a level"
        note = "negative: cannot be told from 0" if value < 0 else note
        rows.append(
            {
                "estimand": name,
                "estimate": number(float(value)),
                "method": "analysis of variance",
                "note": note,
            }
        )
    between, within = float(np.sum(found.components[:-1])), float(found.components[-1])
    if not (math.isfinite(between) and math.isfinite(within)):
        return rows
    plan = repeats_to_buy(between, within, cost_item=costs[0], cost_repeat=costs[1])
    best = (
        {"estimate": plan.best} if math.isfinite(plan.best) else {"note": "units do not differ: repeats only"}
    )
    enough = {"note": "none: units do not differ"} if plan.enough is None else {"estimate": plan.enough}
    return [*rows, {"estimand": "repeats_best", **best}, {"estimand": "repeats_enough", **enough}]


@checked
def framing_test(panel: Panel, factor: str = "variant", column: str = "score") -> Estimates:
    """Test whether framings matter beyond the cases at hand: cases x framings x repeats, cases random.

    Use it for a complete crossed design of several framings. Not for two framings, or few cases of 0/1
    scores: `contrast` and `omnibus` permute within families and cover those. Framings are tested against
    case x framing, never against repeats.

    Parameters
    ----------
    panel : Panel
        A family is a case; scores are averaged over items inside each family, level and repeat.
    factor : str, default "variant"
    column : str, default "score"

    Returns
    -------
    Estimates
        Row ``framing`` with F and its p-value, then the components ``var_case``, ``var_interaction`` and
        ``var_repeat``. Families without every level and repeat are left out and counted in ``n_missing``.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formula and sources: `crossed_variance` of `pairstats.numeric`.

    Examples
    --------
    >>> rows = pd.DataFrame([{"family": c, "item": c, "model": "m", "variant": v, "repeat": r, "score": float(s)}
    ...                      for c, table in zip("abc", ([[0, 1], [1, 1]], [[0, 0], [1, 1]], [[0, 0], [0, 1]]))
    ...                      for v, scores in zip("xy", table) for r, s in enumerate(scores)])
    >>> framing_test(Panel(rows)).frame["statistic"].round(3).tolist()[0]
    16.0
    """
    others = tuple(name for name in panel.cells if name != factor)
    shared = shared_columns(panel, "A test of framings", None, weight="family")
    rows: list[dict[str, Any]] = []
    refuse_same((column,), (panel.family, factor, "repeat"))
    refuse_same((factor,), (panel.family, "repeat"))
    for replies in replies_by_cell(panel.by(others), factor, column, numbers=(column,)):
        table = replies.frame.pivot_table(
            index=panel.family, columns=[factor, "repeat"], values=column, aggfunc="mean", dropna=False
        )
        levels, repeats = (table.columns.get_level_values(i).nunique() for i in (0, 1))
        complete = table.notna().all(axis=1).to_numpy()
        row = {
            **replies.labels, **shared, "contrast": f"equal over {factor}", "n_families": int(complete.sum()),
            "n_missing": int((~complete).sum()),
        }  # fmt: skip
        if levels * repeats != table.shape[1] or complete.sum() < 2 or levels < 2:
            needed = "needs 2 families and 2 levels with the same repeats everywhere"
            note = no_copies(panel, needed) if factor == "variant" else f"no results: {needed}"
            rows.append(row | {"estimand": "framing", "note": note})
            continue
        found = crossed_variance(table.to_numpy()[complete].reshape(-1, levels, repeats))
        test = {
            "estimand": "framing", "statistic": found.f_statistic, "p_value": found.p_value,
            "method": "F against case x framing", "note": f"{found.df[1]} and {found.df[2]} degrees of freedom",
        }  # fmt: skip
        rows.append(noted(panel, row | test))
        for name in ("case", "interaction", "repeat"):
            value = number(getattr(found, f"var_{name}"))
            why = "one repeat: not estimable" if value is None else None
            rows.append(row | {"estimand": f"var_{name}", "estimate": value, "note": why})
    return Estimates.from_rows(rows, factors=others, provenance=provenance(panel, factor=factor))


@checked
def pass_rates(
    panel: Panel,
    k: int,
    column: str = "score",
    *,
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> Estimates:
    """Chance that at least one of k replies is right (pass@k), and that all are (pass^k), in every cell.

    Use it for claims about best-of-k or k in a row. Not as an accuracy: ``k=1`` is that, and `estimate` covers
    it. Raising a rate to the power k instead is biased. Repeats must be independent: see `copied_replies`.

    Parameters
    ----------
    panel : Panel
    k : int
        At most the number of replies of most units.
    column : str, default "score"
        0 or 1.
    kind : {"jeffreys", "cp"}
    confidence_level : float, default 0.95

    Returns
    -------
    Estimates
        Rows ``pass@k`` and ``pass^k`` with family intervals. Units with fewer than k replies are left out and
        counted in ``n_missing``.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formulas and sources: `pass_at_k`, `pass_hat_k` of `pairstats.numeric`.

    Examples
    --------
    >>> rows = pd.DataFrame({"family": list("aaabbb"), "item": list("aaabbb"), "model": "m",
    ...                      "repeat": [0, 1, 2] * 2, "score": [1.0, 0, 0, 1, 1, 1]})
    >>> pass_rates(Panel(rows), 2).frame["estimate"].round(3).tolist()
    [0.833, 0.5]
    """
    shared = shared_columns(panel, "pass@k", confidence_level)
    unit = _unit(panel, column)
    rows: list[dict[str, Any]] = []
    for replies in replies_by_cell(panel, column, *unit, numbers=(column,)):
        refuse_partial(column, replies.frame[column].dropna().to_numpy(dtype=float))
        counts = replies.frame.groupby([panel.family, *unit])[column].agg(["sum", "count"])
        enough = counts[counts["count"] >= k]
        row = {
            **replies.labels, **shared, "n_units": len(enough), "n_missing": len(counts) - len(enough)
        }  # fmt: skip
        for name, rate in (("pass@", pass_at_k), ("pass^", pass_hat_k)):
            one = row | {"estimand": f"{name}{k}"}
            if not len(enough):
                rows.append(one | {"n_families": 0, "note": f"no results: no unit has {k} replies"})
                continue
            found = rate(enough["sum"].to_numpy(), enough["count"].to_numpy(), k=k)
            families = enough.index.get_level_values(0).to_numpy()
            codes = family_codes(families, families.size)
            share = family_share(
                family_sums(found.scores, codes), family_sums(np.ones(codes.size), codes), kind=kind,
                confidence_level=confidence_level,
            )  # fmt: skip
            low, high = int(enough["count"].min()), int(enough["count"].max())
            beside = f"{low} replies a unit" if low == high else f"{low} to {high} replies a unit"
            rows.append(noted(panel, one | share_columns(share), [beside]))
    return Estimates.from_rows(rows, factors=panel.cells, provenance=provenance(panel, k=k))


@checked
def copied_replies(panel: Panel, column: str = "response") -> Estimates:
    """Find repeats that are copies of one reply, in every cell: a cache or a fixed seed says nothing on noise.

    Use it before repeats are read as noise, with raw texts. Not with canonical answers: equal answers are no
    copies, and `excess_flips` covers how often they differ.

    Parameters
    ----------
    panel : Panel
    column : str, default "response"

    Returns
    -------
    Estimates
        Rows ``identical_pairs`` (share of the pairs of replies to one unit that are the same text),
        ``identical_units`` (share of the units all replies of which are), and ``distinct_repeats`` (repeats
        left when copied ones count once); ``note`` names repeats that are the same text everywhere.

    Raises
    ------
    PairstatsError
        When a text is to be compared that is not there.

    Notes
    -----
    Formula and sources: `copied_repeats` of `pairstats.numeric`.

    Examples
    --------
    >>> rows = pd.DataFrame({"family": list("aabb"), "item": list("aabb"), "model": "m", "repeat": [0, 1] * 2,
    ...                      "response": ["Paris.", "Paris.", "4", "4"]})
    >>> copied_replies(Panel(rows)).frame["estimate"].tolist()
    [1.0, 1.0, 1.0]
    """
    shared = shared_columns(panel, "A look for copies", None)
    unit = _unit(panel, column)
    rows: list[dict[str, Any]] = []
    keys = [panel.family, *unit, "repeat"]
    refuse_same((column,), keys)
    for replies in replies_by_cell(panel, column, *unit):
        refuse_several(
            replies.frame, keys, "A unit has one reply a repeat", "Choose a run with panel.where()."
        )  # fmt: skip
        table = replies.frame.set_index(keys)[column].unstack("repeat")
        texts = table.astype(object).where(table.notna(), None).to_numpy().tolist()
        found = copied_repeats(texts)
        numbers = [str(name) for name in table.columns]
        copied = [
            f"repeats {numbers[a]} and {numbers[b]} are the same text everywhere"
            for a, b in found.copied_columns
        ]
        row = {
            **replies.labels, **shared, "n_units": found.n_items, "n_missing": int(table.isna().sum().sum()),
            "n_families": table.index.get_level_values(0).nunique(), "note": "; ".join(copied) or None,
        }  # fmt: skip
        share = found.n_identical / found.n_items if found.n_items else math.nan
        values = {
            "identical_pairs": number(found.share_identical_pairs), "identical_units": number(share),
            "distinct_repeats": float(found.distinct_repeats),
        }  # fmt: skip
        rows += [row | {"estimand": name, "estimate": value} for name, value in values.items()]
    return Estimates.from_rows(rows, factors=panel.cells, provenance=provenance(panel, column=column))


def _unit(panel: Panel, column: str) -> tuple[str, ...]:
    """Columns that tell the units of one family apart."""
    panel.require(column)
    unit = tuple(name for name in panel.unit_of(Mean(column)) if name != "repeat")
    if not unit:
        raise PairstatsError(
            "Repeats are counted inside a unit, but the panel has unit=(). Give the panel unit=('item', 'variant')."
        )
    return unit
