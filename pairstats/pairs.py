"""Signed combinations of cells on the units they share: differences, exact tests, bounds."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pairstats.contrasts import Combination, Comparison, Trend
from pairstats.errors import PairingError, PairstatsError, counted, listed
from pairstats.estimands.base import better_side
from pairstats.intervals import FamilyInterval, Totals
from pairstats.numeric.checks import OPPOSITE
from pairstats.numeric.exact import sign_flip
from pairstats.numeric.facing import canonical_sides
from pairstats.numeric.swap import swap_test
from pairstats.numeric.trends import dose_trend
from pairstats.rows import (
    Asked,
    blank_notes,
    family_notes,
    joined,
    limit_columns,
    numbers,
    population_notes,
    weight_notes,
)
from pairstats.shown import parting
from pairstats.sums import FamilySums, Units
from pairstats.these_cases import these_cases_gap

TIE = 1e-9

OF_THE_TEST = re.compile(r"^smallest possible p|^p by |^interval and test disagree")
OF_JEFFREYS = re.compile(r"family-cp is safer$")
"""Notes of a contrast about its own test and its own interval."""


@dataclass(frozen=True, eq=False)
class Combined:
    """Cells of one row of results, and their weights.

    Attributes
    ----------
    labels : dict
        The contrast's label and the levels of the strata.
    columns : tuple of int
        Columns of the units.
    weights : ndarray, shape (len(columns),)
        Their weights; they sum to 0.
    is_slope : bool
        Whether they make a slope over doses, which has no better side.
    better : str
        Side that is better, "higher" or "lower"; empty where the estimand does not say.
    """

    labels: dict[str, Any]
    columns: tuple[int, ...]
    weights: np.ndarray
    is_slope: bool = False
    better: str = "higher"

    def range(self, bounds: tuple[float, float] | None) -> tuple[float, float] | None:
        """Range of the combination where every cell lies in `bounds`."""
        if bounds is None:
            return None
        up, down = self.weights.clip(min=0).sum(), self.weights.clip(max=0).sum()
        return float(up * bounds[0] + down * bounds[1]), float(up * bounds[1] + down * bounds[0])


@dataclass(frozen=True, eq=False)
class Compared:
    """One comparison: its row of results, and what stands behind it.

    Attributes
    ----------
    row : dict
    combined : Combined
    totals : Totals or None
        Family differences, where the sides share their denominators.
    sides : FamilySums or None
        Totals of both sides, where their denominators differ.
    limits_at : callable or None
        Limits at any confidence level, for comparisons without family differences.
    deciding : str
        Kind of the limits that decide a claim against a margin.
    """

    row: dict[str, Any]
    combined: Combined
    totals: Totals | None = None
    sides: FamilySums | None = None
    limits_at: Callable[[float], tuple[float, float]] | None = None
    deciding: str = "family-cp"

    def counted(self, method: str = "family-jeffreys") -> dict[str, Any]:
        """What the row of another test, or interval by `method`, keeps: counts, and the notes that are on both."""
        notes = [note for note in str(self.row.get("note") or "").split("; ") if not OF_THE_TEST.search(note)]
        if method != "family-jeffreys":
            notes = [note for note in notes if not OF_JEFFREYS.search(note)]
        counts = {name: self.row.get(name) for name in ("n_families", "n_units", "n_missing")}
        return counts | {"note": joined(notes)}


def paired_units(
    asked: Asked, factors: Sequence[str], cells: Sequence[str], averaged: Sequence[str] = ()
) -> tuple[Units, str]:
    """Collect units in which different levels of the factors meet, and say how they were paired.

    Where the levels of a factor (or of one that is averaged over) share no unit but every family has just one in
    each cell, families are the pairs.
    """
    panel, estimand = asked.panel, asked.estimand
    unit = panel.unit_of(estimand, factors)
    units = Units.collect(panel.rows(), estimand, panel.family, cells, unit)
    together = tuple(dict.fromkeys((*factors, *averaged)))
    apart = [factor for factor in together if not _levels_meet(units, [cells.index(factor)])]
    if not unit or not apart:
        return units, ""
    if "study" in unit:
        _refuse_studies(asked, cells, [name for name in unit if name != "study"], apart)
    whole = Units.collect(panel.rows(), estimand, panel.family, cells, ())
    if (units.n_planned > 0).sum() == (whole.n_planned > 0).sum():
        return whole, "paired by family"
    strangers = not all(_levels_meet(whole, [cells.index(factor)]) for factor in apart)
    if strangers and _levels_meet(units, [cells.index(factor) for factor in factors]):
        return units, ""  # two levels hold other families: the rows will say that nothing can be compared
    raise PairingError(
        f"No {' and '.join(unit)} is shared by two levels of {' and '.join(apart)}, and families hold "
        "several, so that it is not known which belong together. Map item= to an id that the levels share, or "
        "give the panel unit=() to compare family totals."
    )


def _refuse_studies(asked: Asked, cells: Sequence[str], unit: Sequence[str], apart: Sequence[str]) -> None:
    """Refuse levels that share items by name only, since each level's are of a study of its own."""
    panel = asked.panel
    units = Units.collect(panel.rows(), asked.estimand, panel.family, cells, unit)
    if all(_levels_meet(units, [cells.index(factor)]) for factor in apart):
        raise PairingError(
            f"The levels of {' and '.join(apart)} share {' and '.join(unit)}, but in different studies, which may "
            'ask other things under one name. If they ask the same, read them with set={"study": ...}, or give '
            f"the panel unit={tuple(unit)!r}."
        )


