"""Rows of a forest: their names, their headings, their decimals, and the height of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from pairstats.errors import PairstatsError
from pairstats.figures.style import LONGEST_NAME, drawable, middle_cut
from pairstats.result import Estimates
from pairstats.shown import (
    Labels,
    Row,
    Scale,
    as_rows,
    by_estimand,
    called,
    cell_names,
    contrast_names,
    meaning,
    scale,
)  # fmt: skip

DIFFERING = ("claim", "margin", "null", "alternative", "population", "weight", "method", "conf_level")
"""What may tell rows apart that have the same name."""


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the plot, at height `y`, counted downwards."""

    y: float
    name: str
    row: Row
    scale: Scale


@dataclass(frozen=True, slots=True)
class Plan:
    """All rows of a forest, and what stands above them."""

    lines: tuple[Line, ...]
    headings: Mapping[float, str]
    height: float
    factor: int
    paired: bool


def plan_forest(estimates: Estimates, labels: Labels | None, percent: bool | None, group: str) -> Plan:
    """Plan the rows of a forest.

    Raises
    ------
    PairstatsError
        When there is no row, or cells and comparisons are mixed.
    """
    frame = estimates.frame
    if frame.empty:
        raise PairstatsError("A forest needs at least one estimate, but there is none.")
    paired = frame["contrast"].notna()
    if paired.any() and not paired.all():
        raise PairstatsError(
            f"A forest shows either cells or comparisons, but {int(paired.sum())} of {len(frame)} rows are "
            "comparisons. Draw them apart, as `results.cells` and `results.contrasts`."
        )
    named = contrast_names if paired.all() and group == "estimand" else cell_names
    names = _told_apart(frame, named(frame, estimates.factors, labels))
    all_names = pd.Series(names, index=frame.index)
    groups = _groups(estimates, labels, group)
    if percent is None:
        percent = all(meaning(estimates, name, labels).percent for name, _ in by_estimand(estimates))
    lines: list[Line] = []
    headings: dict[float, str] = {}
    y = 0.0
    for heading, rows in groups:
        if len(groups) > 1 or group == "contrast":
            y += 0.35 if lines else 0.0
            headings[y] = middle_cut(drawable(heading), 2 * LONGEST_NAME)
            y += 1
        alike = frame if group == "contrast" and frame["estimand"].nunique() == 1 else rows
        shown = scale(alike, percent, difference=bool(paired.all()))
        for index, row in zip(rows.index, as_rows(rows), strict=True):
            lines.append(Line(y, str(all_names[index]), row, shown))
            y += 1
    return Plan(tuple(lines), headings, y, 100 if percent else 1, bool(paired.all()))


def _told_apart(frame: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Add what differs to names that rows of one estimand share, and numbers where nothing shown does."""
    rows = as_rows(frame)
    sharing: dict[tuple[object, ...], list[int]] = {}
    for k, (row, name) in enumerate(zip(rows, names, strict=True)):
        sharing.setdefault((row["estimand"], row["contrast"], name), []).append(k)
    told = list(names)
    for places in sharing.values():
        differing = [column for column in DIFFERING if len({rows[k][column] for k in places}) > 1]
        texts = [_joined(rows[k], differing) for k in places]
        if len(set(texts)) < len(texts):
            texts = [", ".join(filter(None, (text, f"{i}"))) for i, text in enumerate(texts, start=1)]
        for k, text in zip(places, texts, strict=True):
            told[k] += f" ({text})" if len(places) > 1 else ""
    return told


def _joined(row: Row, columns: Sequence[str]) -> str:
    given = [(column, row[column]) for column in columns if row[column] is not None]
    return ", ".join(
        called(value) if isinstance(value, str) else f"{column} {called(value)}" for column, value in given
    )


def _groups(estimates: Estimates, labels: Labels | None, group: str) -> list[tuple[str, pd.DataFrame]]:
    """Rows under each heading, in the order in which they come."""
    if group == "estimand":
        return [(meaning(estimates, name, labels).label, rows) for name, rows in by_estimand(estimates)]
    frame = estimates.frame
    labelled = contrast_names(frame, (), labels)
    return [(name, frame[[each == name for each in labelled]]) for name in dict.fromkeys(labelled)]
