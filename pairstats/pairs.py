"""Pairs of cells on the units they share: signed differences, paired tests, bounds."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pairstats.contrasts import Comparison, Pair
from pairstats.errors import PairingError, PairstatsError, listed
from pairstats.intervals import FamilyInterval, Totals
from pairstats.numeric.draws import derived_seed
from pairstats.numeric.exact import sign_flip
from pairstats.numeric.swap import swap_test
from pairstats.rows import Asked, blank_notes, family_notes, joined, limit_columns, numbers
from pairstats.sums import Cell, FamilySums, Units

TIE = 1e-9


def paired_units(asked: Asked, factor: str, cells: Sequence[str]) -> tuple[Units, str]:
    """Collect units in which different levels of the factor meet, and say how they were paired.

    Where the levels share no unit but every family has just one in each cell, families are the pairs.
    """
    panel, estimand = asked.panel, asked.estimand
    unit = tuple(name for name in estimand.unit(panel.unit) if name != factor)
    units = Units.collect(panel.rows(), estimand, panel.family, cells, unit)
    if not unit or _levels_meet(units, cells.index(factor)):
        return units, ""
    whole = Units.collect(panel.rows(), estimand, panel.family, cells, ())
    if (units.n_planned > 0).sum() == (whole.n_planned > 0).sum():
        return whole, "paired by family"
    raise PairingError(
        f"No {' and '.join(unit)} is shared by two levels of {factor!r}, and families hold several, so that "
        "it is not known which belong together. Map item= to an id that the levels share, or give the panel "
        "unit=() to compare family totals."
    )


def _levels_meet(units: Units, factor: int) -> bool:
    """Whether any unit was planned in two levels of the factor, or there is one level only."""
    levels = sorted({cell[factor] for cell in units.cells})
    at = [[c for c, cell in enumerate(units.cells) if cell[factor] == level] for level in levels]
    planned = np.column_stack([(units.n_planned[:, columns] > 0).any(axis=1) for columns in at])
    return len(levels) < 2 or bool((planned.sum(axis=1) > 1).any())


Sides = tuple[list[int], list[int]]


def sides_of(
    units: Units, cells: Sequence[str], strata: Sequence[str], comparison: Comparison
) -> list[tuple[dict[str, str], Sides]]:
    """Columns on either side of each comparison: one a side, or several that are averaged."""
    at = {name: cells.index(name) for name in cells}
    levels = sorted({cell[at[comparison.factor]] for cell in units.cells})
    pairs = comparison.pairs(levels)
    averaged = [name for name in cells if name not in strata and name != comparison.factor]
    found = []
    for stratum in sorted({tuple(cell[at[name]] for name in strata) for cell in units.cells}):
        here = [c for c in units.cells if tuple(c[at[name]] for name in strata) == stratum]
        for pair in pairs:
            sides = _columns(units, here, at, comparison.factor, averaged, pair)
            if sides is not None:
                found.append(({"contrast": pair.label, **dict(zip(strata, stratum, strict=True))}, sides))
    return found


def _columns(
    units: Units,
    here: Sequence[Cell],
    at: Mapping[str, int],
    factor: str,
    averaged: Sequence[str],
    pair: Pair,
) -> Sides | None:
    """Columns of both sides with the same levels of the averaged factors; None where a side has none."""

    def of(level: str) -> dict[Cell, int]:
        return {
            tuple(cell[at[name]] for name in averaged): units.position(cell)
            for cell in here
            if cell[at[factor]] == level
        }

    first, second = of(pair.first), of(pair.second)
    if first.keys() != second.keys() and first and second:
        odd = sorted(first.keys() ^ second.keys())
        raise PairingError(
            f"To average {pair.label} over {' and '.join(averaged)}, both sides need the same levels, but "
            f"{listed(odd)} is on one side only. Leave it out with panel.where()."
        )
    if not first or not second:
        return None
    return [first[key] for key in sorted(first)], [second[key] for key in sorted(first)]


def pair_row(
    asked: Asked, units: Units, sides: Sides, labels: Mapping[str, Any], paired: str
) -> dict[str, Any]:
    """Make the row of one pair; one without any common value says why."""
    first, second = sides
    columns = [*first, *second]
    chosen = units.common(columns)
    any_side = (units.n_planned[:, columns] > 0).any(axis=1)
    row = {
        **labels, **asked.described(), "null": 0.0, "n_units": int(chosen.sum()),
        "n_missing": int((any_side & ~chosen).sum()), **_bounds(asked, units, sides),
    }  # fmt: skip
    sums = units.add_up(columns, chosen, asked.estimand.weight)
    notes = [*([paired] if paired else []), *_lost(units, sides), *blank_notes(units, columns, chosen)]
    if not len(sums) or (sums.den.sum(axis=0) == 0).any():
        why = "no unit is answered on both sides" if not chosen.any() else "one side has nothing to count"
        return row | {"n_families": 0, "note": joined([f"no results: {why}", *notes])}
    row |= _discordant(units, sides, chosen)
    same = bool(np.all(np.abs(sums.den - sums.den[:, :1]) < TIE))
    return row | (_shared(asked, sums, notes) if same else _unshared(asked, sums, notes))


def _shared(asked: Asked, sums: FamilySums, notes: Sequence[str]) -> dict[str, Any]:
    """Numbers of a pair whose sides have the same denominators: everything comes from family differences."""
    half = sums.num.shape[1] // 2
    difference = sums.num[:, :half].mean(axis=1) - sums.num[:, half:].mean(axis=1)
    bounds = asked.estimand.bounds
    ends = None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])
    test = sign_flip(difference, alternative=asked.alternative)
    floor = [f"smallest possible p is {test.p_floor:.3g}"] if test.p_floor > 0.05 else []
    return numbers(asked, Totals(difference, sums.den[:, 0], ends), [*notes, *floor]) | {
        "statistic": float(difference.sum()), "p_value": test.p_value, "p_floor": test.p_floor,
    }  # fmt: skip


def _unshared(asked: Asked, sums: FamilySums, notes: Sequence[str]) -> dict[str, Any]:
    """Numbers of a pair of ratios with different denominators: the same weights, by Monte Carlo."""
    half = sums.num.shape[1] // 2
    if half != 1:
        raise PairstatsError(
            "Ratios with random denominators cannot be averaged over cells: compare them apart."
        )
    chosen = asked.interval or FamilyInterval()
    if not isinstance(chosen, FamilyInterval) or asked.estimand.bounds is None:
        raise PairstatsError(
            "A difference of two ratios with different denominators takes a family interval and a known "
            f"range, but interval={chosen!r} and bounds={asked.estimand.bounds!r} were given."
        )
    low, high = asked.estimand.bounds
    ends = (np.array([low, high]), np.array([high, low]))
    limits = chosen.limits_of(
        _ratio_difference, sums.num, sums.den, ends, asked.level, asked.alternative
    )  # fmt: skip
    test = swap_test(
        sums.num, sums.den, alternative=asked.alternative, rng=derived_seed(np.hstack([sums.num, sums.den]))
    )
    value = sums.value()
    return limit_columns(limits) | {
        "estimate": float(value[0] - value[1]), "n_families": len(sums), "statistic": test.statistic,
        "p_value": test.p_value, "p_floor": test.p_floor,
        "note": joined([*family_notes(sums.den.mean(axis=1)), *limits.notes, *notes, f"p by {test.method}"]),
    }  # fmt: skip


def _ratio_difference(num: np.ndarray, den: np.ndarray) -> np.ndarray:
    ratios: np.ndarray = num / den
    return ratios[:, 0] - ratios[:, 1]


def _discordant(units: Units, sides: Sides, chosen: np.ndarray) -> dict[str, int]:
    """Count units in which one side is higher; units without a denominator are neither."""

    def mean(side: list[int]) -> np.ndarray:
        num, den = units.num[:, side][chosen], units.den[:, side][chosen]
        return np.mean(np.divide(num, den, out=np.full_like(num, np.nan), where=den > 0), axis=1)

    first, second = (mean(side) for side in sides)
    return {
        "n_first_only": int(np.sum(first > second + TIE)),
        "n_second_only": int(np.sum(second > first + TIE)),
    }


def _lost(units: Units, sides: Sides) -> list[str]:
    """Units that are planned but only one side answered."""
    first, second = ((units.n_valid[:, side] > 0).all(axis=1) for side in sides)
    only = (int(np.sum(first & ~second)), int(np.sum(second & ~first)))
    return [f"{only[0]} units only the first answered, {only[1]} only the second"] if any(only) else []


def _bounds(asked: Asked, units: Units, sides: Sides) -> dict[str, float]:
    """Bounds of the difference: one side's missing all wrong and the other's all right, and the reverse."""
    ends = asked.estimand.bounds
    columns = [*sides[0], *sides[1]]
    if ends is None or not (units.n_planned[:, columns] > units.n_valid[:, columns]).any():
        return {}
    found = [[units.bounds(c, ends, asked.estimand.weight) for c in side] for side in sides]
    if any(b is None for b in itertools.chain(*found)):
        return {}
    (low_1, high_1), (low_2, high_2) = (np.mean(side, axis=0) for side in found)  # type: ignore[arg-type]
    return {"bound_low": float(low_1 - high_2), "bound_high": float(high_1 - low_2)}
