"""Figures that some results folders allow: dose curves where a trend was asked for, completeness by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from pairstats.figures.bars import completeness
from pairstats.figures.lines import dose_response
from pairstats.result import Estimates
from pairstats.shown import Labels, meaning

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pairstats.results import Results

TREND = "trend over "
"""How the contrast of a trend begins; its factor follows."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """One figure to be drawn, and what it is drawn from.

    Attributes
    ----------
    name : str
        Name of its files, without an ending.
    title : str
        What it shows, for a heading.
    source : Estimates, pandas.DataFrame or None
        None where a figure of a script does not know.
    make : callable
        Draws it.
    """

    name: str
    title: str
    source: Estimates | pd.DataFrame | None
    make: Callable[[], Figure]


def plan_doses(results: Results, labels: Labels | None) -> list[Sheet]:
    """Plan a dose curve for each estimand with a trend, where its cells are told apart by the dose."""
    trends = results.contrasts.frame[["estimand", "contrast"]].drop_duplicates()
    found = []
    for estimand, contrast in trends.itertuples(index=False):
        factor = str(contrast).removeprefix(TREND)
        cells = results.cells.where(estimand=str(estimand))
        doses = list(cells.frame[factor].dropna()) if factor in cells.factors else []
        if not str(contrast).startswith(TREND) or len(set(doses)) < 2 or len(doses) < len(cells):
            continue
        found.append((cells, factor, f"{meaning(cells, str(estimand), labels).label} by {factor}"))
    return [
        Sheet(
            f"dose_response{f'_{k}' if len(found) > 1 else ''}", title, cells,
            partial(dose_response, cells, dose=factor, labels=labels),
        )
        for k, (cells, factor, title) in enumerate(found, start=1)
    ]  # fmt: skip


def plan_blocks(results: Results, labels: Labels | None) -> list[Sheet]:
    """Plan the completeness of every cell in every block, where the design has blocks."""
    counts = results.blocks
    if counts is None:
        return []
    return [
        Sheet(
            "completeness_by_block", "Completeness by block", counts, partial(_completeness, counts, labels)
        )
    ]


def _completeness(counts: pd.DataFrame, labels: Labels | None) -> Figure:
    figure = completeness(counts, labels=labels).get_figure(root=True)
    assert figure is not None, "axes that are drawn in have a figure"
    return figure


def told_by_question(results: Results) -> Estimates:
    """Comparisons, those that two questions share with the question's name as a further factor."""
    frame = results.estimates.frame
    factors = results.estimates.factors
    chosen = frame["contrast"].notna()
    shared = frame[chosen].duplicated(["estimand", "contrast", *factors], keep=False)
    described = results.estimates.provenance.get("contrasts") or {}
    asked = {place: name for name, one in described.items() for place in one.get("rows", ())}
    if not shared.any() or "question" in frame or not asked:
        return results.contrasts
    names = pd.Series([asked.get(place) for place in range(len(frame))], index=frame.index, dtype=object)
    rows = frame[chosen].assign(question=names[chosen].where(shared, None))
    return Estimates(rows.reset_index(drop=True), (*factors, "question"), results.estimates.provenance)
