"""What must hold before a question is answered, and what must be said beside the answer."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from pairstats.arguments import check
from pairstats.contrasts import Comparison
from pairstats.errors import PairstatsError, SchemaError, listed
from pairstats.estimands import Estimand
from pairstats.panel import APART, Panel
from pairstats.schema import ANSWERED, NO_ANSWER, is_score


def check_panel(panel: Any) -> None:
    """Raise unless it is a panel."""
    check("panel", panel, Panel)


def check_estimand(panel: Panel, estimand: Any) -> None:
    """Raise unless it is an estimand whose columns are there and, where they are added up, hold numbers."""
    check("estimand", estimand, Estimand)
    odd = [column for column in estimand.columns if not isinstance(column, str)]
    if odd:
        raise PairstatsError(f"An estimand names columns, but {estimand.name!r} names {odd[0]!r}.")
    panel.require(*estimand.columns, *getattr(estimand, "within", ()))
    variants = getattr(estimand, "variants", ())
    if variants and not set(variants) & set(panel.levels("variant")):
        raise PairstatsError(
            f"{estimand.name!r} compares the variants {listed(variants)}, but the records have "
            f"{listed(panel.levels('variant'), 12)}. Map variant= in read_runs, or name others."
        )
    types = panel.frame.collect_schema()
    for column in getattr(estimand, "numbers", ()):
        if not (types[column].is_numeric() or types[column] == nw.Boolean):
            raise SchemaError(
                f"{estimand.name!r} adds up {column!r}, which must hold numbers, but holds {types[column]}. "
                "Name another column, or compare texts with Share."
            )
    if panel.no_answer == "wrong":
        for column in filter(is_score, estimand.columns):
            _refuse_unscored(panel, column)


def _refuse_unscored(panel: Panel, column: str) -> None:
    """Refuse a cell whose answers have no score at all while replies without an answer count as wrong."""
    answered, blank = nw.col("status") == ANSWERED, nw.col("status").is_in(list(NO_ANSWER))
    masks = {"n_blank": blank, "n_answered": answered, "n_scored": answered & ~nw.col(column).is_null()}
    made = panel.frame.select(
        *(nw.col(name) for name in panel.cells), **{name: mask.cast(nw.Int64) for name, mask in masks.items()}
    )
    sums = [nw.col(name).sum() for name in masks]
    cells = (made.group_by(*panel.cells).agg(*sums) if panel.cells else made.select(*sums)).collect()
    odd = cells.filter((nw.col("n_scored") == 0) & (nw.col("n_answered") > 0) & (nw.col("n_blank") > 0))
    for first in odd.head(1).iter_rows(named=True):
        where = " ".join(str(first[name]) for name in panel.cells) or "the records"
        raise PairstatsError(
            f"None of the {first['n_answered']} answered replies of {where} has a {column!r}, so that only the "
            f"{first['n_blank']} without an answer would count, as wrong. Score the replies (answers= in "
            "read_runs, or rescore), name the score's column, or leave these replies out (where)."
        )


def check_comparison(panel: Panel, comparison: Any) -> None:
    """Raise unless it compares levels of columns that are there."""
    check("comparison", comparison, Comparison)
    panel.require(*comparison.factors)


def check_number(name: str, value: Any, low: float, high: float, such_as: float) -> float:
    """Give a number strictly between two ends; a truth value, a text or NaN is none."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not (number and low < value < high):
        raise PairstatsError(
            f"`{name}` must be a number strictly between {low:g} and {high:g}, but got {value!r}. "
            f"Write {such_as:g}, for instance."
        )
    return float(value)


def remarks(panel: Panel, estimand: Estimand) -> tuple[str, ...]:
    """Say what a reader could not see from the row: what was pooled, and whether labels were compared."""
    there = set(panel.columns)
    apart = [name for name in APART if name in there and name not in panel.cells]
    said = []
    if apart:
        counts = panel.frame.select(*(nw.col(name).n_unique() for name in apart)).collect()
        pooled = [f"{name} ({counts[name].item()})" for name in apart if counts[name].item() > 1]
        said += [f"pooled over {', '.join(pooled)}"] if pooled else []
        said += _shared_families(panel) if any(name.startswith("study (") for name in pooled) else []
    described = getattr(estimand, "remarks", None)
    return (*said, *(described(panel.rows()) if described is not None else ()))


def _shared_families(panel: Panel) -> list[str]:
    """Say that a family of one name in several pooled studies is one family: two benchmarks may both have a 7."""
    pairs = panel.frame.select("study", "family").unique().collect()
    families = pairs["family"].n_unique()
    shared = len(pairs) - families
    if not shared:
        return []
    return [
        f"{shared} of {families} families have one name in several studies, and are one family each (map family= "
        "where a name means another one in each)"
    ]


def check_stratum(panel: Panel, stratum: str) -> None:
    """Refuse a column that is blank in every row, and so holds no stratum."""
    panel.require(stratum)
    if panel.frame.select(nw.col(stratum).is_null().all()).collect()[stratum].item():
        raise PairstatsError(
            f"The column {stratum!r} must hold the strata, but is blank in every row. Name another with stratum=, "
            f"or map {stratum}= when the records are read."
        )
