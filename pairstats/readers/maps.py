"""Rows with a map: one row an item, and in it an object by model. They become columns ``<model>__<what>``.

Two forms are known for certain: a column that says by its name that its keys are models (``models``,
``score_by_model``), and several columns that each hold an object with a score or an answer. A map of another
name may as well hold metrics, so it stays as it is.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from pairstats.readers.base import LeftOut
from pairstats.readers.jsonlines import PROBED_LINES
from pairstats.readers.sheets import Row, Rows, Sheet

BY_MODEL = re.compile(r"(^|_)(models?|systems?)(_|$)")
"""Names of columns whose keys are models."""
SCALAR = "score"
"""What a plain value in a map by model is."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What the objects of a column hold, where every cell is an object or null.

    Attributes
    ----------
    names : tuple of str
        Names of the columns it would become, in order of appearance.
    own : frozenset of str
        Keys of the objects themselves.
    """

    names: tuple[str, ...]
    own: frozenset[str]


def spread(sheet: Sheet, decisive: frozenset[str]) -> Sheet:
    """Lay out maps by model as columns; a sheet without any stays as it is.

    Parameters
    ----------
    sheet : Sheet
    decisive : frozenset of str
        Names that say that an object holds a decision: of scores, answers and replies.

    Returns
    -------
    Sheet
    """
    probed = itertools.islice(sheet.rows(), PROBED_LINES)
    if not any(isinstance(row, dict) and any(isinstance(c, dict) for c in row.values()) for _, row in probed):
        return sheet
    kinds = _kinds(sheet)
    by_model = [name for name in kinds if BY_MODEL.search(name)]
    alone = [name for name in kinds if kinds[name].own & decisive and name not in by_model]
    if "model" in sheet.names or (len(alone) < 2 and not by_model):
        return sheet
    wide = {name: [f"{name}__{key}" for key in sorted(kinds[name].own)] for name in alone}
    wide |= {name: list(kinds[name].names) for name in by_model}
    names = tuple(new for name in sheet.names for new in wide.get(name, [name]))
    return Sheet(sheet.form, names, partial(_rows, sheet, by_model, alone))


def _kinds(sheet: Sheet) -> dict[str, Kind]:
    """Kind of every column, in one pass."""
    found: dict[str, dict[str, None]] = {name: {} for name in sheet.names}
    own: dict[str, set[str]] = {name: set() for name in sheet.names}
    plain: set[str] = set()
    for _, row in sheet.rows():
        for name, cell in row.items() if isinstance(row, dict) else ():
            if isinstance(cell, dict):
                found[name] |= dict.fromkeys(_flat(cell))
                own[name] |= cell.keys()
            elif cell is not None:
                plain.add(name)
    maps = [name for name in sheet.names if own[name] and name not in plain]
    return {name: Kind(tuple(found[name]), frozenset(own[name])) for name in maps}


def _rows(sheet: Sheet, by_model: list[str], alone: list[str]) -> Rows:
    for number, row in sheet.rows():
        yield number, row if isinstance(row, LeftOut) else dict(_cells(row, by_model, alone))


def _cells(row: Row, by_model: list[str], alone: list[str]) -> Iterator[tuple[str, Any]]:
    for name, cell in row.items():
        if name in by_model:
            yield from _flat(cell or {}).items()
        elif name in alone:
            yield from ((f"{name}__{key}", value) for key, value in (cell or {}).items())
        else:
            yield name, cell


def _flat(by_model: dict[str, Any]) -> dict[str, Any]:
    """Cells of a map from model to an object, or to its score."""
    found: dict[str, Any] = {}
    for model, value in by_model.items():
        parts = value if isinstance(value, dict) else {SCALAR: value}
        found |= {f"{model}__{what}": part for what, part in parts.items()}
    return found
