"""Drafts to the Arrow table of the format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pairstats import invariants, schema
from pairstats.readers.drafts import Draft, Tally, as_text, is_nan
from pairstats.readers.parts import Part

_NUMBERS = {c.name for c in schema.COLUMNS if pa.types.is_floating(c.type) or pa.types.is_integer(c.type)}
_ALWAYS_TEXT = set(schema.NAMES) - _NUMBERS


def to_table(drafts: Sequence[Draft], tallies: list[Tally], score_range: tuple[float, float]) -> pa.Table:
    """Build the table and check every invariant.

    Raises
    ------
    SchemaError
        Listing all failures.
    """
    return invariants.validate(_table(drafts, tallies), score_range=score_range)


def to_part(
    drafts: Sequence[Draft], tally: Tally, place: int, fits: frozenset[str], primary: str | None
) -> Part:
    """Build a part of the table of drafts of one file, whose position is `place` once the parts are joined."""
    met: dict[str, tuple[int, int, int]] = {}
    for row, draft in enumerate(drafts):
        for rank, name in enumerate(draft.fields):
            if name not in schema.NAMES and name not in met:
                met[name] = (row, 0, rank)
    identity = pa.array([draft.identity for draft in drafts], pa.string())
    return Part(_untyped(_table(drafts, [tally])), place, met, fits, identity, primary=primary)


def _untyped(table: pa.Table) -> pa.Table:
    """Leave the type of a further column that holds nothing to the other parts."""
    for place, name in enumerate(table.column_names):
        if name not in schema.NAMES and table.column(place).null_count == table.num_rows:
            table = table.set_column(place, name, pa.nulls(table.num_rows))
    return table


def _table(drafts: Sequence[Draft], tallies: list[Tally]) -> pa.Table:
    further = dict.fromkeys(name for draft in drafts for name in draft.fields if name not in schema.NAMES)
    arrays = {}
    for name in (*schema.NAMES, *further):
        values = [draft.source if name == "source" else draft.fields.get(name) for draft in drafts]
        if name != "source":
            values = _without_nan(values, drafts, tallies)
        arrays[name] = _array(name, values)
    return pa.table(arrays)


def _without_nan(values: list[Any], drafts: Sequence[Draft], tallies: list[Tally]) -> list[Any]:
    if not any(map(is_nan, values)):
        return values
    for draft, value in zip(drafts, values, strict=True):
        tallies[draft.file].nan_to_null += is_nan(value)
    return [None if is_nan(value) else value for value in values]


def _array(name: str, values: list[Any]) -> pa.Array:
    if name in _ALWAYS_TEXT:
        return pa.array([as_text(value) for value in values], pa.string())
    if schema.is_score(name):
        return pa.array(values, pa.float64())
    kinds = {type(value) for value in values if value is not None}
    if name in _NUMBERS or (kinds and (kinds <= {int, float} or kinds == {bool})):
        try:
            return pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            pass  # numbers that no Arrow type holds, or words among them: kept as written
    return pa.array([as_text(value) for value in values], pa.string())
