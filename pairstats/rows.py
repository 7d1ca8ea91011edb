"""One row of results: what was asked, and the numbers of one column of family totals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairstats.estimands import Estimand
from pairstats.intervals import CR2, FamilyInterval, IntervalKind, Limits, Totals
from pairstats.numeric.sandwich import cr2_interval
from pairstats.panel import Panel
from pairstats.sums import Cell, Units


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user asked of every row."""

    panel: Panel
    estimand: Estimand
    interval: IntervalKind | None
    level: float
    alternative: str

    def limits(self, totals: Totals, level: float | None = None) -> Limits:
        """Limits by the chosen interval; where none was chosen, by what the range allows."""
        chosen = self.interval or (CR2() if totals.bounds is None else FamilyInterval())
        return chosen.limits(totals, self.level if level is None else level, self.alternative)

    def described(self) -> dict[str, Any]:
        """Columns that every row of the call shares."""
        return {
            "estimand": self.estimand.name, "conf_level": self.level, "alternative": self.alternative,
            "population": self.panel.population, "weight": self.estimand.weight, "registered": False,
        }  # fmt: skip


def cell_row(asked: Asked, units: Units, cell: Cell) -> dict[str, Any]:
    """Make the row of one cell; one without any value says why."""
    column = units.position(cell)
    chosen = units.n_valid[:, column] > 0
    planned, valid = int(units.n_planned[:, column].sum()), int(units.n_valid[:, column].sum())
    row = {
        **dict(zip(asked.panel.cells, cell, strict=True)), **asked.described(),
        "n_units": int(chosen.sum()), "n_missing": planned - valid,
    }  # fmt: skip
    bounds = asked.estimand.bounds
    if bounds is not None and planned > valid:
        worst_best = units.bounds(column, bounds, asked.estimand.weight)
        row |= dict(zip(("bound_low", "bound_high"), worst_best or (None, None), strict=True))
    sums = units.add_up([column], chosen, asked.estimand.weight)
    if not len(sums):
        why = f"none of {planned} planned replies counts" if not valid else "no reply meets the condition"
        return row | {"n_families": 0, "note": f"no results: {why}"}
    totals = Totals(sums.num[:, 0], sums.den[:, 0], bounds)
    return row | numbers(asked, totals, blank_notes(units, [column], chosen))


def numbers(asked: Asked, totals: Totals, notes: Sequence[str] = ()) -> dict[str, Any]:
    """Estimate, standard error, limits and notes of one column of family totals."""
    limits = asked.limits(totals)
    return limit_columns(limits) | {
        "estimate": float(totals.num.sum() / totals.den.sum()),
        "std_error": cr2_interval(totals.means, sizes=totals.den).std_error,
        "n_families": len(totals.num),
        "note": joined([*family_notes(totals.den), *limits.notes, *notes]),
    }


def limit_columns(limits: Limits) -> dict[str, Any]:
    """Columns that hold limits and how they were made."""
    return {
        "conf_low": limits.low, "conf_high": limits.high, "method": limits.method,
        "mc_error": limits.mc_error, "seed": limits.seed,
    }  # fmt: skip


def family_notes(sizes: np.ndarray) -> list[str]:
    """Say what few or very unequal families mean."""
    if len(sizes) == 1:
        return ["one family: nothing can be said about other families"]
    notes = [f"only {len(sizes)} families: no two-sided .05 test exists"] if len(sizes) < 6 else []
    effective = float(sizes.sum() ** 2 / np.sum(sizes**2))
    if effective < len(sizes) / 2:
        notes.append(f"family sizes are very unequal: {effective:.1f} effective families of {len(sizes)}")
    return notes


def blank_notes(units: Units, columns: Sequence[int], chosen: np.ndarray) -> list[str]:
    """Say how many of the counted values have no answer behind them."""
    blank = int(units.n_blank[:, list(columns)][chosen].sum())
    return [f"{blank} without an answer are counted"] if blank else []


def joined(notes: Sequence[str]) -> str | None:
    """Notes as one text, each once; None where there is none."""
    return "; ".join(dict.fromkeys(notes)) or None
