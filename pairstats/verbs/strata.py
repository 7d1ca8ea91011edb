"""Means over strata (tasks, splits, categories), with families resampled within each."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from pairstats.arguments import checked
from pairstats.asking import check_comparison, check_estimand, check_stratum
from pairstats.contrasts import Comparison
from pairstats.errors import PairstatsError
from pairstats.estimands import Estimand
from pairstats.infer import asked_for
from pairstats.numeric.checks import as_count
from pairstats.numeric.family import Kind
from pairstats.numeric.strata import StratifiedMean
from pairstats.numeric.strata import macro_average as average_strata
from pairstats.numeric.strata import post_stratify as reweight
from pairstats.pairs import TIE, combine, paired_units
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.rows import families_only
from pairstats.sums import Units
from pairstats.verbs.replies import noted, number, provenance


class _Stratified(NamedTuple):
    """Families of one row of results, with their strata."""

    labels: dict[str, Any]
    scores: np.ndarray
    sizes: np.ndarray
    strata: list[str]
    n_units: int
    planned: dict[Hashable, float]
    missing: int


@checked
def macro_average(
    panel: Panel,
    estimand: Estimand,
    stratum: str,
    comparison: Comparison | None = None,
    *,
    weights: Mapping[Hashable, float] | None = None,
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> Estimates:
    """Mean of the strata's means in every cell, or of their differences, families resampled within strata.

    Use it for a leaderboard's average over fixed tasks or splits. Not where the tasks are a sample of tasks;
    a panel with ``family="task"`` covers that. Not for uneven losses; `post_stratify` does.

    Parameters
    ----------
    panel : Panel
    estimand : Estimand
        With a known range.
    stratum : str
        Column; a family lies in one stratum.
    comparison : Pairwise, Versus or Interaction, optional
        Compare cells on the units they share, stratum by stratum, and average the differences.
    weights : mapping of str to float, optional
        Weight of each stratum; equal if left out.
    kind : {"jeffreys", "cp"}
    confidence_level : float, default 0.95

    Returns
    -------
    Estimates
        One row a cell or combination, with the Monte-Carlo error of its limits; ``note`` gives each stratum.

    Raises
    ------
    PairstatsError
        When a family lies in several strata, or strata of one row are absent from another.

    Notes
    -----
    Formula and sources: `macro_average` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pairstats import Mean
    >>> rows = pd.DataFrame({"family": list("abcdef"), "item": list("abcdef"), "model": "m",
    ...                      "split": list("xxxyyy"), "score": [1.0, 1, 0, 1, 0.5, 1]})
    >>> macro_average(Panel(rows), Mean("score"), "split").frame["estimate"].round(3).item()
    0.75
    """
    found = (
        _cells(panel, estimand, stratum)
        if comparison is None
        else _pairs(panel, estimand, stratum, comparison)
    )
    bounds = _bounds(estimand, comparison is not None)
    rows = []
    for one in found:
        row = one.labels | {"conf_level": confidence_level}
        if not one.scores.size:
            rows.append(row | {"n_families": 0, "note": "no results: no unit counts"})
            continue
        mean = average_strata(
            one.scores, one.strata, sizes=one.sizes, weights=weights, kind=kind, bounds=bounds,
            confidence_level=confidence_level,
        )  # fmt: skip
        rows.append(noted(panel, row | _columns(mean, one), _absent(one)))
    settings = provenance(panel, stratum=stratum, interval=f"family-{kind}")
    others = tuple(name for name in panel.cells if name != stratum)
    factors = others if comparison is None else tuple(n for n in others if n not in comparison.factors)
    return Estimates.from_rows(rows, factors=factors, provenance=settings)


@checked
def post_stratify(
    panel: Panel,
    estimand: Estimand,
    stratum: str = "category",
    *,
    planned: Mapping[Hashable, float] | None = None,
    minimum: int = 5,
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> Estimates:
    """Estimate every cell at the planned mix of categories, where categories lost answers unevenly.

    Use it beside `estimate`, when the losses of an outage fell on some categories. Not where the losses may
    depend on the answer itself; the bounds of `estimate` and `missing_bounds` cover that.

    Parameters
    ----------
    panel : Panel
    estimand : Estimand
        With a known range.
    stratum : str, default "category"
    planned : mapping of str to float, optional
        Planned items of each category; by default those in the records, answered or not.
    minimum : int, default 5
        Answered items below which a category cannot stand for what was planned.
    kind : {"jeffreys", "cp"}
    confidence_level : float, default 0.95

    Returns
    -------
    Estimates
        One row a cell; without an estimate where a category is below `minimum`, which ``note`` names.

    Raises
    ------
    PairstatsError

    Notes
    -----
    Formula and sources: `post_stratify` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pairstats import Mean
    >>> rows = pd.DataFrame({"family": [f"f{i}" for i in range(20)], "item": "q", "model": "m",
    ...                      "category": ["x"] * 10 + ["y"] * 10, "status": ["answered"] * 15 + ["error"] * 5,
    ...                      "score": [1.0] * 8 + [0.0] * 2 + [1.0] * 5 + [None] * 5})
    >>> post_stratify(Panel(rows), Mean("score")).frame["estimate"].round(3).item()
    0.9
    """
    as_count("minimum", minimum)
    bounds = _bounds(estimand, False)
    rows = []
    for one in _cells(panel, estimand, stratum):
        row = one.labels | {"conf_level": confidence_level}
        if not one.scores.size:
            rows.append(row | {"n_families": 0, "note": "no results: no reply counts"})
            continue
        mean = reweight(
            one.scores, one.strata, one.planned if planned is None else planned, sizes=one.sizes,
            minimum=minimum, kind=kind, bounds=bounds, confidence_level=confidence_level,
        )  # fmt: skip
        few = [f"no estimate: fewer than {minimum} answered in {', '.join(map(str, mean.unusable))}"]
        rows.append(noted(panel, row | _columns(mean, one), few if mean.unusable else []))
    settings = provenance(panel, stratum=stratum, interval=f"family-{kind}", minimum=minimum)
    return Estimates.from_rows(
        rows, factors=tuple(name for name in panel.cells if name != stratum), provenance=settings
    )  # fmt: skip


def _bounds(estimand: Estimand, difference: bool) -> tuple[float, float]:
    if estimand.bounds is None:
        raise PairstatsError(
            f"A mean over strata needs a known range, but {estimand.name} has none. Give it bounds=(low, high)."
        )
    low, high = estimand.bounds
    return (low - high, high - low) if difference else (low, high)


def _cells(panel: Panel, estimand: Estimand, stratum: str) -> Iterator[_Stratified]:
    """Families of every cell, in all strata."""
    check_stratum(panel, stratum)
    check_estimand(panel, estimand)
    families_only(panel, "A mean over strata")
    others = tuple(name for name in panel.cells if name != stratum)
    split = panel.by((*others, stratum))
    units = Units.collect(split.rows(), estimand, panel.family, split.cells, split.unit_of(estimand))
    shared = asked_for(split, estimand, None, 0.95).described()
    for key in sorted({cell[:-1] for cell in units.cells}):
        columns = [c for c, cell in enumerate(units.cells) if cell[:-1] == key]
        labels = shared | dict(zip(others, key, strict=True))
        ones = [([c], np.ones(1), units.cells[c][-1]) for c in columns]
        yield _gathered(units, estimand, labels, ones)


def _pairs(panel: Panel, estimand: Estimand, stratum: str, comparison: Comparison) -> Iterator[_Stratified]:
    """Family differences of every combination, in all strata."""
    check_stratum(panel, stratum)
    check_estimand(panel, estimand)
    check_comparison(panel, comparison)
    families_only(panel, "A mean over strata")
    others = [name for name in panel.cells if name not in (stratum, *comparison.factors)]
    cells = (*others, stratum, *comparison.factors)
    asked = asked_for(panel.by(cells), estimand, None, 0.95)
    units, _ = paired_units(asked, comparison.factors, cells)
    groups: dict[tuple[Any, ...], list[tuple[list[int], np.ndarray, str]]] = {}
    for one in combine(units, cells, (*others, stratum), comparison):
        if not one.columns:
            raise PairstatsError(
                f"Every stratum must have rows on all sides, but {one.labels} has not. Leave it out with "
                "panel.where()."
            )
        key = (one.labels["contrast"], *(one.labels[name] for name in others))
        groups.setdefault(key, []).append((list(one.columns), one.weights, one.labels[stratum]))
    for (contrast, *levels), parts in groups.items():
        labels = asked.described() | {
            "contrast": contrast,
            "null": 0.0,
            **dict(zip(others, levels, strict=True)),
        }
        yield _gathered(units, estimand, labels, parts)


def _gathered(
    units: Units, estimand: Estimand, labels: dict[str, Any], parts: list[tuple[list[int], np.ndarray, str]]
) -> _Stratified:
    """Family scores, sizes and strata of several combinations of columns, one a stratum."""
    scores, sizes, strata, families = [], [], [], []
    planned: dict[Hashable, float] = {}
    n_units, missing = 0, 0
    for columns, weights, name in parts:
        chosen = units.common(columns)
        there = (units.n_planned[:, columns] > 0).any(axis=1)
        sums = units.add_up(columns, chosen, estimand.weight)
        if len(sums) and not np.all(np.abs(sums.den - sums.den[:, :1]) < TIE):
            raise PairstatsError(
                f"Differences need equal denominators on all sides, but those of {estimand.name} differ."
            )
        scores.append(sums.means @ weights if len(sums) else np.zeros(0))
        sizes.append(sums.den[:, 0])
        strata += [name] * len(sums)
        families += list(sums.families)
        planned[name] = float(there.sum())
        n_units, missing = n_units + int(chosen.sum()), missing + int((there & ~chosen).sum())
    twice = sorted({family for family in families if families.count(family) > 1})
    if twice:
        raise PairstatsError(
            f"A family must lie in one stratum, but {twice[:3]} lie in several ({len(twice)} do). Families that "
            "cross strata move together: average the strata inside each family with Mean(weight='family')."
        )
    return _Stratified(
        labels, np.concatenate(scores), np.concatenate(sizes), strata, n_units, planned, missing
    )  # fmt: skip


def _absent(one: _Stratified) -> list[str]:
    empty = [name for name in one.planned if name not in one.strata]
    return [f"no answer in {', '.join(map(str, empty))}, which the mean leaves out"] if empty else []


def _columns(mean: StratifiedMean, one: _Stratified) -> dict[str, Any]:
    parts = zip(mean.strata, mean.estimates, mean.n_families, strict=True)
    return {
        "estimate": number(mean.estimate), "conf_low": number(mean.low), "conf_high": number(mean.high),
        "method": mean.method, "mc_error": mean.mc_error, "seed": mean.seed,
        "n_families": int(mean.n_families.sum()), "n_units": one.n_units, "n_missing": one.missing,
        "note": ", ".join(f"{name} {value:.3f} ({n} families)" for name, value, n in parts),
    }  # fmt: skip
