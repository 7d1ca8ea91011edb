"""Rows of the tables of two results folders, matched and compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from pairstats.records.changes import RecordChanges
from pairstats.result import Estimates
from pairstats.results import Results
from pairstats.study import Table

TOLERANCE = 1e-12
"""Numbers closer than this (p-values: than this share of themselves) are the same."""

COLUMNS = (
    "estimate", "conf_low", "conf_high", "p_value", "p_adjusted", "verdict", "n_families", "n_units",
    "n_missing", "method", "conf_level", "claim", "margin", "tipping_point", "bound_low", "bound_high",
    "registered",
)  # fmt: skip
"""Columns that are compared."""

RELATIVE = ("p_value", "p_adjusted")


@dataclass(frozen=True, slots=True)
class Change:
    """One value that differs; None where a side has none."""

    name: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.name} {_text(self.old)} -> {_text(self.new)}"


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row of the estimates that differs.

    Attributes
    ----------
    where : str
        Estimand, comparison and levels.
    contrast : str or None
        Label of the comparison; None for a single cell.
    state : {"changed", "added", "removed"}
    changes : tuple of Change
    records : int
        Records that changed and have the levels of this row.
    """

    where: str
    contrast: str | None
    state: str
    changes: tuple[Change, ...] = ()
    records: int = 0

    def __str__(self) -> str:
        if self.state != "changed":
            return f"{self.where}: {self.state}"
        because = f" ({self.records} records of these levels differ)" if self.records else ""
        return f"{self.where}: {', '.join(map(str, self.changes))}{because}"


def all_rows(old: Results, new: Results, records: RecordChanges) -> tuple[list[RowChange], int]:
    """Rows of every table that differ, and the number of rows that both sides have."""
    before, after = (dict(_tables(each)) for each in (old, new))
    found: list[RowChange] = []
    compared = 0
    for name in {**before, **after}:
        one, two = before.get(name), after.get(name)
        if one is None or two is None:
            found.append(RowChange(f"table {name}", None, "added" if one is None else "removed"))
            continue
        rows, both = _table_rows(name, one, two, records)
        found += rows
        compared += both
    return found, compared


def _tables(results: Results) -> Iterator[tuple[str, Table]]:
    """Every table of numbers that a run writes; the main one has no name."""
    yield "", results.estimates
    for name in ("calibration", "sensitivity", "exploratory"):
        table = getattr(results, name)
        if table is not None:
            yield name, table
    for name, each in results.tables.items():
        yield f"study/{name}", each


def _table_rows(name: str, old: Table, new: Table, records: RecordChanges) -> tuple[list[RowChange], int]:
    if isinstance(old, Estimates) and isinstance(new, Estimates):
        rows, both = _rows(old, new, records)
        named = [replace(row, where=f"{name}: {row.where}") for row in rows] if name else rows
        return named, both
    frames = [each.frame if isinstance(each, Estimates) else each for each in (old, new)]
    return _cells(name, *frames)


def _cells(name: str, old: pd.DataFrame, new: pd.DataFrame) -> tuple[list[RowChange], int]:
    """Compare two plain tables row by row in their order; columns that one lacks are a change of the table."""
    found = []
    odd = [*(set(old.columns) ^ set(new.columns))]
    if odd:
        changes = tuple(Change(f"column {column}", column in old, column in new) for column in sorted(odd))
        found.append(RowChange(f"table {name}", None, "changed", changes))
    shared = [column for column in old.columns if column in new.columns]
    one, two = (_rows_of(frame[shared]) for frame in (old, new))
    for place, (before, after) in enumerate(zip(one, two, strict=False), start=1):
        differing = [column for column in shared if not _equal(column, before[column], after[column])]
        if differing:
            named = tuple(Change(column, before[column], after[column]) for column in differing)
            found.append(RowChange(f"{name}: row {place}", None, "changed", named))
    longer, state = (new, "added") if len(new) > len(old) else (old, "removed")
    both = min(len(old), len(new))
    found += [RowChange(f"{name}: row {place}", None, state) for place in range(both + 1, len(longer) + 1)]
    return found, both


def _rows_of(frame: pd.DataFrame) -> list[dict[Any, Any]]:
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def _rows(old: Estimates, new: Estimates, records: RecordChanges) -> tuple[list[RowChange], int]:
    """Rows that differ, and the number that both tables have; rows of one key are matched in their order."""
    before, after = _by_key(old), _by_key(new)
    found = []
    for key in {**before, **after}:
        levels = dict(key[3:])
        one, two = before.get(key), after.get(key)
        where, label = _where(key), key[0]
        if one is None or two is None:
            found.append(RowChange(where, label, "added" if one is None else "removed"))
            continue
        changes = tuple(
            Change(name, one.get(name), two.get(name))
            for name in COLUMNS
            if not _equal(name, one.get(name), two.get(name))
        )
        if changes:
            found.append(RowChange(where, label, "changed", changes, records.touching(levels)))
    return found, len(before.keys() & after.keys())


Key = tuple[Any, ...]


def _by_key(estimates: Estimates) -> dict[Key, Mapping[str, Any]]:
    rows: dict[Key, Mapping[str, Any]] = {}
    for row in estimates:
        levels = sorted((f, str(row[f])) for f in estimates.factors if row.get(f) is not None)
        place = 0
        while (key := (row["contrast"], row["estimand"], place, *levels)) in rows:
            place += 1
        rows[key] = row
    return rows


def _where(key: Key) -> str:
    contrast, estimand, place, *levels = key
    of = f" ({contrast})" if contrast else ""
    again = f" [{place + 1}]" if place else ""
    return " ".join([f"{estimand}{of}{again}", *(f"{name}={level}" for name, level in levels)])


def _equal(name: str, old: Any, new: Any) -> bool:
    if old is None or new is None or isinstance(old, str | bool) or isinstance(new, str | bool):
        return bool(old == new)
    scale = max(abs(old), abs(new)) if name in RELATIVE else max(1.0, abs(old), abs(new))
    return bool(old == new or abs(old - new) <= TOLERANCE * scale)


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, str):
        return value if len(value) < 40 else value[:12] + "..."
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.3e}" if 0 < abs(value) < 1e-3 else f"{value:.4f}"
    return f"{value:g}" if isinstance(value, float) else str(value)
