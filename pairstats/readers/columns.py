"""Rows of a table as Arrow columns, and what makes them uncertain."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pairstats import invariants

EXACT = float(2**53)
"""Size from which a float may stand for another whole number than the one that is written."""


class UnusualError(Exception):
    """The columns of a file cannot be vouched for; its rows must be read one by one."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows of a table.

    Attributes
    ----------
    names : tuple of str
        Columns in order of appearance.
    table : pyarrow.Table
        Their values: text, whole numbers, floats, truth values; other types as they came.
    numbers : numpy.ndarray
        Line or row number of every row, from 1.
    size : int
        Bytes of the file that hold them, where that is known.
    identity : pyarrow.ChunkedArray or None
        What each row is a copy by, where it is not the number of its line; see `Part`.
    """

    names: tuple[str, ...]
    table: pa.Table
    numbers: np.ndarray
    size: int = 0
    identity: pa.ChunkedArray | None = None

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def filter(self, kept: pa.ChunkedArray) -> Block:
        """Give the rows where a mask holds."""
        rows, identity = np.asarray(kept), self.identity
        identity = None if identity is None else identity.filter(kept)
        return Block(self.names, self.table.filter(kept), self.numbers[rows], self.size, identity)

    def find(self, path: str) -> pa.ChunkedArray | None:
        """Values at a dotted path, None where no row has it.

        Raises
        ------
        UnusualError
            When rows of the block may have it in several ways: each row must then be asked which one it has.
        """
        if not path or path.startswith("record."):
            raise UnusualError(f"{path!r} is looked up in the whole record")
        if path in self.names:
            if any(path.startswith(f"{name}.") and self._is_nested(name) for name in self.names):
                raise UnusualError(f"{path!r} may be a name or lead into an object")
            return self.table.column(path)
        if path.endswith("."):
            raise UnusualError(f"{path!r} leads to a whole object")
        head, dot, rest = path.partition(".")
        if not dot or head not in self.names:
            return None
        if any(path.startswith(f"{name}.") for name in self.names if name != head):
            raise UnusualError(f"{path!r} may be meant in two ways")
        column = self.table.column(head)
        for part in rest.split("."):
            if not pa.types.is_struct(column.type) or column.type.get_field_index(part) < 0:
                return None
            if any("." in field.name for field in column.type):
                raise UnusualError(f"{path!r} leads past a name with a dot")
            column = pc.struct_field(column, part)
        return column

    def _is_nested(self, name: str) -> bool:
        return bool(pa.types.is_nested(self.table.column(name).type))


def by_word(column: pa.ChunkedArray, function: Callable[[Any], Any], kind: pa.DataType) -> pa.ChunkedArray:
    """Apply a function to each different value of a column; null stays null.

    Examples
    --------
    >>> by_word(pa.chunked_array([["a", None, "a"]]), str.upper, pa.string()).to_pylist()
    ['A', None, 'A']
    """
    values, places = invariants.encoded(column)
    words = pa.array([None if value is None else function(value) for value in values.to_pylist()], kind)
    return pa.chunked_array([words.take(place) for place in places], kind)


def plain_types(table: pa.Table) -> pa.Table:
    """Bring columns to text, 64-bit numbers and truth values; leave others as they are."""
    for place, field in enumerate(table.schema):
        kind = _plain_type(field.type)
        if kind is not None and kind != field.type:
            table = table.set_column(place, field.name, table.column(place).cast(kind))
        elif pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
            with suppress(pa.ArrowInvalid):  # what is no UTF-8 is no text
                table = table.set_column(place, field.name, table.column(place).cast(pa.string()))
    return table


def _plain_type(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_integer(kind):
        return pa.int64()
    return pa.float64() if pa.types.is_floating(kind) or pa.types.is_decimal(kind) else None
