"""Which decisions two tables of records have in common, and in what they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pairstats.schema import KEY, is_score, undictionary

MEANING = ("status", "reason", "answer", "gold", "confidence", "outcome", "response")
"""Columns besides the scores that make a decision; where it lay and what it cost are not compared."""
SHOWN = 5


@dataclass(frozen=True, slots=True)
class RecordChange:
    """One decision that differs.

    Attributes
    ----------
    key : mapping of str to str
    state : {"changed", "added", "removed"}
    changes : mapping of str to tuple
        Old and new value of each column.
    """

    key: Mapping[str, Any]
    state: str
    changes: Mapping[str, tuple[Any, Any]]

    def __str__(self) -> str:
        named = " ".join(f"{name}={value}" for name, value in self.key.items() if value not in ("", None))
        if self.state != "changed":
            return f"{self.state}: {named}"
        shown = ", ".join(f"{name} {_short(a)} -> {_short(b)}" for name, (a, b) in self.changes.items())
        return f"changed: {named}: {shown}"


@dataclass(frozen=True, slots=True)
class RecordChanges:
    """Decisions that differ between two results folders.

    Attributes
    ----------
    changes : tuple of RecordChange
        In order of their keys.
    compared : int
        Decisions that both have.
    columns : tuple of str
        Columns that only one table has, with the side.
    note : str
        Why records could not be compared; empty where they were.
    """

    changes: tuple[RecordChange, ...] = ()
    compared: int = 0
    columns: tuple[str, ...] = ()
    note: str = ""

    @property
    def any(self) -> bool:
        """Whether any decision differs."""
        return bool(self.changes)

    def touching(self, levels: Mapping[str, str]) -> int:
        """Number of changed decisions with these levels of the columns that are part of the key."""
        known = {name: level for name, level in levels.items() if name in KEY}
        return sum(
            all(str(each.key.get(name)) == level for name, level in known.items()) for each in self.changes
        )

    def lines(self) -> list[str]:
        """Counts, columns, and the first decisions of each kind."""
        found = [self.note] if self.note else []
        found += list(self.columns)
        for state in ("changed", "added", "removed"):
            here = [each for each in self.changes if each.state == state]
            if not here:
                continue
            columns = Counter(name for each in here for name in each.changes)
            of = f" ({', '.join(f'{name}: {n}' for name, n in sorted(columns.items()))})" if columns else ""
            found.append(f"{len(here)} {state}{of}")
            found += [f"  {each}" for each in here[:SHOWN]]
            found += [f"  and {len(here) - SHOWN} more"] if len(here) > SHOWN else []
        return found


def record_changes(old: Path, new: Path) -> RecordChanges:
    """Compare ``records.parquet`` of two results folders, decision by decision.

    Parameters
    ----------
    old, new : Path
        Results folders; one without records makes a note instead.

    Returns
    -------
    RecordChanges
    """
    absent = [str(folder) for folder in (old, new) if not (folder / "records.parquet").is_file()]
    if absent:
        return RecordChanges(note=f"not compared: {' and '.join(absent)} without records.parquet")
    one, two = (undictionary(pq.read_table(folder / "records.parquet")) for folder in (old, new))
    names = [
        name for name in one.column_names if name in two.column_names and (name in MEANING or is_score(name))
    ]
    sides = (("old", one, two), ("new", two, one))
    odd = [
        f"column {name} in the {side} records only"
        for side, mine, other in sides
        for name in mine.column_names
        if name not in other.column_names
    ]
    before, after = (_by_key(table.select([*KEY, *names]).to_pylist()) for table in (one, two))
    return RecordChanges(
        changes=tuple(_changes(before, after, names)),
        compared=len(before.keys() & after.keys()),
        columns=tuple(odd),
    )


Key = tuple[Any, ...]


def _by_key(rows: Sequence[Mapping[str, Any]]) -> dict[Key, Mapping[str, Any]]:
    return {tuple(row[name] for name in KEY): row for row in rows}


def _changes(
    before: Mapping[Key, Mapping[str, Any]], after: Mapping[Key, Mapping[str, Any]], names: Sequence[str]
) -> list[RecordChange]:
    found = []
    for key in sorted({*before, *after}):
        named = dict(zip(KEY, key, strict=True))
        if key not in after or key not in before:
            found.append(RecordChange(named, "removed" if key in before else "added", {}))
            continue
        differs = {
            name: (before[key][name], after[key][name])
            for name in names
            if not _same(before[key][name], after[key][name])
        }
        if differs:
            found.append(RecordChange(named, "changed", differs))
    return found


def _same(old: Any, new: Any) -> bool:
    return bool(old == new or (old != old and new != new))


def _short(value: Any) -> str:
    text = "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 40 else text[:37] + "..."
