"""Replies of each cell as plain frames, and what all rows of a verb on replies share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pairstats._version import __version__
from pairstats.errors import PairingError, PairstatsError, listed
from pairstats.numeric.shares import Share
from pairstats.panel import Panel
from pairstats.rows import families_only, joined, population_notes
from pairstats.schema import KEY


@dataclass(frozen=True, slots=True, eq=False)
class CellReplies:
    """Replies of one cell.

    Attributes
    ----------
    labels : dict
        Levels of the panel's cells.
    frame : pandas.DataFrame
        Rows in the order of their keys, so that the order of the records means nothing.
    """

    labels: dict[str, Any]
    frame: pd.DataFrame


def replies_by_cell(panel: Panel, *columns: str) -> list[CellReplies]:
    """Replies of every cell, with the columns of the key, the given ones, and three flags.

    Parameters
    ----------
    panel : Panel
    *columns : str
        Columns that the verb reads.

    Returns
    -------
    list of CellReplies
        Scores follow the panel's rule for replies without an answer; see `Panel.rows`.
    """
    panel.require(*columns)
    keys = [name for name in KEY if name in panel.columns and name != "repeat"]
    order = [*panel.cells, panel.family, *keys, "repeat"]
    names = list(dict.fromkeys([*order, *columns, "is_missing", "is_blank", "is_counted"]))
    frame = panel.rows().select(*names).collect().to_pandas()
    frame = frame.sort_values(list(dict.fromkeys(order)), kind="stable", ignore_index=True)
    if not panel.cells:
        return [CellReplies({}, frame)]
    groups = frame.groupby(list(panel.cells), dropna=False, sort=True)
    return [CellReplies(dict(zip(panel.cells, key, strict=True)), part) for key, part in groups]


def shared_columns(
    panel: Panel, what: str, level: float | None, weight: str = "item", alternative: str = "two-sided"
) -> dict[str, Any]:
    """Columns that every row of a verb shares; raises where the panel is about these cases alone."""
    families_only(panel, what)
    return {
        "conf_level": level, "alternative": alternative, "population": panel.population, "weight": weight,
        "registered": False,
    }  # fmt: skip


def provenance(panel: Panel, **settings: Any) -> dict[str, Any]:
    """What made the numbers: the version, the panel's rules, and the settings of the verb."""
    return {
        "pairstats": __version__, "no_answer": panel.no_answer, "population": panel.population, **settings
    }  # fmt: skip


def noted(panel: Panel, row: dict[str, Any], notes: Sequence[str | None] = ()) -> dict[str, Any]:
    """Put a row's notes together, the question for the population first."""
    asked = population_notes(panel, int(row.get("n_families") or 0))
    return row | {"note": joined([text for text in (*asked, row.get("note"), *notes) if text])}


def share_columns(share: Share) -> dict[str, Any]:
    """Columns of a share with its family interval; no numbers where nothing is in the denominator."""
    columns: dict[str, Any] = {"n_families": share.n_families, "method": share.method}
    if not share.n_families:
        return columns | {"note": "no results: no reply is in the denominator"}
    return columns | {
        "estimate": share.value, "conf_low": share.low, "conf_high": share.high,
        "std_error": number(share.std_error),
    }  # fmt: skip


def number(value: float | None) -> float | None:
    """None for NaN; any other number unchanged."""
    return None if value is None or math.isnan(value) else float(value)


def refuse_partial(column: str, scores: np.ndarray) -> None:
    """Raise unless all scores are 0 or 1."""
    partial = scores[(scores != 0) & (scores != 1)]
    if partial.size:
        raise PairstatsError(
            f"Column {column!r} must hold 0 or 1, but {partial.size} scores are in between, such as "
            f"{partial[0]:g}. Threshold partial credit into a score_<name> column, and say so."
        )


def refuse_several(frame: pd.DataFrame, keys: Sequence[str], what: str, remedy: str) -> None:
    """Raise where several replies share the key under which one is needed."""
    twice = frame[frame.duplicated(list(keys), keep=False)]
    if len(twice):
        first = twice.iloc[0]
        shown = listed([f"{key}={first[key]!r}" for key in keys], 20)
        raise PairingError(f"{what}, but {len(twice)} replies share {shown}. {remedy}")
