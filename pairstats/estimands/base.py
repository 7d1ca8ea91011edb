"""What every estimand is, and the sums that all of them are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import narwhals as nw

SUMS: tuple[str, ...] = ("num", "den", "n_valid", "n_planned", "n_blank")
"""Columns that every reduction returns: sums over the repeats of one unit."""

Rows = nw.LazyFrame[Any]


class Estimand(Protocol):
    """Anything that can be estimated from a panel.

    Attributes
    ----------
    name : str
        Shown in the ``estimand`` column.
    weight : {"item", "family"}
        Whether every unit counts alike, or every family.
    bounds : tuple of float or None
        Range of the value, if it is known; needed by the family interval.
    columns : tuple of str
        Columns of the records that are read.
    numbers : tuple of str, optional
        Those of them that are added up.
    remarks : callable, optional
        From rows to sentences that must stand beside the estimate.
    """

    @property
    def name(self) -> str: ...
    @property
    def weight(self) -> str: ...
    @property
    def bounds(self) -> tuple[float, float] | None: ...
    @property
    def columns(self) -> tuple[str, ...]: ...

    def unit(self, unit: Sequence[str], apart: Sequence[str]) -> tuple[str, ...]:
        """Columns that tell the units of one family apart.

        Given those of the panel, and the columns of the key (run, condition ...) that no cell tells apart:
        replies that differ there were not given to the same request.
        """
        ...

    def reduce(self, rows: Rows, by: Sequence[str], unit: Sequence[str]) -> Rows:
        """One row for each family, cell and unit, with the columns `SUMS`."""
        ...


def better_side(estimand: Estimand) -> str:
    """Side of an estimand that is better, "higher" or "lower"; empty where it does not say."""
    return str(getattr(estimand, "better", ""))


def add_up(rows: Rows, keys: Sequence[str], **sums: nw.Expr) -> Rows:
    """Group rows and add up columns. Columns are made first and summed plainly, so that any engine can."""
    keys = list(dict.fromkeys(keys))
    made = rows.select(*(nw.col(key) for key in keys), *(expr.alias(name) for name, expr in sums.items()))
    return made.group_by(*keys).agg(*(nw.col(name).sum() for name in sums))


def present(columns: Sequence[str]) -> nw.Expr:
    """Whether none of the columns is null."""
    return nw.all_horizontal(*(~nw.col(column).is_null() for column in columns), ignore_nulls=False)


def as_number(expr: nw.Expr) -> nw.Expr:
    """Make a boolean or integer expression a float."""
    return expr.cast(nw.Float64)


def count(expr: nw.Expr) -> nw.Expr:
    """Make a boolean expression an integer that can be summed."""
    return expr.cast(nw.Int64)


ONE = nw.lit(1).cast(nw.Int64)


def _where(condition: nw.Expr, value: nw.Expr) -> nw.Expr:
    """`value` where the condition holds, else 0."""
    return nw.when(condition).then(as_number(value)).otherwise(nw.lit(0.0))


def means(rows: Rows, keys: Sequence[str], valid: nw.Expr, num: nw.Expr, den: nw.Expr) -> Rows:
    """Add up, over repeats, a numerator and a denominator of the rows that are valid."""
    return add_up(
        rows, keys,
        num=_where(valid, num), den=_where(valid, den), n_valid=count(valid), n_planned=ONE,
        n_blank=count(valid & nw.col("is_blank")),
    )  # fmt: skip
