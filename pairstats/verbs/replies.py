"""Replies of each cell as plain frames, and what all rows of a verb on replies share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pairstats._version import __version__
from pairstats.errors import PairingError, PairstatsError, SchemaError, listed
from pairstats.estimands import Mean
from pairstats.numeric.shares import Share
from pairstats.panel import Panel
from pairstats.rows import families_only, joined, population_notes
from pairstats.schema import KEY


class ApartError(PairingError):
    """Two levels that have replies, but to no request in common."""


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


def replies_by_cell(panel: Panel, *columns: str, numbers: Sequence[str] = ()) -> list[CellReplies]:
    """Replies of every cell, with the columns of the key, the given ones, and three flags.

    Parameters
    ----------
    panel : Panel
    *columns : str
        Columns that the verb reads.
    numbers : sequence of str
        Those of them that must hold numbers; they become floats.

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
    # Arrow dictionaries become categories, whose unused levels would make empty groups.
    plain = {name: object for name, kind in frame.dtypes.items() if isinstance(kind, pd.CategoricalDtype)}
    frame = frame.astype(plain).assign(**{name: _floats(name, frame[name]) for name in numbers})
    frame = frame.sort_values(list(dict.fromkeys(order)), kind="stable", ignore_index=True)
    if not panel.cells:
        return [CellReplies({}, frame)]
    groups = frame.groupby(list(panel.cells), dropna=False, sort=True)
    return [CellReplies(dict(zip(panel.cells, key, strict=True)), part) for key, part in groups]


def _floats(name: str, values: pd.Series) -> pd.Series:
    """Write numbers as floats, with NaN where there is none."""
    texts = (
        [value for value in values.dropna() if isinstance(value, str)]
        if values.dtype.kind not in "fiub"
        else []
    )
    try:
        if not texts:
            return values.astype(float)
        shown = listed(dict.fromkeys(texts))
    except (TypeError, ValueError):
        shown = str(values.dtype)
    raise SchemaError(f"Column {name!r} must hold numbers, but holds {shown}. Name another column.")


def request_keys(panel: Panel, column: str, factor: str) -> list[str]:
    """Columns that say which request a reply answers, the same at every level of a factor.

    As in `contrast`: the family, the panel's unit and the repeat, but not who served the model.
    """
    unit = panel.unit_of(Mean(column), (factor,))
    return [name for name in dict.fromkeys((panel.family, *unit, "repeat")) if name != factor]


def side_by_side(
    frame: pd.DataFrame, keys: Sequence[str], factor: str, levels: tuple[Any, Any], columns: Sequence[str]
) -> pd.DataFrame:
    """Replies of two levels in one row a request, columns ending in _1 and _2; null where one has none.

    Raises
    ------
    PairingError
        When a level has several replies to one request, or the two share none.
    """
    refuse_same(columns, (factor, *keys))
    sides = [frame[(frame[factor] == level).to_numpy()][[*keys, *columns]] for level in levels]
    for side, level in zip(sides, levels, strict=True):
        refuse_several(
            side, keys, f"There must be one reply to each request at {factor} {level!r}",
            "Choose a run with panel.where(), or say what tells requests apart with unit= of the panel.",
        )  # fmt: skip
    merged = sides[0].merge(sides[1], on=list(keys), how="outer", suffixes=("_1", "_2"), indicator=True)
    if len(merged) and not (merged["_merge"] == "both").any():
        apart = [key for key in keys if set(sides[0][key]).isdisjoint(sides[1][key])]
        raise ApartError(
            f"No request is shared by {factor} {levels[0]!r} and {levels[1]!r}: they differ in "
            f"{listed(apart or keys, 10)}. Map the ids so that both share them, or set unit= of the panel."
        )
    return merged


def refuse_same(compared: Sequence[str], apart: Sequence[str]) -> None:
    """Refuse a column that is compared and also says what is compared with what, or is named twice."""
    for place, name in enumerate(compared):
        if name in apart or name in compared[:place]:
            raise PairstatsError(
                f"What is compared must be columns of their own, but {name!r} is named twice, or tells replies "
                f"apart as {listed(apart, 10)} do. Name another column."
            )


def two_or_more(frame: pd.DataFrame, factor: str) -> list[Any]:
    """Levels of a factor in order; raises where there is only one to compare."""
    levels = sorted(frame[factor].unique())
    if len(levels) < 2:
        raise PairstatsError(
            f"At least two levels of {factor!r} must be there to compare, but there is {levels}. Leave the "
            "others of its cell out with panel.where()."
        )
    return levels


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
