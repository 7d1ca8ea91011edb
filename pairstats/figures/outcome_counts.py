"""Replies counted by outcome, or given shares, as the bars of a figure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from pairstats.errors import PairstatsError, listed
from pairstats.result import Estimates, none_if_null
from pairstats.schema import ANSWERED, MISSING, NO_ANSWER
from pairstats.shown import called

NO_CLASS = "no class"
WITHOUT_CLASS = (*NO_ANSWER, NO_CLASS)
"""What a reply without an outcome is shown as."""

TOLERANCE = 1e-6
_SHARE = re.compile(r"share\(\w+ == ([^()]+)\)")


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its shares in the order of the outcomes, what is counted, and what is missing."""

    group: object
    row: object
    shares: tuple[float, ...]
    counts: tuple[int | None, ...]
    n: int | None
    missing: int


def of_frame(
    data: pd.DataFrame,
    outcome: str,
    rows: str,
    split: str | None,
    count: str | None,
    order: Sequence[str] | None,
) -> tuple[pd.DataFrame, list[str]]:
    """Counts of each outcome by bar, as rows ``split, rows, outcome, n``; and the outcomes in order."""
    keys = [name for name in (split, rows) if name is not None]
    absent = [name for name in (*keys, outcome, count) if name is not None and name not in data.columns]
    if absent:
        raise PairstatsError(
            f"Outcome bars need the columns {listed(absent, 5)}; there are {listed(data.columns, 50)}."
        )
    if data.empty:
        raise PairstatsError("Outcome bars need at least one reply, but there is none.")
    data = data.reset_index(drop=True)
    weights = pd.Series(1, index=data.index) if count is None else data[count]
    if weights.isna().any() or (weights < 0).any() or (weights % 1 != 0).any():
        raise PairstatsError(f"Column {count!r} must hold counts, but has a value that is none.")
    found = data[keys].assign(outcome=_classes(data, outcome), n=weights.astype(int))
    table = found.groupby([*keys, "outcome"], sort=False, dropna=False)["n"].sum().reset_index()
    there = [str(name) for name in table["outcome"].unique() if name not in MISSING]
    return table, _ordered(there, order)


def _classes(data: pd.DataFrame, outcome: str) -> pd.Series:
    """Outcome of each reply as text; its status where it has none or is missing."""
    given = data[outcome].astype(object)
    classes = given.where(given.isna(), given.map(lambda value: called(none_if_null(value))))
    if "status" not in data.columns:
        return classes.where(classes.notna(), NO_CLASS)
    status = data["status"].astype(object)
    classes = classes.where(classes.notna(), status.where(status.notna() & (status != ANSWERED), NO_CLASS))
    return classes.where(~status.isin(MISSING), status)


def _ordered(there: Sequence[str], order: Sequence[str] | None) -> list[str]:
    if order is None:
        return sorted(there, key=lambda name: name in WITHOUT_CLASS)
    left = [name for name in there if name not in order]
    if left:
        raise PairstatsError(
            f"`order` must name every outcome that occurs, but lacks {listed(left, 10)}. Nothing is left out of a "
            "bar silently."
        )
    return list(dict.fromkeys(str(name) for name in order))


def of_estimates(
    data: Estimates, rows: str, split: str | None, order: Sequence[str] | None
) -> tuple[pd.DataFrame, list[str]]:
    """Rows of estimates with the estimand as ``outcome``; and the outcomes in order."""
    frame = data.frame
    keys = [name for name in (split, rows) if name is not None]
    absent = [name for name in keys if name not in frame.columns]
    if absent:
        raise PairstatsError(
            f"Outcome bars need the factors {listed(absent)}; there are {listed(data.factors, 10)}."
        )
    if frame.empty or frame["contrast"].notna().any():
        raise PairstatsError(
            "Outcome bars show the shares of cells, but there is no row or a comparison among them."
        )
    if frame.duplicated([*keys, "estimand"]).any():
        raise PairstatsError(
            "Outcome bars need one row a cell and outcome, but a cell has two. Choose with `.where(...)`."
        )
    table = frame.assign(outcome=frame["estimand"].map(_class_of))
    return table, _ordered(list(table["outcome"].unique()), order)


def _class_of(estimand: str) -> str:
    """Class whose share an estimand is: ``silent`` for ``share(outcome == silent)``."""
    found = _SHARE.fullmatch(estimand)
    return found[1].strip('"') if found else estimand


def bars_of(table: pd.DataFrame, classes: Sequence[str], rows: str, split: str | None) -> list[Bar]:
    """Bars of a table of counts or of estimates, in the order of the groups and of the rows."""
    keys = [name for name in (split, rows) if name is not None]
    bars = []
    for key, part in table.groupby(keys, sort=False, dropna=False):
        group, row = key if split is not None else (None, key[0])
        make = _estimated if "estimate" in part else _counted
        bars.append(make(none_if_null(group), none_if_null(row), part, classes))
    if split is None:
        return bars
    groups = list(dict.fromkeys(bar.group for bar in bars))
    names = list(dict.fromkeys(bar.row for bar in bars))
    return sorted(bars, key=lambda bar: (groups.index(bar.group), names.index(bar.row)))


def _counted(group: object, row: object, part: pd.DataFrame, classes: Sequence[str]) -> Bar:
    counts = dict(zip(part["outcome"], part["n"].astype(int), strict=True))
    numbers = [counts.get(name, 0) for name in classes]
    n = sum(numbers)
    shares = tuple(100 * number / n if n else 0.0 for number in numbers)
    return Bar(group, row, shares, tuple(numbers), n, sum(counts.get(name, 0) for name in MISSING))


def _estimated(group: object, row: object, part: pd.DataFrame, classes: Sequence[str]) -> Bar:
    values = dict(zip(part["outcome"], part["estimate"], strict=True))
    shares = [none_if_null(values.get(name)) for name in classes]
    n = part["n_units"].dropna()
    known = [share for share in shares if share is not None]
    if known and abs(sum(known) - 1) > TOLERANCE:
        raise PairstatsError(
            f"Shares of a bar must add up to 1, but those of {row!r} add up to {sum(known):.4f}. Give the shares "
            "of all outcomes, of the same replies."
        )
    missing = part["n_missing"].dropna()
    return Bar(
        group, row, tuple(100 * (share or 0.0) for share in shares), (None,) * len(shares),
        int(n.max()) if len(n) else None, int(missing.max()) if len(missing) else 0,
    )  # fmt: skip