def _levels_meet(units: Units, factors: Sequence[int]) -> bool:
    """Whether any unit was planned in two combinations of levels, or there is one combination only."""
    levels = sorted({tuple(cell[f] for f in factors) for cell in units.cells})
    at = [
        [c for c, cell in enumerate(units.cells) if tuple(cell[f] for f in factors) == key] for key in levels
    ]
    planned = np.column_stack([(units.n_planned[:, columns] > 0).any(axis=1) for columns in at])
    return len(levels) < 2 or bool((planned.sum(axis=1) > 1).any())


def combine(
    units: Units, cells: Sequence[str], strata: Sequence[str], comparison: Comparison
) -> list[Combined]:
    """Find the cells of every combination in every stratum; what is neither is averaged over."""
    at = {name: cells.index(name) for name in cells}
    levels = {name: sorted({cell[at[name]] for cell in units.cells}) for name in comparison.factors}
    averaged = [name for name in cells if name not in strata and name not in comparison.factors]
    found = []
    for stratum in sorted({tuple(cell[at[name]] for name in strata) for cell in units.cells}):
        here: dict[tuple[str, ...], dict[tuple[str, ...], int]] = {}
        for column, cell in enumerate(units.cells):
            if tuple(cell[at[name]] for name in strata) == stratum:
                key = tuple(cell[at[name]] for name in comparison.factors)
                here.setdefault(key, {})[tuple(cell[at[name]] for name in averaged)] = column
        labels = dict(zip(strata, stratum, strict=True))
        for combination in comparison.combinations(levels):
            if any(key in here for key in combination.weights):
                combined = _columns(combination, here, labels, averaged)
                found.append(replace(combined, is_slope=isinstance(comparison, Trend)))
    return found


def _columns(
    combination: Combination,
    here: Mapping[tuple[str, ...], Mapping[tuple[str, ...], int]],
    labels: Mapping[str, str],
    averaged: Sequence[str],
) -> Combined:
    """Columns and weights of one combination; no columns where one of its cells has no rows."""
    named = {"contrast": combination.label, **labels}
    if any(key not in here for key in combination.weights):
        return Combined(named, (), np.zeros(0))
    keys = [set(here[key]) for key in combination.weights]
    odd = sorted({key for each in keys for key in keys[0] ^ each})
    if odd:
        raise PairingError(
            f"To average {combination.label} over {' and '.join(averaged)}, every side needs the same levels, "
            f"but {listed(odd)} is on one side only. Leave it out with panel.where()."
        )
    parts = [
        (here[key][inner], weight / len(keys[0]))
        for key, weight in combination.weights.items()
        for inner in sorted(keys[0])
    ]
    return Combined(named, tuple(column for column, _ in parts), np.array([weight for _, weight in parts]))


