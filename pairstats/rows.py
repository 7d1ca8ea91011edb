"""One row of results: what was asked, and the numbers of one column of family totals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairstats.asking import check_panel
from pairstats.errors import PairstatsError
from pairstats.estimands import Estimand
from pairstats.intervals import CR2, FamilyInterval, IntervalKind, Limits, Totals
from pairstats.numeric.sandwich import cr2_interval
from pairstats.panel import Panel
from pairstats.schema import is_score
from pairstats.sums import Cell, Units, blank_note
from pairstats.these_cases import these_cases

FEW_FAMILIES = 10
"""Below it the population of a claim must be named."""
APART = 0.25
"""Standard errors between the item-weighted and the family-weighted value from which both are printed."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user asked of every row."""

    panel: Panel
    estimand: Estimand
    interval: IntervalKind | None
    level: float
    alternative: str
    remarks: tuple[str, ...] = ()

    def limits(self, totals: Totals, level: float | None = None) -> Limits:
        """Limits by the chosen interval; where none was chosen, by what the range allows."""
        families_only(self.panel, f"The interval of {self.estimand.name}")
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
        said = () if planned else asked.remarks  # which tell what the design lacks
        return row | {"n_families": 0, "note": joined([f"no results: {why}", *said])}
    if strays := sums.strays():
        value = float(sums.value()[0])
        return row | {
            "estimate": None if math.isnan(value) else value, "n_families": len(sums),
            "note": joined([*strays, *asked.remarks]),
        }  # fmt: skip
    if asked.panel.population == "these_cases":
        return row | these_cases(asked, units, column)
    totals = Totals(sums.num[:, 0], sums.den[:, 0], bounds)
    notes = [
        *asked.remarks,
        *coverage_notes(units, column),
        *blank_notes(asked.estimand, units, [column], chosen),
    ]
    found = numbers(asked, totals, notes)
    weights = weight_notes(asked, units, [column], chosen, np.ones(1), found)
    return row | found | {"note": joined([*weights, *([found["note"]] if found["note"] else [])])}


def numbers(asked: Asked, totals: Totals, notes: Sequence[str] = ()) -> dict[str, Any]:
    """Estimate, standard error, limits and notes of one column of family totals."""
    limits = asked.limits(totals)
    return limit_columns(limits) | {
        "estimate": float(totals.num.sum() / totals.den.sum()),
        "std_error": cr2_interval(totals.means, sizes=totals.den).std_error,
        "n_families": len(totals.num),
        "note": joined(
            [
                *population_notes(asked.panel, len(totals.num)),
                *family_notes(totals.den),
                *limits.notes,
                *notes,
            ]
        ),
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


def population_notes(panel: Panel, n_families: int) -> list[str]:
    """Ask whom a claim from few families is about, unless the panel says so."""
    if panel.population_declared or n_families >= FEW_FAMILIES or not n_families:
        return []
    return [
        f"read as a claim about families beyond these {n_families}: declare population='families', or "
        "'these_cases' for these alone"
    ]


def families_only(panel: Panel, what: str) -> None:
    """Raise where it is no panel, or declares a population for which no sample of families exists."""
    check_panel(panel)
    if panel.population == "these_cases":
        raise PairstatsError(
            f"{what} is over families, as population='families' says, but the panel declares 'these_cases'. "
            "For the cases at hand use estimate(), or contrast() of two levels, with the Mean of a 0/1 score and "
            "repeats: contrast() with Pairwise() gives all differences and Holm's p-values. Else declare "
            "population='families'."
        )


def weight_notes(
    asked: Asked, units: Units, columns: Sequence[int], chosen: np.ndarray, weights: np.ndarray,
    found: dict[str, Any],
) -> list[str]:  # fmt: skip
    """Print the value under the other weights, item for family or family for item, where they part."""
    other = "item" if asked.estimand.weight == "family" else "family"
    value = float(units.add_up(columns, chosen, other).value() @ weights)
    if not abs(value - found["estimate"]) > APART * (found["std_error"] or np.inf):
        return []
    return [f"{other}-weighted: {value:.3f}"]


def coverage_notes(units: Units, column: int) -> list[str]:
    """Say how many units the cells that share units with this one hold beyond its own."""
    planned = units.n_planned > 0
    own = planned[:, column]
    sharing = np.any(planned & own[:, None], axis=0)
    elsewhere = int(np.sum(np.any(planned[:, sharing], axis=1) & ~own))
    if not elsewhere:
        return []
    return [
        f"holds {int(own.sum())} of the {int(own.sum()) + elsewhere} units of the cells it shares units with"
    ]


def blank_notes(estimand: Estimand, units: Units, columns: Sequence[int], chosen: np.ndarray) -> list[str]:
    """Say how many of the counted values have no answer behind them."""
    blank = int(units.n_blank[:, list(columns)][chosen].sum())
    return blank_note(blank, any(is_score(name) for name in estimand.columns))


def joined(notes: Iterable[str | None]) -> str | None:
    """Notes as one text, each once (also those joined before), empty ones left out; None where there is none.

    Examples
    --------
    >>> joined(["pooled over run (2); 3 families", None, "pooled over run (2)"])
    'pooled over run (2); 3 families'
    """
    said = (part for note in notes if note for part in note.split("; "))
    return "; ".join(dict.fromkeys(filter(None, said))) or None
