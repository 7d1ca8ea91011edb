"""Which columns of an item table name its rows, and which rows a pattern leaves out."""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pairstats.errors import PairingError, listed
from pairstats.readers.drafts import Draft, as_text
from pairstats.readers.items import ItemTable, Key, Loaded
from pairstats.spelling import told as spelled
from pairstats.spelling import twins

_LIKELY_KEYS = ("item", "item_id", "id")
_FURTHER_KEYS = ("variant", "condition", "study", "run", "platform", "model", "repeat")
"""Columns of the key that may tell rows of one item apart, the likeliest first."""


def index(
    loaded: Loaded, key: str | None, drafts: Sequence[Draft], told: Mapping[str, str] | None = None,
    exclude: Mapping[str, tuple[str, str]] | None = None,
) -> ItemTable:  # fmt: skip
    """Find the columns that name a row, and index the table by them.

    Parameters
    ----------
    loaded : Loaded
        As `load_items` gives it.
    key : str or None
        The column of item ids; None takes the one that holds most of the records' items.
    drafts : sequence of Draft
        Records with their item ids.
    told : mapping of str to str, optional
        Columns that are mapped or constant, and the path of each (empty where it is none).
    exclude : mapping of str to tuple of str, optional
        Patterns on a column of the table, as `on_columns` gives them.

    Raises
    ------
    PairingError
        When the key is not there, does not name every row, or fits no record.
    """
    shown, columns = loaded.shown, loaded.columns
    items = {str(draft.fields["item"]) for draft in drafts}
    if key is None:
        key = _best_key(loaded, items)
    elif key not in columns:
        raise PairingError(f"item_key={key!r} must be a column of {shown}, but it has {listed(columns, 40)}.")
    if None in loaded.ids.get(key, ()):
        raise PairingError(
            f"Column {key!r} of {shown} must name an item in every row, but is blank in some rows."
        )
    further = further_keys(loaded, key, told or {}, drafts)
    names = (key, *further.values())
    indexed = dict(zip(_values(loaded, names), loaded.rows, strict=True))
    ids = {each[0] for each in indexed}
    _check_ids(shown, key, ids, items)
    fits = {text: _fitting(indexed, *parts) for text, parts in (exclude or {}).items()}
    return ItemTable(
        shown, loaded.path, columns, ("item", *further), indexed, frozenset(further.values()), fits
    )


def _fitting(rows: Mapping[Key, Mapping[str, Any]], column: str, pattern: str) -> frozenset[Key]:
    """Rows whose cell fits a pattern; a blank one is an empty text, a truth value may be written in any case."""

    def fits(cell: Any) -> bool:
        wanted = pattern.lower() if isinstance(cell, bool) else pattern
        return fnmatch.fnmatchcase(as_text(cell) or "", wanted)

    return frozenset(key for key, row in rows.items() if fits(row.get(column)))


def _check_ids(shown: str, key: str, ids: set[str], items: set[str]) -> None:
    """Refuse ids that are spelled in two ways, or none of which the records have."""
    alike = twins({*items, *ids})
    if alike:
        where = f"the records and column {key!r} of {shown}"
        raise PairingError(
            f"Item ids must be spelled in one way, but 'item' {spelled('item', alike, where)}."
        )
    if not items & ids:
        raise PairingError(
            f"Column {key!r} of {shown} must hold the records' items, but holds {listed(sorted(ids))} where the "
            f"records have {listed(sorted(items))}. Name another column with item_key=, or map item=."
        )


def _best_key(loaded: Loaded, items: set[str]) -> str:
    """Column that holds most of the records' items; the likeliest one among equals."""
    overlap = {column: len(items & ids) for column, ids in loaded.ids.items()}
    if not any(overlap.values()):
        raise PairingError(
            f"One column of {loaded.shown} must hold the records' items, but none of "
            f"{listed(loaded.columns, 40)} does; the records have {listed(sorted(items))}. Map item=, or name the "
            "column with item_key=."
        )
    most = max(overlap.values())
    return likeliest_key(loaded, (column for column, size in overlap.items() if size == most))


def likeliest_key(loaded: Loaded, columns: Iterable[str]) -> str:
    """Column that is the likeliest to name the items: usual names, then unique ids, first.

    Examples
    --------
    >>> likeliest_key(Loaded("items.csv", None, [{"n": 1, "id": "a"}]), ["n", "id"])
    'id'
    """

    def rank(column: str) -> tuple[int, bool, int]:
        usual = _LIKELY_KEYS.index(column) if column in _LIKELY_KEYS else len(_LIKELY_KEYS)
        return usual, len(loaded.ids[column]) < len(loaded.rows), loaded.columns.index(column)

    return min(columns, key=rank)


def further_keys(
    loaded: Loaded, key: str, told: Mapping[str, str], drafts: Sequence[Draft]
) -> dict[str, str]:
    """Find the further columns of the key that tell rows of one item apart, and their names in the table.

    Raises
    ------
    PairingError
        When none do, or when the records do not tell them.

    Examples
    --------
    >>> rows = [{"item": "q1", "variant": "a"}, {"item": "q1", "variant": "b"}]
    >>> further_keys(Loaded("items.csv", None, rows), "item", {"variant": "metadata.kind"}, [])
    {'variant': 'variant'}
    """
    found: dict[str, str] = {}
    names, columns, kinds, shown = [key], loaded.columns, _kinds(loaded, [key]), loaded.shown
    for name in _FURTHER_KEYS if kinds < len(loaded.rows) else ():
        column = next((each for each in (name, told.get(name, "")) if each in columns and each != key), None)
        if column is not None and (more := _kinds(loaded, [*names, column])) > kinds:
            found[name], kinds = column, more
            names.append(column)
    if kinds < len(loaded.rows):
        twice = next(each for each, n in Counter(_values(loaded, names)).items() if n > 1)
        raise PairingError(
            f"Column {key!r} of {shown} must name each item once, but holds {twice[0]!r} more than once"
            + (f", with {_pairs(names[1:], twice[1:])}" if found else "")
            + f". Rows of one item can be told apart by {listed(_FURTHER_KEYS, 9)}, where the table has such a "
            "column and the records tell it too; else keep one row an item."
        )
    for name, column in found.items():
        if name not in told and any(draft.ran and draft.fields.get(name) is None for draft in drafts):
            raise PairingError(
                f"{shown} has a row an item and {column}, so the records must tell their {name}, but do not. "
                f"Map {name}=, or keep one row an item."
            )
    return found


def _values(loaded: Loaded, names: Sequence[str]) -> list[Key]:
    rows = zip(*(loaded.texts[name] for name in names), strict=True)
    return [tuple(cell or "" for cell in row) for row in rows]


def _kinds(loaded: Loaded, names: Sequence[str]) -> int:
    return len(set(_values(loaded, names)))


def _pairs(names: Sequence[str], values: Sequence[Any]) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in zip(names, values, strict=True))


def on_columns(patterns: Iterable[str], columns: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Patterns that are written ``COLUMN=PATTERN``, with their two parts; others are patterns of item ids.

    Examples
    --------
    >>> on_columns(["revised=yes", "q=1*", "zzz*"], ["item", "revised"])
    {'revised=yes': ('revised', 'yes')}
    """
    known = set(columns)
    splits = ((text, match.start()) for text in patterns for match in re.finditer("=", text))
    return {text: (text[:at], text[at + 1 :]) for text, at in splits if text[:at] in known}
