"""Difference of two rates that different families carry: an identity swap against a control swap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pairstats.errors import PairstatsError
from pairstats.estimands import Estimand
from pairstats.estimands.base import better_side
from pairstats.infer import Comparisons, asked_for
from pairstats.intervals import FamilyInterval, IntervalKind, Totals
from pairstats.numeric.mover import mover_difference
from pairstats.pairs import Combined, Compared
from pairstats.panel import Panel
from pairstats.rows import Asked, family_notes, joined
from pairstats.sums import Cell, Units
from pairstats.verdicts import level_at


def two_rates(
    panel: Panel,
    estimand: Estimand,
    other_panel: Panel,
    other: Estimand,
    *,
    interval: IntervalKind | str | None = None,
    confidence_level: float = 0.95,
) -> Comparisons:
    """Compare two estimands, cell by cell, without pairing their families.

    The interval joins the two family intervals by the method of variance estimates recovery (Zou & Donner
    2008, doi:10.1002/sim.3095); the p-value is the level at which it touches 0, with family-CP limits.

    Parameters
    ----------
    panel, other_panel : Panel
        Rows of the first and of the second estimand.
    estimand, other : Estimand
        First minus second.
    interval, confidence_level
        As in `estimate`.

    Returns
    -------
    Comparisons
    """
    asked = asked_for(panel, estimand, interval, confidence_level)
    units, others = (
        Units.collect(p.rows(), e, p.family, p.cells, p.unit_of(e))
        for p, e in ((panel, estimand), (other_panel, other))
    )
    cells = [cell for cell in units.cells if cell in others.cells]
    if not cells:
        raise PairstatsError("The two estimands have no cell in common, so there is nothing to compare.")
    rows = [
        _compare(asked, other, cell, _side(units, cell, estimand), _side(others, cell, other))
        for cell in cells
    ]
    return Comparisons(asked, units, panel.cells, tuple(rows))


def _side(units: Units, cell: Cell, estimand: Estimand) -> tuple[Totals, int]:
    column = units.position(cell)
    chosen = units.n_valid[:, column] > 0
    sums = units.add_up([column], chosen, estimand.weight)
    missing = int((units.n_planned[:, column] - units.n_valid[:, column]).sum())
    return Totals(sums.num[:, 0], sums.den[:, 0], estimand.bounds), missing


def _compare(
    asked: Asked, other: Estimand, cell: Cell, first: tuple[Totals, int], second: tuple[Totals, int]
) -> Compared:
    (one, lost_one), (two, lost_two) = first, second
    label = f"{asked.estimand.name} - {other.name}"
    labels = {"contrast": label, **dict(zip(asked.panel.cells, cell, strict=True))}
    combined = Combined(labels, (), np.zeros(0), better=better_side(asked.estimand))
    families = (len(one.num), len(two.num))
    row: dict[str, Any] = {
        **labels, **asked.described(), "null": 0.0, "n_families": min(families),
        "n_units": sum(families), "n_missing": lost_one + lost_two,
    }  # fmt: skip
    if not min(families):
        return Compared(row | {"note": "no results: one side has nothing to count"}, combined)

    def shown(level: float) -> tuple[float, float]:
        return _mover(one, two, lambda totals: asked.limits(totals, level))

    def deciding(level: float) -> tuple[float, float]:
        return _mover(one, two, lambda totals: FamilyInterval("cp").limits(totals, level, "two-sided"))

    low, high = shown(asked.level)
    value = _value(one) - _value(two)
    notes = [
        f"{families[0]} and {families[1]} families, not paired",
        *_of_sides(family_notes(one.den), family_notes(two.den)),
    ]
    row |= {
        "estimate": value, "conf_low": low, "conf_high": high, "std_error": None,
        "p_value": level_at(lambda alpha: _excludes_zero(deciding(1 - alpha))), "note": joined(notes),
        "method": f"MOVER of {asked.limits(one).method}",
    }  # fmt: skip
    return Compared(row, combined, limits_at=deciding, deciding="MOVER of family-cp")


def _of_sides(one: list[str], two: list[str]) -> list[str]:
    """Notes that hold for both sides once, the others with their side."""
    both = [note for note in one if note in two]
    sides = (("first", one), ("second", two))
    return [*both, *(f"{side}: {note}" for side, notes in sides for note in notes if note not in both)]


def _excludes_zero(limits: tuple[float, float]) -> bool:
    return limits[0] > 0 or limits[1] < 0


def _value(totals: Totals) -> float:
    return float(totals.num.sum() / totals.den.sum())


def _mover(one: Totals, two: Totals, limits: Callable[[Totals], Any]) -> tuple[float, float]:
    first, second = limits(one), limits(two)
    found = mover_difference(_value(one), (first.low, first.high), _value(two), (second.low, second.high))
    return found.low, found.high
