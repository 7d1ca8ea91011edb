"""An item table beside a block of records: what `item_keys` and `mapping` do to a record, done to columns."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from pairstats.readers.cells import Column, is_plain, text_of
from pairstats.readers.columns import UnusualError
from pairstats.readers.item_keys import likeliest_key
from pairstats.readers.items import Loaded

_PLAIN = frozenset({str, int, float, bool, list, dict})


class ItemColumns:
    """Cells of an item table by the rows of a block, of which each has one row in the table.

    Parameters
    ----------
    loaded : Loaded
    key : str or None
        The column of item ids; None takes the likeliest one that holds all items.
    items : pyarrow.ChunkedArray
        Item of every row, as text.

    Attributes
    ----------
    key : str
        The column that holds the items; empty where there are none.

    Raises
    ------
    UnusualError
        When no column holds all of them, or one that does not name each row of the table once.
    """

    def __init__(self, loaded: Loaded, key: str | None, items: Column) -> None:
        self.loaded = loaded
        self.key = _key_of(loaded, key, frozenset(pc.unique(items).to_pylist()))
        ids = pa.array(loaded.texts[self.key] if self.key else [], pa.string())
        self.rows = pc.index_in(items, value_set=ids)
        if self.rows.null_count:
            raise UnusualError("an item that the table does not know")

    def find(self, name: str) -> Column | None:
        """Cell of every row in a column of the table; None where it has no such column."""
        name = name.removeprefix("items.")
        if name not in self.loaded.columns:
            if any(name.startswith(f"{column}.") for column in self.loaded.columns):
                raise UnusualError("a path into a cell of the item table")
            return None
        cells = _column(self.loaded, name)
        return pa.chunked_array([cells.take(rows) for rows in self.rows.chunks], cells.type)


def agree(raw: Column, joined: Column) -> bool:
    """Whether records and table tell the same; a null may be a record that tells nothing, and counts as no."""
    if raw.null_count or not (is_plain(raw.type) and is_plain(joined.type)):
        return False
    return bool(text_of(raw).equals(text_of(joined)))


def _key_of(loaded: Loaded, wanted: str | None, items: frozenset[str | None]) -> str:
    """Find the column that `item_keys.index` takes, seen all records: none has more items than one with all."""
    if not items:
        return ""
    fits = [name for name, ids in loaded.ids.items() if items <= ids and wanted in (None, name)]
    if not fits:
        raise UnusualError("an item that the table does not know")
    key = likeliest_key(loaded, fits)
    if key not in loaded.keys:
        raise UnusualError("an item table with several rows an item")
    return key


def _column(loaded: Loaded, name: str) -> pa.Array:
    """Cells of a column of the table, in one type."""
    if any(name not in row for row in loaded.rows):
        raise UnusualError("a row of the item table without a column")
    kinds = {type(row[name]) for row in loaded.rows} - {type(None)}
    if len(kinds) > 1 or not kinds <= _PLAIN:
        raise UnusualError(
            "cells of several kinds, or of one that Arrow may read as another, as NumPy's numbers"
        )
    try:
        return pa.array([row[name] for row in loaded.rows])
    except (pa.ArrowException, OverflowError) as error:
        raise UnusualError(str(error)) from error