def compare(
    asked: Asked,
    units: Units,
    combined: Combined,
    comparison: Comparison,
    paired: str = "",
    missing: str = "common",
) -> Compared:
    """Make the row of one combination; one without any common value says why."""
    combined = replace(combined, better=better_side(asked.estimand))
    labels = {**combined.labels, **asked.described(), "null": 0.0}
    columns = list(combined.columns)
    if not columns:
        return Compared(labels | {"n_families": 0, "note": "no results: one side has no rows"}, combined)
    chosen, lost = _chosen(units, columns, missing)
    row = {**labels, "n_units": int(chosen.sum()), "n_missing": lost, **_bounds(asked, units, combined)}
    sums = units.add_up(columns, chosen, asked.estimand.weight)
    notes = [
        *([paired] if paired else []),
        *asked.remarks,
        *_lost(units, combined),
        *blank_notes(asked.estimand, units, columns, chosen),
    ]
    if not len(sums) or (sums.den.sum(axis=0) == 0).any():
        why = "no unit is answered on both sides" if not chosen.any() else "one side has nothing to count"
        return Compared(row | {"n_families": 0, "note": joined([f"no results: {why}", *notes])}, combined)
    row |= _discordant(units, combined, chosen)
    if strays := sums.strays():
        row |= {"estimate": float(sums.value() @ combined.weights), "n_families": len(sums)}
        return Compared(row | {"note": joined([*strays, *notes])}, combined)
    if asked.panel.population == "these_cases":
        found, limits_at = these_cases_gap(asked, units, columns, combined.weights, chosen)
        row |= found | {"note": joined([parting(row | found), found["note"], *notes])}
        return Compared(row, combined, limits_at=limits_at, deciding="Clopper-Pearson limits on replies")
    if np.all(np.abs(sums.den - sums.den[:, :1]) < TIE):
        ends = combined.range(asked.estimand.bounds)
        totals = Totals(sums.num @ combined.weights, sums.den[:, 0], ends, sums.families)
        row |= _shared(asked, sums, totals, comparison, notes)
        weights = weight_notes(asked, units, columns, chosen, combined.weights, row)
        return Compared(_remarked(row, [parting(row), *weights]), combined, totals)
    row |= _unshared(asked, sums, combined, notes)
    return Compared(_remarked(row, [parting(row)]), combined, sides=sums)


def _remarked(row: dict[str, Any], remarks: Sequence[str]) -> dict[str, Any]:
    """Put remarks before the note of a row."""
    return row | {"note": joined([*remarks, row["note"] or ""])}


def _chosen(units: Units, columns: Sequence[int], missing: str) -> tuple[np.ndarray, int]:
    """Units that count on every side, and how many were planned on any side but do not."""
    common = units.common(columns)
    planned = (units.n_planned[:, list(columns)] > 0).any(axis=1)
    lost = planned & ~common
    if missing == "refuse" and lost.any():
        raise PairingError(
            f"Every planned unit must be answered on all sides (missing = 'refuse'), but {int(lost.sum())} of "
            f"{int(planned.sum())} are not. Declare missing = 'common' or 'drop-family'."
        )
    if missing == "drop-family":
        common = common & ~np.isin(units.family_of, np.unique(units.family_of[lost]))
    return common, int((planned & ~common).sum())


def _shared(
    asked: Asked, sums: FamilySums, totals: Totals, comparison: Comparison, notes: Sequence[str]
) -> dict[str, Any]:
    """Numbers of sides with the same denominators: everything comes from family differences."""
    if isinstance(comparison, Trend):
        doses = np.array(list(comparison.doses.values()), dtype=float)
        per_dose = sums.num.reshape(len(sums), len(doses), -1).mean(axis=2)
        test: Any = dose_trend(per_dose, doses, alternative=asked.alternative)
        notes = [*notes, f"p by permuting doses within families ({test.method})"]
    else:
        test = sign_flip(totals.num, alternative=asked.alternative)
    return numbers(asked, totals, [*notes, *_floor(test.p_floor)]) | {
        "statistic": float(totals.num.sum()), "p_value": test.p_value, "p_floor": test.p_floor,
    } | ({} if test.seed is None else {"seed": test.seed})  # fmt: skip


