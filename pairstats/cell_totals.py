"""Family totals of every cell, with the columns that every row about a cell shares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pairstats.asking import check_estimand
from pairstats.estimands import Estimand
from pairstats.intervals import Totals
from pairstats.panel import Panel
from pairstats.sums import Units


def cell_totals(panel: Panel, estimand: Estimand) -> Iterator[tuple[dict[str, Any], Totals | None]]:
    """Shared columns and family totals of each cell; None, with the reason in the row, where nothing counts.

    Parameters
    ----------
    panel : Panel
    estimand : Estimand

    Yields
    ------
    dict
        Levels of the cell, counts of families, units and missing replies, and whom the row is about.
    Totals or None
    """
    check_estimand(panel, estimand)
    units = Units.collect(panel.rows(), estimand, panel.family, panel.cells, panel.unit_of(estimand))
    for column, cell in enumerate(units.cells):
        chosen = units.n_valid[:, column] > 0
        sums = units.add_up([column], chosen, estimand.weight)
        row = {
            **dict(zip(panel.cells, cell, strict=True)), "population": panel.population,
            "weight": estimand.weight, "registered": False, "n_units": int(chosen.sum()),
            "n_families": len(sums),
            "n_missing": int((units.n_planned[:, column] - units.n_valid[:, column]).sum()),
        }  # fmt: skip
        if not len(sums):
            yield row | {"note": "no results: no reply counts"}, None
        else:
            yield row, Totals(sums.num[:, 0], sums.den[:, 0], estimand.bounds)