def _unshared(asked: Asked, sums: FamilySums, combined: Combined, notes: Sequence[str]) -> dict[str, Any]:
    """Numbers of a pair of ratios with different denominators: the same weights, by Monte Carlo."""
    if combined.weights.tolist() != [1.0, -1.0]:
        raise PairstatsError(
            "Ratios with random denominators can be compared in pairs only, not averaged or combined."
        )
    chosen = asked.interval or FamilyInterval()
    if not isinstance(chosen, FamilyInterval) or asked.estimand.bounds is None:
        raise PairstatsError(
            "A difference of two ratios with different denominators takes a family interval and a known "
            f"range, but interval={chosen!r} and bounds={asked.estimand.bounds!r} were given."
        )
    low, high = asked.estimand.bounds
    ends = (np.array([low, high]), np.array([high, low]))
    num, den, swapped = canonical_sides(sums.num, sums.den)
    side = OPPOSITE[asked.alternative] if swapped else asked.alternative
    limits = chosen.limits_of(_ratio_difference, num, den, ends, asked.level, side)
    test = swap_test(num, den, alternative=side)
    value = sums.value()
    columns = limit_columns(limits)
    if swapped:
        columns |= {"conf_low": 0.0 - limits.high, "conf_high": 0.0 - limits.low}
    estimate = float(value[0] - value[1])
    said = [
        *population_notes(asked.panel, len(sums)),
        *family_notes(sums.den.mean(axis=1)),
        *limits.notes,
        *notes,
        f"p by {test.method}",
        *_floor(test.p_floor),
    ]
    return columns | {
        "estimate": estimate, "n_families": len(sums), "statistic": estimate,
        "p_value": test.p_value, "p_floor": test.p_floor,
        "note": joined(said),
    }  # fmt: skip


def _floor(smallest: float | None) -> list[str]:
    """Say where no labels could have given a p of .05."""
    return [f"smallest possible p is {smallest:.3g}"] if (smallest or 0) > 0.05 else []


def _ratio_difference(num: np.ndarray, den: np.ndarray) -> np.ndarray:
    ratios: np.ndarray = num / den
    return ratios[:, 0] - ratios[:, 1]


def _discordant(units: Units, combined: Combined, chosen: np.ndarray) -> dict[str, int]:
    """Count units above and below zero; units without a denominator are neither."""
    columns = list(combined.columns)
    num, den = units.num[:, columns][chosen], units.den[:, columns][chosen]
    values = np.divide(num, den, out=np.full_like(num, np.nan), where=den > 0) @ combined.weights
    return {"n_first_only": int(np.sum(values > TIE)), "n_second_only": int(np.sum(values < -TIE))}


def _lost(units: Units, combined: Combined) -> list[str]:
    """Units that are planned but only one side answered."""
    columns = np.array(combined.columns)
    sides = (columns[combined.weights > 0], columns[combined.weights < 0])
    first, second = ((units.n_valid[:, side] > 0).all(axis=1) for side in sides)
    only = (int(np.sum(first & ~second)), int(np.sum(second & ~first)))
    first_only = counted(only[0], "unit")
    return [f"{first_only} only the first answered, {only[1]} only the second"] if any(only) else []


def _bounds(asked: Asked, units: Units, combined: Combined) -> dict[str, float]:
    """Bounds of the combination: missing replies all against it, and all for it."""
    ends, columns = asked.estimand.bounds, list(combined.columns)
    if ends is None or not (units.n_planned[:, columns] > units.n_valid[:, columns]).any():
        return {}
    found = [units.bounds(column, ends, asked.estimand.weight) for column in columns]
    if any(bound is None for bound in itertools.chain(found)):
        return {}
    lows, highs = np.array(found, dtype=float).T
    up, down = combined.weights.clip(min=0), combined.weights.clip(max=0)
    return {"bound_low": float(up @ lows + down @ highs), "bound_high": float(up @ highs + down @ lows)}
